"""Explain versions for rows of different lengths by pictures: work-items, elements, idle steps."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from runelift.ir.base.errors import UserError
from runelift.ir.base.numerals import whole_number
from runelift.runtime.tools.commands.explained_program import entries_of, planned_program
from runelift.runtime.tools.commands.options import print_json
from runelift.runtime.tools.commands.styles import show
from runelift.runtime.tools.explanation.segments import VERSIONS, Picture, picture
from runelift.runtime.versions.forest import Forest
from runelift.runtime.versions.version_names import version_name

MOST_ROWS, MOST_LENGTH = 40, 120
"""The most rows of a picture, and the longest row."""


class Drawn(NamedTuple):
    """A version of a site with its picture."""

    site: str
    version: str
    picture: Picture


def explain(args: argparse.Namespace, path: Path) -> None:
    """Run ``runelift explain --lengths``."""
    lengths = [_length(each) for each in args.lengths.split(",")]
    if len(lengths) > MOST_ROWS:
        raise UserError(f"A picture has at most {MOST_ROWS} rows.")
    program = planned_program(args, path)
    found = [each for entry in entries_of(args, program)
             for each in _drawn(program.tree.entry(entry), lengths)]
    if not found:
        raise UserError(f"No version of '{path}' is for rows whose lengths differ: pictures are of "
                        "such versions.")
    if args.json:
        print_json([{"site": each.site, "name": each.version, "waste": _finite(each.picture),
                     **asdict(each.picture)} for each in found])
        return
    for site in dict.fromkeys(each.site for each in found):
        show(f"{site}: rows of {', '.join(map(str, lengths))} elements")
        for each in found:
            if each.site == site:
                show("\n".join(_lines(each)))


def _length(text: str) -> int:
    found = whole_number(text.strip())
    if found is None or found > MOST_LENGTH:
        raise UserError(f"'{text:.40}' should be a length from 0 to {MOST_LENGTH}, as in "
                        "--lengths 3,0,5,1.")
    return found


def _drawn(forest: Forest, lengths: list[int]) -> Iterator[Drawn]:
    """The versions of an entry point for rows whose lengths differ."""
    for name, site in forest.sites().items():
        if any(each.guard is not None and each.guard.lengths for each in site.alternatives):
            for each in site.alternatives:
                if each.kind.value in VERSIONS:
                    yield Drawn(name, version_name(each), picture(each.kind.value, lengths))


def _lines(drawn: Drawn) -> Iterator[str]:
    """The picture of a version with its name and its waste."""
    found = drawn.picture
    waste = _finite(found)
    more = "" if waste is None else f"; {found.issued} steps, {waste:.2g} times as many as needed"
    yield f"\n  {drawn.version} ({found.version}): {found.meaning}{more}"
    yield from (f"    {number:>2} {line}".rstrip() for number, line in enumerate(found.lines))


def _finite(found: Picture) -> float | None:
    """The waste; None if no step is useful."""
    return found.waste if found.useful else None
