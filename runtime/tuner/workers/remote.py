"""A program that runs in a worker process, for the tuner: it can be stopped, and may crash.

A run that takes too long for its :class:`~runelift.runtime.tuner.measure.time_limits.TimeLimit`,
or that ends its process, is
:class:`~runelift.runtime.tuner.measure.time_limits.RunStopped`; the next request starts another
worker, which finds the kernels in the binary cache.  Where one run had to be stopped, others may
have to be: if the device is not the host's own processor, a spare worker is kept ready from then
on.
"""

from __future__ import annotations

import itertools
import time
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any

from runelift.ir.errors import CompilerBug, CompilerLimitation, RuneliftError, UserError
from runelift.runtime.data.outline import outline
from runelift.runtime.execution.sequential_runner import Both
from runelift.runtime.geometry.parameter_space import ParameterSpace
from runelift.runtime.host import interrupts
from runelift.runtime.host.channel import receive, send
from runelift.runtime.processes.build_pool import Builders, Source
from runelift.runtime.processes.process import Process
from runelift.runtime.program import Program
from runelift.runtime.records.record import Record, Timing
from runelift.runtime.replay.racing import Race
from runelift.runtime.replay.replay_records import ReplayRecord
from runelift.runtime.trials.protocol import OperationId, OperationTime, Search, Searches
from runelift.runtime.tuner.measure.time_limits import RunStopped, TimeLimit

BUILD = 300.0
"""After how many seconds a build (and other work before a run) is taken for one without an end."""
TICK = 0.05
"""How often to look for Ctrl-C while a worker is at work (seconds)."""


class PlacedArguments(Sequence[Any]):
    """Arguments that a worker has, and that the next one will be given."""

    numbers = itertools.count()

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = values
        self.number = next(self.numbers)
        self.quickest: float | None = None

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: Any) -> Any:
        return self.values[index]

    def took(self, seconds: float) -> None:
        """A run came to its end."""
        if self.quickest is None or seconds < self.quickest:
            self.quickest = seconds


