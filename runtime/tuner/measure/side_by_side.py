"""The last measurement: the default, the tuned program and the best single version, in turn.

All three run alike and alternate, so a drift of the clock frequency affects them alike.  Times of
earlier stages are from other moments, so their ratios are less sure.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from runelift.ir.base.errors import RuneliftError
from runelift.runtime.records.statistics import median
from runelift.runtime.tuner.measure.measurable import Args, Measurable, Thresholds
from runelift.runtime.tuner.measure.protocols import Dataset
from runelift.runtime.tuner.policy import ComparisonPolicy

DEFAULT, TUNED, BEST = "default", "tuned", "best"
"""The names of the three choices."""
DRAWN = 1000
"""The samples of a bootstrap."""
ENOUGH = 6
"""Rounds from which on a bootstrap says something."""


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


Speedup: TypeAlias = tuple[float, float, float]
"""The ratio of two speeds, and the limits that hold it with 95 % confidence."""


def speedup(found: Sequence[SideBySide], choice: str = TUNED, over: str = DEFAULT) -> Speedup:
    """The speed of a choice relative to another one, on some datasets together.

    It is the ratio of the sums of medians.  Its limits are a percentile bootstrap (Efron and
    Tibshirani, An introduction to the bootstrap, 1993): rounds are drawn anew, all choices of a
    round together.  With fewer rounds than :data:`ENOUGH`, the limits span the ratios of all single
    rounds, and 1.  Chance puts so few rounds on one side too often.
    """
    usable = [each for each in found if each.seconds.get(choice) and each.seconds.get(over)]
    if not usable:
        return math.nan, math.nan, math.nan
    if all(each.same(choice, over) for each in usable):
        return 1.0, 1.0, 1.0
    ratio = sum(e.median(over) for e in usable) / sum(e.median(choice) for e in usable)
    random = np.random.default_rng(0)
    mine = np.zeros(DRAWN)
    others = np.zeros(DRAWN)
    few = 1.0, 1.0
    for each in usable:
        one, other = (np.array(each.seconds[name]) for name in (choice, over))
        drawn = random.integers(len(one), size=(DRAWN, len(one)))
        mine += np.median(one[drawn], axis=1)
        others += np.median(other[drawn], axis=1)
        if len(one) < ENOUGH:
            few = min(few[0], *(other / one)), max(few[1], *(other / one))
    low, high = np.percentile(others / mine, [2.5, 97.5]).tolist()
    if few == (1.0, 1.0):
        return ratio, low, high
    return ratio, min(low, few[0]), max(high, few[1])


def ratio_of_medians(one: Sequence[float], other: Sequence[float], *, paired: bool = False
                     ) -> Speedup:
    """The speed of runs with times ``one`` relative to runs with times ``other``, with limits.

    ``paired``: runs at the same place were made one after the other, and are drawn together.
    """
    if not one or not other:
        return math.nan, math.nan, math.nan
    mine, others = np.array(one), np.array(other)
    ratio = float(np.median(others) / np.median(mine))
    if min(len(one), len(other)) < ENOUGH:
        return ratio, min(ratio, min(other) / max(one)), max(ratio, max(other) / min(one))
    random = np.random.default_rng(0)
    drawn = random.integers(len(one), size=(DRAWN, len(one)))
    same = drawn if paired else random.integers(len(other), size=(DRAWN, len(other)))
    ratios = np.median(others[same], axis=1) / np.median(mine[drawn], axis=1)
    low, high = np.percentile(ratios, [2.5, 97.5]).tolist()
    return ratio, low, high


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
    able = [name for name in dict.fromkeys(distinct.values())
            if _runs(program, dataset.entry, args, choices[name].thresholds)]
    if not able:
        return None
    seconds = _rounds(program, dataset.entry, args, {n: choices[n].thresholds for n in able},
                      policy, end)
    return SideBySide(dataset.name, dataset.entry,
                      {name: seconds[same] for name, same in distinct.items() if same in seconds},
                      {name: choice.versions for name, choice in choices.items()})


def _runs(program: Measurable, entry: str, args: Args, thresholds: Thresholds) -> bool:
    """Warm up; False if the program fails."""
    try:
        program.time(entry, args, thresholds=thresholds)
    except RuneliftError:
        return False
    return True


def _rounds(program: Measurable, entry: str, args: Args, choices: Mapping[str, Thresholds],
            policy: ComparisonPolicy, end: float) -> dict[str, tuple[float, ...]]:
    """The seconds of each choice; rounds go through the choices forwards and back in turn."""
    found: dict[str, list[float]] = {name: [] for name in choices}
    started = time.perf_counter()
    while True:
        rounds = len(next(iter(found.values())))
        order: Sequence[str] = list(choices)[::-1 if rounds % 2 else 1]
        try:
            made = program.time_all(entry, args, [choices[name] for name in order])
        except RuneliftError:
            made = ()
        for name, seconds in zip(order, made, strict=bool(made)):
            found[name].append(seconds)
        now = time.perf_counter()
        fewest = policy.final_rounds if max(map(_last, found.values())) <= policy.short_seconds \
            else policy.pairs
        if not made or now > end or now > started + policy.patience_seconds or (
                rounds + 1 >= fewest and now > started + policy.enough_seconds):
            return {name: tuple(each) for name, each in found.items() if each}


def _last(seconds: Sequence[float]) -> float:
    return seconds[-1] if seconds else 0.0
