"""A program in a worker process, for the tuner: it can be stopped, and may crash.

A run that exceeds its :class:`~runelift.runtime.tuner.measure.time_limits.TimeLimit`, or that ends
its process, is :class:`~runelift.runtime.tuner.measure.time_limits.RunStopped`.  The next request
starts another worker, which finds the kernels in the binary cache.  After the first stop, more
stops may follow.  So a spare worker is kept ready from then on, unless the device is the host's
processor.
"""

from __future__ import annotations

import itertools
import math
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from runelift.ir.base.errors import CompilerBug, CompilerLimitation, RuneliftError, UserError
from runelift.runtime.data.outline import outline
from runelift.runtime.devices import slow_builds
from runelift.runtime.devices.driver import pocl_cache
from runelift.runtime.devices.info import POCL
from runelift.runtime.geometry.parameter_space import ParameterSpace
from runelift.runtime.host import interrupts
from runelift.runtime.host.channel import receive, send
from runelift.runtime.processes.build_pool import Builders, Source
from runelift.runtime.processes.process import Process
from runelift.runtime.programs.program import Program
from runelift.runtime.records.record import Record, Timing
from runelift.runtime.tuner.measure.measurable import (
    Args,
    Force,
    Measurable,
    RecordAndTime,
    Thresholds,
)
from runelift.runtime.tuner.measure.time_limits import RunStopped, TimeLimit
from runelift.runtime.tuner.replay.racing import Race
from runelift.runtime.tuner.replay.replay_records import ReplayRecord
from runelift.runtime.tuner.trials.protocol import OperationId, OperationTime, Search, Searches
from runelift.runtime.tuner.workers.requests import Answer, Call, OpenProgram, request_of
from runelift.runtime.tuner.workers.watchdog import (
    BUILD_SECONDS,
    VERSION_BUILD_SECONDS,
    SlowBuild,
    Watchdog,
)

KNOWING_PART = 0.5
"""A program is known to be slow if its process computed for this part of its time at least.

On a machine that is less busy, another tuning may build it.
"""
POLL_SECONDS = 0.05
"""The time between looks for Ctrl-C while a worker is at work."""

Message = tuple[Any, ...]
"""A kind and its data, sent by a worker before its answer."""
Handler = Callable[[Process, Message], None]


class _PlacedArguments(Sequence[Any]):
    """Arguments that the worker has, and that its successors will be given."""

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
        """Note the time of a run, by which later runs are limited."""
        if self.quickest is None or seconds < self.quickest:
            self.quickest = seconds


