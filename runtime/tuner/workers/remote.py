"""A program in a worker process, for the tuner: it can be stopped, and may crash.

A run that exceeds its :class:`~runelift.runtime.tuner.measure.time_limits.TimeLimit`, or that ends
its process, is :class:`~runelift.runtime.tuner.measure.time_limits.RunStopped`.  The next request
starts another worker, which finds the kernels in the binary cache.  After the first stop, more
stops may follow.  So a spare worker is kept ready from then on, unless the device is the host's
processor.  A worker that is killed from outside says nothing about a run, which is made again.
The run is at fault only if its next worker is killed, too.
"""

from __future__ import annotations

import itertools
import math
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from runelift.ir.base.errors import CompilerBug, CompilerLimitation, RuneliftError, UserError
from runelift.runtime.data.outline import outline
from runelift.runtime.devices import slow_builds
from runelift.runtime.devices.driver import pocl_cache
from runelift.runtime.geometry.parameter_space import ParameterSpace
from runelift.runtime.host import interrupts
from runelift.runtime.host.channel import receive, send
from runelift.runtime.processes.build_pool import Builders, Source
from runelift.runtime.processes.process import Process
from runelift.runtime.programs.program import Program
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
from runelift.runtime.tuner.workers.requests import OpenProgram
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

Request: TypeAlias = tuple[Any, ...]
"""The name of a method of the worker's session, and its arguments."""
Message = tuple[Any, ...]
"""A kind and its data, sent by a worker before its answer."""
Handler = Callable[[Process, Message], None]
Answer = TypeVar("Answer")


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


if TYPE_CHECKING:
    _Proxied = Measurable
else:
    _Proxied = object  # its calls come to __getattr__

FORWARDED: Mapping[str, Callable[[Any], float] | None] = {
    "record": lambda record: record.wall,
    "timing": lambda timing: timing.seconds,
    "time": float,
    "time_all": min,
    "predicted": None,
    "prebuild": None,
    "saved_launches": None,
    "difference": None,
    "unexpected": None,
    "results": None,
}
"""Methods that a worker answers, and the seconds of the quickest run that an answer tells of."""


