"""Dry run: executes a host plan without touching the device."""

from __future__ import annotations

from typing import Any

from runelift.runtime.devices.build import Infeasible
from runelift.runtime.devices.memory import Buffer
from runelift.runtime.execution.commands import RunLoop
from runelift.runtime.execution.executable import KernelSite
from runelift.runtime.execution.run import Ending, Run


class DependsOnDevice(Infeasible):
    """The rest of a plan depends on results of the device, or would take too long to follow."""


class DryRun(Run):
    """The ``rt`` that does only the host's part of a plan: nothing reaches the device."""

    def copy(self, target: Buffer, source: Buffer, size: int, offset: int = 0) -> None:
        """Copy nothing."""

    def reads(self, *elements: tuple[Buffer, str, int]) -> list[Any]:
        """Raise: the values are unknown."""
        raise DependsOnDevice("a value of the device")

    def conclude(self, ending: Ending, *values: Any) -> tuple[Any, ...]:
        """No results."""
        return ()

    def check_failure(self) -> None:
        """Find no failure: no kernel has run."""

    def run_loop(self, loop: RunLoop) -> None:
        """Run no kernel; one might fail."""
        self._fallible = True

    def run_while_loop(self, loop: RunLoop) -> None:
        """Raise: only the device knows the number of iterations."""
        raise DependsOnDevice("how often a loop goes on")

    def _enqueue(self, site: KernelSite, groups: int, group: int, lengths: tuple[int, ...],
                 args: tuple[Any, ...]) -> None:
        self._fallible |= site.fallible