class Remote(Measurable):
    """A program in a worker.

    ``device`` is the name that the user gave, ``worker`` one that has been started already.
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
        self._outliving: list[Process] = []
        self._placed: set[int] = set()
        self._dropped: list[int] = []
        self._prebuilds = True
        self._cache_moved = False
        """True if a run crashed, and is tried once more with an empty cache of the driver."""
        self._slow = set[str]()
        """Programs that take too long to build, by their names in the cache."""
        self._alone = False
        """Workers build one program at a time, so that it is known which one is slow."""

    @property
    def out_of_process(self) -> bool:
        """Runs take none of the time of the host's processor."""
        info = self.program.device_info
        return info is not None and not info.is_host

    @property
    def builders(self) -> int:
        """The number of programs of kernels that are built at the same time."""
        if self._builders is not None:
            return self._builders.count
        info = self.program.device_info
        return 1 if info is None else info.builders

    @property
    def occupancy(self) -> float:
        """The number of work-items that keep all of the device busy."""
        info = self.program.device_info
        return math.inf if info is None else info.full_items

    def place(self, args: Args) -> _PlacedArguments:
        """The arguments, brought to the device by this worker and its successors."""
        placed = _PlacedArguments(args)
        weakref.finalize(placed, self._dropped.append, placed.number)
        self._bring(placed)
        return placed

    def prebuild_all(self, entry: str, inputs: Sequence[Args], forces: Sequence[Force]) -> bool:
        """Begin to build what runs on these inputs need, if there are builders."""
        if self._prebuilds and self._builders is not None:
            try:
                return self._ask(lambda session: session.prebuild_all(
                    entry, [outline(args) for args in inputs], list(forces)))
            except RunStopped:
                self._prebuilds = False
        return False

    def save_manifest(self) -> None:
        """Keep what was built for the next tuning, if there are builders."""
        if self._worker is not None and self._opened and self._builders is not None:
            self._ask(lambda session: session.save_manifest())

    def prebuild(self, entry: str, args: Args, forces: Sequence[Force],
                 recorded: Sequence[Force] = ()) -> int | None:
        """Build what runs need, unless a build has ended a worker: then each run builds its own."""
        if not self._prebuilds:
            return None
        args = self._there(args)
        try:
            items = self._ask_about(args, lambda session: session.prebuild(
                args.number, entry, list(forces), list(recorded)))
            if self._builders is None:  # else the plans come while something is built
                self._take_plans()
        except RunStopped:
            self._prebuilds = False
            return None
        return items

    def predicted(self, entry: str, args: Args, forces: Sequence[Force],
                  thresholds: Thresholds | None = None) -> Sequence[float]:
        """The predicted seconds of runs with each of these versions."""
        args = self._there(args)
        return self._ask_about(args, lambda session: session.predicted(
            args.number, entry, list(forces), thresholds))

    def record(self, entry: str, args: Args, *, force: Force | None = None,
               thresholds: Thresholds | None = None) -> Record:
        """The record of a run."""
        args = self._there(args)
        found = self._ask_about(args, lambda session: session.record(
            args.number, entry, force, thresholds))
        args.took(found.wall)
        return found

    def timing(self, entry: str, args: Args, *, force: Force | None = None,
               thresholds: Thresholds | None = None) -> Timing:
        """The seconds of a run without a record, and those until all commands were issued."""
        args = self._there(args)
        found = self._ask_about(args, lambda session: session.timing(
            args.number, entry, force, thresholds))
        args.took(found.seconds)
        return found

    def measure_all(self, entry: str, args: Args, forces: Sequence[Force],
                    thresholds: Thresholds | None = None, recorded: Sequence[bool] | None = None,
                    ) -> Iterator[RecordAndTime | RuneliftError]:
        """The costs of runs with each of these versions, or why they fail.

        The worker continues while the caller handles a result.  If the caller stops the iteration,
        the worker is ended.
        """
        args = self._there(args)
        left = list(zip(forces, recorded or [True] * len(forces), strict=True))

        def measuring(forces: Sequence[Force], recorded: Sequence[bool]) -> Call[None]:
            return lambda session: session.measure_all(
                args.number, entry, forces, thresholds, recorded)

        while left:
            try:
                for kind, *data in self._messages(args, measuring(*zip(*left, strict=True))):
                    if kind != "made":
                        continue
                    (made,) = data
                    left.pop(0)
                    if not isinstance(made, RuneliftError):
                        record, timing = made
                        args.took(min(timing.seconds, record.wall) if record else timing.seconds)
                    yield made
            except (UserError, CompilerLimitation) as error:  # it ended the worker
                if left and not self._can_do_without(error):
                    left.pop(0)
                    yield error

    def time_all(self, entry: str, args: Args, choices: Sequence[Thresholds], *,
                 often: bool = False) -> Sequence[float]:
        """The seconds of runs with each of these thresholds, which are short together."""
        args = self._there(args)
        found = self._ask_about(args, lambda session: session.time_all(
            args.number, entry, list(choices), often))
        args.took(min(found))
        return found

    def saved_launches(self, entry: str, args: Args, choices: Sequence[Thresholds]
                       ) -> Sequence[int]:
        """The number of launches and copies that each run saves when it comes often."""
        args = self._there(args)
        return self._ask_about(args, lambda session: session.saved_launches(
            args.number, entry, list(choices)))

    def replay(self, entry: str, args: Args, race: Race) -> ReplayRecord:
        """Run every version at every encounter.  Versions that must be stopped leave the race."""
        args = self._there(args)
        while True:
            try:
                replayed, after = self._ask_about(args, lambda session: session.replay(
                    args.number, entry, race))
            except RunStopped as stopped:
                if stopped.during is None or stopped.during in race.stopped:
                    raise
                race.stop(stopped.during, str(stopped), stopped.par, stopped.seconds,
                          stopped.best)
                continue
            race.take(after)
            return replayed

    def spaces(self, entry: str | None = None) -> Sequence[ParameterSpace]:
        """The possible values of the kernels' parameters."""
        self._take_plans()
        return self.program.spaces(entry)

    def try_settings(self, entry: str, args: Args, *, force: Force | None = None,
                     thresholds: Thresholds | None = None, searches: Searches | None = None,
                     ) -> Sequence[OperationTime]:
        """Run, and try settings; one that must be stopped is one that cannot run."""
        args = self._there(args)
        running = _RunningSearches(dict(searches or {}))
        while True:
            try:
                return self._ask_about(args, lambda session: session.try_settings(
                    args.number, entry, force, thresholds, list(running.searches)), running.handle)
            except RunStopped as stopped:
                self._can_do_without(stopped)  # the next worker does
                if not running.fail(str(stopped)):
                    raise

    def difference(self, entry: str, args: Args, before: Thresholds | None,
                   after: Thresholds | None) -> str | None:
        """The difference of results with two choices, if it is more than rounding."""
        args = self._there(args)
        return self._ask_about(args, lambda session: session.difference(
            args.number, entry, before, after))

    def unexpected(self, entry: str, args: Args, expected: Sequence[Any]) -> str | None:
        """The first difference of the default results from the ``expected`` results, in words."""
        args = self._there(args)
        return self._ask_about(args, lambda session: session.unexpected(
            args.number, entry, expected))

    def results(self, entry: str, args: Args, force: Force) -> list[Any]:
        """The results of a run with these versions, all of which must run."""
        args = self._there(args)
        return self._ask_about(args, lambda session: session.results(args.number, entry, force))

    # Ending workers

    def finish(self) -> None:
        """Take the plans that workers have made, and end them without waiting."""
        for worker in self._dismiss():
            worker.end()

    def leave(self) -> None:
        """Take the plans that workers have made, and let them end after this process, which ends.

        The last process to close the device waits a tenth of a second.
        """
        self._outliving = self._dismiss()
        for worker in self._outliving:
            worker.outlive()

    def close(self) -> None:
        """End all workers, and wait until they are gone."""
        for worker in (self._worker, self._spare):
            if worker is not None:
                worker.kill()
        self._worker = self._spare = None
        if self._builders is not None:
            self._builders.close()
            self._builders = None

    def _dismiss(self) -> list[Process]:
        """The workers, which get no further request; builders end."""
        self._take_plans()
        found = [worker for worker in (self._worker, self._spare) if worker is not None]
        self._worker = self._spare = None
        if self._builders is not None:
            self._builders.end()
        return found

    # Workers and what they have been given

    def _ready(self) -> None:
        """Start a worker and give it the program, if there is none; drop unused arguments."""
        if self._worker is None:
            self._worker, self._spare = self._spare or self._new(), None
            self._opened = False
        if not self._opened:
            self._placed.clear()
            self._opened = True
            self._open()
            builders = self._builders is not None and self._builders.started
            if self.out_of_process and self.stops and not (self._spare or builders):
                self._spare = self._new()
        if unused := [number for number in self._dropped if number in self._placed]:
            self._placed.difference_update(unused)
            self._answer(lambda session: session.drop_arguments(unused))
        self._dropped.clear()

    def _open(self) -> None:
        """Give the worker the program, unless it has read it already."""
        program = self.program
        compiled = program.compiled
        whole = OpenProgram(compiled, program.policy, program.loaded.fp_contract, self.thresholds,
                            self._builders is not None, frozenset(self._slow), self._alone,
                            program.memory)
        if not compiled.snapshot or not self._answer(
                lambda session: session.open(replace(whole, compiled=compiled.snapshot))):
            self._answer(lambda session: session.open(whole))

    def _new(self) -> Process:
        """A further worker: where one was lost, a builder is ready at once."""
        taken = self._builders.take_worker() if self._builders is not None and self.stops else None
        return taken or Process(self._device)

    def _bring(self, args: _PlacedArguments) -> None:
        self._ready()
        if args.number not in self._placed:
            self._answer(lambda session: session.place_arguments(args.number, args.values))
            self._placed.add(args.number)

    @staticmethod
    def _there(args: Args) -> _PlacedArguments:
        """Arguments as :meth:`place` returns them."""
        assert isinstance(args, _PlacedArguments)
        return args

    def _take_plans(self) -> None:
        """Take the plans that the worker has made, for the next one."""
        if self._worker is not None and self._opened:
            plans = self.program.compiled.plans
            plans.update(self._ask(lambda session: session.new_plans(frozenset(plans))))

    # Requests

    def _ask(self, call: Call[Answer]) -> Answer:
        """The answer to a request about the program."""
        self._ready()
        return self._answer(call)

    def _ask_about(self, args: _PlacedArguments, call: Call[Answer],
                   handle: Handler | None = None) -> Answer:
        """The answer to a request about arguments, in the time that runs on them may take.

        If a program takes too long to build, the next worker does without it.
        """
        while True:
            self._bring(args)
            try:
                return self._answer(call, self.limit.after(args.quickest), handle)
            except SlowBuild as stopped:
                if handle is not None or not self._can_do_without(stopped):
                    raise
            except RunStopped:
                if not self._cache_moved:
                    raise
                self._cache_moved = False

    def _can_do_without(self, error: RuneliftError) -> bool:
        """True if a request may be repeated, as workers refuse further programs from now on."""
        if not isinstance(error, SlowBuild) or not error.can_do_without:
            return False
        if len(error.names) > 1 and not self._alone:
            self._alone = True  # compilers have locks: most of them waited for one
            return True
        known = self._slow.issuperset(error.names)
        self._slow.update(error.names)
        if error.worked >= KNOWING_PART * error.limit:
            for name in error.names:
                slow_builds.note(name, error.limit)
        return not known

    def _messages(self, args: _PlacedArguments, call: Call[None]) -> Iterator[Message]:
        """The messages of a worker before its answer."""
        self._bring(args)
        yield from self._converse(call, self.limit.after(args.quickest))

    def _answer(self, call: Call[Answer], seconds: float = BUILD_SECONDS,
                handle: Handler | None = None) -> Answer:
        """Send a request and wait for its answer."""
        conversation = self._converse(call, seconds, handle)
        while True:
            try:
                next(conversation)
            except StopIteration as end:
                answer: Answer = end.value
                return answer

    def _converse(self, call: Call[Answer], seconds: float, handle: Handler | None = None,
                  ) -> Generator[Message, None, Answer]:
        """Send a request; yield the worker's messages until its answer.

        If anything goes wrong, the worker is ended: none is left with half a request.
        """
        worker = self._worker
        assert worker is not None
        watchdog = Watchdog(self.limit, seconds, worker.processor_seconds)
        try:
            send(worker.connection, request_of(call))
            while True:
                self._wait(worker, watchdog)
                kind, *data = receive(worker.connection)
                if kind in ("result", "error", "lost", "bug"):
                    break
                watchdog.note(kind, data)
                self._serve(worker, kind, data)
                if handle is not None:
                    handle(worker, (kind, *data))
                yield kind, *data
        except (EOFError, OSError):
            ended = worker.how_it_ended()
            self._lose()
            if worker.crashed and _is_pocl(self.program):
                self._cache_moved = pocl_cache.move_away(ended)
            raise watchdog.stopped(f"crash: {ended}") from None
        except BaseException:
            self._lose()
            raise
        interrupts.check()
        answer: Answer = self._outcome(kind, data[0])
        return answer

    def _serve(self, worker: Process, kind: str, data: Sequence[Any]) -> None:
        """Do what a worker needs from this process before it can answer."""
        match kind:
            case "plans":
                self.program.compiled.plans.update(data[0])
            case "wanted" if self._builders is not None:
                self._have_built(worker, *data)
            case "trials":
                if self._builders is not None:
                    self._builders.wait_for_probes(BUILD_SECONDS)
                send(worker.connection, None)

    def _have_built(self, worker: Process, sources: Sequence[Source], waits: bool) -> None:
        """Have builders build programs that a worker needs, now or later."""
        assert self._builders is not None
        if not waits:
            self._builders.begin(sources)
            return
        send(worker.connection, self._builders.build(sources, VERSION_BUILD_SECONDS))

    def _outcome(self, kind: str, data: Any) -> Any:
        """The result of a request; raises its error."""
        if kind == "bug":
            self._lose()
            raise CompilerBug(f"The process that runs the program failed:\n{data}")
        if kind == "lost":
            self._lose()
        if kind != "result":
            raise data
        return data

    @staticmethod
    def _wait(worker: Process, watchdog: Watchdog) -> None:
        """Wait for a message; RunStopped if none comes in time."""
        while not worker.connection.poll(min(POLL_SECONDS, watchdog.left())):
            interrupts.check()
            if not watchdog.left():
                raise watchdog.expired()

    def _lose(self) -> None:
        """End the worker: the next request starts another one."""
        if self._worker is not None:
            self._worker.kill()
            self._worker = None
            self.stops += 1


