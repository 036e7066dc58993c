"""Runs of which nothing reaches the device: who looks at what a plan does, without doing it."""

from __future__ import annotations

from typing import Any

from runelift.runtime.devices.build import Infeasible
from runelift.runtime.devices.memory import Buffer
from runelift.runtime.execution.commands import RunLoop
from runelift.runtime.execution.executable import KernelSite
from runelift.runtime.execution.run import Ending, Run


class DependsOnDevice(Infeasible):
    """What follows depends on what a device computes, or has taken too long to go through."""


class DryRun(Run):
    """The host's part of a run."""

    def copy(self, target: Buffer, source: Buffer, size: int, offset: int = 0) -> None:
        """Nothing is copied."""

    def reads(self, *elements: tuple[Buffer, str, int]) -> list[Any]:
        """Nobody knows."""
        raise DependsOnDevice("a value of the device")

    def conclude(self, ending: Ending, *values: Any) -> tuple[Any, ...]:
        """There are no results."""
        return ()

    def check_failure(self) -> None:
        """No kernel has run, so none has failed."""

    def run_loop(self, loop: RunLoop) -> None:
        """No kernel does rounds of a loop, but it might fail."""
        self._fallible = True

    def run_while_loop(self, loop: RunLoop) -> None:
        """Only the device knows how many."""
        raise DependsOnDevice("how often a loop goes on")

    def _enqueue(self, site: KernelSite, groups: int, group: int, lengths: tuple[int, ...],
                 args: tuple[Any, ...]) -> None:
        self._fallible |= site.fallible
