"""Threshold forests as pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from runelift.runtime.notebook.fragments import fragment, note, title
from runelift.runtime.pages.document import table
from runelift.runtime.pages.markup import Markup, element
from runelift.runtime.tuner.analysis.winners import Standing
from runelift.runtime.tuner.report.html import trees
from runelift.runtime.versions.forest import Forest, Forests
from runelift.runtime.versions.version_names import described_version


def html(shown: Forest | Forests) -> Markup:
    """The forest of an entry point, or those of all."""
    forests = shown.entries if isinstance(shown, Forests) else (shown,)
    return fragment(*(part for forest in forests for part in forest_parts(forest)))


def forest_parts(forest: Forest, thresholds: Mapping[str, int] | None = None,
                 standings: Mapping[str, Mapping[str, Standing]] | None = None
                 ) -> Iterator[Markup]:
    """The picture of a forest, with the times of versions if they are known, and its guards."""
    if not forest.trees:
        yield title(forest.entry, "one version, no thresholds")
        return
    guards = {name: f"g{number}" for number, name in enumerate(forest.guards(), start=1)}
    names = {leaf.label or "": described_version(leaf) for leaf in forest.leaves()}
    yield element("figure", trees.draw(
        forest, guards, names, standings or {}, f"{len(names)} versions of {forest.entry}"))
    head = ["guard", "holds if", "in the source at"]
    yield table([[*head, "threshold"] if thresholds else head, *(
        [guards[guard.name], f"{guard.name} ≤ {forest.compared(guard)}", site.place,
         *([_threshold(thresholds, guard.name)] if thresholds else [])]
        for site in forest.sites().values() for guard in site.guards)])
    if any(site.loops for site in forest.sites().values()):
        yield note("↻: in a loop; ~: the size compared changes there.")


def _threshold(thresholds: Mapping[str, int], name: str) -> str:
    return str(thresholds[name]) if thresholds.get(name) else "by size"


