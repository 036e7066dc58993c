"""Runs that repeat what an earlier one issued.

What a plan issues follows from the sizes and scalars that it is given, unless it reads something
back on the way.  So when an entry point is called with the same ones again, the second run is put
on a *tape*: its launches and copies, with a number for each buffer.  From the third on nothing of
the plan is run but its ending: memory is taken for the buffers, and what is on the tape is issued,
setting those arguments of kernels only that differ from what they are.  (Graphs of CUDA and
command buffers of OpenCL are the same idea; drivers seldom have the latter.)  After a few times
launches of single work-groups are put together (:mod:`runelift.runtime.execution.fused_launches`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import Any, TypeAlias

import pyopencl as cl

from runelift.ir.errors import RuneliftError
from runelift.runtime.devices.build import Infeasible
from runelift.runtime.devices.direct_launch import launcher
from runelift.runtime.devices.kernel import BoundKernel, Given
from runelift.runtime.devices.memory import Buffer, OutOfMemory
from runelift.runtime.execution.commands import (
    Command,
    Copy,
    Launch,
    RunLoop,
    Slot,
    filled,
)
from runelift.runtime.execution.decision_cache import SeenCount
from runelift.runtime.execution.dry_run import DryRun
from runelift.runtime.execution.executable import Executable
from runelift.runtime.execution.fused_launches import fuse_launches, saved, sources
from runelift.runtime.execution.persistent_loops import run_loop
from runelift.runtime.execution.run import Ending, Force, Outcome, Run, execute
from runelift.runtime.records.record import Record

MOST_COMMANDS = 1 << 13
"""Runs of more commands are too long to gain by it."""
MOST_BYTES = 1 << 30
"""So are those that take more memory, of which a tape needs no less than the sum of all buffers."""
SUBMITS = 8
"""After how often it is played a tape is worth kernels of its own."""
WARM = SUBMITS + 4
"""How many runs there are before one that is as all later ones."""
CAPTURE_COST = 0.1
"""Runs of fewer seconds take longer for what is noted of them."""
FOLLOWING = 0.001
"""Those of fewer do so after runs of other kernels (by 3 %, on one GPU)."""
DIRECT = 4
"""How many commands gain by having no events; with one or two, calls took longer without."""
MOST_BOUND = 4
"""For how many choices of buffers the calls of a tape are kept, once they came twice."""

STATUSES = Slot(-1)
"""The last of the buffers, where a run has scans whose groups tell each other something."""

Call: TypeAlias = Callable[[], Any]


@dataclass(slots=True)
class BoundCommands:
    """The calls of a tape for certain buffers, which it keeps: they are known by identity.

    ``steady`` are those after a run with the same buffers, if nobody else has used the kernels.
    ``last`` is what each kernel is launched with last.
    """

    handles: tuple[Any, ...]
    last: dict[BoundKernel, Given]
    full: list[Call] = field(default_factory=list)
    steady: list[Call] = field(default_factory=list)

    def add(self, call: Call) -> None:
        """Make a call whatever has been before."""
        self.full.append(call)
        self.steady.append(call)

    @property
    def holds(self) -> bool:
        """Whether nobody else has used the kernels since the last run."""
        return all(kernel.holder is self for kernel in self.last)

    def hold(self) -> None:
        """Give the kernels what the last run left them with."""
        for kernel, (args, lengths) in self.last.items():
            kernel.give(args, lengths)
            kernel.held(self, lengths)

    def issue(self) -> None:
        """Make the calls."""
        steady = self.holds
        try:
            for call in self.steady if steady else self.full:
                call()
        except BaseException:
            for kernel in self.last:
                kernel.lost()
            raise
        if not steady:
            for kernel, (_, lengths) in self.last.items():
                kernel.held(self, lengths)


@dataclass(slots=True)
class Capture:
    """What is noted of a run.

    ``given`` are the names of the buffers that it is given, ``sizes`` the sizes in bytes of those
    that it takes; they are numbered in this order.  ``scans`` are the words of :data:`STATUSES`
    that scans ask for.  ``ending`` makes the results of ``values``.
    """

    given: list[str]
    sizes: list[int] = field(default_factory=list)
    scans: list[int] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    ending: Ending | None = None
    values: tuple[Any, ...] = ()
    fallible: bool = False


def perform(executable: Executable, args: dict[str, Any], thresholds: Mapping[str, int],
            force: Force, *, record: bool) -> Outcome:
    """Run a plan on bound arguments, which are taken out of ``args``, or repeat an earlier run."""
    if record:
        return execute(executable, args, thresholds, force, record=True)
    tapes = executable.decisions.under(thresholds, force).tapes
    key = _key(args)
    tape = tapes.get(key)
    if isinstance(tape, CommandBuffer):
        return tape.run.call(tape.play, args)
    if tape is SeenCount.ONCE or (tape is None and executable.tapes_first):
        taping = CapturingRun(executable, thresholds, force, args)
        outcome = taping.call(executable.main, args)
        tapes[key] = taping.tape() or SeenCount.OFTEN
        return outcome
    if tape is None:
        tapes[key] = SeenCount.ONCE
    return execute(executable, args, thresholds, force, record=False)


def prepare(executable: Executable, args: Mapping[str, Any], thresholds: Mapping[str, int],
            force: Force) -> float:
    """Build what a run on these arguments may have built by now to be faster.

    The result is for one who measures: a run that takes fewer seconds takes longer than those after
    it, as it is put on a tape although it is the first one, comes after others, or is the first
    with a kernel for all iterations of a loop.
    """
    tapes, key = executable.decisions.under(thresholds, force).tapes, _key(args)
    tape, is_new = tapes.get(key), False
    if tape is SeenCount.ONCE and executable.tapes_first and executable.foreseeable:
        tape = DryCapture(executable, thresholds, force, args).write(dict(args)) or SeenCount.OFTEN
        tapes[key], is_new = tape, True
    if isinstance(tape, CommandBuffer):
        tape.warm()
        if not executable.tapes_first or tape.ready(args):
            return 0.0
        return CAPTURE_COST if is_new and tape.merges else FOLLOWING
    return CAPTURE_COST if executable.tapes_first and tape is not SeenCount.OFTEN else 0.0


def record(executable: Executable, args: dict[str, Any], thresholds: Mapping[str, int],
           force: Force, *, samples: bool) -> Record:
    """The record of a run; who measures need not make it once more to put it on a tape."""
    tapes, key = executable.decisions.under(thresholds, force).tapes, _key(args)
    made = execute(executable, args, thresholds, force, record=True, samples=samples).record
    assert made is not None
    if executable.tapes_first and made.infeasible == executable.infeasible:
        tapes.setdefault(key, SeenCount.ONCE)
    return made


def savings(executable: Executable, args: Mapping[str, Any], thresholds: Mapping[str, int],
            force: Force) -> int:
    """How many commands fewer a run on these arguments will have when it has come often."""
    tape = executable.decisions.under(thresholds, force).tapes.get(_key(args))
    return tape.savings() if isinstance(tape, CommandBuffer) else 0


def shortened(executable: Executable, args: Mapping[str, Any], thresholds: Mapping[str, int],
              force: Force) -> list[tuple[str, ...]]:
    """The programs that make a run on these arguments shorter when it has come often."""
    tape = executable.decisions.under(thresholds, force).tapes.get(_key(args))
    return tape.shortened() if isinstance(tape, CommandBuffer) else []


def _key(args: Mapping[str, Any]) -> tuple[int | bytes, ...]:
    """The sizes and scalars among arguments, floats by their bits."""
    return tuple([struct.pack("d", value) if isinstance(value, float) else value
                  for value in args.values() if not isinstance(value, Buffer)])


class CapturingRun(Run):
    """A run that is put on a tape."""

    def __init__(self, executable: Executable, thresholds: Mapping[str, int], force: Force,
                 args: Mapping[str, Any]) -> None:
        super().__init__(executable, thresholds, force, record=False)
        self.allocate = self._noted
        self._notes = Capture([n for n, value in args.items() if isinstance(value, Buffer)])
        self._given = [args[name] for name in self._notes.given]  # their memory is for nothing else
        self._slots = {id(b.handle): Slot(n) for n, b in enumerate(self._given)}
        self._handles: list[Any] = []  # so that nothing else has their identity
        self._lost = len(self._slots) < len(self._given)

    def tape(self) -> CommandBuffer | None:
        """The tape of the run, which is over; None if it cannot be repeated."""
        notes = self._notes
        lost = (self._lost or sum(notes.sizes) > MOST_BYTES
                or len(notes.commands) > MOST_COMMANDS)
        tape = None if lost else CommandBuffer(self._player(), notes)
        self.allocate = self._pool.allocate
        self._lost = True
        self._given, self._handles, self._slots = [], [], {}
        return tape

    def _player(self) -> Run:
        """What issues again what is on the tape."""
        return self

    def _noted(self, size: int) -> Buffer:
        buffer = self._pool.allocate(size)
        if id(buffer.handle) not in self._slots:
            sizes = self._notes.sizes
            self._slots[id(buffer.handle)] = Slot(len(self._given) + len(sizes))
            sizes.append(buffer.size)
            self._handles.append(buffer.handle)
        return buffer

    def _slot(self, value: Any) -> Any:
        return self._slots.get(id(value), value)

    def conclude(self, ending: Ending, *values: Any) -> tuple[Any, ...]:
        """All is on the tape but for the ending."""
        notes = self._notes
        notes.ending, notes.fallible = ending, self._fallible
        notes.values = tuple(self._slot(v.handle) if isinstance(v, Buffer) else v for v in values)
        return super().conclude(ending, *values)

    def statuses(self, words: int) -> Buffer:
        """The device's buffer, for one more scan."""
        buffer = super().statuses(words)
        self._notes.scans.append(words)
        self._slots[id(buffer.handle)] = STATUSES
        self._handles.append(buffer.handle)
        return buffer

    def issue(self, number: int, groups: int, group: int, lengths: tuple[int, ...],
              *args: Any) -> None:
        """Run a kernel, and note it."""
        super().issue(number, groups, group, lengths, *args)
        self._note(number, (), groups, group, lengths, args)

    def issue_built(self, number: int, constants: tuple[int, ...], groups: int, group: int,
                    lengths: tuple[int, ...], *args: Any) -> None:
        """Run a kernel that is built for constants, and note it."""
        super().issue_built(number, constants, groups, group, lengths, *args)
        self._note(number, constants, groups, group, lengths, args)

    def _note(self, number: int, constants: tuple[int, ...], groups: int, group: int,
              lengths: tuple[int, ...], args: tuple[Any, ...]) -> None:
        kernel = self.executable.sites[number].kernel
        if groups > 0 and group > 0 and kernel is not None and not self._lost:
            self._notes.commands.append(Launch(
                number, constants, groups, group, lengths, tuple(map(self._slot, args)), kernel))

    def copy(self, target: Buffer, source: Buffer, size: int, offset: int = 0) -> None:
        """Copy, and note it."""
        super().copy(target, source, size, offset)
        if size > 0 and not self._lost:
            self._notes.commands.append(Copy(
                self._slot(target.handle), self._slot(source.handle), size, offset))

    def run_loop(self, loop: RunLoop) -> None:
        """Have one kernel do the iterations of a loop, and note it."""
        super().run_loop(loop)
        if not self._lost:
            self._notes.commands.append(replace(
                loop, rings=(), args=tuple(map(self._slot, loop.args))))

    # What cannot be repeated

    def reads(self, *elements: tuple[Buffer, str, int]) -> list[Any]:
        """Elements; before the ending, what follows depends on them."""
        self._lost |= self._notes.ending is None
        return super().reads(*elements)

    def abandon(self, number: int, version: int, reason: Exception) -> None:
        """Another time the version may run."""
        self._lost = True
        super().abandon(number, version, reason)


