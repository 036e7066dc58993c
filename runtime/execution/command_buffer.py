"""Command buffers: runs that issue the commands of an earlier run again.

The commands of a plan follow from the sizes and scalars that it is given, and from values that it
reads back on the way.  So the second run on equal sizes and scalars is captured: its launches,
copies and reads, with a number for each buffer.  A later run reads again where values
decide, and runs the plan itself if one differs.  Scalars that only kernels need may differ.
Later runs take memory for the buffers and submit the commands; they set only those arguments of
kernels that differ from the last ones.  Of the plan itself they run the epilogue only.  CUDA graphs
and OpenCL's ``cl_khr_command_buffer`` are the same idea; drivers seldom have the latter.  After a
few runs, launches of single work-groups are fused
(:mod:`runelift.runtime.execution.fused_launches`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import Any, TypeAlias

import pyopencl as cl

from runelift.ir.errors import RuneliftError
from runelift.runtime.devices.build import Infeasible
from runelift.runtime.devices.direct_launch import launcher
from runelift.runtime.devices.kernel import BoundKernel, LaunchArguments
from runelift.runtime.devices.memory import Buffer, OutOfMemory
from runelift.runtime.execution.commands import (
    Command,
    Copy,
    Expect,
    Launch,
    RunLoop,
    Slot,
    filled,
)
from runelift.runtime.execution.decision_cache import SeenCount
from runelift.runtime.execution.delivery import Delivery
from runelift.runtime.execution.dry_run import DryRun
from runelift.runtime.execution.executable import Executable
from runelift.runtime.execution.free_values import filled_late
from runelift.runtime.execution.fused_launches import fuse_launches, fused_sources, saved_commands
from runelift.runtime.execution.persistent_loops import run_loop
from runelift.runtime.execution.run import Ending, Force, Outcome, Run, execute
from runelift.runtime.records.record import Record

MOST_CAPTURED_COMMANDS = 1 << 13
"""Runs of more commands are too long to gain by it."""
MOST_CAPTURED_BYTES = 1 << 30
"""The most memory of a captured run; a command buffer needs the sum of all its buffers."""
SUBMITS_BEFORE_FUSION = 8
"""Command buffers that are submitted as often are worth kernels for fused launches."""
WARM_UP_RUNS = SUBMITS_BEFORE_FUSION + 4
"""The number of runs before one that is as all later ones."""
CAPTURE_COST = 0.1
"""Runs of fewer seconds take longer while they are captured."""
SWITCH_COST = 0.001
"""Runs of fewer seconds take longer after runs of other kernels (by 3 %, on one GPU)."""
MOST_COLD_RUNS = 2
"""The most runs before the one with a record, until none of them builds or begins anything."""
COLD_SHARE = 0.01
"""The part of a run's time that builds and first launches may take."""
FIRST_LAUNCH_SECONDS = 0.001
"""The time that first launches of a run cost at most, apart from what a driver builds then."""
LEAST_DIRECT_COMMANDS = 4
"""Command buffers with fewer commands gain nothing by launches without events."""
MOST_BINDINGS = 4
"""The most choices of buffers for which the calls of a command buffer are kept."""

SCAN_STATUS = Slot(-1)
"""The last of the buffers, where the groups of scans publish their totals."""


class Diverged(Exception):
    """A value that decides about the following commands is another than in the captured run."""


Call: TypeAlias = Callable[[], Any]
Given: TypeAlias = tuple[list[Buffer], Mapping[str, Any]]
"""The buffers of a run that repeats another, and its free scalars by name."""