class Remote:
    """A program in a worker: what the tuner needs of :class:`~runelift.runtime.program.Program`.

    ``device`` is the name that the user gave, ``worker`` one that has been started already;
    ``builders`` build kernels for it.
    """

    def __init__(self, program: Program, device: str | None = None, *,
                 limit: TimeLimit | None = None, worker: Process | None = None,
                 builders: Builders | None = None) -> None:
        self.program = program
        self.thresholds = dict(program.thresholds)
        self.limit = limit or TimeLimit()
        self.stops = 0
        self._device = device
        self._worker = worker
        self._builders = builders
        self._opened = False
        self._spare: Process | None = None
        self._left: list[Process] = []
        self.apart = program.device_info is not None and not program.device_info.is_host
        """Whether runs take none of the time of the host's own processor."""
        self._there: set[int] = set()
        self._gone: list[int] = []
        self._prepares = True

    # What the tuner asks for

    @property
    def builders(self) -> int:
        """How many programs are built at the same time."""
        return self._builders.count if self._builders is not None else self.program.builders

    def place(self, values: Sequence[Any]) -> PlacedArguments:
        """Arguments on the device."""
        placed = PlacedArguments(values)
        weakref.finalize(placed, self._gone.append, placed.number)
        self._bring(placed)
        return placed

    @property
    def at_once(self) -> float:
        """How many work-items keep all of the device busy."""
        return self.program.at_once

    def foresee(self, entry: str, inputs: Sequence[Sequence[Any]],
                forces: Sequence[Mapping[str, int]]) -> bool:
        """Begin to build what runs on these inputs need, where others build at the same time."""
        if self._prepares and self._builders is not None:
            try:
                return bool(self._ask(None, "foresee", entry, [outline(args) for args in inputs],
                                      list(forces)))
            except RunStopped:
                self._prepares = False
        return False

    def remember(self) -> None:
        """All has been tuned: keep what runs wanted for the next time."""
        if self._worker is not None and self._opened and self._builders is not None:
            self._ask(None, "remember")

    def prepare(self, entry: str, args: Any, forces: Sequence[Mapping[str, int]],
                recorded: Sequence[Mapping[str, int]] = ()) -> int | None:
        """Build what runs need, unless a build has ended a worker: then each run builds its own."""
        if not self._prepares:
            return None
        try:
            items: int | None = self._ask(args, "prepare", entry, list(forces), list(recorded))
            if self._builders is None:  # else they are told while something is built
                self._take_plans()
        except RunStopped:
            self._prepares = False
            return None
        return items

    def record(self, entry: str, args: Any, *, force: Mapping[str, int] | None = None,
               thresholds: Mapping[str, int] | None = None) -> Record:
        """The record of a run, whose results are thrown away."""
        made: Record = self._ask(args, "record", entry, force, thresholds)
        args.took(made.wall)
        return made

    def timing(self, entry: str, args: Any, *, force: Mapping[str, int] | None = None,
               thresholds: Mapping[str, int] | None = None) -> Timing:
        """The seconds that a run takes, and those until the host has issued all commands."""
        found: Timing = self._ask(args, "timing", entry, force, thresholds)
        args.took(found.seconds)
        return found

    def time(self, entry: str, args: Any, *, force: Mapping[str, int] | None = None,
             thresholds: Mapping[str, int] | None = None) -> float:
        """The seconds that a run takes."""
        return self.timing(entry, args, force=force, thresholds=thresholds).seconds

    def measure_all(self, entry: str, args: Any, forces: Sequence[Mapping[str, int]],
                    thresholds: Mapping[str, int] | None = None,
                    recorded: Sequence[bool] | None = None) -> Iterator[Both | RuneliftError]:
        """What runs with each of these forced versions take, or why they fail.

        The worker goes on while the caller sees to what has been made; if the caller goes away,
        the worker is ended.
        """
        left = list(zip(forces, recorded or [True] * len(forces), strict=True))
        while left:
            some, records = zip(*left, strict=True)
            try:
                for kind, *what in self._told(args, "measure_all", entry, some, thresholds,
                                              records):
                    if kind != "made":
                        continue
                    (made,) = what
                    left.pop(0)
                    if not isinstance(made, RuneliftError):
                        record, timing = made
                        args.took(min(timing.seconds, record.wall) if record else timing.seconds)
                    yield made
            except (UserError, CompilerLimitation) as error:  # it ended the worker
                if left:
                    left.pop(0)
                    yield error

    def time_all(self, entry: str, args: Any, choices: Sequence[Mapping[str, int]], *,
                 often: bool = False) -> Sequence[float]:
        """The seconds that runs with each of these thresholds take; together they are short."""
        found: Sequence[float] = self._ask(args, "time_all", entry, list(choices), often)
        args.took(min(found))
        return found

    def savings(self, entry: str, args: Any, choices: Sequence[Mapping[str, int]]
                ) -> Sequence[int]:
        """How many launches and copies each of these runs could save if it came often."""
        found: Sequence[int] = self._ask(args, "savings", entry, list(choices))
        return found

    def replay(self, entry: str, args: Any, race: Race) -> ReplayRecord:
        """Run every version at every encounter; those that must be stopped leave the race."""
        while True:
            try:
                replayed, after = self._ask(args, "replay", entry, race)
            except RunStopped as stopped:
                if stopped.during is None or stopped.during in race.stopped:
                    raise
                race.stop(stopped.during, str(stopped), stopped.par, stopped.seconds,
                          stopped.best)
                continue
            race.take(after)
            found: ReplayRecord = replayed
            return found

    def try_settings(self, entry: str, args: Any, *, force: Mapping[str, int] | None = None,
                     thresholds: Mapping[str, int] | None = None,
                     searches: Searches | None = None) -> list[OperationTime]:
        """Run, and try settings; one that must be stopped is one that cannot run."""
        trials = _Trials(dict(searches or {}))
        while True:
            try:
                met: list[OperationTime] = self._ask(args, "try_settings", entry, force, thresholds,
                                                     list(trials.searches), notes=trials.note)
                return met
            except RunStopped:
                if not trials.fail():
                    raise

    def difference(self, entry: str, args: Any, before: Mapping[str, int],
                   after: Mapping[str, int]) -> str | None:
        """How results with different thresholds differ."""
        found: str | None = self._ask(args, "difference", entry, before, after)
        return found

    def spaces(self, entry: str | None = None) -> list[ParameterSpace]:
        """What parameters can be."""
        self._take_plans()
        return self.program.spaces(entry)

    def _take_plans(self) -> None:
        """Have the plans that the worker has made, for the next one."""
        if self._worker is not None and self._opened:
            plans = self.program.compiled.plans
            plans.update(self._ask(None, "plans", frozenset(plans)))

    def finish(self) -> None:
        """Have what workers have compiled, and end them without waiting for it."""
        for worker in self._dismissed():
            worker.end()

    def leave(self) -> None:
        """The same, where this process is about to end: workers end after it.

        Whoever is the last to close the device waits a tenth of a second.
        """
        self._left = self._dismissed()
        for worker in self._left:
            worker.outlive()

    def _dismissed(self) -> list[Process]:
        """The workers, of which nobody will ask anything; builders end."""
        self._take_plans()
        found = [worker for worker in (self._worker, self._spare) if worker is not None]
        self._worker = self._spare = None
        if self._builders is not None:
            self._builders.end()
        return found

    def close(self) -> None:
        """End all workers, and wait until they are gone."""
        for worker in (self._worker, self._spare):
            if worker is not None:
                worker.kill()
        self._worker = self._spare = None
        if self._builders is not None:
            self._builders.close()
            self._builders = None

    # Workers

    def _ask(self, args: PlacedArguments | None, name: str, *what: Any,
             notes: Callable[[Process, tuple[Any, ...]], None] | None = None) -> Any:
        """The answer to a request about a program and arguments."""
        self._ready()
        if args is None:
            return self._answer((name, *what))
        self._bring(args)
        return self._answer((name, args.number, *what), self.limit.after(args.quickest), notes)

    def _told(self, args: PlacedArguments, name: str, *what: Any) -> Iterator[tuple[Any, ...]]:
        """What a worker tells meanwhile."""
        self._ready()
        self._bring(args)
        request = name, args.number, *what
        yield from self._converse(request, self.limit.after(args.quickest))

    def _ready(self) -> None:
        """See that there is a worker with the program."""
        if self._worker is None:
            self._worker, self._spare = self._spare or self._new(), None
            self._opened = False
        if not self._opened:
            self._there.clear()
            self._opened = True
            self._open()
            builders = self._builders is not None and self._builders.started
            if self.apart and self.stops and not (self._spare or builders):
                self._spare = self._new()
        if gone := [number for number in self._gone if number in self._there]:
            self._there.difference_update(gone)
            self._answer(("drop", gone))
        self._gone.clear()

    def _open(self) -> None:
        """Give the worker the program, unless it has read the same."""
        program = self.program
        compiled = program.compiled
        about = program.policy, program.fp_contract, self.thresholds, self._builders is not None
        if not compiled.snapshot or not self._answer(("open", compiled.snapshot, *about)):
            self._answer(("open", compiled, *about))

    def _new(self) -> Process:
        """A further worker: where one was lost, a builder is ready at once."""
        taken = self._builders.take_worker() if self._builders is not None and self.stops else None
        return taken or Process(self._device)

    def _bring(self, args: PlacedArguments) -> None:
        self._ready()
        if args.number not in self._there:
            self._answer(("place", args.number, args.values))
            self._there.add(args.number)

    def _answer(self, request: tuple[Any, ...], seconds: float = BUILD,
                notes: Callable[[Process, tuple[Any, ...]], None] | None = None) -> Any:
        """Send a request and wait."""
        conversation = self._converse(request, seconds, notes)
        while True:
            try:
                next(conversation)
            except StopIteration as end:
                return end.value

    def _converse(self, request: tuple[Any, ...], seconds: float,
                  notes: Callable[[Process, tuple[Any, ...]], None] | None = None
                  ) -> Generator[tuple[Any, ...], None, Any]:
        """Send a request and hear what the worker tells, until its answer.

        Whatever goes wrong, there is no worker with half a request.
        """
        worker = self._worker
        assert worker is not None
        watch = _Watch(self.limit, seconds)
        try:
            send(worker.connection, request)
            while True:
                self._wait(worker, watch)
                kind, *what = receive(worker.connection)
                if kind in ("result", "error", "lost", "bug"):
                    break
                watch.note(kind, what)
                if kind == "plans":
                    self.program.compiled.plans.update(what[0])
                if kind == "wanted" and self._builders is not None:
                    self._have_built(worker, *what)
                if kind == "trials":
                    if self._builders is not None:
                        self._builders.wait_for_probes(BUILD)
                    send(worker.connection, None)
                if notes is not None:
                    notes(worker, (kind, *what))
                yield kind, *what
        except (EOFError, OSError):
            ended = worker.how_it_ended()
            self._lose()
            raise watch.stopped(f"crash: {ended}") from None
        except BaseException:
            self._lose()
            raise
        interrupts.check()
        return self._outcome(kind, what[0])

    def _have_built(self, worker: Process, sources: Sequence[Source], waits: bool) -> None:
        """Let builders build programs that a worker wants, now or later."""
        assert self._builders is not None
        if not waits:
            self._builders.begin(sources)
            return
        self._builders.build(sources, BUILD)
        send(worker.connection, None)

    def _outcome(self, kind: str, what: Any) -> Any:
        if kind == "bug":
            self._lose()
            raise CompilerBug(f"The process that runs the program failed:\n{what}")
        if kind == "lost":
            self._lose()
        if kind != "result":
            raise what
        return what

    @staticmethod
    def _wait(worker: Process, watch: _Watch) -> None:
        """Wait for a message; RunStopped if none comes in time."""
        while not worker.connection.poll(min(TICK, watch.left())):
            interrupts.check()
            if not watch.left():
                raise watch.expired()

    def _lose(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker = None
            self.stops += 1


class _Watch:
    """The time that a request may take, by what its worker says it is doing."""

    def __init__(self, limit: TimeLimit, seconds: float) -> None:
        self._limit = limit
        self._allowed = [seconds]
        self._attempts: list[tuple[str, int | None, float | None]] = []
        self._from = time.perf_counter()
        self._building = False
        self._begun = False

    def note(self, kind: str, what: Sequence[Any]) -> None:
        """The clock starts again."""
        self._from = time.perf_counter()
        self._begun = True
        if kind == "building":
            self._building = what[0]
        elif kind == "attempt" and what[0] is None:
            self._attempts.pop()
            self._allowed.pop()
        elif kind == "attempt" and what[0]:
            name, quickest, par = what
            self._attempts.append((name, par, quickest))
            self._allowed.append(self._allowed[-1] if quickest is None
                                 else self._limit.after(quickest))

    def left(self) -> float:
        """The seconds that are left, 0 at least."""
        allowed = BUILD if self._building or not self._begun else self._allowed[-1]
        return max(0.0, self._from + allowed - time.perf_counter())

    def expired(self) -> RunStopped:
        """The time is over."""
        if self._building or not self._begun:
            return self.stopped(f"timeout: it was not built after {BUILD:.0f} s")
        return self.stopped(f"timeout: not over after {self._allowed[-1]:.3g} s",
                            self._allowed[-1])

    def stopped(self, why: str, seconds: float = 0.0) -> RunStopped:
        """What was under way is at an end."""
        name, par, best = self._attempts[-1] if self._attempts else (None, None, None)
        return RunStopped(why, name, par, seconds, best)


class _Trials:
    """Searches that go on from worker to worker."""

    def __init__(self, searches: dict[OperationId, Callable[[], Search]]) -> None:
        self.searches = searches
        self._running: dict[OperationId, Search] = {}
        self._trying: OperationId | None = None

    def note(self, worker: Process, note: tuple[Any, ...]) -> None:
        """Answer a worker that asks for the next setting."""
        kind, *what = note
        if kind == "search":
            self._next(worker, what[0], None)
        elif kind == "found":
            self._next(worker, *what)

    def fail(self) -> bool:
        """A worker is gone; whether that was while it tried a setting."""
        failed, self._trying = self._trying, None
        return failed is not None

    def _next(self, worker: Process, meeting: OperationId, found: Any) -> None:
        if meeting in self._running:
            try:
                setting = self._running[meeting].send(found)
            except StopIteration:
                setting = None
        else:
            self._running[meeting] = self.searches[meeting]()
            setting = next(self._running[meeting], None)
        self._trying = meeting if setting is not None else None
        send(worker.connection, setting)


