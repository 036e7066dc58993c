"""Racing: replay runs all versions at first, and later only the versions that can still win.

Encounters of a site are in one *size class* if their guards compare with nearly equal values.  At
the first of them all versions run in several rounds, each in another order.  A version leaves the
race if it took ``factor`` times as long as the best in two rounds, or ``factor`` squared times in
the first.  At later encounters the versions that are left run once.  At the 2nd, 4th, 8th, ... one
all versions run again, since times may depend on more than the guards compare.  The two nearest
size classes tell which versions are skipped in a new one.

Source: Maron and Moore 1994, "Hoeffding races".
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from runelift.runtime.records.estimates import Estimates
from runelift.runtime.records.pruning import Evidence, Source, verdict

HEARTBEAT_SECONDS = 0.05
"""The least seconds between two signs of life of a run."""
SizeClass: TypeAlias = tuple[str, tuple[int, ...], tuple[int, ...]]
"""A site, sizes on a logarithmic scale, and versions that can run."""


@dataclass(slots=True)
class RaceState:
    """The state of a race: times of versions after so many ``encounters`` of a size class.

    ``ratios`` are the times of versions relative to the best.  Later encounters count more.
    """

    encounters: int = 0
    ratios: dict[int, float] = field(default_factory=dict)

    @property
    def best(self) -> int:
        """The version that was the fastest."""
        return min(self.ratios, key=lambda version: self.ratios[version])

    @property
    def due(self) -> bool:
        """True if all versions are to run at the last encounter."""
        return self.encounters & (self.encounters - 1) == 0

    def saw(self, seconds: Mapping[int, float]) -> None:
        """Take the times of all versions at the last encounter."""
        least = max(min(seconds.values()), 1e-12)
        now = {version: max(each, 1e-12) / least for version, each in seconds.items()}
        self.ratios = now if self.encounters == 1 else {
            version: math.sqrt(ratio * self.ratios.get(version, ratio))
            for version, ratio in now.items()}

    def presume(self, ratios: Mapping[int, float]) -> None:
        """Take expected times, relative to the best, of versions that have not run."""
        self.ratios = {**ratios, **self.ratios}

    def left(self, factor: float) -> set[int]:
        """The versions that are still in the race."""
        return {version for version in self.ratios if self.behind(version) <= factor}

    def behind(self, version: int) -> float:
        """The time of a version relative to the best."""
        return self.ratios[version] / self.ratios[self.best]


def _ignore(version: str | None, quickest: float | None, par: int | None) -> None:
    """Ignore attempts: the watch of a race without one."""


@dataclass(slots=True)
class Race:
    """The rules of a race, and its state, which is kept from run to run.

    A version may take ``factor`` times as long as the best.  All run in so many ``rounds`` at the
    first encounter of a size class, as long as that takes less than ``patience`` seconds.  After
    ``deadline`` (by :func:`time.perf_counter`) only the best one runs.  In a run that is
    ``repeated`` no version comes back, as it repeats the encounters of the run before.

    ``banned`` are versions (``site/index``) with wrong results, and the reasons.  ``stopped`` are
    versions that were not over in time, or will not be by the ``estimates``.  Estimates are for
    sites with one encounter in a run (``single``).

    ``watch`` is called before the first attempt of a version in a size class.  It is given the
    version, the seconds of the quickest so far, and the value that its guard compares with.
    After the attempt it is given None, and now and then a sign of life.
    """

    factor: float = 3.0
    rounds: int = 5
    patience: float = 1.0
    banned: dict[str, str] = field(default_factory=dict)
    stopped: dict[str, str] = field(default_factory=dict)
    estimates: Estimates = field(default_factory=Estimates)
    single: frozenset[str] = frozenset()
    deadline: float = math.inf
    repeated: bool = False
    watch: Callable[[str | None, float | None, int | None], None] = _ignore
    _states: dict[SizeClass, RaceState] = field(default_factory=dict)
    _beat: float = 0.0

    @property
    def late(self) -> bool:
        """True after the deadline of measuring."""
        return time.perf_counter() > self.deadline

    def excludes(self, version: str) -> bool:
        """Tell if a version (``site/index``) must not run."""
        return version in self.banned or version in self.stopped

    def stop(self, version: str, why: str, par: int | None, seconds: float, best: float | None
             ) -> None:
        """Exclude a version that was not over after so many seconds; the best one took less."""
        self.stopped[version] = why
        if par is not None and best is not None and seconds:
            self.estimates.saw(version, par, seconds, best, stopped=True)

    def beat(self) -> None:
        """Give a sign of life."""
        if (now := time.perf_counter()) > self._beat + HEARTBEAT_SECONDS:
            self._beat = now
            self.watch("", None, None)

    def take(self, other: Race) -> None:
        """Take over the findings of a copy of this race that ran elsewhere."""
        self.banned.update(other.banned)
        self.stopped.update(other.stopped)
        self.estimates.take(other.estimates)
        self._states = other._states

    def state(self, site: str, par: Sequence[int], versions: Sequence[int]) -> RaceState:
        """The state of the race in the size class of an encounter."""
        return self._states.setdefault(self._size_class(site, par, versions), RaceState())

    def far_behind(self, site: str, par: Sequence[int], versions: Sequence[int]
                   ) -> dict[int, float]:
        """Versions to skip in a new size class, with their times relative to the best."""
        policy = self.estimates.policy
        reach = policy.similar_doublings * policy.size_steps
        _, scale, same = self._size_class(site, par, versions)
        near = sorted(((distance, state) for (other, at, able), state in self._states.items()
                       if other == site and able == same and at != scale and state.ratios
                       and (distance := _apart(at, scale)) <= reach), key=lambda each: each[0])[:2]
        if len(near) < 2 or math.isinf(self.factor):
            return {}
        least = {k: min(state.behind(k) for _, state in near) for k in versions
                 if all(k in state.ratios for _, state in near)}
        return {k: ratio for k, ratio in least.items()
                if not verdict(Evidence(Source.SIMILAR_SIZES, ratio), policy).keeps}

    def _size_class(self, site: str, par: Sequence[int], versions: Sequence[int]) -> SizeClass:
        steps = self.estimates.policy.size_steps
        scale = tuple(round(steps * math.log2(value)) if value > 0 else -1 for value in par)
        return site, scale, tuple(sorted(versions))


def _apart(one: Sequence[int], other: Sequence[int]) -> int:
    """The greatest difference between sizes, on the logarithmic scale of size classes."""
    return max((abs(a - b) for a, b in zip(one, other, strict=True)), default=0)


def rotated(versions: Sequence[int], by: int) -> Iterator[int]:
    """The versions in an order that puts each of them first in turn."""
    for place in range(len(versions)):
        yield versions[(place + by) % len(versions)]
