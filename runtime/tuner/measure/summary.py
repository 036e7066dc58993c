"""A dataset that has been measured, in a few words."""

from __future__ import annotations

from collections.abc import Iterable

from runelift.runtime.records.format import show_seconds
from runelift.runtime.tuner.costs.log import LoggedRun
from runelift.runtime.versions.forest import Forest
from runelift.runtime.versions.version_names import names_of_plan


def summary(forest: Forest, dataset: str, runs: Iterable[LoggedRun]) -> str:
    """The number of versions, and the best version that ran: ``5 versions, best V2 0.40 ms``."""
    count = len(forest.leaves())
    text = f"{count} version" + ("" if count == 1 else "s")
    made = [run for run in runs if run.dataset == dataset and run.force and run.record is not None]
    if not made:
        return f"{text}, none could run"
    best = min(made, key=seconds)
    return f"{text}, best {names_of_plan(forest, best.force)} {show_seconds(seconds(best))}"


def seconds(run: LoggedRun) -> float:
    """The time of a run that has a record; without a record if that was measured, too."""
    assert run.record is not None
    return run.record.span if run.time is None else run.time
