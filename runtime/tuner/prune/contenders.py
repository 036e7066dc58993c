"""Contenders: the versions that may be the best somewhere, by one run of each.

Only contenders are repeated.  A first run is late in many ways: kernels are loaded when they are
first launched, and caches are cold.  So only a lower bound counts against a version: the time of
its kernels, or of issuing them on the fastest host.  A version is behind if that is far more than
another version took with all delays.  The cost of recording is no such delay.

A version is also behind if the run could hardly be faster by it, even where it may be the best.
For instance, it may suit only the last iterations of a loop.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from runelift.runtime.records.pruning import (
    NORMAL_PRUNING,
    Evidence,
    PruningPolicy,
    Source,
    verdict,
)
from runelift.runtime.records.record import Encounter, Record
from runelift.runtime.tuner.costs.log import LoggedRun
from runelift.runtime.tuner.costs.pareto import Array, exclusive
from runelift.runtime.versions.forest import Forest, plans

_Kind: TypeAlias = tuple[str, tuple[tuple[str, int], ...]]
"""A site with sizes."""
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
    encounters = _Encounters(made, policy)
    standings: dict[str, dict[int, _Standing]] = defaultdict(lambda: defaultdict(_Standing))
    for (site, _), alike in encounters.kinds.items():
        here: dict[int, _Standing] = defaultdict(_Standing)
        for met in alike:
            quickest = min(map(encounters.best, met.attempts.values()))
            for version, attempt in met.attempts.items():
                standing = here[version]
                standing.least += encounters.least(attempt)
                standing.best += quickest
        # the best version is near, even where all were late by turns
        least = min(standing.ratio for standing in here.values())
        for version, standing in here.items():
            near = standing.ratio == least or verdict(
                Evidence(Source.KERNELS, standing.ratio), policy).keeps
            standings[site][version].add(standing, near=near)
    little = policy.little_gain * min(
        (run.seconds for run, _ in made if run.seconds is not None), default=0.0)
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
    """Sums over encounters: the least seconds of a version, and the seconds of the best version.

    ``gain`` is the most that the version saves at those kinds where it ``is_near``.
    """

    least: float = 0.0
    best: float = 0.0
    gain: float = 0.0
    is_near: bool = False

    def add(self, kind: _Standing, *, near: bool) -> None:
        self.least += kind.least
        self.best += kind.best
        self.is_near |= near
        self.gain += max(0.0, kind.best - kind.least) if near else 0.0

    @property
    def ratio(self) -> float:
        """The time of the version relative to the best, in all."""
        return self.least / self.best if self.best else 1.0


@dataclass(slots=True, eq=False)
class _Gathered:
    """An encounter in all runs that had it: its attempts by version, and its nested encounters."""

    attempts: dict[int, int] = field(default_factory=dict)
    within: dict[tuple[str, int], _Gathered] = field(default_factory=dict)


class _Encounters:
    """The encounters of runs, by ``kinds``: site and sizes.  What runs there is an attempt.

    Several runs of a version there are one attempt, with the least of their times.
    """

    def __init__(self, runs: Sequence[tuple[LoggedRun, Record]], policy: PruningPolicy) -> None:
        self.kinds = defaultdict[_Kind, list[_Gathered]](list)
        self._outermost = _Gathered()
        self._inside: list[dict[_Gathered, None]] = []
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
        here: dict[int, tuple[_Gathered, int]] = {}
        times: dict[tuple[int | None, str], int] = {}
        for each in sorted(encounters, key=lambda each: each.number):
            parent, site = beside = each.parent, each.site
            times[beside] = time = times.get(beside, -1) + 1
            around, attempt = (self._outermost, -1) if parent is None else here[parent]
            if (met := around.within.get((site, time))) is None:
                met = around.within[site, time] = _Gathered()
                self.kinds[site, tuple(each.sizes.items())].append(met)
            if parent is not None:
                self._inside[attempt][met] = None
            if (own := met.attempts.get(each.chosen)) is None:
                own = met.attempts[each.chosen] = len(self._inside)
                self._inside.append({})
            here[each.number] = met, own
        return [here[each.number][1] for each in encounters]

    def least(self, attempt: int) -> float:
        """The least seconds of an attempt, with the best versions inside."""
        return self._with_inner(attempt, self._least)

    def best(self, attempt: int) -> float:
        """The greatest seconds of an attempt, with the best versions inside."""
        return self._with_inner(attempt, self._most)

    def _with_inner(self, attempt: int, took: Sequence[float]) -> float:
        own, inside = took[attempt], self._inside[attempt]
        return own + sum(min(self._with_inner(each, took) for each in met.attempts.values())
                         for met in inside) if inside else own


def _spent(run: LoggedRun, record: Record, policy: PruningPolicy) -> tuple[Array, Array]:
    """The seconds of encounters at least and at most, without their nested encounters."""
    recorded = max(record.span, record.issue)
    share = 1.0 if run.time is None or not recorded else min(1.0, run.time / recorded)
    encounters = record.encounters
    amounts = np.array([[each.busy for each in encounters], [each.launches for each in encounters],
                        [each.time for each in encounters], [each.issue for each in encounters]])
    busy, launches, time, issue = exclusive(encounters, amounts)[0]
    least = np.maximum(np.maximum(0.0, busy),
                       policy.launch_seconds * np.maximum(0.0, launches))
    return least, np.maximum(least, share * np.maximum(time, issue))


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A version at an encounter with these sizes: its least seconds, without nested encounters."""

    sizes: tuple[tuple[str, int], ...]
    least: float


def attempts_of(run: LoggedRun, policy: PruningPolicy) -> Iterator[tuple[str, int, _Attempt]]:
    """The site, version and attempt of each encounter of a run; nothing if it failed."""
    if (record := run.record) is None:
        return
    least, _ = _spent(run, record, policy)
    for each, seconds in zip(record.encounters, least.tolist(), strict=True):
        yield each.site, each.chosen, _Attempt(tuple(each.sizes.items()), seconds)
