"""Records: the cost of each choice in a run.

An **encounter** is one execution of a :class:`runelift.codegen.plan.plan.Choose` step.  Its time is
*telescoped*: the end of its last device command minus the end of the last command before it.
Commands run in order.  So the times of encounters, and the times between them, add up to the time
of the run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from runelift.runtime.displayed import Displayed
from runelift.runtime.records.format import show_seconds

LONE_ITEM_SPEEDUP = 32.0
"""The most that a work-item gains by having the device for itself.

Its instructions and its accesses wait for no other work-item.
"""
EXTRA_WORK = 4.0
"""The most work that a version with more work-items does, relative to one with fewer."""


def lone_items(items: int, most: int) -> float:
    """A lower bound of the speedup of ``items`` work-items over one that does all of their work.

    A device holds ``most`` work-items at once.

    >>> alone(1 << 20, 1 << 16), alone(4000, 1 << 16)
    (2048.0, 1000.0)
    """
    return min(items / EXTRA_WORK, most / LONE_ITEM_SPEEDUP)


class Timing(NamedTuple):
    """The seconds of a run, and the seconds until the host had issued all commands."""

    seconds: float
    issue: float


class Encounter(NamedTuple):
    """One execution of a choice between versions.  A run may have thousands.

    * ``number`` counts the run's encounters from 0.
    * ``parent`` is the number of the encounter in whose version this one happened, or None.
    * ``par`` maps the name of each guard of the site to the parallelism it was compared with.
    * ``feasible`` lists the versions that could have run; ``chosen`` is the one that did.
    * ``time`` is telescoped, ``busy`` the sum of kernel times, all times in seconds.
    * ``gap`` is the part of ``time`` that the device spent waiting for the host.
    * ``scarce`` are the guards that do not hold without tuning: a later version was predicted to
      take less time.
    * ``issue`` is the time that the host spent on issuing the encounter's commands.
    * ``censored``: the version was not run here, since it was much slower at similar encounters.
      Its times are estimates from these encounters.
    * ``crowd`` is the least time of one work-item for the work of all
      (:func:`lone_items`); 0 if it is not known.
    """

    site: str
    number: int
    parent: int | None
    sizes: dict[str, int]
    par: dict[str, int]
    feasible: tuple[int, ...]
    chosen: int
    time: float
    busy: float
    gap: float
    launches: int
    scarce: tuple[str, ...] = ()
    issue: float = 0.0
    censored: bool = False
    crowd: float = 0.0

    @property
    def device_time(self) -> float:
        """The part of ``time`` that does not depend on how fast the host is (seconds)."""
        return max(0.0, self.time - self.gap)


class _DeviceShares(NamedTuple):
    """The fractions of busy and idle device times that remain without the cost of recording.

    ``works`` is the fraction of busy times, ``waits`` the fraction of idle times.
    """

    works: float
    waits: float

    def time(self, busy: float, whole: float) -> float:
        """The ``whole`` time without recording; the device was ``busy`` for a part of it."""
        return self.works * busy + self.waits * max(0.0, whole - busy)


@dataclass(frozen=True, slots=True, repr=False)
class Record(Displayed):
    """The encounters of one run of an entry point, and its times (seconds).

    * ``span`` is the device time from the first to the last command.
    * ``wall`` is the host's time for the call.
    * ``host`` is the part of the span in which the device waited for the host.
    * ``issue`` is the host's time until all commands were issued.
    * ``waits`` counts how often the host waited for a value from the device.
    * ``skipped`` iterations of loops were not run; other iterations stand for them
      (:mod:`~runelift.runtime.records.loop_sampling`).
    """

    entry: str
    encounters: tuple[Encounter, ...]
    span: float
    busy: float
    wall: float
    host: float
    launches: int
    peak_bytes: int
    device: str
    infeasible: dict[str, str] = field(default_factory=dict)
    """Versions that failed to build or launch, ``site/index`` to the reason."""
    issue: float = 0.0
    waits: int = 0
    skipped: int = 0

    _looks = "records"

    def __repr__(self) -> str:
        return (f"<Record of '{self.entry}': {show_seconds(self.wall)}, launches: {self.launches}, "
                f"choices of versions: {len(self.encounters)}>")

    @property
    def path(self) -> tuple[tuple[str, int], ...]:
        """The versions that ran, by site, in order."""
        return tuple((each.site, each.chosen) for each in self.encounters)

    @property
    def device_time(self) -> float:
        """The part of ``span`` that does not depend on how fast the host is (seconds)."""
        return max(0.0, self.span - self.host)

    def shares(self, cost: float, seconds: float) -> _DeviceShares:
        """The parts of times that remain if the cost of recording is subtracted.

        Recording took ``cost`` seconds of the host while the device was idle.  So they are
        subtracted from idle times first, then from busy times in proportion.  A run without
        recording took so many ``seconds``: the cost may be noise, so busy times remain up to that.
        """
        idle = max(0.0, self.span - self.busy)
        waits = max(0.0, 1.0 - cost / idle) if idle else 0.0
        least = min(1.0, seconds / self.busy) if self.busy else 0.0
        works = max(least, 1.0 - max(0.0, cost - idle) / self.busy) if self.busy else 0.0
        return _DeviceShares(works, waits)
