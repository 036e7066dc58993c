"""Guards on memory: versions that need more memory than there is are not chosen.

The choice precedes the thresholds.  It is made when sizes are first met, by a dry run
(:mod:`~runelift.runtime.memory.memory_run`), and holds for later calls with these sizes.  A call
that is submitted again costs nothing more.  What a dry run cannot know, the pool refuses.

A *bound* counts what one call needs: its arguments, what it allocates, and its results.  Without a
bound the device's memory counts, but only once a run found too little of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from runelift.ir.base.errors import UserError
from runelift.runtime.devices.memory import Buffer
from runelift.runtime.execution.calls import key_of
from runelift.runtime.execution.executable import Executable
from runelift.runtime.execution.run import Force, Run
from runelift.runtime.memory.byte_sizes import show_bytes
from runelift.runtime.versions.choose import RequiredVersions

if TYPE_CHECKING:
    from runelift.runtime.memory.memory_run import MemoryEstimate, TooLarge

STEPS = 16
"""Free memory of the device is told apart in so many steps."""
SHOWN = 3
"""The most arrays that an error names."""


class MemoryGuard:
    """The guard of an executable; ``bound`` is in bytes, None for the device's memory."""

    def __init__(self, executable: Executable, bound: int | None = None) -> None:
        self._executable = executable
        self._pool = executable.device.pool
        self._bound = bound
        self.active = bound is not None
        """True if runs ask for it."""

    @property
    def bound(self) -> int | None:
        """The most bytes of a call; None if the device decides."""
        return self._bound

    @bound.setter
    def bound(self, bound: int | None) -> None:
        self._bound, self.active = bound, bound is not None
        self._executable.decisions.forget()

    def ran_out(self) -> None:
        """Note that a version found too little memory: from now on it is known before."""
        if not self.active:
            self.active = True
            self._executable.decisions.forget()

    def most_taken(self, inputs: Mapping[int, Buffer]) -> int | None:
        """The most bytes that a command buffer may take beside these; None if any number."""
        return None if self._bound is None else self._bound - _bytes(inputs)

    @contextmanager
    def within(self, run: Run, thresholds: Mapping[str, int], force: Force,
               args: Mapping[str, Any]) -> Iterator[None]:
        """Have a run keep within the bound; UserError if no versions do."""
        given = {id(arg.handle): arg for arg in args.values() if isinstance(arg, Buffer)}
        others = self._pool.live - _bytes(given)
        run.chooser.too_large = self._too_large(thresholds, force, args, others)
        del given
        if self._bound is None or run.copies:
            yield
            return
        self._pool.limit = others + self._bound
        self._pool.peak = self._pool.live
        try:
            yield
        finally:
            self._pool.limit = None

    def _too_large(self, thresholds: Mapping[str, int], force: Force, args: Mapping[str, Any],
                   others: int) -> TooLarge:
        """The versions that are too large for a call beside ``others`` bytes; found once."""
        executable = self._executable
        room = self._bound
        if room is None:
            step = max(1, executable.device.info.global_bytes // STEPS)
            room = executable.device.info.global_bytes - -(-others // step) * step
        known: dict[Any, TooLarge] = executable.decisions.under(thresholds, force).too_large
        key = room, *key_of(executable, args)
        if key not in known:
            # late: start-up; few runs have bounds
            from runelift.runtime.memory.memory_run import MemoryRun

            found = MemoryRun(executable, thresholds, force, bound=room).estimate(args)
            if (found.bytes > room and self._bound is not None and not found.unknown
                    and not isinstance(force, RequiredVersions)):
                raise _too_little(executable, MemoryRun(
                    executable, thresholds, force, least=True).estimate(args), room)
            known[key] = found.too_large
        return known[key]


def _bytes(buffers: Mapping[int, Buffer]) -> int:
    return sum(buffer.size for buffer in buffers.values())


def _too_little(executable: Executable, least: MemoryEstimate, bound: int) -> UserError:
    """The error that not even the versions that need least keep within the bound."""
    largest = ", ".join(f"{each.name.rpartition('_')[0]} ({show_bytes(each.bytes)})"
                        for each in least.alive[:SHOWN])
    several = " with the versions that need least" if executable.generated.sites else ""
    exactly = f"({least.bytes:,} bytes) " * (least.bytes >= 1 << 10)
    return UserError(
        f"Entry point '{executable.plan.entry}' needs {show_bytes(least.bytes)} "
        f"{exactly}of device memory for these arguments{several}, and "
        f"{show_bytes(bound)} are allowed.  The largest arrays at that time: {largest}.")
