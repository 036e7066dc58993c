"""Estimates of versions with little parallelism on inputs on which they have not been run.

There are two kinds of evidence.  Where another version keeps the device busy, a version with far
fewer work-items takes as many times as long.  A work-item gains by being alone on the device, and
by doing less, as nothing is stored between steps.

A version with one work-item for each of ``par`` points takes as long as the work of one point.  The
rest of the device may be idle.  That is the whole work, divided by ``par``, or by the number of
points that the device does at once if that is less.  The ratio of work of two inputs has two upper
bounds, of which the less counts.  One is the ratio of work-items in runs with all parallelism,
where each does a fixed part.  The other is the ratio of times of the best versions, where these
versions keep the device busy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from runelift.runtime.records.pruning import (
    NORMAL_PRUNING,
    Evidence,
    PruningPolicy,
    Source,
    verdict,
)


@dataclass(frozen=True, slots=True)
class _Observation:
    """A version took ``seconds``, or was stopped then; the ``best`` one took less."""

    par: int
    seconds: float
    best: float
    work: int
    stopped: bool

    def elsewhere(self, par: int, best: float, work: int, at_once: float) -> float:
        """The expected seconds for ``work``, on a device that takes ``at_once`` points at once."""
        fewer = min(self.par, at_once) / min(par, at_once)
        return self.seconds * fewer * min(work / self.work, best / self.best)


@dataclass(slots=True)
class Estimates:
    """Observations of versions, and estimates from these.

    The least time of a version counts, since chance only makes runs slow.  A version that was
    stopped takes at least as long as until then.  ``work`` is the number of work-items on the
    dataset at hand; None if it is not known.  ``lone_seconds`` are for each site the least seconds
    that one work-item would take for its work (``crowd`` of a
    :class:`~runelift.runtime.records.record.Encounter`).  The work of a work-item counts once for
    all that are ``at_once`` on the device.
    """

    work: int | None = None
    at_once: float = math.inf
    lone_seconds: dict[str, float] = field(default_factory=dict)
    policy: PruningPolicy = NORMAL_PRUNING
    _seen: dict[str, list[_Observation]] = field(default_factory=dict)

    def saw(self, version: str, par: int, seconds: float, best: float, *,
            stopped: bool = False) -> None:
        """Take the time of a version, or the time until it was stopped."""
        if self.work and par > 0 and 0 < best < math.inf:
            self._seen.setdefault(version, []).append(
                _Observation(par, seconds, best, self.work, stopped))

    def begin(self, work: int | None) -> None:
        """Go on to the next dataset."""
        self.work, self.lone_seconds = work, {}

    def saw_lone_seconds(self, site: str, seconds: float) -> None:
        """Take the seconds of one work-item for the work of a version of a site."""
        if seconds:
            self.lone_seconds[site] = min(seconds, self.lone_seconds.get(site, seconds))

    def lone_time(self, version: str, par: int) -> float:
        """The least seconds of ``par`` work-items, each of which is almost alone on its unit."""
        return self.lone_seconds.get(version.rpartition("/")[0], 0.0) / max(par, 1)

    def seconds(self, version: str, par: int, best: float) -> float:
        """The expected seconds of a version on the current dataset; 0 without evidence."""
        if not self.work or par <= 0 or math.isinf(best):
            return 0.0
        found = [(each.stopped, each.elsewhere(par, best, self.work, self.at_once))
                 for each in self._seen.get(version, ())]
        least = min((seconds for stopped, seconds in found if not stopped), default=0.0)
        return max((seconds for stopped, seconds in found if stopped), default=least)

    def hopeless(self, version: str, par: int, best: float) -> str | None:
        """The reason to skip a version if the best one takes ``best`` seconds; None to run it."""
        for evidence in (
                Evidence(Source.OTHER_INPUTS, self.seconds(version, par, best), best),
                Evidence(Source.FEW_ITEMS, self.lone_time(version, par), best, par)):
            if not (found := verdict(evidence, self.policy)).keeps:
                return found.why
        return None

    def take(self, other: Estimates) -> None:
        """Take over the observations of a copy."""
        self._seen = other._seen