class Remote(_Proxied):
    """A program in a worker, to which calls about placed arguments are forwarded.

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
        _again_if_killed(lambda: self._bring(placed))
        return placed

    def spaces(self, entry: str | None = None) -> Sequence[ParameterSpace]:
        """The possible values of the kernels' parameters."""
        self._take_plans()
        return self.program.spaces(entry)

    # Calls

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in FORWARDED:
            raise AttributeError(f"'{type(self).__name__}' has no attribute '{name}'")
        return partial(self._forward, name)

    def _forward(self, method: str, entry: str, args: Args, *further: Any, **options: Any) -> Any:
        """Call a method in the worker; the quickest run limits the time of later runs."""
        args = self._there(args)
        found = self._ask_about(args, ("call", method, entry, args.number, further, options))
        if (seconds := FORWARDED[method]) is not None:
            args.took(seconds(found))
        return found

    def prebuild_all(self, entry: str, inputs: Sequence[Args], forces: Sequence[Force]) -> bool:
        """Begin to build what runs on these inputs need, if there are builders."""
        return self._builders is not None and bool(self._unless_stopped(lambda: self._ask(
            "prebuild_all", entry, [outline(args) for args in inputs], list(forces))))

    def prebuild(self, entry: str, args: Args, forces: Sequence[Force],
                 recorded: Sequence[Force] = ()) -> int | None:
        """Build what runs need, unless a build has ended a worker: then each run builds its own."""
        def build() -> int | None:
            items: int | None = self._forward("prebuild", entry, args, forces, recorded)
            if self._builders is None:  # else the plans come while something is built
                self._take_plans()
            return items

        return self._unless_stopped(build)

    def _unless_stopped(self, build: Callable[[], int | None]) -> int | None:
        """Build ahead, unless that has ended a worker."""
        try:
            return build() if self._prebuilds else None
        except RunStopped:
            self._prebuilds = False
            return None

    def save_manifest(self) -> None:
        """Keep what was built for the next tuning, if there are builders."""
        if self._worker is not None and self._opened and self._builders is not None:
            self._ask("save_manifest")

    def measure_all(self, entry: str, args: Args, forces: Sequence[Force],
                    thresholds: Thresholds | None = None, recorded: Sequence[bool] | None = None,
                    ) -> Iterator[RecordAndTime | RuneliftError]:
        """The costs of runs with each of these versions, or why they fail.

        The worker continues while the caller handles a result.  If the caller stops the iteration,
        the worker is ended.
        """
        args = self._there(args)
        left = list(zip(forces, recorded or [True] * len(forces), strict=True))
        left_when_killed = 0
        while left:
            some, records = zip(*left, strict=True)
            try:
                self._bring(args)
                for kind, *data in self._converse(
                        ("measure_all", entry, args.number, some, thresholds, records),
                        self.limit.after(args.quickest)):
                    if kind != "made":
                        continue
                    (made,) = data
                    left.pop(0)
                    if not isinstance(made, RuneliftError):
                        record, timing = made
                        args.took(min(timing.seconds, record.wall) if record else timing.seconds)
                    yield made
            except (UserError, CompilerLimitation) as error:  # it ended the worker
                if isinstance(error, RunStopped) and error.killed and (
                        left_when_killed != len(left)):
                    left_when_killed = len(left)
                elif left and not self._can_do_without(error):
                    left.pop(0)
                    yield error

    def replay(self, entry: str, args: Args, race: Race) -> ReplayRecord:
        """Run every version at every encounter.  Versions that must be stopped leave the race."""
        args = self._there(args)
        while True:
            try:
                replayed: ReplayRecord
                replayed, after = self._ask_about(args, ("replay", entry, args.number, race))
            except RunStopped as stopped:
                if stopped.during is None or stopped.during in race.stopped:
                    raise
                race.stop(stopped.during, str(stopped), stopped.par, stopped.seconds,
                          stopped.best)
                continue
            race.take(after)
            return replayed

    def try_settings(self, entry: str, args: Args, *, force: Force | None = None,
                     thresholds: Thresholds | None = None, searches: Searches | None = None,
                     ) -> Sequence[OperationTime]:
        """Run, and try settings; one that must be stopped is one that cannot run."""
        args = self._there(args)
        running = _RunningSearches(dict(searches or {}))
        request = ("try_settings", entry, args.number, list(running.searches),
                   {"force": force, "thresholds": thresholds})
        while True:
            try:
                found: Sequence[OperationTime] = self._ask_about(args, request, running.handle)
                return found
            except RunStopped as stopped:
                self._can_do_without(stopped)  # the next worker does
                if not (stopped.killed and running.repeat()) and not running.fail(str(stopped)):
                    raise

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
            self._answer(("drop_arguments", unused))
        self._dropped.clear()

    def _open(self) -> None:
        """Give the worker the program, unless it has read it already."""
        program = self.program
        compiled = program.compiled
        whole = OpenProgram(compiled, program.policy, program.loaded.fp_contract, self.thresholds,
                            self._builders is not None, frozenset(self._slow), self._alone,
                            program.memory)
        if not compiled.snapshot or not self._answer(
                ("open", replace(whole, compiled=compiled.snapshot))):
            self._answer(("open", whole))

    def _new(self) -> Process:
        """A further worker: where one was lost, a builder is ready at once."""
        taken = self._builders.take_worker() if self._builders is not None and self.stops else None
        return taken or Process(self._device)

    def _bring(self, args: _PlacedArguments) -> None:
        self._ready()
        if args.number not in self._placed:
            self._answer(("place_arguments", args.number, args.values))
            self._placed.add(args.number)

    @staticmethod
    def _there(args: Args) -> _PlacedArguments:
        assert isinstance(args, _PlacedArguments)
        return args

    def _take_plans(self) -> None:
        """Take the plans that the worker has made, for the next one."""
        if self._worker is not None and self._opened:
            plans = self.program.compiled.plans
            plans.update(self._ask("new_plans", frozenset(plans)))

    # Requests

    def _ask(self, *request: Any) -> Any:
        """The answer to a request about the program."""
        def attempt() -> Any:
            self._ready()
            return self._answer(request)

        return _again_if_killed(attempt)

    def _ask_about(self, args: _PlacedArguments, request: Request, handle: Handler | None = None
                   ) -> Any:
        """The answer to a request about arguments, in the time that runs on them may take.

        If a program takes too long to build, the next worker does without it.
        """
        def attempt() -> Any:
            self._bring(args)
            return self._answer(request, self.limit.after(args.quickest), handle)

        while True:
            try:
                return attempt() if handle is not None else _again_if_killed(attempt)
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

    def _answer(self, request: Request, seconds: float = BUILD_SECONDS,
                handle: Handler | None = None) -> Any:
        conversation = self._converse(request, seconds, handle)
        while True:
            try:
                next(conversation)
            except StopIteration as end:
                return end.value

    def _converse(self, request: Request, seconds: float, handle: Handler | None = None,
                  ) -> Generator[Message, None, Any]:
        """Send a request; yield the worker's messages until its answer.

        If anything goes wrong, the worker is ended: none is left with half a request.
        """
        worker = self._worker
        assert worker is not None
        watchdog = Watchdog(self.limit, seconds, worker.processor_seconds)
        try:
            send(worker.connection, request)
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
            stopped = watchdog.stopped(f"crash: {ended}")
            stopped.killed = worker.was_killed
            self._lose()
            info = self.program.device_info
            if worker.crashed and info is not None and info.is_pocl:
                self._cache_moved = pocl_cache.move_away(ended)
            raise stopped from None
        except BaseException:
            self._lose()
            raise
        interrupts.check()
        return self._outcome(kind, data.pop())

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
        if kind == "result":
            return data
        try:
            raise data
        finally:
            del data  # a frame of its traceback would keep it, and arguments on the device

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


def _again_if_killed(attempt: Callable[[], Answer]) -> Answer:
    """Make an attempt, and once more in the next worker if something killed the first one."""
    try:
        return attempt()
    except RunStopped as stopped:
        if not stopped.killed:
            raise
    return attempt()


class _RunningSearches:
    """Searches that continue when their worker is replaced."""

    def __init__(self, searches: Mapping[OperationId, Callable[[], Search]]) -> None:
        self.searches = searches
        self._running: dict[OperationId, Search] = {}
        self._trying: OperationId | None = None
        self._setting: Any = None
        self._failed: dict[OperationId, str] = {}
        self._repeated: OperationId | None = None
        self._killed: Any = None
        """The setting whose worker was killed."""

    def handle(self, worker: Process, message: Message) -> None:
        """Answer a worker that asks for the next setting."""
        kind, *data = message
        if kind == "search" and data[0] == self._repeated:
            self._repeated, self._trying = None, data[0]
            send(worker.connection, self._setting)
        elif kind == "search":
            self._next(worker, data[0], self._failed.pop(data[0], None))
        elif kind == "found":
            self._next(worker, *data)

    def repeat(self) -> bool:
        """A worker was killed; true if its setting is tried once more."""
        if self._trying is None or self._setting is self._killed:
            return False
        self._killed, self._repeated, self._trying = self._setting, self._trying, None
        return True

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
        self._trying, self._setting = operation if setting is not None else None, setting
        send(worker.connection, setting)
