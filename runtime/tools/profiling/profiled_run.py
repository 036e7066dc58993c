"""Runs of host plans with a profile: the record, and what each of its commands was asked to do.

The times come from the recorder (:mod:`~runelift.runtime.records.recorder`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from runelift.codegen.plan.plan import ValueSpec
from runelift.ir import imp
from runelift.ir.names import VName
from runelift.ir.types import Const
from runelift.runtime.devices.kernel import BoundKernel
from runelift.runtime.devices.memory import Buffer
from runelift.runtime.execution import persistent_loops
from runelift.runtime.execution.commands import RunLoop
from runelift.runtime.execution.delivery import Delivery
from runelift.runtime.execution.executable import Executable
from runelift.runtime.execution.loop_scalars import ScalarColumn
from runelift.runtime.execution.run import Force, Outcome, Run
from runelift.runtime.records.recorder import Command, OpenEncounter

COPY, READ, LOOP = "copy", "read", "loop"
"""The kinds of commands that are no launches of one kernel of the plan."""


class LaunchShape(NamedTuple):
    """A launch of a kernel: all that its work depends on, apart from elements.

    ``scalars`` are the arguments and constants by parameter, ``buffers`` the bytes of each buffer.
    A group has ``room`` bytes of local memory.
    """

    number: int
    groups: int
    group: int
    scalars: tuple[tuple[VName, Any], ...]
    buffers: tuple[tuple[VName, int], ...]
    room: int


@dataclass(frozen=True, slots=True)
class IssuedCommand:
    """A command as the host issued it, from ``begun`` to ``done`` (seconds of ``perf_counter``).

    ``kind`` is empty for a launch.  For a loop in one kernel, ``launches`` are the launches of an
    iteration in the middle.  It is run ``times`` times, which the device tells if it decides.
    ``bytes`` are copied.
    """

    kind: str
    launches: tuple[LaunchShape, ...]
    begun: float
    done: float
    times: int = 1
    bytes: int = 0


@dataclass(slots=True)
class Observed:
    """Facts about a run, besides its record.

    ``waits`` and ``memory`` are in seconds of ``perf_counter``; ``memory`` has the bytes in use
    from then on.
    """

    started: float = 0.0
    commands: dict[int, IssuedCommand] = field(default_factory=dict)
    waits: list[tuple[float, float]] = field(default_factory=list)
    memory: list[tuple[float, int]] = field(default_factory=list)
    times: Sequence[Command] = ()
    encounters: Sequence[OpenEncounter] = ()


class ProfiledRun(Run):
    """The ``rt`` that runs a plan with a record, and keeps what each command was asked to do."""

    def __init__(self, executable: Executable, thresholds: Mapping[str, int], force: Force) -> None:
        super().__init__(executable, thresholds, force, record=True)
        self.seen = Observed()
        self._bytes: dict[int, int] = {}
        self._traced: persistent_loops.TracedIteration | None = None
        self._loop: RunLoop | None = None
        self._launched_loop = 0
        self.allocate = self._noted_allocate

    def call(self, main: Callable[[Any, Any], tuple[Any, ...]], args: Any, *,
             deliver: Delivery | None = None) -> Outcome:
        """Run ``main`` on ``args``."""
        for spec in self.executable.plan.params:
            if spec.shape is not None:
                self._bytes[id(args[str(spec.name)].handle)] = _bytes(spec, args)
        self.seen.started = time.perf_counter()
        self._note_memory()
        outcome = super().call(main, args, deliver=deliver)
        assert self.recorder is not None
        self.seen.times = self.recorder.commands()
        self.seen.encounters = self.recorder.closed
        return outcome

    # Memory

    def _noted_allocate(self, size: int) -> Buffer:
        buffer = self._pool.allocate(size)
        self._bytes[id(buffer.handle)] = size
        self._note_memory()
        return buffer

    def _note_memory(self) -> None:
        """Note the memory in use, unless that is as before."""
        memory, live = self.seen.memory, self._pool.live
        if not memory or memory[-1][1] != live:
            memory.append((time.perf_counter(), live))

    # Commands

    def issue(self, number: int, groups: int, group: int, lengths: tuple[int, ...],
              *args: Any) -> None:
        """Run a prepared kernel."""
        self._noted(self._shape(number, (), (groups, group, sum(lengths)), args),
                    lambda: super(ProfiledRun, self).issue(number, groups, group, lengths, *args))

    def issue_built(self, number: int, constants: tuple[int, ...], groups: int, group: int,
                    lengths: tuple[int, ...], *args: Any) -> None:
        """Run a kernel that is built for the values of its constants."""
        self._noted(self._shape(number, constants, (groups, group, sum(lengths)), args),
                    lambda: super(ProfiledRun, self).issue_built(
                        number, constants, groups, group, lengths, *args))

    def _noted(self, shape: LaunchShape, issue: Callable[[], None]) -> None:
        assert self.recorder is not None
        place, begun = self.recorder.issued, time.perf_counter()
        issue()
        if self.recorder.issued > place:
            done = time.perf_counter()
            self.seen.commands[place] = IssuedCommand("", (shape,), begun, done)
            self._note_memory()

    def _shape(self, number: int, constants: tuple[int, ...], extent: tuple[int, int, int],
               args: Sequence[Any]) -> LaunchShape:
        """The shape of a launch: groups, the size of a group, and its bytes of local memory."""
        groups, group, room = extent
        kernel = self._sites[number].launch.kernel
        known = dict(zip(kernel.built_for, constants, strict=False))
        if kernel.teams is not None and (teams := known.get(kernel.teams, 1)) > 1:
            groups, group = groups * teams, group // teams
        scalars, buffers = [*known.items()], list[tuple[VName, int]]()
        for param, arg in zip(kernel.params, args, strict=False):
            if isinstance(param, imp.ScalarParam):
                scalars.append((param.name, arg))
            else:
                buffers.append((param.name, self._bytes.get(id(arg)) or arg.size))
        return LaunchShape(number, groups, group, tuple(scalars), tuple(buffers), room)

    def copy(self, target: Buffer, source: Buffer, size: int, offset: int = 0) -> None:
        """Copy ``size`` bytes, from ``offset`` on in ``source``, to the start of ``target``."""
        assert self.recorder is not None
        place, begun = self.recorder.issued, time.perf_counter()
        super().copy(target, source, size, offset)
        if self.recorder.issued > place:
            self.seen.commands[place] = IssuedCommand(COPY, (), begun, time.perf_counter(),
                                                      bytes=2 * size)

    def _wait(self, *events: Any) -> None:
        begun = time.perf_counter()
        super()._wait(*events)
        self.seen.waits.append((begun, time.perf_counter()))

    # Loops in one kernel

    def tracing(self, traced: persistent_loops.TracedIteration) -> AbstractContextManager[None]:
        """Note launches in ``traced`` rather than issue them."""
        self._traced = traced
        return super().tracing(traced)

    def run_loop(self, loop: RunLoop) -> None:
        """Have one kernel run the iterations of a loop."""
        self._loop = loop
        super().run_loop(loop)

    def run_while_loop(self, loop: RunLoop) -> None:
        """Run the iterations of a loop by one kernel until the device ends the loop."""
        self._loop = None
        super().run_while_loop(loop)

    def enqueue_persistent(self, kernel: BoundKernel, groups: int, group: int) -> None:
        """Launch a kernel that runs the iterations of a loop."""
        assert self.recorder is not None
        place, begun = self.recorder.issued, time.perf_counter()
        super().enqueue_persistent(kernel, groups, group)
        done, loop = time.perf_counter(), self._loop
        self._launched_loop = place
        self.seen.commands[place] = IssuedCommand(
            LOOP, self._iteration(0 if loop is None else loop.first, loop), begun, done,
            times=0 if loop is None else loop.count)

    def saw_iterations(self, count: int) -> None:
        """Note the iterations that the last launch of a ``while`` loop has run."""
        issued = self.seen.commands[self._launched_loop]
        self.seen.commands[self._launched_loop] = replace(issued, times=count)

    def _iteration(self, first: int, loop: RunLoop | None) -> tuple[LaunchShape, ...]:
        """The launches of an iteration in the middle of a loop."""
        traced = self._traced
        if traced is None:
            return ()
        middle = 0 if loop is None else loop.count // 2
        rows = [] if traced.table is None else traced.table.rows
        row = rows[min(middle, len(rows) - 1)] if rows else ()

        def value(arg: Any) -> Any:
            if arg is persistent_loops.INDEX:
                return first + middle
            return row[arg.number] if isinstance(arg, ScalarColumn) and row else arg

        return tuple(self._shape(
            each.number, each.constants,
            (value(each.groups), each.group, sum(each.lengths)),
            [value(arg) for arg in each.args]) for each in traced.launches)


def _bytes(spec: ValueSpec, args: Mapping[str, Any]) -> int:
    """The bytes of an argument."""
    assert spec.shape is not None
    return spec.prim.bytes * math.prod(
        int(each.value) if isinstance(each, Const) else int(args[str(each)])
        for each in spec.shape)
