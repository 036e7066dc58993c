"""Results of tuning: the change of each dataset, and the versions behind it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from runelift.ir.base.numerals import counted
from runelift.runtime.records.format import show_seconds
from runelift.runtime.tools.notebook.fragments import fragment, numbers, title
from runelift.runtime.tools.notebook.programs import forest_parts
from runelift.runtime.tools.pages.document import folded
from runelift.runtime.tools.pages.markup import Markup, element
from runelift.runtime.tools.reports.text import show_gain
from runelift.runtime.tools.reports.verdict import changes, sentences, verdict
from runelift.runtime.tuner.analysis.winners import forced_standings
from runelift.runtime.tuner.result import EntryTuning, Tuning


def html(tuning: Tuning) -> Markup:
    """The verdict as a table, then the tree of each entry point."""
    return fragment(*_tuning(tuning))


def rows(tuning: Tuning) -> list[dict[str, Any]]:
    """A row for each dataset: a dictionary of columns."""
    return [{"dataset": each.dataset, "default": each.before, "tuned": each.after,
             "certainty": each.certainty} for each in changes(tuning)]


def text(tuning: Tuning) -> str:
    """The verdict as text."""
    values = tuning.thresholds
    found = changes(tuning)
    return verdict(f"Tuning: {counted(len(found), 'dataset')}", found, "Thresholds: " + (", ".join(
        f"{name}={value}" for name, value in values.items()) or "none"))


def _tuning(tuning: Tuning) -> Iterator[Markup]:
    found = changes(tuning)
    yield title("Tuning", "interrupted" if tuning.interrupted else "")
    yield element("p", " ".join(sentences(found)))
    yield numbers([["dataset", "before", "after", "gain", "certainty"], *(
        [each.dataset, show_seconds(each.before), show_seconds(each.after),
         show_gain(each.before, each.after), each.certainty] for each in found)])
    for entry in tuning.entries:
        if entry.forest.trees:
            yield folded(f"Versions of {entry.forest.entry}, and the time of a run with each",
                         list(_entry(entry)))


def _entry(entry: EntryTuning) -> Iterator[Markup]:
    yield from forest_parts(entry.forest, entry.fit.thresholds, {
        each.name: forced_standings(entry.forest, each, entry.choice)
        for each in entry.costs.datasets})
