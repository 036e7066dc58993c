"""The last measurement: the default, the tuned program and the best single version, in turn.

All three run alike and alternate, so a drift of the clock frequency affects them alike.  Times of
earlier stages are from other moments, so their ratios are less sure.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from runelift.ir.base.errors import RuneliftError
from runelift.runtime.records.statistics import Ratio, median, ratio_of_medians
from runelift.runtime.tuner.measure.in_turn import InTurn, thresholds_in_turn
from runelift.runtime.tuner.measure.measurable import Measurable, Thresholds
from runelift.runtime.tuner.measure.protocols import Dataset
from runelift.runtime.tuner.policy import ComparisonPolicy

DEFAULT, TUNED, BEST = "default", "tuned", "best"
"""The names of the three choices."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Thresholds with their size guards, and the versions that run with them on a dataset."""

    thresholds: Thresholds
    versions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Seconds of runs of a dataset by choice, in the order of measurement.

    Choices that lead to equal runs have one list.  Choices that fail have no list.  ``versions``
    are the versions that run, such as ``V3`` or ``V3 ×7``.
    """

    dataset: str
    entry: str
    seconds: Mapping[str, tuple[float, ...]]
    versions: Mapping[str, tuple[str, ...]]

    def median(self, choice: str) -> float:
        """The median seconds of a choice; NaN if it was not measured."""
        return median(self.seconds.get(choice, ()))

    def same(self, one: str, other: str) -> bool:
        """True if two choices lead to the same runs."""
        return one in self.seconds and self.seconds.get(one) is self.seconds.get(other)

    @property
    def rounds(self) -> int:
        """The number of times that each choice ran."""
        return max(map(len, self.seconds.values()), default=0)


def by_default(found: SideBySide) -> SideBySide:
    """The comparison after the default has been chosen."""
    if not found.seconds.get(DEFAULT):
        return found
    return replace(found, seconds={**found.seconds, TUNED: found.seconds[DEFAULT]},
                   versions={**found.versions, TUNED: found.versions.get(DEFAULT, ())})


def speedup(found: Sequence[SideBySide], choice: str = TUNED, over: str = DEFAULT) -> Ratio:
    """The speed of a choice relative to another one, on some datasets together."""
    return ratio_of_medians([(each.seconds[over], each.seconds[choice]) for each in found
                             if each.seconds.get(choice) and each.seconds.get(over)])


def run_side_by_side(program: Measurable, dataset: Dataset, choices: Mapping[str, Choice],
                     policy: ComparisonPolicy, end: float = math.inf) -> SideBySide | None:
    """Run the choices in turn until there are enough rounds; None if none of them runs."""
    # The first of those that are equal stands for all.
    distinct = {name: next(other for other, each in choices.items() if each is choice)
                for name, choice in choices.items()}
    try:
        args = program.place(dataset.arguments())
    except RuneliftError:
        return None
    turns = thresholds_in_turn(program, dataset.entry, args, {
        name: choices[name].thresholds for name in distinct.values()})
    turns.failed = lambda name, error: None
    turns.warm_up()
    seconds = _rounds(turns, policy, end)
    return SideBySide(dataset.name, dataset.entry,
                      {name: seconds[same] for name, same in distinct.items() if same in seconds},
                      {name: choice.versions for name, choice in choices.items()}
                      ) if turns.choices else None


def _rounds(turns: InTurn[str], policy: ComparisonPolicy, end: float
            ) -> dict[str, tuple[float, ...]]:
    """The seconds of each choice, after enough rounds."""
    started = now = time.perf_counter()
    patience, enough = started + policy.patience_seconds, started + policy.enough_seconds
    while turns.choices and now <= min(end, patience):
        try:
            turns.run(1, together=True)
        except RuneliftError:
            break
        now = time.perf_counter()
        short = max(turns.last.values()) <= policy.short_seconds
        if turns.rounds >= (policy.final_rounds if short else policy.pairs) and now > enough:
            break
    return {name: tuple(each) for name, each in turns.seconds.items()}