class DryCapture(CapturingRun, DryRun):
    """A run that is put on a tape without being made, as it has been, with a record."""

    def write(self, args: dict[str, Any]) -> CommandBuffer | None:
        """The tape; None if it cannot be told what the run would do."""
        try:
            self.executable.main(self, args)
        except (Infeasible, OutOfMemory, RuneliftError):
            return None
        return self.tape()

    def _player(self) -> Run:
        return Run(self.executable, self._thresholds, self._force, record=False)


class CommandBuffer:
    """What a run issued, ready to be issued again by ``run``."""

    def __init__(self, run: Run, notes: Capture) -> None:
        assert notes.ending is not None
        self.run = run
        self._given, self._scans, self._ending = notes.given, notes.scans, notes.ending
        self._fallible = notes.fallible
        self._plays, self._is_short = 0, False
        self._bound: dict[tuple[int, ...], BoundCommands | tuple[Any, ...]] = {}
        first, sizes = len(notes.given), notes.sizes
        order = sorted(range(len(sizes)), key=lambda n: sizes[n])  # pieces of a size together
        renumbered = {first + old: Slot(first + new) for new, old in enumerate(order)}
        renumbered |= {n: Slot(n) for n in range(first)} | {STATUSES.number: STATUSES}
        self._commands: list[Command] = []
        self._launchers: list[Call] = []
        self._record([each.filled(renumbered) for each in notes.commands])
        self._values = filled(notes.values, renumbered)
        self._classes = [(size, len(list(same))) for size, same in groupby(sorted(sizes))]
        results = {value.number for value in self._values if isinstance(value, Slot)}
        self._taken = list(enumerate(sorted(sizes), first))
        self._kept = [(n, size) for n, size in self._taken if n in results]
        self._lent = [(n, size) for n, size in self._taken if n not in results]

    @property
    def merges(self) -> bool:
        """Whether a kernel does all iterations of a loop."""
        return any(isinstance(each, RunLoop) for each in self._commands)

    def savings(self) -> int:
        """How many commands fewer it will have."""
        return 0 if self._is_short else saved(self.run.executable, self._commands)

    def shortened(self) -> list[tuple[str, ...]]:
        """The programs that make it shorter."""
        return [] if self._is_short else sources(self.run.executable, self._commands)

    def warm(self) -> None:
        """The tape is about to be played; if that has happened a few times, make it shorter."""
        self._plays += 1
        if self._plays >= SUBMITS and not self._is_short and self.run.executable.may_fuse:
            self._is_short = True
            commands = fuse_launches(self.run.executable, self._commands)
            if len(commands) < len(self._commands):
                self._record(commands)

    def _record(self, commands: list[Command]) -> None:
        """Have these commands on the tape."""
        self._commands = commands
        self._launchers = [self._launcher(each) for each in commands]
        self._bound.clear()

    def ready(self, args: Mapping[str, Any]) -> bool:
        """Have all set for a run on these arguments, which then only makes steady calls.

        The result is whether it was so before: nobody else has used the kernels.
        """
        handles = [args[name].handle for name in self._given]
        first, device = len(handles), self.run.device
        try:
            for size, count in self._classes:
                handles += device.pool.take(size, count)
        except OutOfMemory:
            return True  # the plan itself will run
        finally:
            for (_, size), handle in zip(self._taken, handles[first:], strict=False):
                device.pool.give(size, handle)
        for words in self._scans:
            statuses = device.statuses.begin(words)
        if self._scans:
            handles.append(statuses.handle)
        key = tuple(map(id, handles))
        found = self._bound.get(key)
        bound = found if isinstance(found, BoundCommands) else self._bind(key, handles)
        held = bound.holds
        if not held:
            bound.hold()
        return held

    def play(self, run: Run, args: dict[str, Any]) -> tuple[Any, ...]:
        """Issue everything again, on the buffers among ``args``; the results."""
        self.run.begin(fallible=self._fallible)
        buffers: list[Any] = [args[name] for name in self._given]
        handles = [buffer.handle for buffer in buffers]
        pool = run.device.pool
        try:
            for size, count in self._classes:
                handles += pool.take(size, count)
        except OutOfMemory:  # the plan itself gives back what it is done with, or does less
            for number, size in self._taken[:len(handles) - len(buffers)]:
                pool.give(size, handles[number])
            return run.executable.main(run, args)
        for words in self._scans:
            statuses = run.device.statuses.begin(words)
        if self._scans:
            handles.append(statuses.handle)
        try:
            self._issue(handles)
        finally:
            for number, size in self._lent:
                pool.give(size, handles[number])
            for number, size in self._kept:
                handles[number] = Buffer(handles[number], size, pool)
        run.all_issued()
        args.clear()
        handles[:len(buffers)] = buffers
        return self._ending(run, *filled(self._values, handles))

    def _issue(self, handles: Sequence[Any]) -> None:
        """Issue the commands on buffers with these handles."""
        key = tuple(map(id, handles))
        found = self._bound.get(key)
        try:
            if found is None:
                self._once(key, handles)
            else:
                (found if isinstance(found, BoundCommands) else self._bind(key, handles)).issue()
        except cl.MemoryError:
            raise OutOfMemory("a launch needs more than the device has") from None

    def _once(self, key: tuple[int, ...], handles: Sequence[Any]) -> None:
        """Issue the commands on buffers that may never come together again."""
        self._forget()
        self._bound[key] = tuple(handles)
        for command, launch in zip(self._commands, self._launchers, strict=True):
            if isinstance(command, Launch):
                _kernel_of(command).give(*_given(command, handles))
                launch()
            else:
                _call(command, self.run, handles)()

    def _forget(self) -> None:
        """Make room for one more choice of buffers."""
        if len(self._bound) >= MOST_BOUND:
            self._bound.clear()

    def _bind(self, key: tuple[int, ...], handles: Sequence[Any]) -> BoundCommands:
        """The calls for these buffers."""
        self._forget()
        given = [(_kernel_of(each), _given(each, handles))
                 for each in self._commands if isinstance(each, Launch)]
        last = dict(given)
        bound = self._bound[key] = BoundCommands(tuple(handles), last)
        before, left = dict[BoundKernel, Given](), iter(given)
        for command, launch in zip(self._commands, self._launchers, strict=True):
            if isinstance(command, Launch):
                kernel, now = next(left)
                known = before.get(kernel)
                setters = list(kernel.setters(now, known))
                bound.full += setters
                bound.steady += setters if known else kernel.setters(now, last[kernel])
                before[kernel] = now
                bound.add(launch)
            else:
                bound.add(_call(command, self.run, handles))
        return bound

    def _launcher(self, command: Command) -> Call:
        """The call that launches the kernel of a command, if it has one."""
        if not isinstance(command, Launch):
            return lambda: None
        run, kernel, group = self.run, _kernel_of(command).handle, command.group
        items = command.groups * group
        if len(self._commands) >= DIRECT and not run.device.info.is_host:
            return launcher(run.queue, kernel, items, group)
        return partial(cl.enqueue_nd_range_kernel, run.queue, kernel, (items,), (group,))


def _kernel_of(launch: Launch) -> BoundKernel:
    """The kernel of a captured launch."""
    assert launch.kernel is not None
    return launch.kernel


def _call(command: Copy | RunLoop, run: Run, handles: Sequence[Any]) -> Call:
    """The call that copies, or runs the iterations of a loop."""
    bound = command.filled(handles)
    if isinstance(bound, Copy):
        return partial(cl.enqueue_copy, run.queue, bound.target, bound.source,
                       byte_count=bound.size, src_offset=bound.offset)
    return partial(run_loop, run, bound)


def _given(launch: Launch, handles: Sequence[Any]) -> Given:
    """The arguments and lengths of a launch where buffers have these handles."""
    return filled(launch.args, handles), launch.lengths
