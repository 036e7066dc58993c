"""What versions with little parallelism will take on datasets on which they have not been run.

A version that gives each of ``par`` points to one work-item takes as long as the work of one point,
whatever else is idle: the whole work, by ``par``.  How many times as much work a dataset is as
another one is not known, but not more than either the work-items of runs that use all
parallelism say (where each does a fixed part) or the times of the best versions (where those keep
the device busy): the less of the two counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

HOPELESS = 20.0
"""A version that should take so many times as long as the best is not run: where the estimate is
wrong by a factor of two, it is still far behind."""

SHORT = 0.1
"""What takes fewer seconds is run whatever it promises."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A version took ``seconds``, or was stopped then; the ``best`` one took less."""

    par: int
    seconds: float
    best: float
    work: int
    stopped: bool

    def elsewhere(self, par: int, best: float, work: int) -> float:
        """What it will take where this is known."""
        return self.seconds * self.par / par * min(work / self.work, best / self.best)


@dataclass(slots=True)
class Outlook:
    """What has been seen of versions.

    The least that a version took counts, since chance makes runs slow only, but not less than a
    version had when it was stopped.  ``work`` is the number of work-items on the dataset at hand;
    None if it is not known.
    """

    work: int | None = None
    _seen: dict[str, list[Seen]] = field(default_factory=dict)

    @property
    def blank(self) -> bool:
        """Whether no version has been seen."""
        return not self._seen

    def saw(self, version: str, par: int, seconds: float, best: float, *,
            stopped: bool = False) -> None:
        """A version took so long, or was stopped then."""
        if self.work and par > 0 and 0 < best < math.inf:
            self._seen.setdefault(version, []).append(
                Seen(par, seconds, best, self.work, stopped))

    def seconds(self, version: str, par: int, best: float) -> float:
        """What the version will take on the dataset at hand; 0 if nobody knows."""
        if not self.work or par <= 0 or math.isinf(best):
            return 0.0
        found = [(each.stopped, each.elsewhere(par, best, self.work))
                 for each in self._seen.get(version, ())]
        least = min((seconds for stopped, seconds in found if not stopped), default=0.0)
        return max((seconds for stopped, seconds in found if stopped), default=least)

    def hopeless(self, version: str, par: int, best: float) -> str | None:
        """Why a version need not be run beside one that takes ``best`` seconds, if so."""
        seconds = self.seconds(version, par, best)
        if seconds <= max(SHORT, HOPELESS * best):
            return None
        return f"left out: would take about {seconds:.2g} s, by what it took on other datasets"

    def take(self, other: Outlook) -> None:
        """Know what a copy has seen."""
        self._seen = other._seen
