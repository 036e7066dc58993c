"""Runs of host plans whose kernels are interpreted; only their buffers are on a device.

What kernels may not do is an error there: a data race, an access outside of memory, a barrier that
only some work-items reach (:mod:`runelift.ir.imp.interpret`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyopencl as cl

from runelift.codegen.emit.signatures import FAILURE_ARGS
from runelift.ir import imp
from runelift.ir.imp.interpret import Launch, Reported
from runelift.ir.imp.interpret import run as interpret_kernel
from runelift.runtime.devices.build import Infeasible
from runelift.runtime.devices.memory import Buffer
from runelift.runtime.execution import persistent_loops
from runelift.runtime.execution.executable import Executable
from runelift.runtime.execution.loop_scalars import LoopScalars
from runelift.runtime.execution.run import Force, Run

Array = np.ndarray[Any, np.dtype[Any]]


class InterpretedRun(Run):
    """The ``rt`` that interprets kernels, none after the ``deadline`` (:class:`Launch`)."""

    def __init__(self, executable: Executable, force: Force, deadline: float) -> None:
        super().__init__(executable, {}, force, record=False)
        self._deadline = deadline

    def issue(self, number: int, groups: int, group: int, lengths: tuple[int, ...],
              *args: Any) -> None:
        """Run a kernel by the interpreter."""
        self.issue_built(number, (), groups, group, lengths, *args)

    def issue_built(self, number: int, constants: tuple[int, ...], groups: int, group: int,
                    lengths: tuple[int, ...], *args: Any) -> None:
        """Interpret a kernel for these values of its constants and settings."""
        site = self._sites[number]
        kernel = site.launch.kernel
        if group <= 0 and constants:
            raise Infeasible(f"kernel {site.launch}: the rows are too long")
        if groups <= 0 or group <= 0:
            return
        known = dict(zip(kernel.built_for, constants, strict=True))
        if kernel.teams is not None:  # the interpreter counts groups, and the device teams of them
            teams = known[kernel.teams]
            groups, group = groups * teams, group // teams
            lengths = tuple(length // teams for length in lengths)
        buffers = self._fetched(kernel, args)
        given = {param.name: buffers[arg.int_ptr].view(param.prim.dtype)
                 if isinstance(param, imp.BufferParam) else arg
                 for param, arg in zip(kernel.params, args, strict=False)}
        reported = self.interpret(kernel, Launch(
            groups, group, given, {name: known[name] for name in kernel.constants},
            {array.name: length // array.prim.bytes
             for array, length in zip(kernel.local_memory, lengths, strict=True)}, self._deadline))
        self._store(kernel, args, buffers)
        if reported is not None:
            self._report(self.executable.kernels.bases[kernel.name], reported)

    def interpret(self, kernel: imp.Kernel, launch: Launch) -> Reported | None:
        """Run a kernel on arrays, which it changes."""
        return interpret_kernel(kernel, launch)

    def _fetched(self, kernel: imp.Kernel, args: Sequence[Any]) -> Mapping[int, Array]:
        """The bytes of the buffers that a kernel is given, once each, by handle."""
        found: dict[int, Array] = {}
        for param, arg in zip(kernel.params, args, strict=False):
            if isinstance(param, imp.BufferParam) and arg.int_ptr not in found:
                found[arg.int_ptr] = held = np.empty(arg.size, np.uint8)
                cl.enqueue_copy(self.queue, held, arg, is_blocking=True)
        return found

    def _store(self, kernel: imp.Kernel, args: Sequence[Any],
               buffers: Mapping[int, Array]) -> None:
        written = {arg.int_ptr: arg for param, arg in zip(kernel.params, args, strict=False)
                   if isinstance(param, imp.BufferParam) and param.written}
        for pointer, arg in written.items():
            cl.enqueue_copy(self.queue, arg, buffers[pointer], is_blocking=True)

    def _report(self, base: int, reported: Reported) -> None:
        """Record the failure that a kernel reported, unless one is recorded already."""
        code = np.empty(1, np.int32)
        cl.enqueue_copy(self.queue, code, self.device.failure_code, is_blocking=True)
        if code[0] < 0:
            code[0] = base + reported.code
            args = np.zeros(FAILURE_ARGS, np.int64)
            args[:len(reported.args)] = reported.args
            cl.enqueue_copy(self.queue, self.device.failure_code, code, is_blocking=True)
            cl.enqueue_copy(self.queue, self.device.failure_args, args, is_blocking=True)
        self._fallible = True

    # Loops, whose iterations the host takes

    def rounds(self, bound: int, carried: Callable[[], tuple[Buffer | None, ...]],
               course: LoopScalars | None = None) -> Iterable[Any]:
        """The iterations of a loop."""
        return persistent_loops.iterations(self, course, 0, bound)

    def rounds_while(self, cond: Callable[[], Buffer],
                     carried: Callable[[], tuple[Buffer | None, ...]]) -> Iterable[None]:
        """The iterations of a ``while`` loop whose condition is on the device."""
        while self.read(cond(), "bool", 0):
            yield
