"""The kernels that a run needs, collected without touching the device.

A dry run of the host plan gets buffers without memory, and notes kernels instead of launching them.
It ends at the first part that depends on a value that the device computes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from runelift.codegen.emit.persistent import PersistentKernel
from runelift.ir.errors import RuneliftError
from runelift.runtime.devices.build import Infeasible
from runelift.runtime.devices.memory import Buffer
from runelift.runtime.execution.dry_run import DependsOnDevice, DryRun
from runelift.runtime.execution.executable import Executable, NeededKernels
from runelift.runtime.execution.loop_scalars import LoopScalars
from runelift.runtime.execution.persistent_loops import INDEX, is_worthwhile
from runelift.runtime.execution.run import Force
from runelift.runtime.versions.default_guards import Occupancy

ITERATIONS, UNTRACED_ITERATIONS = 3, 16
"""The iterations after which a loop is left whose iterations launch the same kernels.  The second
number holds until one has been traced."""
COLLECT_TIMEOUT = 0.25
"""Seconds after which a dry run ends: a loop with very many iterations needs no further kernels."""


class KernelCollector(DryRun):
    """The ``rt`` that collects the kernels of a plan in ``needed``, and runs nothing."""

    def __init__(self, executable: Executable, thresholds: Mapping[str, int], force: Force,
                 needed: dict[NeededKernels, None]) -> None:
        super().__init__(executable, thresholds, force, record=False)
        self._needed = needed
        self._noted = set[tuple[int, tuple[int, ...]]]()
        self._end = time.perf_counter() + COLLECT_TIMEOUT
        self._unknown = False
        self._items = 0
        self._statuses = no_memory(0)
        self.allocate = no_memory

    def collect(self, args: dict[str, Any]) -> int | None:
        """Go through the plan; the number of work-items of the run, if known.

        Failures are for the run to report.
        """
        try:
            self.executable.main(self, args)
        except (Infeasible, RuneliftError):
            return None
        return None if self._unknown else self._items

    # Operations on the device

    def statuses(self, words: int) -> Buffer:
        """The status words of a scan: the device has one buffer for all scans."""
        return self._statuses

    def table(self, values: np.ndarray[Any, Any]) -> Any:
        """A table without values."""
        return object()

    def issue(self, number: int, groups: int, group: int, lengths: tuple[int, ...],
              *args: Any) -> None:
        """Note the version of a kernel."""
        self._note(number, (), groups, group, lengths)

    def issue_built(self, number: int, constants: tuple[int, ...], groups: int, group: int,
                    lengths: tuple[int, ...], *args: Any) -> None:
        """Note a kernel and the constants that it is built for."""
        if group == 0:
            raise Infeasible("the rows are too long")
        self._note(number, constants, groups, group, lengths)

    def _note(self, number: int, constants: tuple[int, ...], groups: int, group: int,
              lengths: Sequence[int]) -> None:
        if time.perf_counter() > self._end:
            raise DependsOnDevice("too many launches")
        if sum(lengths) > self.device.info.local_bytes:
            raise Infeasible("too little local memory")
        if groups > 0 and group > 0:
            if (number, constants) not in self._noted:  # loops launch the same again and again
                self._noted.add((number, constants))
                self._needed[self.executable.wanted(number, constants)] = None
            self._items += groups * group

    def persistent_kernel(self, kernel: PersistentKernel) -> None:
        """Note a kernel that merges a loop; those inside are noted as well, as none is launched."""
        self._needed[kernel] = None

    def rounds(self, bound: int, carried: Callable[[], tuple[Buffer | None, ...]],
               course: LoopScalars | None = None) -> Iterator[Any]:
        """The first iterations, as the others launch the same kernels as the last of these.

        A kernel that merges the loop is known from the traced iteration.  Where scalars change from
        one iteration to the next, the result has all of them.
        """
        few = UNTRACED_ITERATIONS if is_worthwhile(self, bound) else ITERATIONS
        items, traced = self._items, False
        for taken, given in enumerate(super().rounds(bound, carried, course)):
            if course is None and (traced or taken == few):
                self._items += (bound - taken) * (self._items - items)
                return
            items, traced = self._items, given is INDEX
            yield given

    # Versions

    def encounter(self, number: int, pars: tuple[int, ...], crowds: tuple[Occupancy | None, ...],
                  local: tuple[int, ...], sizes: dict[str, int]) -> Iterator[int]:
        """The alternatives to try, until one depends on the device."""
        for version in self.chooser.order(number, pars, crowds, local):
            yield version
            if self._unknown:
                return

    def abandon(self, number: int, version: int, reason: Exception) -> None:
        """Note that a version cannot run, or depends on the device."""
        self._unknown |= isinstance(reason, DependsOnDevice)

    def none_left(self, number: int) -> None:
        """End the dry run: the kernels that follow are unknown."""
        raise DependsOnDevice("no version")


def no_memory(size: int) -> Buffer:
    """A buffer without memory, unlike any other."""
    return Buffer(object(), max(size, 0), None)
