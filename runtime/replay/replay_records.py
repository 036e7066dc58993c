"""What a run with replayed versions found out, and the records that forced runs would have made.

At an *encounter* several versions make *attempts*.  Device commands and the host's time belong to
the innermost attempt that is under way.  As versions do not know of each other, a run that forces
some of them costs the sum of their attempts: so one replayed run is as many records as there are
plans (:func:`runelift.runtime.versions.forest.plans`), and all that works on those works on these.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from runelift.runtime.records.record import Encounter, Record
from runelift.runtime.records.recorder import Command, Recorder, occupied
from runelift.runtime.records.statistics import median

Key: TypeAlias = tuple[str, int, tuple[tuple[str, int], ...]]
"""An encounter within a version: its site, which of those there, and its sizes."""


class OutOfReplayMemory(Exception):
    """Replaying needs more memory than there is."""


class UnknownCost(Exception):
    """A run with these versions would give wrong results, or what it would cost is not known."""


@dataclass(slots=True)
class ExclusiveCost:
    """What an attempt cost, without the encounters inside of it (seconds, as in a record)."""

    time: float = 0.0
    busy: float = 0.0
    gap: float = 0.0
    issue: float = 0.0
    launches: int = 0
    waits: int = 0
    crowd: float = 0.0

    @property
    def seconds(self) -> float:
        """How long it takes if host and device work at the same time."""
        return max(self.time - self.gap, self.issue)

    def scaled(self, factor: float) -> ExclusiveCost:
        """``factor`` times as much."""
        return ExclusiveCost(factor * self.time, factor * self.busy, factor * self.gap,
                             factor * self.issue, self.launches, self.waits, factor * self.crowd)


def total(spent: Sequence[ExclusiveCost]) -> ExclusiveCost:
    """The sum of all parts."""
    return ExclusiveCost(sum(each.time for each in spent), sum(each.busy for each in spent),
                         sum(each.gap for each in spent), sum(each.issue for each in spent),
                         sum(each.launches for each in spent), sum(each.waits for each in spent),
                         sum(each.crowd for each in spent))


def typical(spent: Sequence[ExclusiveCost]) -> ExclusiveCost:
    """The median of each part, of repeated attempts."""
    return ExclusiveCost(median([each.time for each in spent]),
                         median([each.busy for each in spent]),
                         median([each.gap for each in spent]),
                         median([each.issue for each in spent]),
                         spent[-1].launches, spent[-1].waits,
                         median([each.crowd for each in spent]))


@dataclass(slots=True)
class ReplayedEncounter:
    """An encounter at which versions were replayed.

    ``default`` is the version that runs without tuning.  ``attempts`` are those of each version,
    and ``inside`` the encounters in it.  A version with one of ``ratios`` was not run: it takes
    about so many times as long as version ``rival``.
    """

    site: str
    sizes: dict[str, int]
    par: dict[str, int]
    scarce: tuple[str, ...]
    default: int
    feasible: list[int]
    attempts: dict[int, list[ExclusiveCost]] = field(default_factory=dict)
    inside: dict[int, dict[Key, ReplayedEncounter]] = field(default_factory=dict)
    ratios: dict[int, float] = field(default_factory=dict)
    rival: int = 0

    def own(self, version: int) -> ExclusiveCost:
        """What a version costs without the encounters inside of it."""
        if version in self.attempts:
            return typical(self.attempts[version])
        return self.cost(self.rival).scaled(self.ratios[version])

    def cost(self, version: int) -> ExclusiveCost:
        """What a version costs, if the best versions run inside of it."""
        return total([self.own(version), *(
            min(map(inner.cost, inner.known()), key=lambda spent: spent.seconds)
            for inner in self.within(version))])

    def quickest(self, version: int) -> float:
        """The seconds of a version's quickest attempt; what makes attempts slow may be chance."""
        return min(spent.seconds for spent in self.attempts[version]) + sum(
            min(inner.cost(k).seconds for k in inner.known()) for inner in self.within(version))

    def known(self) -> list[int]:
        """The versions whose cost is known, or estimated."""
        return [version for version in self.feasible
                if version in self.attempts or version in self.ratios]

    def within(self, version: int) -> list[ReplayedEncounter]:
        """The encounters inside of a version."""
        return [inner for inner in self.inside.get(version, {}).values() if inner.known()]

    def fail(self, version: int) -> None:
        """A version cannot run here."""
        self.feasible.remove(version)
        self.attempts.pop(version, None)
        self.inside.pop(version, None)


