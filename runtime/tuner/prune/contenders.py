"""Which versions may be the best somewhere, by one run of each: only those are worth repeating.

A first run is late in many ways: kernels are loaded when they are first launched, and caches are
cold.  So a version is behind only if its kernels alone, or issuing them as quickly as any host
can, take far longer than another version took with all delays.  What issuing cost a record more
than a run without is no such delay.  So is one that could make the run hardly faster, if it were
chosen wherever it may be the best: the last of a loop's iterations may suit a version with which
all others take five times as long.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from runelift.runtime.records.pruning import NORMAL_PRUNING, PruningPolicy
from runelift.runtime.records.record import Encounter, Record
from runelift.runtime.tuner.costs.exclusive_costs import EncounterNesting
from runelift.runtime.tuner.costs.log import LoggedRun
from runelift.runtime.tuner.costs.pareto import Array
from runelift.runtime.versions.forest import Forest, plans

Choices: TypeAlias = Mapping[str, set[int]]
"""Versions by the name of their site."""


def missed(forest: Forest, runs: Sequence[LoggedRun], seen: Sequence[Mapping[str, int]],
           policy: PruningPolicy) -> list[dict[str, int]]:
    """The fewest plans that show, with what is ``seen``, all versions that may be the best."""
    found = contenders(runs, policy)
    shown = {version for plan in seen for version in plan.items()}
    return [plan for plan in plans(forest, found)
            if any(index in found.get(site, ()) and (site, index) not in shown
                   for site, index in plan.items())]


def contenders(runs: Iterable[LoggedRun], policy: PruningPolicy = NORMAL_PRUNING) -> Choices:
    """The versions that may be the best at some kind of encounters, by site; one at least.

    Of a kind are encounters with the same sizes: that one of them was late is chance.
    """
    made = [(run, run.record) for run in runs if run.record is not None]
    meetings = _Meetings(made, policy)
    standings: dict[str, dict[int, _Standing]] = defaultdict(lambda: defaultdict(_Standing))
    for (site, _), alike in meetings.kinds.items():
        here: dict[int, _Standing] = defaultdict(_Standing)
        for met in alike:
            quickest = min(map(meetings.best, met.attempts.values()))
            for version, attempt in met.attempts.items():
                standing = here[version]
                standing.least += meetings.least(attempt)
                standing.best += quickest
        # also where all were late somewhere, by turns
        far = max(policy.kernels_factor, min(standing.ratio for standing in here.values()))
        for version, standing in here.items():
            standings[site][version].add(standing, near=standing.ratio <= far)
    little = policy.little_gain * min((_taken(*each) for each in made), default=0.0)
    return {site: _worth(versions, little) for site, versions in standings.items()}


def _worth(versions: Mapping[int, _Standing], little: float) -> set[int]:
    """The versions of a site that are near somewhere, and may gain more than ``little``.

    The best one is among them, whatever it may gain.
    """
    near = {version: each for version, each in versions.items() if each.is_near}
    best = min(each.ratio for each in near.values())
    return {version for version, each in near.items()
            if each.gain >= little or each.ratio == best}


@dataclass(slots=True)
class _Standing:
    """What encounters say of a version: what it takes at least, and what the best took.

    ``gain`` is by how much it may make them faster, of those kinds where it ``is_near``.
    """

    least: float = 0.0
    best: float = 0.0
    gain: float = 0.0
    is_near: bool = False

    def add(self, kind: _Standing, *, near: bool) -> None:
        """Take what encounters of a kind say."""
        self.least += kind.least
        self.best += kind.best
        self.is_near |= near
        self.gain += max(0.0, kind.best - kind.least) if near else 0.0

    @property
    def ratio(self) -> float:
        """How far behind it is in all."""
        return self.least / self.best if self.best else 1.0


def _taken(run: LoggedRun, record: Record) -> float:
    """What a run took, by itself if it was made without a record, too."""
    return record.span if run.time is None else run.time


@dataclass(slots=True, eq=False)
class _Met:
    """An encounter in whichever runs: the numbers of its attempts by version, and those inside."""

    attempts: dict[int, int] = field(default_factory=dict)
    within: dict[tuple[str, int], _Met] = field(default_factory=dict)


class _Meetings:
    """The encounters of runs, by ``kinds``: site and sizes.  What runs there is an attempt.

    Several runs of the same are one attempt, which took the least of what they took.
    """

    def __init__(self, runs: Sequence[tuple[LoggedRun, Record]], policy: PruningPolicy) -> None:
        self.kinds: dict[tuple[str, tuple[tuple[str, int], ...]], list[_Met]] = defaultdict(list)
        self._outermost = _Met()
        self._inside: list[dict[_Met, None]] = []
        known: dict[Hashable, list[int]] = {}
        took: list[tuple[list[int], Array, Array]] = []
        for run, record in runs:
            way = tuple([(each.parent, each.number, each.site, each.chosen)
                         for each in record.encounters])
            if way not in known:
                known[way] = self._attempts(record.encounters)
            took.append((known[way], *_spent(run, record, policy)))
        least, most = np.full((2, len(self._inside)), math.inf)
        for attempts, at_least, at_most in took:
            least[attempts] = np.minimum(least[attempts], at_least)
            most[attempts] = np.minimum(most[attempts], at_most)
        self._least: list[float] = least.tolist()
        self._most: list[float] = most.tolist()

    def _attempts(self, encounters: Sequence[Encounter]) -> list[int]:
        """The numbers of the attempts that a run makes at its encounters."""
        here: dict[int, tuple[_Met, int]] = {}
        times: dict[tuple[int | None, str], int] = {}
        for each in sorted(encounters, key=lambda each: each.number):
            parent, site = beside = each.parent, each.site
            times[beside] = time = times.get(beside, -1) + 1
            around, attempt = (self._outermost, -1) if parent is None else here[parent]
            if (met := around.within.get((site, time))) is None:
                met = around.within[site, time] = _Met()
                self.kinds[site, tuple(each.sizes.items())].append(met)
            if parent is not None:
                self._inside[attempt][met] = None
            if (own := met.attempts.get(each.chosen)) is None:
                own = met.attempts[each.chosen] = len(self._inside)
                self._inside.append({})
            here[each.number] = met, own
        return [here[each.number][1] for each in encounters]

    def least(self, attempt: int) -> float:
        """What a version takes at least, with the best versions inside of it."""
        return self._with_inner(attempt, self._least)

    def best(self, attempt: int) -> float:
        """What a version takes at most, with the best versions inside of it."""
        return self._with_inner(attempt, self._most)

    def _with_inner(self, attempt: int, took: Sequence[float]) -> float:
        own, inside = took[attempt], self._inside[attempt]
        return own + sum(min(self._with_inner(each, took) for each in met.attempts.values())
                         for met in inside) if inside else own


def _spent(run: LoggedRun, record: Record, policy: PruningPolicy) -> tuple[Array, Array]:
    """What encounters took at least and at most, without those inside of them."""
    recorded = max(record.span, record.issue)
    share = 1.0 if run.time is None or not recorded else min(1.0, run.time / recorded)
    encounters = record.encounters
    amounts = np.array([[each.busy for each in encounters], [each.launches for each in encounters],
                        [each.time for each in encounters], [each.issue for each in encounters]])
    busy, launches, time, issue = map(EncounterNesting(encounters).own, amounts)
    least = np.maximum(np.maximum(0.0, busy),
                       policy.launch_seconds * np.maximum(0.0, launches))
    return least, np.maximum(least, share * np.maximum(time, issue))


@dataclass(frozen=True, slots=True)
class Attempt:
    """A version at an encounter with these sizes: what it takes at least, but for those inside."""

    sizes: tuple[tuple[str, int], ...]
    least: float


def attempts_of(run: LoggedRun, policy: PruningPolicy) -> Iterator[tuple[str, int, Attempt]]:
    """What a run says about each encounter: its site, version and attempt; nothing if it failed."""
    if (record := run.record) is None:
        return
    least, _ = _spent(run, record, policy)
    for each, seconds in zip(record.encounters, least.tolist(), strict=True):
        yield each.site, each.chosen, Attempt(tuple(each.sizes.items()), seconds)
