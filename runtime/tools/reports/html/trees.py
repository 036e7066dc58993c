"""A threshold forest as a table that reads like a program: if, else if, else.

Each version has a row, and each dataset a column with the time of the version there.  The best
version of a dataset and the chosen one are marked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from runelift.ir.guards import Guard
from runelift.runtime.records.format import show_seconds
from runelift.runtime.tools.pages.markup import Markup, element
from runelift.runtime.tools.reports.text import PREDICTED, show_threshold
from runelift.runtime.tuner.analysis.winners import Standing
from runelift.runtime.versions.forest import Alternative, Forest, Site
from runelift.runtime.versions.version_names import described_version

BEST, CHOSEN = "★", "◀"
"""Marks of the best and of the chosen version.  Colours mark these versions, too."""
MARKS = (f"{BEST} on green: the fastest version here.  {CHOSEN} framed: the version that runs "
         "after tuning.")
NO_TIME = "no time"
"""The cell of a version that did not run on a dataset, or was stopped."""
INDENT = 1.2
"""Indentation of a level, in letters."""

Standings = Mapping[str, Mapping[str, Standing]]
"""The results of versions, by dataset and label."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A line of the table: a condition, how deep it stands, and the version that it leads to."""

    condition: str
    depth: int
    version: Alternative | None = None


def decision_table(forest: Forest, standings: Standings | None = None,
                   thresholds: Mapping[str, int] | None = None) -> Markup:
    """The forest as a table, with the known times of versions on datasets.

    Without ``thresholds``, conditions name them.
    """
    found = standings or {}
    head = [element("th", text, scope="col") for text in ("condition", "version", *found)]
    rows = [row for tree in forest.trees for row in _site(forest, tree, 0, thresholds,
                                                          alone=len(forest.trees) == 1)]
    body = [element("tr", [
        element("th", row.condition, scope="row", style=f"padding-left: {INDENT * row.depth}em"
                if row.depth else None, class_="condition"),
        *(_cells(row.version, found) if row.version else [
            element("td", ""), *(element("td", "") for _ in found)])],
        class_=None if row.version else "site") for row in rows]
    return element("div", element("table", [
        element("thead", element("tr", head)), element("tbody", body)],
        class_="stacks decisions"), class_="scroll")


def _site(forest: Forest, site: Site, depth: int, thresholds: Mapping[str, int] | None, *,
          alone: bool) -> Iterator[_Row]:
    """The rows of a site: each of its versions, and the sites inside of these."""
    loops = "in a loop" if site.loops else ""
    if not alone:
        place = f"the choice at {site.place}" if site.place else "a choice"
        yield _Row(f"{place}{', ' + loops if loops else ''}:", depth)
        depth += 1
    for number, alternative in enumerate(site.alternatives):
        word = "if" if number == 0 else "else if"
        guard = alternative.guard
        condition = "else" if guard is None else f"{word} {_condition(forest, guard, thresholds)}"
        if alone and loops and number == 0:
            condition += f" ({loops})"
        if len(site.alternatives) == 1:
            condition = "always"
        if alternative.label:
            yield _Row(condition, depth, alternative)
            continue
        yield _Row(f"{condition}:", depth)
        for inner in alternative.sites:
            yield from _site(forest, inner, depth + 1, thresholds,
                             alone=len(alternative.sites) == 1)


def _condition(forest: Forest, guard: Guard, thresholds: Mapping[str, int] | None) -> str:
    compared = forest.compared(guard)
    if thresholds is None:
        return f"{compared} ≥ {guard.name}"
    shown = show_threshold(thresholds.get(guard.name, 0))
    if shown == "never":
        return f"never (switched off: {compared})"
    if shown == PREDICTED:
        return f"predicted to be fastest ({compared})"
    return f"{compared} ≥ {shown}"


def _cells(version: Alternative, standings: Standings) -> Iterator[Markup]:
    yield element("td", described_version(version), class_="version")
    for dataset, by_version in standings.items():
        found = by_version.get(version.label or "")
        if found is None:
            yield element("td", element("span", NO_TIME, class_="soft"), data_head=dataset)
            continue
        often = f" {found.chosen} of {found.encounters}" if (
            found.chosen not in (0, found.encounters)) else ""
        text = (show_seconds(found.seconds) + f" {BEST}" * found.wins
                + f" {CHOSEN}" * (found.chosen > 0) + often)
        look = "time" + " best" * found.wins + " chosen" * (found.chosen > 0)
        yield element("td", element("span", text, class_=look), data_head=dataset)