@dataclass(slots=True)
class BoundCommands:
    """The calls of a command buffer for certain buffers, which are known by identity.

    ``steady`` are the calls after a run on these buffers, as long as all kernels keep their
    arguments.  ``full`` are the calls in all other cases.  ``last`` has the arguments of the last
    launch of each kernel.  ``late`` are the values of late scalars in the present run.
    """

    handles: tuple[Any, ...]
    last: dict[BoundKernel, LaunchArguments]
    late: list[Any]
    full: list[Call] = field(default_factory=list)
    steady: list[Call] = field(default_factory=list)

    def add(self, call: Call) -> None:
        """Add a call that is always made."""
        self.full.append(call)
        self.steady.append(call)

    @property
    def is_current(self) -> bool:
        """True if no other run has used the kernels since the last one."""
        for kernel in self.last:  # noqa: SIM110 - faster than a generator
            if kernel.owner is not self:
                return False
        return True

    def restore(self) -> None:
        """Set the arguments that the last run left in the kernels."""
        for kernel, (args, lengths) in self.last.items():
            kernel.set_args(filled_late(args, self.late), lengths)
            kernel.bound_by(self, lengths)

    def issue(self) -> None:
        """Make the calls."""
        steady = self.is_current
        try:
            for call in self.steady if steady else self.full:
                call()
        except BaseException:
            for kernel in self.last:
                kernel.forget_args()
            raise
        if not steady:
            for kernel, (_, lengths) in self.last.items():
                kernel.bound_by(self, lengths)


@dataclass(slots=True)
class _Capture:
    """The commands of a run, and what they need.

    ``inputs`` are the names of the buffers that the run is given.  ``sizes`` are the sizes in bytes
    of the buffers that it takes.  Buffers are numbered in this order.  ``scans`` are the words of
    :data:`SCAN_STATUS` that scans ask for.  ``ending`` makes the results of ``values``.
    ``scalars`` are the other arguments of the run.
    """

    inputs: list[str]
    scalars: dict[str, Any]
    sizes: list[int] = field(default_factory=list)
    scans: list[int] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    ending: Ending | None = None
    values: tuple[Any, ...] = ()
    fallible: bool = False


def perform(executable: Executable, args: dict[str, Any], thresholds: Mapping[str, int],
            force: Force, *, record: bool, deliver: Delivery | None = None) -> Outcome:
    """Run a plan on bound arguments, which are taken out of ``args``, or repeat an earlier run.

    The results are what ``deliver`` makes of them, or raw, as in runs with a record.
    """
    if record:
        return _recorded(executable, args, thresholds, force)
    buffers = executable.decisions.under(thresholds, force).command_buffers
    key = key_of(executable, args)
    found = buffers.get(key)
    if isinstance(found, CommandBuffer):
        given = found.given(args)
        args.clear()
        return found.run.call(found.submit, given, deliver=deliver)
    if found is SeenCount.ONCE or (found is None and executable.captures_first):
        run = CapturingRun(executable, thresholds, force, args)
        outcome = run.call(executable.main, args, deliver=deliver)
        buffers[key] = run.command_buffer() or SeenCount.OFTEN
        return outcome
    if found is None:
        buffers[key] = SeenCount.ONCE
    return execute(executable, args, thresholds, force, record=False, deliver=deliver)


def repeatable(executable: Executable, key: tuple[Hashable, ...],
               thresholds: Mapping[str, int], force: Force) -> CommandBuffer | None:
    """The command buffer of runs on arguments with this key, if there is one."""
    found = executable.decisions.under(thresholds, force).command_buffers.get(key)
    return found if isinstance(found, CommandBuffer) else None


def prepare(executable: Executable, args: Mapping[str, Any], thresholds: Mapping[str, int],
            force: Force) -> float:
    """Build the kernels that make a run on these arguments faster, if it has come often enough.

    The result is for measuring, in seconds: a shorter run takes longer than the runs after it.  It
    may be captured, follow other runs, or be the first with a persistent kernel.
    """
    key = key_of(executable, args)
    buffers = executable.decisions.under(thresholds, force).command_buffers
    found, is_new = buffers.get(key), False
    if found is SeenCount.ONCE and executable.captures_first and executable.foreseeable:
        found = DryCapture(executable, thresholds, force,
                           args).capture(dict(args)) or SeenCount.OFTEN
        buffers[key], is_new = found, True
    if isinstance(found, CommandBuffer):
        found.warm()
        if not executable.captures_first or found.ready(args):
            return 0.0
        return CAPTURE_COST if is_new and found.has_loop else SWITCH_COST
    return CAPTURE_COST if executable.captures_first and found is not SeenCount.OFTEN else 0.0


