"""Trial runs: settings of operations are tried where they stand, on the inputs that come there.

An operation is run once for each setting that a search asks for.  Its device time is told to the
search.  At last it is run with the setting in force, so that the program goes on unchanged.
Buffers that it both reads and writes are restored in between.

Single operations of a persistent loop have no times.  But its iteration is traced
(:mod:`runelift.runtime.execution.persistent_loops`).  The trace can also have the launches of an
operation with any other setting.  So there is a kernel for each setting, and the time of a setting
is that of some iterations of its kernel.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from runelift.codegen.emit.phases import PersistentKernel
from runelift.ir import imp
from runelift.ir.names import VName
from runelift.runtime.cost.launches import LaunchPredictor
from runelift.runtime.devices.build import Infeasible
from runelift.runtime.devices.kernel import BoundKernel
from runelift.runtime.devices.memory import Buffer
from runelift.runtime.execution.commands import Launch, RunLoop
from runelift.runtime.execution.kernels import NeededKernels
from runelift.runtime.execution.persistent_loops import (
    TracedIteration,
    persistent_loop,
    run_loop,
    run_some,
)
from runelift.runtime.execution.run import Force, Run
from runelift.runtime.geometry.parameter_space import ParameterSpace, Setting
from runelift.runtime.host import interrupts
from runelift.runtime.records.recorder import busy
from runelift.runtime.tuner.trials.protocol import (
    OperationId,
    OperationTime,
    PredictedSettings,
    Request,
    Search,
    Searches,
    UpcomingSettings,
)

if TYPE_CHECKING:
    from runelift.runtime.execution.executable import Executable
    from runelift.runtime.execution.kernels import KernelSite


Outcome: TypeAlias = tuple[float | str, Hashable]
"""The seconds that a setting took, or why it cannot run, and what was launched for it."""
Answer = TypeVar("Answer")
MOST_TRIAL_ITERATIONS = 1 << 6
"""The most iterations of a trial; even, as
:data:`~runelift.runtime.execution.persistent_loops.FIRST_WHILE_ITERATIONS`.
"""
TOO_LONG = "the rows are too long"
NO_KERNEL = "one kernel cannot do the iterations of its loop"


class TrialRun(Run):
    """The ``rt`` that runs operations of a plan with other settings, where they stand."""

    copies = True

    def __init__(self, executable: Executable, thresholds: Mapping[str, int], force: Force,
                 searches: Searches) -> None:
        super().__init__(executable, thresholds, force, record=True)
        self._searches = searches
        self._spaces = [executable.spaces[each.name] for each in executable.forms.tried.operations]
        self._met = Counter[str]()
        self._spans: list[tuple[tuple[OperationId, ...], int, int]] = []
        self._trying = False
        self._refusal = ""
        self._wanted: dict[NeededKernels, None] | None = None
        self._listed: list[Launch] = []
        self._launched: list[tuple[int, int, int]] = []
        self._tracing: _TracedTrials | None = None
        self._traced: _TracedTrials | None = None

    @property
    def encounters(self) -> int:
        """None that has to be timed on its own, so loops are run as they are without a record."""
        return 0

    def trials(self, number: int, read: Sequence[Buffer], written: Sequence[Buffer],
               ) -> Iterator[Setting]:
        """The settings to run an operation with, the one that holds last."""
        assert self.recorder is not None
        space = self._spaces[number]
        operation = space.operation.name, self._met[space.operation.name]
        self._met[space.operation.name] += 1
        search = self._searches.get(operation)
        if self._tracing is not None:
            yield from self._noted(self._tracing, space, operation, search)
            return
        if search is not None:
            yield from self._try(search(), read, written)
        first = self.recorder.issued
        yield space.in_force(self._thresholds)
        self._spans.append(((operation,), first, self.recorder.issued))

    def _try(self, search: Search, read: Sequence[Buffer],
             written: Sequence[Buffer]) -> Iterator[Setting]:
        assert self.recorder is not None
        handles = {id(buffer.handle) for buffer in read}
        held = self._held(search, [b for b in written if id(b.handle) in handles])
        asked = next(held, None)
        while asked is not None:
            outcome: Outcome | list[float] | None = None
            if isinstance(asked, UpcomingSettings):
                yield from self._prepared(asked.settings)
            elif isinstance(asked, PredictedSettings):
                outcome = yield from self._predicted(asked.settings)
            else:
                first = self.recorder.issued
                self._trying, self._refusal, self._launched = True, "", []
                yield asked
                self._trying = False
                commands = self.recorder.taken_back(first)
                outcome = self._refusal or busy(commands), tuple(self._launched)
            asked = _answered(held, outcome)

    def _held(self, search: Search, changed: Sequence[Buffer],
              ) -> Generator[Request, Outcome | list[float] | None, None]:
        """The requests of a search; each setting finds the buffers as they were before."""
        assert self.recorder is not None
        kept = [(buffer, self.copied(buffer))
                for buffer in {id(b.handle): b for b in changed}.values()]
        seen: dict[Hashable, Setting] = {}
        asked = next(search, None)
        while asked is not None:
            outcome = yield asked
            found: float | Setting | str | list[float] | None = None
            if isinstance(outcome, list):
                found = outcome
            elif outcome is not None and isinstance(asked, tuple):
                found, launched = outcome
                if not isinstance(found, str):
                    same = seen.setdefault(launched, asked)
                    found = found if same == asked else same
                first = self.recorder.issued
                for buffer, copy in kept:
                    self.copy(buffer, copy, buffer.size)
                self.recorder.taken_back(first)
                interrupts.check()
            asked = _answered(search, found)

    def _prepared(self, settings: Sequence[Setting]) -> Iterator[Setting]:
        """Build what settings need: each is gone through, but nothing is issued."""
        self._trying = True
        with self._listing():
            yield from settings
        self._trying = False

    def _predicted(self, settings: Sequence[Setting]) -> Generator[Setting, None, list[float]]:
        """The predicted seconds of settings: each is gone through, but nothing is issued."""
        found = list[float]()
        self._trying, self._wanted = True, {}
        for setting in settings:
            self._refusal, self._listed = "", []
            yield setting
            found.append(self._foreseen(self._refusal or self._listed))
        self._trying, self._wanted = False, None
        return found

    def _foreseen(self, launches: Sequence[Launch] | str) -> float:
        """The predicted seconds of launches; infinite if something keeps them from running."""
        room = self.device.info.local_bytes
        if isinstance(launches, str) or any(
                each.group <= 0 or sum(each.lengths) > room for each in launches):
            return math.inf
        return sum(map(self._seconds, launches))

    def _seconds(self, launch: Launch) -> float:
        kernel = self._sites[launch.number].launch.kernel
        scalars: dict[VName, Any] = dict(zip(kernel.built_for, launch.constants, strict=False))
        scalars |= {param.name: arg for param, arg in zip(kernel.params, launch.args, strict=False)
                    if isinstance(param, imp.ScalarParam) and isinstance(arg, int | float)}
        return self._predictor.time(
            kernel, (launch.groups, launch.group, sum(launch.lengths)), scalars).seconds

    @cached_property
    def _predictor(self) -> LaunchPredictor:
        predictor = self.executable.predictor
        return LaunchPredictor(predictor.costs, self.device.info.units, predictor.formulas)

    @contextmanager
    def _listing(self) -> Iterator[None]:
        """Build what is wanted meanwhile, several programs at a time."""
        self._wanted = wanted = dict[NeededKernels, None]()
        yield
        self._wanted = None
        self.executable.kernels.prepare(wanted)

    def issue(self, number: int, groups: int, group: int, lengths: tuple[int, ...],
              *args: Any) -> None:
        """Run a prepared kernel, or note it."""
        if self._wanted is None:
            super().issue(number, groups, group, lengths, *args)
        else:
            self._list(Launch(number, (), groups, group, lengths, args))

    def issue_built(self, number: int, constants: tuple[int, ...], groups: int, group: int,
                    lengths: tuple[int, ...], *args: Any) -> None:
        """Run a kernel that is built for constants, or note it."""
        if self._wanted is None:
            super().issue_built(number, constants, groups, group, lengths, *args)
        else:
            self._list(Launch(number, constants, groups, group, lengths, args))

    def _list(self, launch: Launch) -> None:
        assert self._wanted is not None
        if launch.groups > 0:
            self._listed.append(launch)
            if launch.group > 0:
                self._wanted[self.executable.kernels.wanted(launch.number, launch.constants)] = None

    def copy(self, target: Buffer, source: Buffer, size: int, offset: int = 0) -> None:
        """Copy, unless launches are only noted."""
        if self._wanted is None:
            super().copy(target, source, size, offset)

    def reads(self, *elements: tuple[Buffer, str, int]) -> list[Any]:
        """Elements of buffers; unknown where launches are only noted."""
        if self._wanted is not None:
            raise Infeasible("a value of the device")
        return super().reads(*elements)

    def _enqueue(self, site: KernelSite, groups: int, group: int, lengths: tuple[int, ...],
                 args: tuple[Any, ...]) -> None:
        if self._trying:
            self._launched.append((id(site.kernel), groups, group))
        super()._enqueue(site, groups, group, lengths, args)

    def gives_up(self, reason: Exception) -> bool:
        """An operation could not run; whether that was more than a trial."""
        self._refusal = str(reason) or type(reason).__name__
        return not self._trying

    # Loops of which one kernel does the iterations

    @contextmanager
    def tracing(self, traced: TracedIteration) -> Iterator[None]:
        """Note what an iteration launches, also with the settings that are to be tried."""
        self._tracing = self._traced = _TracedTrials(traced)
        try:
            with super().tracing(traced):
                yield
        finally:
            self._tracing = None

    def _noted(self, traced: _TracedTrials, space: ParameterSpace, operation: OperationId,
               search: Callable[[], Search] | None) -> Iterator[Setting]:
        """The settings of which it is noted what they launch, the one that holds last."""
        launches = traced.iteration.launches
        traced.operations.append(operation)
        if search is not None:
            traced.search, traced.first = search(), len(launches)
            self._trying = True
            with _scratch(self) as begin:
                for setting in space.settings():
                    begin()
                    self._refusal = ""
                    yield setting
                    traced.note(setting, self._refusal)
            self._trying = False
        yield space.in_force(self._thresholds)
        if search is not None:
            traced.last = len(launches)

    def run_loop(self, loop: RunLoop) -> None:
        """Have one kernel do the iterations of a loop, after its trial iterations."""
        count = min(loop.count, MOST_TRIAL_ITERATIONS)
        self._try_loop(lambda tried: run_loop(
            self, replace(tried, first=loop.first, count=count)))
        with self._looping():
            super().run_loop(loop)

    def run_while_loop(self, loop: RunLoop) -> None:
        """Have one kernel do the iterations of a ``while`` loop, after its trial iterations."""
        done = self.allocate(8)
        self._try_loop(lambda tried: run_some(self, replace(tried, count=MOST_TRIAL_ITERATIONS),
                                              done))
        with self._looping():
            super().run_while_loop(loop)

    @contextmanager
    def _looping(self) -> Iterator[None]:
        """Count the commands issued meanwhile as the work of all operations of the loop."""
        assert self.recorder is not None
        assert self._traced is not None
        first = self.recorder.issued
        yield
        self._spans.append((tuple(self._traced.operations), first, self.recorder.issued))

    def _try_loop(self, run: Callable[[RunLoop], object]) -> None:
        """Run iterations with the settings that a search asks for."""
        traced = self._traced
        assert traced is not None
        if traced.search is None:
            return
        held = self._held(traced.search, [b for b in traced.iteration.before if b is not None])
        asked = next(held, None)
        while asked is not None:
            outcome: Outcome | list[float] | None = None
            if isinstance(asked, UpcomingSettings):
                with self._listing():
                    for setting in asked.settings:
                        traced.loop(self, setting)
            elif isinstance(asked, PredictedSettings):
                outcome = [self._foreseen(traced.others[each]) for each in asked.settings]
            else:
                outcome = self._timed(traced.loop(self, asked), run)
            asked = _answered(held, outcome)

    def _timed(self, loop: RunLoop | str,
               run: Callable[[RunLoop], object]) -> Outcome:
        """The time of iterations by a kernel, and the identity of the kernel."""
        assert self.recorder is not None
        if isinstance(loop, str):
            return loop, None
        first = self.recorder.issued
        run(loop)
        kernel, *_ = self.recorder.taken_back(first)
        return busy([kernel]), (id(loop.kernel), loop.groups, loop.group, loop.local_bytes)

    def persistent_kernel(self, kernel: PersistentKernel) -> BoundKernel | None:
        """The built kernel for the iterations of a loop, or note it."""
        if self._wanted is None:
            return super().persistent_kernel(kernel)
        self._wanted[kernel] = None
        return None

    def met(self) -> list[OperationTime]:
        """The operations that were met, with their times; the queue has finished.

        Operations of a loop that is one kernel have equal parts of its time.
        """
        assert self.recorder is not None
        commands = self.recorder.commands()
        return [(operation, busy(commands[first:last]) / len(operations))
                for operations, first, last in self._spans for operation in operations]


def _answered(asking: Generator[Request, Answer, None], answer: Answer) -> Request | None:
    """The next request; None if that was all."""
    try:
        return asking.send(answer)
    except StopIteration:
        return None


@dataclass(slots=True)
class _TracedTrials:
    """An iteration that is traced in a run for trials.

    ``operations`` are its operations.  The operation that is tried has the launches from ``first``
    to ``last``.  ``others`` has its launches with every setting, or the reason why there are none.
    """

    iteration: TracedIteration
    operations: list[OperationId] = field(default_factory=list)
    search: Search | None = None
    first: int = 0
    last: int = 0
    others: dict[Setting, tuple[Launch, ...] | str] = field(default_factory=dict)

    def note(self, setting: Setting, refusal: str) -> None:
        """Note the launches since ``first`` as the launches of a setting, and take them back."""
        launches = self.iteration.launches
        noted = tuple(launches[self.first:])
        del launches[self.first:]
        if any(launch.group == 0 for launch in noted):
            refusal = TOO_LONG
        self.others[setting] = refusal or noted

    def loop(self, run: TrialRun, setting: Setting) -> RunLoop | str:
        noted = self.others[setting]
        if isinstance(noted, str):
            return noted
        launches = self.iteration.launches
        return persistent_loop(run, replace(self.iteration, launches=[
            *launches[:self.first], *noted, *launches[self.last:]])) or NO_KERNEL


@contextmanager
def _scratch(run: TrialRun) -> Iterator[Callable[[], None]]:
    """Memory for settings of which one is tried at a time; what is yielded begins another one.

    No other operation of the iteration may get it, so it is kept until the iteration is over.
    """
    allocate, sizes, taken = run.allocate, dict[int, list[Buffer]](), dict[int, int]()

    def again(size: int) -> Buffer:
        place = taken[size] = taken.get(size, -1) + 1
        buffers = sizes.setdefault(size, [])
        if place == len(buffers):
            buffers.append(allocate(size))
        return buffers[place]

    run.allocate = again
    try:
        yield taken.clear
    finally:
        run.allocate = allocate
