"""Records: what each choice cost.

An **encounter** is one execution of a :class:`runelift.codegen.plan.plan.Choose` step.  Its time is
*telescoped*: the end of its last device command minus the end of the last command before it,
on an in-order queue, so the times of a run's encounters and of what lies between them add up
to the span of the run without gap or overlap (DESIGN 3).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

ALONE = 32.0
"""How many times as fast as in a full device a work-item is at most that has it for itself: its
instructions and its accesses wait for no others."""
LESS = 4.0
"""How many times as much versions with more work-items do at most for the same."""


def alone(items: int, most: int) -> float:
    """How many work-items could at least do, each alone, in the same time what these do together.

    A device holds ``most`` of them; 0 if each is as fast as if it were alone.

    >>> alone(1 << 20, 1 << 16), alone(4000, 1 << 16)
    (2048.0, 1000.0)
    """
    return min(items / LESS, most / ALONE)


class Timing(NamedTuple):
    """The seconds that a run took, and how many of them until the host had issued all commands."""

    seconds: float
    issue: float


class Encounter(NamedTuple):
    """One execution of a ``Versions`` node.  A run may have thousands.

    ``number`` counts the run's encounters from 0; ``parent`` is the number of the encounter in
    whose version this one happened, or None.  ``par`` maps the name of each guard of the site
    to the parallelism it was compared with; ``feasible`` lists the indices of the versions that
    could have run, ``chosen`` the index of the one that did.  Times are in seconds: ``time``
    telescoped, ``busy`` the sum of kernel times, ``gap`` the part of ``time`` that the device
    spent waiting for the host.  ``scarce`` are the guards that do not hold without tuning, of
    intra versions and of outer versions beside them.  ``issue`` is the time that the host spent on
    issuing the encounter's commands.  ``censored``: the version was not run here, since it was much
    slower than others at encounters like this one; the times are what these suggest.  ``crowd``
    is how long one work-item would take at least for what all did
    (:func:`alone`; seconds, 0 if that is not known).
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


class DeviceShares(NamedTuple):
    """The parts of busy and of idle times that recording did not take."""

    works: float
    waits: float

    def time(self, busy: float, whole: float) -> float:
        """What is left of a time in which the device was busy for some of it."""
        return self.works * busy + self.waits * max(0.0, whole - busy)


@dataclass(frozen=True, slots=True)
class Record:
    """What one run of an entry point did and cost (seconds).

    ``span`` is the device time from the first to the last command, ``wall`` the host's time
    for the call, ``host`` the part of the span in which the device waited for the host,
    ``issue`` the host's time until all commands were issued.  ``waits`` counts how often the host
    waited for the device meanwhile, to read what it had computed.  ``skipped`` iterations of loops
    were not made: others, which launch the same, stand for them
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

    @property
    def path(self) -> tuple[tuple[str, int], ...]:
        """The versions that ran, by site, in order."""
        return tuple((each.site, each.chosen) for each in self.encounters)

    @property
    def device_time(self) -> float:
        """The part of ``span`` that does not depend on how fast the host is (seconds)."""
        return max(0.0, self.span - self.host)

    def shares(self, cost: float) -> DeviceShares:
        """What is left of times if recording had not cost ``cost`` seconds.

        They were spent on launches, while the device was idle: they are taken off idle times,
        and if those are shorter, off all device times alike.
        """
        idle = max(0.0, self.span - self.busy)
        waits = max(0.0, 1.0 - cost / idle) if idle else 0.0
        works = max(0.0, 1.0 - max(0.0, cost - idle) / self.busy) if self.busy else 0.0
        return DeviceShares(works, waits)

    def without_recording(self, cost: float) -> Record:
        """What the record would say if recording had not cost ``cost`` seconds."""
        left = self.shares(cost)
        encounters = tuple(e._replace(time=left.time(e.busy, e.time), busy=left.works * e.busy,
                                      gap=left.waits * e.gap) for e in self.encounters)
        return replace(self, encounters=encounters, span=left.time(self.busy, self.span),
                       busy=left.works * self.busy, host=left.waits * self.host,
                       wall=max(0.0, self.wall - cost))