def _is_pocl(program: Program) -> bool:
    return program.device_info is not None and POCL in program.device_info.platform


class _RunningSearches:
    """Searches that continue when their worker is replaced."""

    def __init__(self, searches: Mapping[OperationId, Callable[[], Search]]) -> None:
        self.searches = searches
        self._running: dict[OperationId, Search] = {}
        self._trying: OperationId | None = None
        self._failed: dict[OperationId, str] = {}

    def handle(self, worker: Process, message: Message) -> None:
        """Answer a worker that asks for the next setting."""
        kind, *data = message
        if kind == "search":
            self._next(worker, data[0], self._failed.pop(data[0], None))
        elif kind == "found":
            self._next(worker, *data)

    def fail(self, why: str) -> bool:
        """A worker is gone; true if it was trying a setting, which is impossible then."""
        failed, self._trying = self._trying, None
        if failed is not None:
            self._failed[failed] = why
        return failed is not None

    def _next(self, worker: Process, operation: OperationId, found: Any) -> None:
        if operation in self._running:
            try:
                setting = self._running[operation].send(found)
            except StopIteration:
                setting = None
        else:
            self._running[operation] = self.searches[operation]()
            setting = next(self._running[operation], None)
        self._trying = operation if setting is not None else None
        send(worker.connection, setting)
