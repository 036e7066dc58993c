"""Records of a run with replayed versions, and the records of forced runs made from them.

At an *encounter* several versions make *attempts*.  Device commands and the host's time belong to
the innermost attempt that is under way.  Versions do not depend on each other, so a run that
forces some of them costs the sum of their attempts.  One replayed run thus gives a record for each
forced plan (:func:`runelift.runtime.versions.forest.plans`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from typing import Any, TypeAlias

from runelift.runtime.records.record import Encounter, Record
from runelift.runtime.records.recorder import Command, Recorder, lone_seconds
from runelift.runtime.records.statistics import median

EncounterKey: TypeAlias = tuple[str, int, tuple[tuple[str, int], ...]]
"""An encounter within a version: its site, its number at this site, and its sizes."""


class OutOfReplayMemory(Exception):
    """Replay needs more memory than the device has."""


class UnknownCost(Exception):
    """A run with these versions would give wrong results, or its cost is not known."""


@dataclass(slots=True)
class ExclusiveCost:
    """The cost of an attempt without the encounters inside of it (seconds, as in a record)."""

    time: float = 0.0
    busy: float = 0.0
    gap: float = 0.0
    issue: float = 0.0
    launches: int = 0
    waits: int = 0
    lone_seconds: float = 0.0

    @property
    def seconds(self) -> float:
        """The time of the attempt if host and device work at the same time."""
        return max(self.time - self.gap, self.issue)

    def scaled(self, factor: float) -> ExclusiveCost:
        """The cost with ``factor`` times the seconds."""
        return ExclusiveCost(factor * self.time, factor * self.busy, factor * self.gap,
                             factor * self.issue, self.launches, self.waits,
                             factor * self.lone_seconds)


_parts = attrgetter(*(each.name for each in fields(ExclusiveCost)))


def total(spent: Sequence[ExclusiveCost]) -> ExclusiveCost:
    """The sum of each part of some costs."""
    return ExclusiveCost(*map(sum, zip(*map(_parts, spent), strict=True)))


def typical(spent: Sequence[ExclusiveCost]) -> ExclusiveCost:
    """The median of each part, of repeated attempts."""
    middle: list[Any] = [median(each) for each in zip(*map(_parts, spent), strict=True)]
    return replace(ExclusiveCost(*middle), launches=spent[-1].launches, waits=spent[-1].waits)


@dataclass(slots=True)
class ReplayedEncounter:
    """An encounter at which versions were replayed.

    ``default`` is the version that runs without tuning.  ``attempts`` are the costs of each
    version, and ``inside`` the encounters in it.  A version with one of ``ratios`` was not run.  It
    takes about so many times as long as version ``rival``.
    """

    site: str
    sizes: dict[str, int]
    par: dict[str, int]
    scarce: tuple[str, ...]
    default: int
    feasible: list[int]
    attempts: dict[int, list[ExclusiveCost]] = field(default_factory=dict)
    inside: dict[int, dict[EncounterKey, ReplayedEncounter]] = field(default_factory=dict)
    ratios: dict[int, float] = field(default_factory=dict)
    rival: int = 0

    def own(self, version: int) -> ExclusiveCost:
        """The cost of a version without the encounters inside of it."""
        if version in self.attempts:
            return typical(self.attempts[version])
        return self.cost(self.rival).scaled(self.ratios[version])

    def cost(self, version: int) -> ExclusiveCost:
        """The cost of a version if the best versions run inside of it."""
        return total([self.own(version), *(
            min(map(inner.cost, inner.known()), key=lambda spent: spent.seconds)
            for inner in self.within(version))])

    def quickest(self, version: int) -> float:
        """The seconds of a version's quickest attempt, as chance only makes attempts slow."""
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
        """Exclude a version that cannot run here."""
        self.feasible.remove(version)
        self.attempts.pop(version, None)
        self.inside.pop(version, None)


