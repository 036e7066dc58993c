"""What versions with little parallelism will take on datasets on which they have not been run.

A version that gives each of ``par`` points to one work-item takes as long as the work of one point,
whatever else is idle: the whole work, by ``par``.  The whole work is about as many times as much
as on another dataset as there are work-items in the runs that use all parallelism.
"""

from __future__ import annotations

from dataclasses import dataclass, field

HOPELESS = 20.0
"""A version that should take so many times as long as the best is not run: where the estimate is
wrong by a factor of two, it is still far behind."""

SHORT = 0.5
"""What takes fewer seconds is run whatever it promises."""


@dataclass(slots=True)
class Outlook:
    """How many seconds a unit of work at one point takes, by version.

    The least that was seen counts, since chance makes runs slow only, but not less than a version
    had when it was stopped.  ``work`` is the whole work of the dataset at hand, in work-items;
    None if it is not known.
    """

    work: int | None = None
    _rates: dict[str, float] = field(default_factory=dict)

    @property
    def blank(self) -> bool:
        """Whether no version has been seen."""
        return not self._rates

    def saw(self, version: str, par: int, seconds: float, *, stopped: bool = False) -> None:
        """A version took so long, or was stopped then."""
        if self.work and par > 0:
            rate = seconds * par / self.work
            better = max if stopped else min
            self._rates[version] = better(rate, self._rates.get(version, rate))

    def seconds(self, version: str, par: int) -> float:
        """What the version will take on the dataset at hand; 0 if nobody knows."""
        if not self.work or par <= 0:
            return 0.0
        return self._rates.get(version, 0.0) * self.work / par

    def hopeless(self, version: str, par: int, best: float) -> str | None:
        """Why a version need not be run beside one that takes ``best`` seconds, if so."""
        seconds = self.seconds(version, par)
        if seconds <= max(SHORT, HOPELESS * best):
            return None
        return f"left out: would take about {seconds:.2g} s, by what it took on other datasets"

    def take(self, other: Outlook) -> None:
        """Know what a copy has seen."""
        self._rates.update(other._rates)
