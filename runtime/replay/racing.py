"""Which versions are replayed at an encounter: all at first, later those that can still win.

Encounters of a site whose guards compare with nearly the same values are *alike*.  At the first
of them all versions run, in several rounds, each in another order; a version that took more than
``factor`` times as long as the best in two rounds, or more than ``factor`` squared times in the
first, leaves the race.  At later ones those that are left run once, and all of them again at the
2nd, 4th, 8th, ... one, since the time may depend on more than what the guards compare with.  Of
encounters that are not quite alike, the two that are nearest tell which versions not even to begin
with.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from runelift.runtime.records.estimates import Estimates

BEAT = 0.05
"""How many seconds there are at least between two signs of life."""
Alike: TypeAlias = tuple[str, tuple[int, ...], tuple[int, ...]]
"""What encounters have in common: site, sizes on a logarithmic scale, versions that can run."""


@dataclass(slots=True)
class RaceState:
    """What is known of a kind of encounters.

    ``ratios`` says how many times as long as the best each version took, later encounters
    counting more than earlier ones.
    """

    met: int = 0
    ratios: dict[int, float] = field(default_factory=dict)

    @property
    def best(self) -> int:
        """The version that was the fastest."""
        return min(self.ratios, key=lambda version: self.ratios[version])

    @property
    def due(self) -> bool:
        """Whether all versions are to run at the encounter that was met last."""
        return self.met & (self.met - 1) == 0

    def saw(self, seconds: Mapping[int, float]) -> None:
        """All versions have run at the encounter that was met last, and took so long."""
        least = max(min(seconds.values()), 1e-12)
        now = {version: max(each, 1e-12) / least for version, each in seconds.items()}
        self.ratios = now if self.met == 1 else {
            version: math.sqrt(ratio * self.ratios.get(version, ratio))
            for version, ratio in now.items()}

    def presume(self, ratios: Mapping[int, float]) -> None:
        """Some versions have not run: they should take so many times as long as the best."""
        self.ratios = {**ratios, **self.ratios}

    def left(self, factor: float) -> set[int]:
        """The versions that are still in the race."""
        return {version for version in self.ratios if self.behind(version) <= factor}

    def behind(self, version: int) -> float:
        """How many times as long as the best a version takes."""
        return self.ratios[version] / self.ratios[self.best]


def _nobody(version: str | None, quickest: float | None, par: int | None) -> None:
    """Hears of attempts where nobody else wants to."""


@dataclass(slots=True)
class Race:
    """How versions are replayed; what becomes known of them is kept from run to run.

    ``factor``: how many times slower than the best a version may be.  ``rounds``: how often all
    run at the first encounter of a kind, as long as that takes less than ``patience`` seconds.
    After ``deadline`` (on the clock of :func:`time.perf_counter`) only the best one runs.  In a run
    that is ``repeated`` no version comes back, as its encounters are those of the run before.
    ``banned`` are versions (``site/index``) that do not compute what the others do, and why;
    ``stopped`` those that were not over in time, or will not be by the ``outlook``, which knows of
    sites that are met once in a run (``single``).  ``watch`` is told before an attempt which
    version it is, if it has not run at such an encounter, the seconds of the quickest so far, and
    what its guard compares with; after it None; and now and then that the run goes on.
    """

    factor: float = 3.0
    rounds: int = 5
    patience: float = 1.0
    banned: dict[str, str] = field(default_factory=dict)
    stopped: dict[str, str] = field(default_factory=dict)
    outlook: Estimates = field(default_factory=Estimates)
    single: frozenset[str] = frozenset()
    deadline: float = math.inf
    repeated: bool = False
    watch: Callable[[str | None, float | None, int | None], None] = _nobody
    _lanes: dict[Alike, RaceState] = field(default_factory=dict)
    _beat: float = 0.0

    @property
    def late(self) -> bool:
        """Whether the time that measuring may take is over."""
        return time.perf_counter() > self.deadline

    def excludes(self, version: str) -> bool:
        """Whether a version (``site/index``) must not run."""
        return version in self.banned or version in self.stopped

    def stop(self, version: str, why: str, par: int | None, seconds: float, best: float | None
             ) -> None:
        """A version was not over after so many seconds, where the best one took less."""
        self.stopped[version] = why
        if par is not None and best is not None and seconds:
            self.outlook.saw(version, par, seconds, best, stopped=True)

    def beat(self) -> None:
        """The run goes on."""
        if (now := time.perf_counter()) > self._beat + BEAT:
            self._beat = now
            self.watch("", None, None)

    def take(self, other: Race) -> None:
        """Know what a copy of this race, run elsewhere, found out."""
        self.banned.update(other.banned)
        self.stopped.update(other.stopped)
        self.outlook.take(other.outlook)
        self._lanes = other._lanes

    def lane(self, site: str, par: Sequence[int], versions: Sequence[int]) -> RaceState:
        """The kind of an encounter."""
        return self._lanes.setdefault(self._alike(site, par, versions), RaceState())

    def lost(self, site: str, par: Sequence[int], versions: Sequence[int]) -> dict[int, float]:
        """The versions that need not run, and how many times as long as the best they take."""
        policy = self.outlook.policy
        reach = policy.similar_doublings * policy.size_steps
        _, scale, same = self._alike(site, par, versions)
        near = sorted(((distance, lane) for (other, at, able), lane in self._lanes.items()
                       if other == site and able == same and at != scale and lane.ratios
                       and (distance := _apart(at, scale)) <= reach), key=lambda each: each[0])[:2]
        if len(near) < 2 or math.isinf(self.factor):
            return {}
        least = {k: min(lane.behind(k) for _, lane in near) for k in versions
                 if all(k in lane.ratios for _, lane in near)}
        return {k: ratio for k, ratio in least.items() if ratio > policy.similar_sizes_factor}

    def _alike(self, site: str, par: Sequence[int], versions: Sequence[int]) -> Alike:
        """The kind of an encounter."""
        steps = self.outlook.policy.size_steps
        scale = tuple(round(steps * math.log2(value)) if value > 0 else -1 for value in par)
        return site, scale, tuple(sorted(versions))


def _apart(one: Sequence[int], other: Sequence[int]) -> int:
    """By how much the size that differs most differs, on the scale of kinds of encounters."""
    return max((abs(a - b) for a, b in zip(one, other, strict=True)), default=0)


def rotated(versions: Sequence[int], by: int) -> Iterator[int]:
    """The versions in an order that puts each of them first in turn."""
    for place in range(len(versions)):
        yield versions[(place + by) % len(versions)]