class Ledger(Recorder):
    """Assigns device commands and the host's time to the attempts that they belong to."""

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
        """The number of attempts so far."""
        return self.begun

    @property
    def waits(self) -> int:
        """The number of times that the host has waited for the device."""
        return self._waits

    def command(self, event: Any, *, launch: bool = False, lone_items: float = 0.0) -> None:
        """Note that a device command was issued."""
        super().command(event, launch=launch, lone_items=lone_items)
        self._owners.append(self._stack[-1])
        self._stack[-1].launches += launch

    def waited(self) -> None:
        """Note that the host waited until the device had done all commands."""
        super().waited()
        self._stack[-1].waits += 1

    def begin(self) -> ExclusiveCost:
        """Begin an attempt, which all commands from here on belong to."""
        self.begun += 1
        self._assign()
        self._stack.append(ExclusiveCost())
        return self._stack[-1]

    def finish(self) -> None:
        """End the innermost attempt, whose commands have been issued."""
        self._assign()
        self._stack.pop()

    def abandon(self) -> None:
        """End the innermost attempt, whose version could not run."""
        self.finish()

    @contextmanager
    def untimed(self) -> Iterator[None]:
        """Assign no attempt the commands that are issued meanwhile."""
        self._assign()
        self._stack.append(ExclusiveCost())
        try:
            yield
        finally:
            self.finish()

    def _assign(self) -> None:
        """Assign the host's time since the last call to the innermost attempt."""
        now = time.perf_counter()
        self._stack[-1].issue += now - self._clock
        self._clock = now

    def settle(self) -> None:
        """Assign the times of commands, all of which the device has finished."""
        for command, owner in zip(self.commands(self._settled), self._owners[self._settled:],
                                  strict=True):
            before = self._last.end if self._last is not None else command.start
            owner.time += (command.end - before) * 1e-9
            owner.busy += (command.end - command.start) * 1e-9
            owner.lone_seconds += lone_seconds([command])
            if command.queued > before:
                owner.gap += max(0, command.start - before) * 1e-9
            self._last = command
        self._settled = len(self._owners)


@dataclass(frozen=True, slots=True)
class ReplayRecord:
    """A run with replayed versions: its outermost encounters, and the ``rest`` of its cost.

    ``banned`` are the versions whose results differ from the results of other versions, and the
    reasons.
    """

    entry: str
    rest: ExclusiveCost
    outermost: tuple[ReplayedEncounter, ...]
    peak_bytes: int
    device: str
    infeasible: dict[str, str]
    banned: dict[str, str]

    def record(self, force: Mapping[str, int] | None) -> Record:
        """The record of a run that forces versions, or (None) of a run without tuning.

        :class:`UnknownCost` if one of its versions gives wrong results or was not run.
        """
        records: list[Encounter] = []

        def choose(encounter: ReplayedEncounter) -> int:
            if force is None or encounter.site not in force:
                return encounter.default if encounter.default in encounter.feasible else (
                    encounter.feasible[-1])
            return next((k for k in encounter.feasible if k >= force[encounter.site]),
                        encounter.feasible[-1])

        spent = total([self.rest, *(_unroll(encounter, None, choose, records)
                                    for encounter in self.outermost)])
        return Record(self.entry, tuple(records), span=spent.time, busy=spent.busy,
                      wall=spent.time, host=spent.gap, launches=spent.launches,
                      peak_bytes=self.peak_bytes, device=self.device,
                      infeasible=dict(self.infeasible), issue=spent.issue, waits=spent.waits)


def _unroll(encounter: ReplayedEncounter, parent: int | None,
            choose: Callable[[ReplayedEncounter], int],
            records: list[Encounter]) -> ExclusiveCost:
    """Append the encounter with the chosen version, and its nested encounters.

    Return their total cost.
    """
    version, number = choose(encounter), len(records)
    if version not in encounter.known():
        raise UnknownCost(f"{encounter.site}/{version}")
    records.append(Encounter(
        encounter.site, number, parent, encounter.sizes, encounter.par, tuple(encounter.feasible),
        version, 0.0, 0.0, 0.0, 0, encounter.scarce, censored=version not in encounter.attempts))
    spent = total([encounter.own(version), *(_unroll(inner, number, choose, records)
                                             for inner in encounter.within(version))])
    records[number] = records[number]._replace(
        time=spent.time, busy=spent.busy, gap=spent.gap, launches=spent.launches, issue=spent.issue)
    return spent
