"""The code versions of constructs, for an editor: which there are, and when each of them runs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runelift.ir.base.errors import RuneliftError
from runelift.ir.base.source import Source
from runelift.ir.guards import Kind
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.versions.forest import Forest, Site, forest_of
from runelift.runtime.versions.version_names import described_version


@dataclass(frozen=True, slots=True)
class CodeVersions:
    """The versions in a text.

    ``constructs`` has the versions of each construct with several versions, by line and column from
    1.  ``trees`` are the threshold trees of the entry points.
    """

    text: str
    constructs: Mapping[tuple[int, int], Sequence[str]]
    trees: Mapping[str, str]


def code_versions(source: Source) -> CodeVersions:
    """The versions of a program; none if it cannot be compiled."""
    constructs: dict[tuple[int, int], list[str]] = {}
    trees: dict[str, str] = {}
    try:
        with warnings.catch_warnings(action="ignore"):
            forests = forest_of(compile_source(source).versioned).entries
    except RuneliftError:
        return CodeVersions(source.text, {}, {})
    for forest in forests:
        trees[forest.entry] = forest.render()
        for site in forest.sites().values():
            for place in _places(site):
                constructs.setdefault(place, []).append(_described(forest, site))
    return CodeVersions(source.text, constructs, trees)


def _places(site: Site) -> set[tuple[int, int]]:
    line, _, column = site.place.partition(":")
    return {(int(line), int(column))} if column else set()


def _described(forest: Forest, site: Site) -> str:
    """The versions of a site, in the order in which they are considered."""
    lines = [f"Versions of `{forest.entry}` here, the first that fits runs:"]
    for alternative in site.alternatives:
        guard = alternative.guard
        if guard is None:
            when = "otherwise"
        elif guard.kind is Kind.SLABS:
            when = "if others need too much memory"
        else:
            when = f"if `{guard.name}` ≤ `{forest.compared(guard)}`"
        lines.append(f"- {described_version(alternative)} {when}")
    return "\n".join(lines)
