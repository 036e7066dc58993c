"""Runs in turn that go on until they decide: more turns answer other work on the machine."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from runelift.runtime.records.statistics import ENOUGH, median
from runelift.runtime.tuner.measure.machine_load import patience_factor
from runelift.runtime.tuner.measure.measurable import Measurable
from runelift.runtime.tuner.measure.protocols import Dataset
from runelift.runtime.tuner.measure.side_by_side import (
    BEST,
    DEFAULT,
    Choice,
    SideBySide,
    run_side_by_side,
    speedup,
)
from runelift.runtime.tuner.policy import ComparisonPolicy

QUIET_PART = 0.4
"""The part of the runs that counts under load: the runs that are disturbed least."""
KEPT = 3, 7
"""The runs that stay of so many quiet runs: their median is the quantile at 0.2 of all runs.

The variance of the median of quiet runs is 0.625 times that of the quantile, or less if they are
few.
"""
FEWEST_LOADED = 24
"""Rounds from which on only quiet runs count under load."""
HOPELESS = 0.8
"""The speed of the quickest run of a single version with which it runs no further."""
LOADED_ROUNDS = 90
"""Rounds under load at least, if there is time."""
BUSY = 0.3
"""The part of the processors that other work keeps busy where records are noisy."""


@dataclass(frozen=True, slots=True)
class Turns:
    """The choices that are to be decided, and the time for that.

    ``names`` are choices beside :data:`DEFAULT`.  Of choices in a fixed ``order``, one is chosen
    (:func:`first_alike`).  ``busy`` is the part of the processors that other work has.
    """

    names: Sequence[str]
    policy: ComparisonPolicy
    busy: float
    end: float = math.inf
    order: Sequence[str] = ()

    def over(self, found: SideBySide, started: float) -> bool:
        """True if the rounds decide, or have taken long enough."""
        now, policy = time.perf_counter(), self.policy
        many = (self.busy <= BUSY or found.rounds >= LOADED_ROUNDS
                or DEFAULT not in found.seconds)
        if many and decided(self.quiet(found), self):
            return True
        patience = policy.patience_seconds * patience_factor(
            self.busy, found.seconds.get(DEFAULT, ()), policy)
        return now > self.end or (found.rounds >= ENOUGH and now > started + patience)

    def quiet(self, found: SideBySide) -> SideBySide:
        """The runs that count."""
        return quiet_runs(found) if self.busy > BUSY else found


def run_until_decided(program: Measurable, dataset: Dataset, choices: Mapping[str, Choice],
                      turns: Turns) -> SideBySide | None:
    """The rounds of a dataset, twice as many each time, until they decide; None if none runs."""
    policy, started = turns.policy, time.perf_counter()
    found = run_side_by_side(program, dataset, choices, policy, turns.end)
    while found is not None and not turns.over(found, started):
        policy = replace(policy, final_rounds=2 * policy.final_rounds, pairs=2 * policy.pairs,
                         enough_seconds=2 * policy.enough_seconds)
        found = hopeful(found)
        choices = {name: choices[name] for name in found.seconds}
        more = run_side_by_side(program, dataset, choices, policy, turns.end)
        if more is None or more.seconds.keys() != found.seconds.keys():
            break
        found = joined(found, more)
    return None if found is None else turns.quiet(found)


def hopeful(found: SideBySide) -> SideBySide:
    """The comparison without single versions whose quickest run is far slower than the default."""
    def is_hopeless(name: str) -> bool:
        return name.startswith(BEST) and not any(
            found.same(name, other) for other in found.seconds if not other.startswith(BEST)
        ) and HOPELESS * min(found.seconds[name]) > found.median(DEFAULT)

    if DEFAULT not in found.seconds:
        return found
    return replace(found, seconds={name: each for name, each in found.seconds.items()
                                   if not is_hopeless(name)})


def joined(one: SideBySide, other: SideBySide) -> SideBySide:
    """The rounds of two comparisons; choices with equal runs still have one list."""
    whole = {id(seconds): (*seconds, *other.seconds[name])
             for name, seconds in one.seconds.items()}
    return replace(one, seconds={name: whole[id(seconds)]
                                 for name, seconds in one.seconds.items()})


def quiet_runs(found: SideBySide) -> SideBySide:
    """The runs that other work disturbed least: of each choice, as many of the quickest.

    No choice is favoured, as all lose the same part.  Of the quiet runs, :data:`KEPT` stay: the
    limits of a median then are as wide as the limits of the quantile that it stands for.
    """
    fewest = min(map(len, found.seconds.values()), default=0)
    if fewest < FEWEST_LOADED:
        return found
    kept = {id(each): _quickest(each, math.ceil(QUIET_PART * fewest))
            for each in found.seconds.values()}
    return replace(found, seconds={name: kept[id(each)] for name, each in found.seconds.items()})


def _quickest(seconds: Sequence[float], count: int) -> tuple[float, ...]:
    """Some of the quickest runs, in the order of measurement."""
    order = sorted(sorted(range(len(seconds)), key=lambda k: seconds[k])[:count])
    part, whole = KEPT
    return tuple(seconds[k] for place, k in enumerate(order) if place % whole < part)


def halves_agree(one: Sequence[float], other: Sequence[float]) -> bool:
    """True if the first and the second half of the runs say alike which choice is faster.

    Under load, neighbouring runs are disturbed alike: limits that draw single runs are too sure.
    """
    half = min(len(one), len(other)) // 2
    if one is other or half < ENOUGH:
        return True
    early, late = (median(one[part]) - median(other[part])
                   for part in (slice(half), slice(half, None)))
    return (early < 0) == (late < 0)


def first_alike(found: SideBySide, order: Sequence[str], policy: ComparisonPolicy) -> str | None:
    """The first choice that is not slower for certain than the best one, by a notable fraction.

    So of choices that are alike, a fixed one is chosen, whatever chance says of them.
    """
    able = [name for name in order if name in found.seconds]
    best = min(able, key=found.median, default="")
    return next((name for name in able if not _is_worse(found, name, best, policy)), None)


def _is_worse(found: SideBySide, name: str, best: str, policy: ComparisonPolicy) -> bool:
    """True if a choice is slower than the best, by more than choices that are alike."""
    if found.same(name, best):
        return False
    ratio, low, _ = speedup([found], best, name)
    return ratio > 1 + policy.alike and low > 1 + policy.alike / 2 and halves_agree(
        found.seconds[best], found.seconds[name])


def decided(found: SideBySide, turns: Turns) -> bool:
    """True if more rounds would hardly change what is kept.

    It is clear which choice is the first that is alike the best one.  That one, and each choice
    that has no place in the order, is faster or slower than the default for certain, or no slower.
    """
    if DEFAULT not in found.seconds:
        return True
    policy = turns.policy
    first = first_alike(found, turns.order, policy)
    if first is not None and not _is_clear(found, turns.order, first, policy):
        return False
    ordered = {id(found.seconds[name]) for name in turns.order if name in found.seconds}
    rest = [name for name in turns.names
            if name in found.seconds and id(found.seconds[name]) not in ordered]
    for name in [*rest, *([first] if first is not None and DEFAULT not in turns.order else [])]:
        _, low, high = speedup([found], name)
        if low <= 1 < high and low < 1 - policy.tolerance:
            return False
        if (low > 1 or high < 1) and not halves_agree(found.seconds[name],
                                                     found.seconds[DEFAULT]):
            return False
    return True


def _is_clear(found: SideBySide, order: Sequence[str], first: str, policy: ComparisonPolicy
              ) -> bool:
    """True if the choices up to the first that is alike the best are so for certain, or are not."""
    able = [name for name in order if name in found.seconds]
    best = min(able, key=found.median)
    for name in able[:able.index(first) + 1]:
        _, low, high = speedup([found], best, name)
        if not found.same(name, best) and low <= 1 + policy.alike < high:
            return False
    return True
