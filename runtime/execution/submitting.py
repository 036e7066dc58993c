"""Submitting: the commands of a captured run, issued again on other buffers.

See :mod:`runelift.runtime.execution.calls`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import groupby
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import pyopencl as cl

from runelift.runtime.devices.direct_launch import DirectCall, launcher, make
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
from runelift.runtime.execution.delivery import Delivery, on_device
from runelift.runtime.execution.device_array import DeviceArray, true_shape
from runelift.runtime.execution.inspection import Inspected, Inspection, inspection
from runelift.runtime.execution.persistent_loops import run_loop
from runelift.runtime.execution.plan_forms import filled_late
from runelift.runtime.execution.run import Ending, Run
from runelift.runtime.host import interrupts

if TYPE_CHECKING:
    from runelift.runtime.execution.fused_launches import Planned

Call: TypeAlias = Callable[[], Any]


@dataclass(slots=True)
class BoundCalls:
    """The calls that issue commands on certain buffers.

    Arguments that a kernel has from the run before are not set again.
    ``steady`` are the calls after a run on these buffers, as long as all kernels keep their
    arguments.  ``moved`` are the calls after a run of the same commands on other buffers.  ``full``
    are the calls in all other cases.  ``last`` has the arguments of the last launch of each kernel.
    """

    last: dict[BoundKernel, LaunchArguments]
    full: list[Call] = field(default_factory=list)
    moved: list[Call] = field(default_factory=list)
    steady: list[Call] = field(default_factory=list)

    def add(self, call: Call) -> None:
        """Add a call that is always made."""
        for calls in (self.full, self.moved, self.steady):
            calls.append(call)

    def issue(self, owner: BoundCommands) -> None:
        """Issue the calls; ``owner`` knows the arguments of the kernels then."""
        try:
            for kernel in self.last:
                if kernel.owner is not owner:
                    break
            else:
                for call in self.steady:
                    if call() and type(call) is DirectCall:  # as make does, without a frame
                        call.again()
                return
            for call in self.moved if self._follows_moved(owner) else self.full:
                make(call)
        except BaseException:
            for kernel in self.last:
                kernel.forget_args()
            raise
        for kernel, (_, lengths) in self.last.items():
            kernel.bound_by(owner, lengths)

    def _follows_moved(self, owner: BoundCommands) -> bool:
        """True if all kernels ran last with other buffers of the same command buffer."""
        return all(isinstance(kernel.owner, BoundCommands) and kernel.owner.late is owner.late
                   for kernel in self.last)


@dataclass(slots=True)
class BoundCommands:
    """The commands of a command buffer for certain buffers, which are known by identity.

    ``all`` are the calls of all commands.  ``known`` leave out the inspection of arrays, which a
    run before has made.  ``late`` are the values of late scalars in the present run, a list for
    each command buffer.
    """

    handles: tuple[Any, ...]
    late: list[Any]
    all: BoundCalls
    known: BoundCalls

    @property
    def is_current(self) -> bool:
        """True if no later run has set other arguments of the kernels."""
        return all(kernel.owner is self for kernel in self.all.last)

    def restore(self) -> None:
        """Set the arguments that the last run left in the kernels."""
        for kernel, (args, lengths) in self.all.last.items():
            kernel.set_args(filled_late(args, self.late), lengths)
            kernel.bound_by(self, lengths)


SUBMITS_BEFORE_FUSION = 8
"""Command buffers that are submitted as often are worth kernels for fused launches."""
MOST_BINDINGS = 8
"""The most choices of buffers for which the calls of a command buffer are kept."""
SCAN_STATUS = Slot(-1)
"""The last of the buffers, where the groups of scans publish their totals."""

Given: TypeAlias = tuple[list[Buffer], Mapping[str, Any]]
"""The buffers of a run that repeats another, and its free scalars by name."""


def _fusing() -> ModuleType:
    """The module that fuses launches: :mod:`~runelift.runtime.execution.fused_launches`."""
    # late: start-up; few command buffers are submitted so often
    from runelift.runtime.execution import fused_launches

    return fused_launches


class Diverged(Exception):
    """A value that decides about the following commands is another than in the captured run."""


@dataclass(slots=True)
class Capture:
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


class CommandBuffer:
    """The commands of a captured run, which ``run`` submits again.

    ``inputs`` are the names of the buffers that it is given.
    """

    def __init__(self, run: Run, capture: Capture) -> None:
        assert capture.ending is not None
        self.run = run
        self.inputs, self._scalars = capture.inputs, capture.scalars
        self._scans, self._ending = capture.scans, capture.ending
        self._fallible = capture.fallible
        self._late = list[Any]()
        self._given = list[Hashable]()
        self._pool = run.device.pool
        self._submits, self._is_fused, self._diverged = 0, False, False
        self._plain = run
        self.warms = run.executable.may_fuse
        """True if submits are counted, as launches may be fused after some."""
        self._bound: dict[tuple[int, ...], BoundCommands | tuple[Any, ...]] = {}
        self._twins: dict[BoundKernel, BoundKernel] = {}
        first, sizes = len(capture.inputs), capture.sizes
        order = sorted(range(len(sizes)), key=lambda n: sizes[n])  # pieces of a size together
        renumbered = {first + old: Slot(first + new) for new, old in enumerate(order)}
        renumbered |= {n: Slot(n) for n in range(first)} | {SCAN_STATUS.number: SCAN_STATUS}
        self._values = filled(capture.values, renumbered)
        self._made = self._results_there()
        self._classes = [(size, len(list(same))) for size, same in groupby(sorted(sizes))]
        results = {value.number for value in self._values if isinstance(value, Slot)}
        self._taken = list(enumerate(sorted(sizes), first))
        self._results = [(n, size) for n, size in self._taken if n in results]
        self._temporaries = [(n, size) for n, size in self._taken if n not in results]
        self._commands: list[Command] = []
        self._launchers: list[Call] = []
        self._record([each.filled(renumbered) for each in capture.commands])

    def _results_there(self) -> Sequence[tuple[int, Any]] | None:
        """The results on the device, if they follow from sizes: buffers by number, and their kinds.

        A scalar has a negative number.
        """
        if not self.run.executable.forms.reads_nothing:
            return None
        found: list[tuple[int, Any]] = []
        for value, spec in zip(self._ending(self.run, *self._values),
                               self.run.executable.plan.results, strict=True):
            if spec.shape is None:
                found.append((-1, spec.prim.dtype.type(value)))
            elif not isinstance(value[0], Slot) or value[0].number < 0:
                return None
            else:
                kind = spec.prim, true_shape(value[2]), self.run.device
                found.append((value[0].number, kind))
        return found

    @property
    def _inspects(self) -> Set[int]:
        """The places of the commands that inspect arrays."""
        return frozenset() if self._inspection is None else self._inspection.places

    @property
    def repeats(self) -> bool:
        """True until a run has read other values than the captured one."""
        return not self._diverged

    @property
    def has_loop(self) -> bool:
        """True if one of the commands is a persistent kernel."""
        return any(isinstance(each, RunLoop) for each in self._commands)

    def savings(self) -> int:
        """The number of commands that fusion will save; on a host's processor, none is fused."""
        done = self._is_fused or self.run.executable.device.info.is_host
        return 0 if done else len(self._commands) - len(self._fusion)

    def fused_programs(self) -> list[tuple[str, ...]]:
        """The programs of its fused launches."""
        return [] if self._is_fused else [
            (each.source,) for each in self._fusion if not isinstance(each, Command)]

    @cached_property
    def _fusion(self) -> list[Planned]:
        """The commands with fused launches in place of some; it is dropped when they are made."""
        found: list[Planned] = []
        for inspects, part in groupby(enumerate(self._commands),
                                      lambda each: each[0] in self._inspects):
            commands = [command for _, command in part]
            found += commands if inspects else _fusing().plan_fusion(self.run.executable, commands)
        return found

    def warm(self) -> None:
        """Count a submit that is to come; fuse launches when there have been a few."""
        self._submits += 1
        if (self._submits >= SUBMITS_BEFORE_FUSION and not self._is_fused
                and self.run.executable.may_fuse and self.repeats):
            self.fuse()

    def fuse(self) -> None:
        """Fuse launches; the commands are bound to no buffers then."""
        self._is_fused, self.warms = True, False
        commands: list[Command] = _fusing().fuse_launches(self.run.executable, self._fusion)
        del self._fusion
        if len(commands) < len(self._commands):
            self._record(commands)

    def _record(self, commands: list[Command]) -> None:
        """Submit these commands from now on, with kernels that no other runs launch."""
        self._commands = [self._with_twin(each) if isinstance(each, Launch) else each
                          for each in commands]
        self._late = list(self._late)  # what was bound before follows no other commands
        self._inspection = inspection(
            self.run.executable.sites, self._commands, len(self.inputs),
            {SCAN_STATUS.number, *(number for number, _ in self._results)})
        self._inspected = Inspected(self._inspection.given if self._inspection else None)
        self._launchers = [self._launcher(each) for each in self._commands]
        self._waited = bool(commands) and isinstance(commands[-1], Expect)
        self._bound.clear()

    def _with_twin(self, launch: Launch) -> Launch:
        """The launch with a kernel that keeps the arguments of this command buffer."""
        kernel = _kernel_of(launch)
        if kernel in self._twins.values():
            return launch
        if kernel not in self._twins:
            self._twins[kernel] = kernel.twin()
        return replace(launch, kernel=self._twins[kernel])

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
        bound = found if isinstance(found, BoundCommands) else self.bind(key, handles)
        is_current = bound.is_current
        if not is_current:
            bound.restore()
        return is_current

    def given(self, args: Mapping[str, Any]) -> Given:
        """The arguments of a run as :meth:`submit` wants them."""
        free = self.run.executable.forms.free.names
        return [args[name] for name in self.inputs], {name: args[name] for name in free}

    def _take_scalars(self, run: Run, scalars: Mapping[str, Any]) -> None:
        """Use these values of free scalars from now on.

        What is derived from them is computed when one has other bits than before.
        """
        given = list(map(bits, scalars.values()))
        if given != self._given:
            self._given.clear()  # the host may fail to compute
            self._scalars.update(scalars)
            self._late[:] = run.executable.forms.free.of(run, self._scalars)
            self._given = given

    def submit(self, buffers: Sequence[Buffer], scalars: Mapping[str, Any],
               deliver: Delivery | None = None) -> tuple[Any, ...]:
        """Issue the commands again, on buffers for :attr:`inputs`, and wait; the results.

        They are raw, or what ``deliver`` makes of them while the device works.  The plan itself
        runs if there is too little memory for all buffers at a time.  It also runs once values that
        were read differ from the values of the captured run.
        """
        if self._diverged:
            self.run = self._plain
        run = self.run
        run.begin(fallible=self._fallible)
        try:
            if scalars:
                self._take_scalars(run, scalars)
            results = None if self._diverged else self._repeated(buffers, deliver)
            if results is None:
                results = self._without_commands(buffers)
                if deliver is not None:
                    results = deliver(run, results)
            run.finish()
        except BaseException as error:
            self._inspected.clear()  # what was inspected may have failed
            run.failed(error)
        interrupts.check()
        return results

    def _repeated(self, buffers: Sequence[Buffer], deliver: Delivery | None
                  ) -> tuple[Any, ...] | None:
        """The results of the commands, issued again; None if the plan itself has to run."""
        run, pool, first = self.run, self._pool, len(buffers)
        handles: list[Any] = [buffer.handle for buffer in buffers]
        try:
            for size, count in self._classes:
                handles += pool.take(size, count)
        except OutOfMemory:
            for (_, size), handle in zip(self._taken, handles[first:], strict=False):
                pool.give_back(size, handle)
            return None
        try:
            for words in self._scans:
                status = run.device.scan_status.begin(words)
            if self._scans:
                handles.append(status.handle)
            key = tuple(map(id, handles))
            rung, is_known = self._bound.get(key), self._inspected.has(buffers)
            if rung is None:
                self.issue_unbound(key, handles)
            else:
                bound = rung if type(rung) is BoundCommands else self.bind(key, handles)
                (bound.known if is_known else bound.all).issue(bound)
            if not is_known:
                self._inspected.add(buffers)
        except cl.MemoryError:
            raise OutOfMemory("a launch needs more than the device has") from None
        except Diverged:
            self._diverged, self.warms = True, False
            self._bound.clear()
            self._plain = run.uncaptured()
            return None
        finally:
            for number, size in self._temporaries:
                pool.give_back(size, handles[number])
            for number, size in self._results:
                handles[number] = Buffer(handles[number], size, pool)
        run.all_issued(waited=self._waited and not is_known)
        handles[:first] = buffers
        if deliver is on_device and self._made is not None:
            return tuple([DeviceArray(handles[number], kind) if number >= 0 else kind
                          for number, kind in self._made])
        results = self._ending(run, *filled(self._values, handles))
        return results if deliver is None else deliver(run, results)

    def _without_commands(self, buffers: Sequence[Buffer]) -> tuple[Any, ...]:
        """Run the plan itself, which gives back what it is done with, or does less.

        No command that was issued before has written into ``buffers``.
        """
        self.run.begin(fallible=False)
        return self.run.follow(self.run.executable.forms.main, {
            **self._scalars, **dict(zip(self.inputs, buffers, strict=True))})

    def issue_unbound(self, key: tuple[int, ...], handles: Sequence[Any]) -> None:
        """Issue the commands on buffers that may never come together again."""
        self._forget()
        self._bound[key] = tuple(handles)
        for command, launch in zip(self._commands, self._launchers, strict=True):
            if isinstance(command, Launch):
                args, lengths = _arguments(command, handles)
                _kernel_of(command).set_args(filled_late(args, self._late), lengths)
                make(launch)
            else:
                self._call(command, handles)()

    def _forget(self) -> None:
        """Discard all bound calls if there are too many."""
        if len(self._bound) >= MOST_BINDINGS:
            self._bound.clear()

    def bind(self, key: tuple[int, ...], handles: Sequence[Any]) -> BoundCommands:
        """The captured commands as calls on these buffers."""
        self._forget()
        known = calls = self._calls(handles)
        if self._inspection is not None:
            known = self._calls(handles, self._inspection)
        bound = self._bound[key] = BoundCommands(tuple(handles), self._late, calls, known)
        return bound

    def _calls(self, handles: Sequence[Any], without: Inspection | None = None) -> BoundCalls:
        """The calls for these buffers, ``without`` the commands of an inspection, if any."""
        commands = list(zip(self._commands, self._launchers, strict=True))
        if without is not None:
            commands = [each for n, each in enumerate(commands) if n not in without.places]
        arguments = [(_kernel_of(each), _arguments(each, handles))
                     for each, _ in commands if isinstance(each, Launch)]
        last = dict(arguments)
        found = BoundCalls(last)
        if without is not None:
            found.add(partial(self.run.begin, fallible=without.fallible))
        before, left = dict[BoundKernel, LaunchArguments](), iter(arguments)
        for command, launch in commands:
            if isinstance(command, Launch):
                kernel, now = next(left)
                shown = before.get(kernel)
                setters = list(kernel.setters(now, shown))
                found.full += setters
                found.steady += setters if shown else kernel.setters(now, last[kernel])
                found.moved += setters if shown else kernel.setters(
                    now, _without_buffers(command, last[kernel]))
                before[kernel] = now
                if (setter := kernel.late_setter(now[0], self._late)) is not None:
                    found.add(setter)
                found.add(launch)
            else:
                found.add(self._call(command, handles))
        return found

    def _call(self, command: Copy | RunLoop | Expect, handles: Sequence[Any]) -> Call:
        """The call that copies, runs the iterations of a loop, or reads values that decide."""
        bound, run = command.filled(handles), self.run
        match bound:
            case Copy():
                return partial(cl.enqueue_copy, run.queue, bound.target, bound.source,
                               byte_count=bound.size, src_offset=bound.offset)
            case RunLoop():
                return partial(run_loop, run, bound)
            case Expect(fallible=fallible, decides=decides) if fallible or decides is not None:
                left = command is not self._commands[-1]
                return partial(_expect, run, bound, self._fallible and left)
            case Expect():
                return partial(_compare, run.comparison(bound.elements, bound.values))

    def _launcher(self, command: Command) -> Call:
        """The call that launches the kernel of a command, if it has one."""
        if not isinstance(command, Launch):
            return lambda: None
        run, kernel, group = self.run, _kernel_of(command).handle, command.group
        items = command.groups * group
        if not run.device.info.is_host:
            return launcher(run.queue, kernel, items, group)
        return partial(cl.enqueue_nd_range_kernel, run.queue, kernel, (items,), (group,))


