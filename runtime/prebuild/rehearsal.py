"""Rehearsals: what a run would build, without touching the device.

The host's part of a run is gone through with buffers that hold nothing, and launches are noted
instead of issued.  A part that depends on what a device computes cannot be foreseen: it ends there.
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

FEW, UNTRACED = 3, 16
"""After how many iterations of a loop that launches the same in each of them it is left, and after
how many if one of them was to be traced, and none has been."""
PATIENCE = 0.25
"""After how many seconds a rehearsal ends: a loop of very many rounds builds nothing new."""


class KernelCollector(DryRun):
    """The ``rt`` that collects in ``wanted`` the kernels that a plan needs, and runs nothing."""

    def __init__(self, executable: Executable, thresholds: Mapping[str, int], force: Force,
                 wanted: dict[NeededKernels, None]) -> None:
        super().__init__(executable, thresholds, force, record=False)
        self._wanted = wanted
        self._noted = set[tuple[int, tuple[int, ...]]]()
        self._end = time.perf_counter() + PATIENCE
        self._lost = False
        self._items = 0
        self._statuses = empty_buffer(0)
        self.allocate = empty_buffer

    def rehearse(self, args: dict[str, Any]) -> int | None:
        """Go through the plan; how many work-items the run will have, if that is known.

        Failures are for the run to report.
        """
        try:
            self.executable.main(self, args)
        except (Infeasible, RuneliftError):
            return None
        return None if self._lost else self._items

    # What would touch the device

    def statuses(self, words: int) -> Buffer:
        """What groups would tell each other: the device has one buffer for all scans."""
        return self._statuses

    def table(self, values: np.ndarray[Any, Any]) -> Any:
        """No values, either."""
        return object()

    def issue(self, number: int, groups: int, group: int, lengths: tuple[int, ...],
              *args: Any) -> None:
        """Note the version of a kernel."""
        self._note(number, (), groups, group, lengths)

    def issue_built(self, number: int, constants: tuple[int, ...], groups: int, group: int,
                    lengths: tuple[int, ...], *args: Any) -> None:
        """Note a kernel and what it is to be built for."""
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
                self._wanted[self.executable.wanted(number, constants)] = None
            self._items += groups * group

    def persistent_kernel(self, kernel: PersistentKernel) -> None:
        """Note a kernel for a loop; there is none to launch, so the loop's own are noted, too."""
        self._wanted[kernel] = None

    def rounds(self, bound: int, carried: Callable[[], tuple[Buffer | None, ...]],
               course: LoopScalars | None = None) -> Iterator[Any]:
        """A few of the iterations: the others launch the same as the last of these.

        If one kernel might do them, it is known by the one that is traced.  Where scalars change
        from one iteration to the next, all are gone through.
        """
        few = UNTRACED if is_worthwhile(self, bound) else FEW
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
        """The alternatives to try, until one is lost sight of."""
        for version in self.chooser.order(number, pars, crowds, local):
            yield version
            if self._lost:
                return

    def abandon(self, number: int, version: int, reason: Exception) -> None:
        """A version cannot run, or cannot be foreseen."""
        self._lost |= isinstance(reason, DependsOnDevice)

    def none_left(self, number: int) -> None:
        """Nothing is known of what follows."""
        raise DependsOnDevice("no version")


def empty_buffer(size: int) -> Buffer:
    """A buffer without memory, unlike any other."""
    return Buffer(object(), max(size, 0), None)


