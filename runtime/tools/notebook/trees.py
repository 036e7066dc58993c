"""Threshold forests as tables of decisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from runelift.runtime.tools.notebook.fragments import fragment, note, title
from runelift.runtime.tools.pages.markup import Markup
from runelift.runtime.tools.reports.html.trees import MARKS, decision_table
from runelift.runtime.tuner.analysis.winners import Standing
from runelift.runtime.versions.forest import Forest, Forests


def html(shown: Forest | Forests) -> Markup:
    """The forest of an entry point, or the forests of all entry points."""
    forests = shown.entries if isinstance(shown, Forests) else (shown,)
    return fragment(*(part for forest in forests for part in forest_parts(forest)))


def forest_parts(forest: Forest, thresholds: Mapping[str, int] | None = None,
                 standings: Mapping[str, Mapping[str, Standing]] | None = None
                 ) -> Iterator[Markup]:
    """A forest that reads like a program, with the times of versions if they are known."""
    if not forest.trees:
        yield title(forest.entry, "one version, no thresholds")
        return
    yield title(forest.entry, f"{len(forest.leaves())} versions")
    known = {name: thresholds.get(name, 0) for name in forest.guards()} if thresholds else None
    yield decision_table(forest, standings, known)
    if standings:
        yield note(MARKS)
