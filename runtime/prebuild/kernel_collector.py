"""The kernels that a run needs, collected without touching the device.

A dry run of the host plan gets buffers without memory, and notes kernels instead of launching them.
It ends at the first part that depends on a value that the device computes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runelift.codegen.emit.phases import PersistentKernel
from runelift.ir.base.errors import RuneliftError
from runelift.runtime.devices.build import Infeasible
from runelift.runtime.execution.dry_run import DependsOnDevice, ShortRun
from runelift.runtime.execution.executable import Executable
from runelift.runtime.execution.kernels import NeededKernels
from runelift.runtime.execution.run import Force
from runelift.runtime.versions.choose import Facts, LocalBytes


class KernelCollector(ShortRun):
    """The ``rt`` that collects the kernels of a plan in ``needed``, and runs nothing."""

    def __init__(self, executable: Executable, thresholds: Mapping[str, int], force: Force,
                 needed: dict[NeededKernels, None]) -> None:
        super().__init__(executable, thresholds, force)
        self._needed = needed
        self._noted = set[tuple[int, tuple[int, ...]]]()
        self._unknown = False

    def collect(self, args: dict[str, Any]) -> int | None:
        """Go through the plan; the number of work-items of the run, if known.

        Failures are for the run to report.
        """
        try:
            self.executable.forms.main(self, args)
        except (Infeasible, RuneliftError):
            return None
        return None if self._unknown else self._items

    # Operations on the device

    def _note(self, number: int, constants: tuple[int, ...], groups: int, group: int,
              lengths: Sequence[int]) -> None:
        super()._note(number, constants, groups, group, lengths)
        if groups > 0 and group > 0 and (number, constants) not in self._noted:
            self._noted.add((number, constants))  # loops launch the same again and again
            self._needed[self.executable.kernels.wanted(number, constants)] = None

    def persistent_kernel(self, kernel: PersistentKernel) -> None:
        """Note a kernel that merges a loop.

        The kernels inside are noted as well, as none is launched.
        """
        self._needed[kernel] = None

    # Versions

    def encounter(self, number: int, pars: tuple[int, ...], facts: Facts,
                  local: LocalBytes, sizes: dict[str, int]) -> Iterator[int]:
        """The alternatives to try, until one depends on the device."""
        for version in self.chooser.order(number, pars, facts, local):
            yield version
            if self._unknown:
                return

    def abandon(self, number: int, version: int, reason: Exception) -> None:
        """Note that a version cannot run, or depends on the device."""
        self._unknown |= isinstance(reason, DependsOnDevice)

    def none_left(self, number: int) -> None:
        """End the dry run: the kernels that follow are unknown."""
        raise DependsOnDevice("no version")
