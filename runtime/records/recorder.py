"""Recording: from the device commands of a run to the times of its encounters.

Nothing waits for the device while the program runs.  The recorder keeps the event of each command,
and the range of commands of each encounter.  Times are read when the run is over.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from runelift.runtime.records.loop_sampling import (
    LoopSample,
    RecordPosition,
    are_alike,
    with_all_commands,
    with_all_encounters,
)
from runelift.runtime.records.record import Encounter, Record

LAUNCH_NANOSECONDS = 4_000
"""The nanoseconds that a kernel takes without any work-items."""


class Command(NamedTuple):
    """The times at which a device command was queued, started and ended (nanoseconds).

    ``lone_items`` is the speedup of its work-items over one that does all of their work
    (:func:`~runelift.runtime.records.record.lone_items`); 0 if it is not known.
    """

    queued: int
    start: int
    end: int
    lone_items: float = 0.0


class EncounterKind(NamedTuple):
    """The properties that encounters of a site share if they have the same sizes.

    All of their records share its dictionaries, which must not be changed.
    """

    site: str
    sizes: dict[str, int]
    par: dict[str, int]
    scarce: tuple[str, ...]


@dataclass(slots=True)
class OpenEncounter:
    """An encounter in a run under way, with its commands from ``first`` to before ``last``."""

    kind: EncounterKind
    parent: int | None
    feasible: tuple[int, ...]
    chosen: int
    first: int
    launched: int
    started: float
    last: int = 0
    launches: int = 0
    issue: float = 0.0


class Recorder:
    """The commands and encounters of one run, in order."""

    def __init__(self) -> None:
        self._events: list[tuple[Any, float]] = []
        self._launches = 0
        self._encounters: list[OpenEncounter] = []
        self._open: list[int] = []
        self._waits = 0
        self._samples: list[LoopSample] = []

    @property
    def encounters(self) -> int:
        """The number of encounters so far."""
        return len(self._encounters)

    def command(self, event: Any, *, launch: bool = False, lone_items: float = 0.0) -> None:
        """Note that a device command was issued (:class:`Command`)."""
        self._events.append((event, lone_items))
        self._launches += launch

    @property
    def issued(self) -> int:
        """The number of commands that have been issued."""
        return len(self._events)

    def taken_back(self, first: int) -> list[Command]:
        """Remove the launches from command ``first`` on, and return their times.

        This waits until they are over.
        """
        events = self._events[first:]
        if events:
            events[-1][0].wait()
        del self._events[first:]
        self._launches -= len(events)
        return _times(events)

    def waited(self) -> None:
        """Note that the host waited until the device had finished all commands."""
        self._waits += 1

    def enter(self, kind: EncounterKind, feasible: tuple[int, ...], chosen: int) -> None:
        """Begin an encounter, with the version that is about to run."""
        parent = self._open[-1] if self._open else None
        self._open.append(len(self._encounters))
        self._encounters.append(OpenEncounter(kind, parent, feasible, chosen, len(self._events),
                                              self._launches, time.perf_counter()))

    def leave(self) -> None:
        """End the innermost encounter: all of its commands have been issued."""
        encounter = self._encounters[self._open.pop()]
        encounter.last = len(self._events)
        encounter.launches = self._launches - encounter.launched
        encounter.issue = time.perf_counter() - encounter.started

    @property
    def closed(self) -> Sequence[OpenEncounter]:
        """The encounters so far, each with the range of its commands."""
        return tuple(self._encounters)

    def abandon(self) -> None:
        """Remove the innermost encounter, whose version could not run."""
        del self._encounters[self._open.pop():]

    @property
    def place(self) -> RecordPosition:
        """The length of the record so far."""
        return RecordPosition(len(self._events), self._launches, len(self._encounters),
                              time.perf_counter())

    def stand_for(self, first: RecordPosition, count: int, left: int) -> bool:
        """Have ``count`` iterations since a position stand for ``left`` further iterations.

        The result is False, and nothing is done, if the iterations differ.
        """
        last = self.place
        alike = are_alike(self._encounters[first.encounters:], last.commands - first.commands,
                          count)
        if alike:
            self._samples.append(LoopSample(first, last, count, left, tuple(self._open)))
        return alike

    def commands(self, first: int = 0) -> list[Command]:
        """The times of all commands from one on; the queue must have finished."""
        return _times(self._events[first:])

    def record(self, entry: str, *, wall: float, issue: float, peak_bytes: int, device: str,
               infeasible: Mapping[str, str]) -> Record:
        """The record of the run, with the iterations for which samples stand."""
        commands = with_all_commands(self.commands(), self._samples)
        gaps = host_gaps(commands)
        spent = _Spent(commands, gaps)
        further = sum(sample.seconds for sample in self._samples)
        return Record(
            entry, tuple(spent.encounter(number, opened) for number, opened in enumerate(
                with_all_encounters(self._encounters, self._samples))),
            span=telescoped(commands, 0, len(commands)), busy=busy(commands),
            wall=wall + further, host=sum(gaps) * 1e-9,
            launches=self._launches + sum(sample.launches for sample in self._samples),
            peak_bytes=peak_bytes, device=device, infeasible=dict(infeasible),
            issue=issue + further, waits=self._waits,
            skipped=sum(sample.left for sample in self._samples))


class _Spent:
    """Prefix sums of the times of commands, as nested encounters share commands."""

    def __init__(self, commands: Sequence[Command], gaps: Sequence[int]) -> None:
        self._commands = commands
        self._busy = _sums(c.end - c.start for c in commands)
        self._gaps = _sums(gaps)
        self._lone = _sums(_lone_nanoseconds(c) for c in commands)

    def encounter(self, number: int, opened: OpenEncounter) -> Encounter:
        (site, sizes, par, scarce), first, last = opened.kind, opened.first, opened.last
        return Encounter(
            site, number, opened.parent, sizes, par, opened.feasible, opened.chosen,
            telescoped(self._commands, first, last),
            (self._busy[last] - self._busy[first]) * 1e-9,
            (self._gaps[last] - self._gaps[first]) * 1e-9, opened.launches, scarce, opened.issue,
            False, (self._lone[last] - self._lone[first]) * 1e-9)


def _sums(values: Iterable[float]) -> list[float]:
    """The prefix sums of values, with 0 as the first."""
    return [0, *accumulate(values)]


def _times(events: Sequence[tuple[Any, float]]) -> list[Command]:
    if not events:
        return []
    # late: start-up; the tuner reads records, and opens no device
    import pyopencl as cl

    info = cl.profiling_info
    return [Command(e.get_profiling_info(info.QUEUED), e.get_profiling_info(info.START),
                    e.get_profiling_info(info.END), lone_items)
            for e, lone_items in events]


def telescoped(commands: Sequence[Command], first: int, last: int) -> float:
    """The seconds from the end of the command before ``first`` to the end of the last one."""
    if first >= last:
        return 0.0
    before = commands[first - 1].end if first else commands[0].start
    return (commands[last - 1].end - before) * 1e-9


def busy(commands: Sequence[Command]) -> float:
    """The seconds in which the commands ran."""
    return sum(c.end - c.start for c in commands) * 1e-9


def lone_seconds(commands: Sequence[Command]) -> float:
    """The least seconds of one work-item for the work of these commands."""
    return sum(map(_lone_nanoseconds, commands)) * 1e-9


def _lone_nanoseconds(command: Command) -> float:
    """The least nanoseconds of one work-item for the work of a command."""
    return max(0, command.end - command.start - LAUNCH_NANOSECONDS) * command.lone_items


def host_gaps(commands: Sequence[Command]) -> list[int]:
    """The nanoseconds before each command in which the device waited for the host."""
    gaps = [0] if commands else []
    for before, command in pairwise(commands):
        late = command.queued > before.end
        gaps.append(max(0, command.start - before.end) if late else 0)
    return gaps