class Ledger(Recorder):
    """Books device commands and the host's time on the attempt that they belong to."""

    def __init__(self) -> None:
        super().__init__()
        self.rest = ExclusiveCost()
        self.begun = 0
        self._owners: list[ExclusiveCost] = []
        self._stack = [self.rest]
        self._clock = time.perf_counter()
        self._settled = 0
        self._last: Command | None = None

    @property
    def encounters(self) -> int:
        """How many attempts have been made so far."""
        return self.begun

    @property
    def waits(self) -> int:
        """How often the host has waited for what the device computed."""
        return self._waits

    def command(self, event: Any, *, launch: bool = False, crowd: float = 0.0) -> None:
        """A device command was issued."""
        super().command(event, launch=launch, crowd=crowd)
        self._owners.append(self._stack[-1])
        self._stack[-1].launches += launch

    def waited(self) -> None:
        """The host waited until the device had done all that was issued."""
        super().waited()
        self._stack[-1].waits += 1

    def begin(self) -> ExclusiveCost:
        """What is issued from here on belongs to a new attempt."""
        self.begun += 1
        self._book()
        self._stack.append(ExclusiveCost())
        return self._stack[-1]

    def finish(self) -> None:
        """The innermost attempt is issued."""
        self._book()
        self._stack.pop()

    def abandon(self) -> None:
        """The innermost attempt could not be issued."""
        self.finish()

    @contextmanager
    def untimed(self) -> Iterator[None]:
        """What is issued meanwhile is no attempt's."""
        self._book()
        self._stack.append(ExclusiveCost())
        try:
            yield
        finally:
            self.finish()

    def _book(self) -> None:
        now = time.perf_counter()
        self._stack[-1].issue += now - self._clock
        self._clock = now

    def settle(self) -> None:
        """Book the times of commands, all of which the device has finished."""
        for command, owner in zip(self.commands(self._settled), self._owners[self._settled:],
                                  strict=True):
            before = self._last.end if self._last is not None else command.start
            owner.time += (command.end - before) * 1e-9
            owner.busy += (command.end - command.start) * 1e-9
            owner.crowd += occupied([command])
            if command.queued > before:
                owner.gap += max(0, command.start - before) * 1e-9
            self._last = command
        self._settled = len(self._owners)


@dataclass(frozen=True, slots=True)
class ReplayRecord:
    """A run with replayed versions: what lay outside of encounters, and the outermost of these.

    ``banned`` are the versions that turned out not to compute what others do, and why.
    """

    entry: str
    rest: ExclusiveCost
    meetings: tuple[ReplayedEncounter, ...]
    peak_bytes: int
    device: str
    infeasible: dict[str, str]
    banned: dict[str, str]

    def record(self, force: Mapping[str, int] | None) -> Record:
        """The record of a run that forces versions, or (None) runs what it would untuned.

        :class:`UnknownCost` if such a run must not, or cannot, be put together.
        """
        encounters: list[Encounter] = []

        def choose(meeting: ReplayedEncounter) -> int:
            if force is None or meeting.site not in force:
                return meeting.default if meeting.default in meeting.feasible else (
                    meeting.feasible[-1])
            return next((k for k in meeting.feasible if k >= force[meeting.site]),
                        meeting.feasible[-1])

        spent = total([self.rest, *(_unroll(meeting, None, choose, encounters)
                                    for meeting in self.meetings)])
        return Record(self.entry, tuple(encounters), span=spent.time, busy=spent.busy,
                      wall=spent.time, host=spent.gap, launches=spent.launches,
                      peak_bytes=self.peak_bytes, device=self.device,
                      infeasible=dict(self.infeasible), issue=spent.issue, waits=spent.waits)


def _unroll(meeting: ReplayedEncounter, parent: int | None,
            choose: Callable[[ReplayedEncounter], int],
            encounters: list[Encounter]) -> ExclusiveCost:
    """Append the encounter with the version that is chosen, and those inside; what it costs."""
    version, number = choose(meeting), len(encounters)
    if version not in meeting.known():
        raise UnknownCost(f"{meeting.site}/{version}")
    encounters.append(Encounter(
        meeting.site, number, parent, meeting.sizes, meeting.par, tuple(meeting.feasible),
        version, 0.0, 0.0, 0.0, 0, scarce=meeting.scarce))
    spent = total([meeting.own(version), *(_unroll(inner, number, choose, encounters)
                                           for inner in meeting.within(version))])
    encounters[number] = Encounter(
        meeting.site, number, parent, meeting.sizes, meeting.par, tuple(meeting.feasible),
        version, spent.time, spent.busy, spent.gap, spent.launches, meeting.scarce, spent.issue,
        censored=version not in meeting.attempts)
    return spent
