"""What versions with little parallelism will take on datasets on which they have not been run.

Two things tell.  Where another version keeps a whole crowd of work-items busy, one with far fewer
needs as many times as long, but for what a work-item gains by being alone and by doing less
(nothing is stored between steps).

And a version that gives each of ``par`` points to one work-item takes as long as the work of one
point, whatever else is idle: the whole work, by ``par``, or by the points that the device does at
once, if those are fewer.  How many times as much work a dataset is
as another one is not known, but not more than either the work-items of runs that use all
parallelism say (where each does a fixed part) or the times of the best versions (where those keep
the device busy): the less of the two counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from runelift.runtime.records.pruning import NORMAL_PRUNING, PruningPolicy

LEFT_OUT = "skipped"
"""How it is said that a version was not run, as it seemed hopeless."""


@dataclass(frozen=True, slots=True)
class Observation:
    """A version took ``seconds``, or was stopped then; the ``best`` one took less."""

    par: int
    seconds: float
    best: float
    work: int
    stopped: bool

    def elsewhere(self, par: int, best: float, work: int, at_once: float) -> float:
        """What it will take where this is known, of a device that does so many points at once."""
        fewer = min(self.par, at_once) / min(par, at_once)
        return self.seconds * fewer * min(work / self.work, best / self.best)


@dataclass(slots=True)
class Estimates:
    """What has been seen of versions.

    The least that a version took counts, since chance makes runs slow only, but not less than a
    version had when it was stopped.  ``work`` is the number of work-items on the dataset at hand;
    None if it is not known.  ``crowds`` are the sites there, with how long one work-item would take
    at least for what is done at them (:class:`~runelift.runtime.records.record.Encounter`), by the
    least of all versions. What a work-item does counts once for all that are ``at_once`` on the
    device.
    """

    work: int | None = None
    at_once: float = math.inf
    crowds: dict[str, float] = field(default_factory=dict)
    policy: PruningPolicy = NORMAL_PRUNING
    _seen: dict[str, list[Observation]] = field(default_factory=dict)

    def saw(self, version: str, par: int, seconds: float, best: float, *,
            stopped: bool = False) -> None:
        """A version took so long, or was stopped then."""
        if self.work and par > 0 and 0 < best < math.inf:
            self._seen.setdefault(version, []).append(
                Observation(par, seconds, best, self.work, stopped))

    def begin(self, work: int | None) -> None:
        """The next dataset is at hand."""
        self.work, self.crowds = work, {}

    def saw_crowd(self, site: str, seconds: float) -> None:
        """For what a version of a site does, one work-item would take so many seconds."""
        if seconds:
            self.crowds[site] = min(seconds, self.crowds.get(site, seconds))

    def alone(self, version: str, par: int) -> float:
        """How long so few work-items take at least, each of which is almost alone."""
        return self.crowds.get(version.rpartition("/")[0], 0.0) / max(par, 1)

    def seconds(self, version: str, par: int, best: float) -> float:
        """What the version will take on the dataset at hand; 0 if nobody knows."""
        if not self.work or par <= 0 or math.isinf(best):
            return 0.0
        found = [(each.stopped, each.elsewhere(par, best, self.work, self.at_once))
                 for each in self._seen.get(version, ())]
        least = min((seconds for stopped, seconds in found if not stopped), default=0.0)
        return max((seconds for stopped, seconds in found if stopped), default=least)

    def hopeless(self, version: str, par: int, best: float) -> str | None:
        """Why a version need not be run beside one that takes ``best`` seconds, if so."""
        policy, least = self.policy, self.policy.estimate_factor * best
        if (seconds := self.seconds(version, par, best)) > max(policy.estimate_seconds, least):
            return f"{LEFT_OUT}: expected to take {seconds:.2g} s, judging by other datasets"
        if (seconds := self.alone(version, par)) > max(policy.few_items_seconds, least):
            return (f"{LEFT_OUT}: its {par:,} work-items are expected to take more than "
                    f"{seconds:.2g} s, judging by versions with more")
        return None

    def take(self, other: Estimates) -> None:
        """Know what a copy has seen."""
        self._seen = other._seen