def _without_buffers(launch: Launch, last: LaunchArguments) -> LaunchArguments:
    """The arguments of the last launch of a kernel with None in place of all buffers."""
    return [None if isinstance(arg, Slot) else value
            for arg, value in zip(launch.args, last[0], strict=True)], last[1]


def _kernel_of(launch: Launch) -> BoundKernel:
    assert launch.kernel is not None
    return launch.kernel


def _compare(comparison: Call) -> None:
    """Read values that decide; Diverged if they differ from the captured values."""
    if not comparison():
        raise Diverged


def _expect(run: Run, expected: Expect, fallible: bool) -> None:
    """Read values that decide, after kernels that may have failed; Diverged if one differs.

    Other values may lead to the same decision.  A failure does not count where one differs, as the
    kernels that failed were not meant for it.
    """
    def differ(found: Sequence[Any]) -> bool:
        return list(map(bits, found)) != list(map(bits, expected.values)) and (
            expected.decides is None or not expected.decides(found))

    def forget(found: Sequence[Any]) -> None:
        if differ(found):
            run.recover()
            raise Diverged from None

    run.begin(fallible=expected.fallible)
    if differ(run.values_at(expected.elements, forget)):
        raise Diverged
    run.begin(fallible=fallible)


def bits(value: Any) -> Hashable:
    """A hashable value that tells 0 from -0; NaN equals NaN."""
    return struct.pack("d", value) if isinstance(value, float) else value


def _arguments(launch: Launch, handles: Sequence[Any]) -> LaunchArguments:
    """The arguments and lengths of a launch where buffers have these handles."""
    return filled(launch.args, handles), launch.lengths