def record(executable: Executable, args: dict[str, Any], thresholds: Mapping[str, int],
           force: Force, *, samples: bool) -> Outcome:
    """A run with a record, which counts as a run before the captured one."""
    key = key_of(executable, args)
    buffers = executable.decisions.under(thresholds, force).command_buffers
    outcome = _recorded(executable, args, thresholds, force, samples=samples)
    made = outcome.record
    assert made is not None
    if executable.captures_first and made.infeasible == executable.infeasible:
        buffers.setdefault(key, SeenCount.ONCE)
    return outcome


def _recorded(executable: Executable, args: dict[str, Any], thresholds: Mapping[str, int],
              force: Force, *, samples: bool = False) -> Outcome:
    """A run with a record.  It is made again if builds or first launches are in its times."""
    recorded, key = executable.decisions.under(thresholds, force).recorded, key_of(executable, args)
    if key in recorded:
        return execute(executable, args, thresholds, force, record=True, samples=samples)
    for _ in range(MOST_COLD_RUNS):
        before = executable.build_seconds
        outcome = execute(executable, dict(args), thresholds, force, record=True, samples=samples)
        built = executable.build_seconds - before
        assert outcome.record is not None
        if not _is_cold(outcome.record, outcome.first_launches, built):
            break
        long = outcome.record.wall - built > CAPTURE_COST
        del outcome  # the next run may have its buffers
        if long:
            executable.watch.alive()
    else:
        outcome = execute(executable, args, thresholds, force, record=True, samples=samples)
    recorded.add(key)
    return outcome


def _is_cold(made: Record, first_launches: int, built: float) -> bool:
    """True if a run took notably longer because it was the first: it built kernels for ``built``
    seconds, or launched kernels for the first time.
    """
    idle = made.span - made.busy
    return built > COLD_SHARE * made.wall or (first_launches > 0 and (
        made.span < FIRST_LAUNCH_SECONDS / COLD_SHARE or idle > COLD_SHARE * made.span))


def savings(executable: Executable, args: Mapping[str, Any], thresholds: Mapping[str, int],
            force: Force) -> int:
    """The number of commands that a run on these arguments saves once its launches are fused."""
    found = repeatable(executable, key_of(executable, args), thresholds, force)
    return found.savings() if found is not None else 0


def fused_programs(executable: Executable, args: Mapping[str, Any], thresholds: Mapping[str, int],
                   force: Force) -> list[tuple[str, ...]]:
    """The programs of the fused launches of a run on these arguments."""
    found = repeatable(executable, key_of(executable, args), thresholds, force)
    return found.fused_programs() if found is not None else []


def key_of(executable: Executable, args: Mapping[str, Any]) -> tuple[Hashable, ...]:
    """The sizes and scalars among arguments, floats by their bits, and the buffers that are one.

    The values of free scalars are no part of it.
    """
    key = list[Hashable]()
    handles, free = list[int](), executable.free.names
    for name, value in args.items():
        if isinstance(value, Buffer):
            handles.append(id(value.handle))
        elif name not in free:
            key.append(_bits(value))
    return (*key, *shared(handles))


def shared(handles: Sequence[int]) -> tuple[Hashable, ...]:
    """Nothing if buffers differ, else for each of them the place of the first that is the same."""
    if len(set(handles)) == len(handles):
        return ()
    return (tuple(map(handles.index, handles)),)


