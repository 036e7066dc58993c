"""Recording: from the device commands of a run to the times of its encounters.

Nothing waits for the device while the program runs: the recorder keeps every command's event
and notes which commands belong to which encounter; times are read when the run is over.
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

LAUNCH = 4_000
"""How many nanoseconds of a kernel are not its work-items'."""


class Command(NamedTuple):
    """When a device command was queued, started and ended (nanoseconds).

    ``crowd`` work-items, each of them alone, would take as long
    (:func:`~runelift.runtime.records.estimates.alone`); 0 if that is not known.
    """

    queued: int
    start: int
    end: int
    crowd: float = 0.0


class EncounterKind(NamedTuple):
    """What encounters with the same sizes have in common, but for the version that runs.

    It stands in all of their records: who gets one must not change it.
    """

    site: str
    sizes: dict[str, int]
    par: dict[str, int]
    scarce: tuple[str, ...]


@dataclass(slots=True)
class OpenEncounter:
    """An encounter and the commands ``first`` up to ``last`` that belong to it."""

    situation: EncounterKind
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
    """What happens in one run, in order."""

    def __init__(self) -> None:
        self._events: list[tuple[Any, float]] = []
        self._launches = 0
        self._encounters: list[OpenEncounter] = []
        self._open: list[int] = []
        self._waits = 0
        self._samples: list[LoopSample] = []

    @property
    def encounters(self) -> int:
        """How many versions have been run so far."""
        return len(self._encounters)

    def command(self, event: Any, *, launch: bool = False, crowd: float = 0.0) -> None:
        """A device command was issued, which a crowd of work-items does."""
        self._events.append((event, crowd))
        self._launches += launch

    @property
    def issued(self) -> int:
        """How many commands have been issued."""
        return len(self._events)

    def taken_back(self, first: int) -> list[Command]:
        """The commands from ``first`` on, which count as never issued; waits until they are over.

        All of them must be launches.
        """
        events = self._events[first:]
        if events:
            events[-1][0].wait()
        del self._events[first:]
        self._launches -= len(events)
        return _times(events)

    def waited(self) -> None:
        """The host waited until the device had done all that was issued."""
        self._waits += 1

    def enter(self, situation: EncounterKind, feasible: tuple[int, ...], chosen: int) -> None:
        """A version is about to run."""
        parent = self._open[-1] if self._open else None
        self._open.append(len(self._encounters))
        self._encounters.append(OpenEncounter(situation, parent, feasible, chosen,
                                              len(self._events),
                                      self._launches, time.perf_counter()))

    def leave(self) -> None:
        """All commands of the innermost encounter are issued."""
        encounter = self._encounters[self._open.pop()]
        encounter.last = len(self._events)
        encounter.launches = self._launches - encounter.launched
        encounter.issue = time.perf_counter() - encounter.started

    def abandon(self) -> None:
        """The version of the innermost encounter could not run: nothing was encountered."""
        del self._encounters[self._open.pop():]

    @property
    def place(self) -> RecordPosition:
        """Where the record stands."""
        return RecordPosition(len(self._events), self._launches, len(self._encounters),
                              time.perf_counter())

    def stand_for(self, first: RecordPosition, count: int, left: int) -> bool:
        """Have ``count`` iterations of a loop since a place stand for others that are ``left``.

        Not if they did not all do the same; the result is whether they do stand for these.
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
        """The record of the run, with what iterations would have done that others stand for."""
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
    """What commands took, summed up from the first one on: nested encounters share many."""

    def __init__(self, commands: Sequence[Command], gaps: Sequence[int]) -> None:
        self._commands = commands
        self._busy = _sums(c.end - c.start for c in commands)
        self._gaps = _sums(gaps)
        self._crowds = _sums(_crowded(c) for c in commands)

    def encounter(self, number: int, opened: OpenEncounter) -> Encounter:
        """An encounter whose commands are all over."""
        (site, sizes, par, scarce), first, last = opened.situation, opened.first, opened.last
        return Encounter(
            site, number, opened.parent, sizes, par, opened.feasible, opened.chosen,
            telescoped(self._commands, first, last),
            (self._busy[last] - self._busy[first]) * 1e-9,
            (self._gaps[last] - self._gaps[first]) * 1e-9, opened.launches, scarce, opened.issue,
            False, (self._crowds[last] - self._crowds[first]) * 1e-9)


def _sums(values: Iterable[float]) -> list[float]:
    """The sum of the first so many, for each number of them."""
    return [0, *accumulate(values)]


def _times(events: Sequence[tuple[Any, float]]) -> list[Command]:
    if not events:
        return []
    # late: start-up; the tuner reads records, and opens no device
    import pyopencl as cl

    info = cl.profiling_info
    return [Command(e.get_profiling_info(info.QUEUED), e.get_profiling_info(info.START),
                    e.get_profiling_info(info.END), crowd) for e, crowd in events]


def telescoped(commands: Sequence[Command], first: int, last: int) -> float:
    """The seconds from the end of the command before ``first`` to the end of the last one."""
    if first >= last:
        return 0.0
    before = commands[first - 1].end if first else commands[0].start
    return (commands[last - 1].end - before) * 1e-9


def busy(commands: Sequence[Command]) -> float:
    """The seconds in which the commands ran."""
    return sum(c.end - c.start for c in commands) * 1e-9


def occupied(commands: Sequence[Command]) -> float:
    """How many seconds one work-item would take at least for what crowds did."""
    return sum(map(_crowded, commands)) * 1e-9


def _crowded(command: Command) -> float:
    """The same of one command, in nanoseconds."""
    return max(0, command.end - command.start - LAUNCH) * command.crowd


def host_gaps(commands: Sequence[Command]) -> list[int]:
    """Before each command, how long the device had nothing to do because the host was late."""
    gaps = [0] if commands else []
    for before, command in pairwise(commands):
        late = command.queued > before.end
        gaps.append(max(0, command.start - before.end) if late else 0)
    return gaps
