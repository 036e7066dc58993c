"""Command buffers: runs that issue the commands of an earlier run again.

The commands of a plan follow from the sizes and scalars that it is given, and from values that it
reads back on the way.  So the second run on equal sizes and scalars is captured: its launches,
copies and reads, with a number for each buffer.  A later run reads again where values decide, and
runs the plan itself if one differs.  Scalars that only kernels need may differ.  Later runs take
memory for the buffers and submit the commands.  They set only kernel arguments that differ from the
last values set.  Of the plan itself they run the epilogue only.  CUDA graphs and OpenCL's
``cl_khr_command_buffer`` are the same idea; drivers seldom have this extension.  After a few runs,
launches of single work-groups are fused (:mod:`runelift.runtime.execution.fused_launches`).
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from runelift.ir.base.errors import RuneliftError
from runelift.runtime.devices.build import Infeasible
from runelift.runtime.devices.memory import Buffer, OutOfMemory
from runelift.runtime.execution.commands import Copy, Expect, Launch, RunLoop, Slot
from runelift.runtime.execution.decision_cache import SeenCount
from runelift.runtime.execution.delivery import Delivery
from runelift.runtime.execution.dry_run import DryRun
from runelift.runtime.execution.executable import Executable
from runelift.runtime.execution.run import Ending, Force, Outcome, Run, execute
from runelift.runtime.execution.submitting import (
    SCAN_STATUS,
    SUBMITS_BEFORE_FUSION,
    Capture,
    CommandBuffer,
    bits,
)
from runelift.runtime.records.record import Record

MOST_CAPTURED_COMMANDS = 1 << 13
"""Runs of more commands are too long to gain by it."""
MOST_CAPTURED_BYTES = 1 << 30
"""The most memory of a captured run; a command buffer needs the sum of all its buffers."""
WARM_UP_RUNS = SUBMITS_BEFORE_FUSION + 4
"""The number of runs before the first run that is like all later runs."""
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
        started = time.perf_counter()
        results = found.submit(*given, deliver)
        return Outcome(results, None, time.perf_counter() - started, found.run.issued - started)
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
            key.append(bits(value))
    return (*key, *shared(handles))


def shared(handles: Sequence[int]) -> tuple[Hashable, ...]:
    """Nothing if all buffers differ, else for each buffer the place of the first equal buffer."""
    if len(set(handles)) == len(handles):
        return ()
    return (tuple(map(handles.index, handles)),)


class CapturingRun(Run):
    """The ``rt`` that fills a command buffer: it runs a plan and captures its commands."""

    def __init__(self, executable: Executable, thresholds: Mapping[str, int], force: Force,
                 args: Mapping[str, Any]) -> None:
        super().__init__(executable, thresholds, force, record=False)
        self.allocate = self._allocate
        self._capture = Capture(
            [name for name, value in args.items() if isinstance(value, Buffer)],
            {name: value for name, value in args.items() if not isinstance(value, Buffer)})
        self._inputs = [args[name] for name in self._capture.inputs]  # keeps their memory
        self._slots = {id(b.handle): Slot(n) for n, b in enumerate(self._inputs)}
        self._handles: list[Any] = []  # so that nothing else has their identity
        self._unrepeatable = False

    def command_buffer(self) -> CommandBuffer | None:
        """The command buffer of the run, which is over; None if it cannot be repeated."""
        capture = self._capture
        unrepeatable = (self._unrepeatable or sum(capture.sizes) > self._most_captured()
                        or len(capture.commands) > MOST_CAPTURED_COMMANDS)
        found = None if unrepeatable else CommandBuffer(self.uncaptured(), capture)
        self.allocate = self._pool.allocate
        self._unrepeatable = True
        self._inputs, self._handles, self._slots = [], [], {}
        return found

    def _most_captured(self) -> int:
        """The most bytes that a command buffer may take, beside its inputs."""
        guard = self.executable.memory
        most = None if guard is None else guard.most_taken(
            {id(buffer.handle): buffer for buffer in self._inputs})
        return MOST_CAPTURED_BYTES if most is None else min(most, MOST_CAPTURED_BYTES)

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
            self.follow(self.executable.main, args)
        except (Infeasible, OutOfMemory, RuneliftError):
            return None
        return self.command_buffer()