class CapturingRun(Run):
    """The ``rt`` that fills a command buffer: it runs a plan and captures its commands."""

    def __init__(self, executable: Executable, thresholds: Mapping[str, int], force: Force,
                 args: Mapping[str, Any]) -> None:
        super().__init__(executable, thresholds, force, record=False)
        self.allocate = self._allocate
        self._capture = _Capture(
            [name for name, value in args.items() if isinstance(value, Buffer)],
            {name: value for name, value in args.items() if not isinstance(value, Buffer)})
        self._inputs = [args[name] for name in self._capture.inputs]  # keeps their memory
        self._slots = {id(b.handle): Slot(n) for n, b in enumerate(self._inputs)}
        self._handles: list[Any] = []  # so that nothing else has their identity
        self._unrepeatable = False

    def command_buffer(self) -> CommandBuffer | None:
        """The command buffer of the run, which is over; None if it cannot be repeated."""
        capture = self._capture
        unrepeatable = (self._unrepeatable or sum(capture.sizes) > MOST_CAPTURED_BYTES
                        or len(capture.commands) > MOST_CAPTURED_COMMANDS)
        found = None if unrepeatable else CommandBuffer(self._submitter(), capture)
        self.allocate = self._pool.allocate
        self._unrepeatable = True
        self._inputs, self._handles, self._slots = [], [], {}
        return found

    def _submitter(self) -> Run:
        """The run that submits the commands again."""
        return self

    def _allocate(self, size: int) -> Buffer:
        buffer = self._pool.allocate(size)
        if id(buffer.handle) not in self._slots:
            sizes = self._capture.sizes
            self._slots[id(buffer.handle)] = Slot(len(self._inputs) + len(sizes))
            sizes.append(buffer.size)
            self._handles.append(buffer.handle)
        return buffer

    def _slot(self, value: Any) -> Any:
        return self._slots.get(id(value), value)

    def conclude(self, ending: Ending, *values: Any) -> tuple[Any, ...]:
        """Conclude; the epilogue is not captured, but run every time."""
        capture = self._capture
        capture.ending, capture.fallible = ending, self._fallible
        capture.values = tuple(self._slot(v.handle) if isinstance(v, Buffer) else v for v in values)
        return super().conclude(ending, *values)

    def statuses(self, words: int) -> Buffer:
        """The buffer of the device in which the groups of a scan publish their totals."""
        buffer = super().statuses(words)
        self._capture.scans.append(words)
        self._slots[id(buffer.handle)] = SCAN_STATUS
        self._handles.append(buffer.handle)
        return buffer

    def issue(self, number: int, groups: int, group: int, lengths: tuple[int, ...],
              *args: Any) -> None:
        """Run a kernel, and capture the launch."""
        super().issue(number, groups, group, lengths, *args)
        self._note(number, (), groups, group, lengths, args)

    def issue_built(self, number: int, constants: tuple[int, ...], groups: int, group: int,
                    lengths: tuple[int, ...], *args: Any) -> None:
        """Run a kernel that is built for constants, and capture the launch."""
        super().issue_built(number, constants, groups, group, lengths, *args)
        self._note(number, constants, groups, group, lengths, args)

    def _note(self, number: int, constants: tuple[int, ...], groups: int, group: int,
              lengths: tuple[int, ...], args: tuple[Any, ...]) -> None:
        site = self.executable.sites[number]
        if groups > 0 and group > 0 and site.kernel is not None and not self._unrepeatable:
            slots = self.executable.free.placed(site.launch.args, [*map(self._slot, args)])
            self._capture.commands.append(Launch(
                number, constants, groups, group, lengths, slots, site.kernel))

    def copy(self, target: Buffer, source: Buffer, size: int, offset: int = 0) -> None:
        """Copy, and capture the copy."""
        super().copy(target, source, size, offset)
        if size > 0 and not self._unrepeatable:
            self._capture.commands.append(Copy(
                self._slot(target.handle), self._slot(source.handle), size, offset))

    def run_loop(self, loop: RunLoop) -> None:
        """Have one kernel run the iterations of a loop, and capture its launch."""
        super().run_loop(loop)
        if not self._unrepeatable:
            self._capture.commands.append(replace(
                loop, rings=(), args=tuple(map(self._slot, loop.args))))

    def reads(self, *elements: tuple[Buffer, str, int]) -> list[Any]:
        """Elements of buffers.  A run that repeats this one expects them, before the epilogue."""
        fallible = self._fallible
        found = super().reads(*elements)
        if self._capture.ending is None and not self._unrepeatable:
            self._capture.commands.append(Expect(
                tuple([(self._slot(buffer.handle), prim, index)
                       for buffer, prim, index in elements]), tuple(found), fallible))
        return found

    # Runs that cannot be repeated

    def run_while_loop(self, loop: RunLoop) -> None:
        """Run iterations until the device says that it is over; their number is not captured."""
        self._unrepeatable = True
        super().run_while_loop(loop)

    def abandon(self, number: int, version: int, reason: Exception) -> None:
        """Reject a version; it may run another time, so the run cannot be repeated."""
        self._unrepeatable = True
        super().abandon(number, version, reason)


