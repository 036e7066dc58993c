"""Which versions may be the best somewhere, by one run of each: only those are worth repeating.

A first run is late in many ways: kernels are loaded when they are first launched, and caches are
cold.  So a version is behind only if its kernels alone, or issuing them as quickly as any host
can, take far longer than another version took with all delays.  What issuing cost a record more
than a run without is no such delay.  So is one that could make the run hardly faster, if it were
chosen wherever it may be the best: the last of a loop's iterations may suit a version with which
all others take five times as long.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from runelift.runtime.tuner.forest import Forest, plans
from runelift.runtime.tuner.log import Run

LAUNCH = 2e-6
"""No host issues a kernel in fewer seconds."""
FAR = 2.0
"""What takes so many times as long as the best is behind."""
LITTLE = 0.002
"""So is what could make a run faster by this fraction at most."""
Choices: TypeAlias = Mapping[str, set[int]]
"""Versions by the name of their site."""
_Key: TypeAlias = tuple[tuple[str, int], ...]
"""The way to an encounter: site and occurrence, from the outermost inwards."""


def at_least(busy: float, launches: int) -> float:
    """How long kernels take at least that the device was busy with for so long."""
    return max(busy, launches * LAUNCH)


def missed(forest: Forest, runs: Sequence[Run], seen: Sequence[Mapping[str, int]]
           ) -> list[dict[str, int]]:
    """The fewest plans that show, with what is ``seen``, all versions that may be the best."""
    found = contenders(runs)
    shown = {version for plan in seen for version in plan.items()}
    return [plan for plan in plans(forest, found)
            if any(index in found.get(site, ()) and (site, index) not in shown
                   for site, index in plan.items())]


def contenders(runs: Iterable[Run]) -> Choices:
    """The versions that may be the best at some kind of encounters, by site; one at least.

    Of a kind are encounters with the same sizes: that one of them was late is chance.
    """
    runs = list(runs)
    meetings: dict[_Key, dict[int, Attempt]] = defaultdict(dict)
    kinds: dict[tuple[str, tuple[tuple[str, int], ...]], list[_Key]] = defaultdict(list)
    for run in runs:
        for key, version, attempt in attempts_of(run):
            if key not in meetings:
                kinds[key[-1][0], attempt.sizes].append(key)
            meetings[key].setdefault(version, attempt).also(attempt)
    standings: dict[str, dict[int, _Standing]] = defaultdict(lambda: defaultdict(_Standing))
    for (site, _), alike in kinds.items():
        here: dict[int, _Standing] = defaultdict(_Standing)
        for attempts in (meetings[key] for key in alike):
            quickest = min(_best(attempt, meetings) for attempt in attempts.values())
            for version, attempt in attempts.items():
                here[version].least += _least(attempt, meetings)
                here[version].best += quickest
        # also where all were late somewhere, by turns
        far = max(FAR, min(standing.ratio for standing in here.values()))
        for version, standing in here.items():
            standings[site][version].add(standing, near=standing.ratio <= far)
    little = LITTLE * min((_taken(run) for run in runs if run.record is not None), default=0.0)
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


def _taken(run: Run) -> float:
    """What a run took that has a record, by itself if it was made without one, too."""
    assert run.record is not None
    return run.record.span if run.time is None else run.time


@dataclass(slots=True)
class Attempt:
    """A version at an encounter: ``least`` and ``taken`` seconds, without those ``inside``."""

    sizes: tuple[tuple[str, int], ...]
    least: float
    taken: float
    inside: set[_Key] = field(default_factory=set)

    def also(self, other: Attempt) -> None:
        """Another run of the same."""
        self.least = min(self.least, other.least)
        self.taken = min(self.taken, other.taken)
        self.inside |= other.inside


def attempts_of(run: Run) -> Iterator[tuple[_Key, int, Attempt]]:
    """What a run says about each of its encounters; nothing if it failed."""
    if (record := run.record) is None:
        return
    recorded = max(record.span, record.issue)
    share = 1.0 if run.time is None or not recorded else min(1.0, run.time / recorded)
    keys: dict[int, _Key] = {}
    times: dict[tuple[_Key, str], int] = defaultdict(int)
    inside = record.inside()
    for each in sorted(record.encounters, key=lambda each: each.number):
        around = keys[each.parent] if each.parent is not None else ()
        keys[each.number] = (*around, (each.site, times[around, each.site]))
        times[around, each.site] += 1
    for each in record.encounters:
        busy, launches, seconds, issue = each.busy, each.launches, each.time, each.issue
        below = inside.get(each.number, ())
        for inner in below:
            busy -= inner.busy
            launches -= inner.launches
            seconds -= inner.time
            issue -= inner.issue
        least = at_least(max(0.0, busy), max(0, launches))
        yield keys[each.number], each.chosen, Attempt(
            tuple(each.sizes.items()), least, max(least, share * max(seconds, issue)),
            {keys[inner.number] for inner in below})


def _least(attempt: Attempt, meetings: Mapping[_Key, Mapping[int, Attempt]]) -> float:
    """What a version takes at least, with the best versions inside of it."""
    return attempt.least + sum(min(_least(inner, meetings) for inner in meetings[key].values())
                               for key in attempt.inside)


def _best(attempt: Attempt, meetings: Mapping[_Key, Mapping[int, Attempt]]) -> float:
    """What a version takes at most, with the best versions inside of it."""
    return attempt.taken + sum(min(_best(inner, meetings) for inner in meetings[key].values())
                               for key in attempt.inside)