class DryCapture(CapturingRun, DryRun):
    """The ``rt`` that fills a command buffer without running anything on the device."""

    def capture(self, args: dict[str, Any]) -> CommandBuffer | None:
        """The command buffer; None if the commands depend on results of the device."""
        try:
            self.executable.main(self, args)
        except (Infeasible, OutOfMemory, RuneliftError):
            return None
        return self.command_buffer()

    def _submitter(self) -> Run:
        return self.uncaptured()


class CommandBuffer:
    """The commands of a captured run, which ``run`` submits again.

    ``inputs`` are the names of the buffers that it is given.
    """

    def __init__(self, run: Run, capture: _Capture) -> None:
        assert capture.ending is not None
        self.run = run
        self.inputs, self._scalars = capture.inputs, capture.scalars
        self._scans, self._ending = capture.scans, capture.ending
        self._fallible = capture.fallible
        self._late = list[Any]()
        self._submits, self._is_fused, self._diverged = 0, False, False
        self._bound: dict[tuple[int, ...], BoundCommands | tuple[Any, ...]] = {}
        first, sizes = len(capture.inputs), capture.sizes
        order = sorted(range(len(sizes)), key=lambda n: sizes[n])  # pieces of a size together
        renumbered = {first + old: Slot(first + new) for new, old in enumerate(order)}
        renumbered |= {n: Slot(n) for n in range(first)} | {SCAN_STATUS.number: SCAN_STATUS}
        self._commands: list[Command] = []
        self._launchers: list[Call] = []
        self._record([each.filled(renumbered) for each in capture.commands])
        self._values = filled(capture.values, renumbered)
        self._classes = [(size, len(list(same))) for size, same in groupby(sorted(sizes))]
        results = {value.number for value in self._values if isinstance(value, Slot)}
        self._taken = list(enumerate(sorted(sizes), first))
        self._results = [(n, size) for n, size in self._taken if n in results]
        self._temporaries = [(n, size) for n, size in self._taken if n not in results]

    @property
    def repeats(self) -> bool:
        """True unless a run has read other values than the captured one."""
        return not self._diverged

    @property
    def has_loop(self) -> bool:
        """True if one of the commands is a persistent kernel."""
        return any(isinstance(each, RunLoop) for each in self._commands)

    def savings(self) -> int:
        """The number of commands that fusion will save; on a host's processor, none is fused."""
        done = self._is_fused or self.run.executable.device.info.is_host
        return 0 if done else saved_commands(self.run.executable, self._commands)

    def fused_programs(self) -> list[tuple[str, ...]]:
        """The programs of its fused launches."""
        return [] if self._is_fused else fused_sources(self.run.executable, self._commands)

    def warm(self) -> None:
        """Count a submit that is to come; fuse launches when there have been a few."""
        self._submits += 1
        executable = self.run.executable
        if (self._submits >= SUBMITS_BEFORE_FUSION and not self._is_fused
                and executable.may_fuse and self.repeats):
            self._is_fused = True
            commands = fuse_launches(executable, self._commands)
            if len(commands) < len(self._commands):
                self._record(commands)

    def _record(self, commands: list[Command]) -> None:
        """Submit these commands from now on."""
        self._commands = commands
        self._launchers = [self._launcher(each) for each in commands]
        self._bound.clear()

    def ready(self, args: Mapping[str, Any]) -> bool:
        """Prepare a run on these arguments, which then only makes steady calls.

        The result is True if nothing was to be done: no other run has used the kernels.
        """
        if self._diverged:
            return True
        handles = [args[name].handle for name in self.inputs]
        self._take_scalars(self.run, self.given(args)[1])
        first, device = len(handles), self.run.device
        try:
            for size, count in self._classes:
                handles += device.pool.take(size, count)
        except OutOfMemory:
            return True  # the plan itself will run
        finally:
            for (_, size), handle in zip(self._taken, handles[first:], strict=False):
                device.pool.give_back(size, handle)
        for words in self._scans:
            status = device.scan_status.begin(words)
        if self._scans:
            handles.append(status.handle)
        key = tuple(map(id, handles))
        found = self._bound.get(key)
        bound = found if isinstance(found, BoundCommands) else self._bind(key, handles)
        is_current = bound.is_current
        if not is_current:
            bound.restore()
        return is_current

    def given(self, args: Mapping[str, Any]) -> Given:
        """The arguments of a run as :meth:`submit` wants them."""
        free = self.run.executable.free.names
        return [args[name] for name in self.inputs], {name: args[name] for name in free}

    def _take_scalars(self, run: Run, scalars: Mapping[str, Any]) -> None:
        """Use these values of free scalars from now on."""
        if scalars:
            self._scalars.update(scalars)
            self._late[:] = run.executable.free.of(run, self._scalars)

    def submit(self, run: Run, given: Given) -> tuple[Any, ...]:
        """Issue the commands again, on buffers for :attr:`inputs`; the results.

        The plan itself runs if there is too little memory for all buffers at a time.  It also runs
        once values that were read differ from those of the captured run.
        """
        run.begin(fallible=self._fallible)
        buffers: list[Any] = given[0]
        self._take_scalars(run, given[1])
        if self._diverged:
            return self._run_plan(run, buffers)
        handles = [buffer.handle for buffer in buffers]
        pool = run.device.pool
        try:
            for size, count in self._classes:
                handles += pool.take(size, count)
        except OutOfMemory:  # the plan itself gives back what it is done with, or does less
            for number, size in self._taken[:len(handles) - len(buffers)]:
                pool.give_back(size, handles[number])
            return self._run_plan(run, buffers)
        for words in self._scans:
            status = run.device.scan_status.begin(words)
        if self._scans:
            handles.append(status.handle)
        try:
            self._issue(handles)
        except Diverged:
            self._diverged = True
        finally:
            for number, size in self._temporaries:
                pool.give_back(size, handles[number])
            for number, size in self._results:
                handles[number] = Buffer(handles[number], size, pool)
        if self._diverged:
            handles.clear()
            self._bound.clear()
            self.run = run.uncaptured()
            return self._run_plan(run, buffers)
        run.all_issued()
        handles[:len(buffers)] = buffers
        return self._ending(run, *filled(self._values, handles))

    def _run_plan(self, run: Run, buffers: Sequence[Buffer]) -> tuple[Any, ...]:
        """The results of the plan itself.  No captured command writes into ``buffers``."""
        run.begin(fallible=False)
        args = {**self._scalars, **dict(zip(self.inputs, buffers, strict=True))}
        return run.executable.main(run, args)

    def _issue(self, handles: Sequence[Any]) -> None:
        """Issue the commands on buffers with these handles."""
        key = tuple(map(id, handles))
        found = self._bound.get(key)
        try:
            if found is None:
                self._issue_unbound(key, handles)
            else:
                (found if isinstance(found, BoundCommands) else self._bind(key, handles)).issue()
        except cl.MemoryError:
            raise OutOfMemory("a launch needs more than the device has") from None

    def _issue_unbound(self, key: tuple[int, ...], handles: Sequence[Any]) -> None:
        """Issue the commands on buffers that may never come together again."""
        self._forget()
        self._bound[key] = tuple(handles)
        for command, launch in zip(self._commands, self._launchers, strict=True):
            if isinstance(command, Launch):
                args, lengths = _arguments(command, handles)
                _kernel_of(command).set_args(filled_late(args, self._late), lengths)
                launch()
            else:
                self._call(command, handles)()

    def _forget(self) -> None:
        """Make room for one more choice of buffers."""
        if len(self._bound) >= MOST_BINDINGS:
            self._bound.clear()

    def _bind(self, key: tuple[int, ...], handles: Sequence[Any]) -> BoundCommands:
        """The calls for these buffers."""
        self._forget()
        arguments = [(_kernel_of(each), _arguments(each, handles))
                 for each in self._commands if isinstance(each, Launch)]
        last = dict(arguments)
        bound = self._bound[key] = BoundCommands(tuple(handles), last, self._late)
        before, left = dict[BoundKernel, LaunchArguments](), iter(arguments)
        for command, launch in zip(self._commands, self._launchers, strict=True):
            if isinstance(command, Launch):
                kernel, now = next(left)
                known = before.get(kernel)
                setters = list(kernel.setters(now, known))
                bound.full += setters
                bound.steady += setters if known else kernel.setters(now, last[kernel])
                before[kernel] = now
                if (setter := kernel.late_setter(now[0], self._late)) is not None:
                    bound.add(setter)
                bound.add(launch)
            else:
                bound.add(self._call(command, handles))
        return bound

    def _call(self, command: Copy | RunLoop | Expect, handles: Sequence[Any]) -> Call:
        """The call that copies, runs the iterations of a loop, or reads values that decide."""
        bound, run = command.filled(handles), self.run
        match bound:
            case Copy():
                return partial(cl.enqueue_copy, run.queue, bound.target, bound.source,
                               byte_count=bound.size, src_offset=bound.offset)
            case RunLoop():
                return partial(run_loop, run, bound)
            case Expect():
                return partial(_expect, run, bound, self._fallible)

    def _launcher(self, command: Command) -> Call:
        """The call that launches the kernel of a command, if it has one."""
        if not isinstance(command, Launch):
            return lambda: None
        run, kernel, group = self.run, _kernel_of(command).handle, command.group
        items = command.groups * group
        if len(self._commands) >= LEAST_DIRECT_COMMANDS and not run.device.info.is_host:
            return launcher(run.queue, kernel, items, group)
        return partial(cl.enqueue_nd_range_kernel, run.queue, kernel, (items,), (group,))


def _kernel_of(launch: Launch) -> BoundKernel:
    """The kernel of a captured launch."""
    assert launch.kernel is not None
    return launch.kernel


def _expect(run: Run, expected: Expect, fallible: bool) -> None:
    """Read values that decide; Diverged if they differ from the captured ones."""
    run.begin(fallible=expected.fallible)
    if list(map(_bits, run.values_at(expected.elements))) != list(map(_bits, expected.values)):
        raise Diverged
    run.begin(fallible=fallible)


def _bits(value: Any) -> Hashable:
    """A value such that 0 and -0 differ, and NaN equals itself."""
    return struct.pack("d", value) if isinstance(value, float) else value


def _arguments(launch: Launch, handles: Sequence[Any]) -> LaunchArguments:
    """The arguments and lengths of a launch where buffers have these handles."""
    return filled(launch.args, handles), launch.lengths
