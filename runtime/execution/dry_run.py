"""Dry run: executes a host plan without touching the device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from runelift.codegen.emit.phases import PersistentKernel
from runelift.runtime.devices.build import Infeasible
from runelift.runtime.devices.memory import Buffer
from runelift.runtime.execution.commands import RunLoop
from runelift.runtime.execution.executable import Executable
from runelift.runtime.execution.kernels import KernelSite
from runelift.runtime.execution.loop_scalars import LoopScalars
from runelift.runtime.execution.persistent_loops import INDEX, is_worthwhile
from runelift.runtime.execution.run import Ending, Force, Run

ITERATIONS, UNTRACED_ITERATIONS = 3, 16
"""The iterations after which a loop is left whose iterations launch the same kernels.  The second
number holds until one has been traced."""
MOST_LAUNCHES = 20_000
"""The launches after which a short dry run ends: a loop with very many iterations needs no further
kernels, and no more memory."""


MOST_CALLS = 100
"""The calls of functions that call themselves after which a short dry run ends."""


class DependsOnDevice(Infeasible):
    """The rest of a plan depends on results of the device, or would take too long to follow."""


class DryRun(Run):
    """The ``rt`` that does only the host's part of a plan: nothing reaches the device."""

    def copy(self, target: Buffer, source: Buffer, size: int, offset: int = 0) -> None:
        """Skip the copy."""

    def reads(self, *elements: tuple[Buffer, str, int]) -> list[Any]:
        """Raise: the values are unknown."""
        raise DependsOnDevice("a value of the device")

    def conclude(self, ending: Ending, *values: Any) -> tuple[Any, ...]:
        """Return no results."""
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


class ShortRun(DryRun):
    """The ``rt`` that follows a plan without kernels and without memory.

    It leaves loops early whose iterations launch the same kernels.
    """

    def __init__(self, executable: Executable, thresholds: Mapping[str, int], force: Force
                 ) -> None:
        super().__init__(executable, thresholds, force, record=False)
        self._launches = self._items = self._calls = 0
        self._facts: dict[int, tuple[Any, Sequence[int]]] = {}
        """Handles of buffers with known facts, by their identity, and the facts."""
        self._statuses = no_memory(0)
        self.allocate = no_memory

    def deeper(self, depth: int, place: str, function: str, points: int = 1, least: int = 0
               ) -> None:
        """Note a call; a function may call itself too often to follow all of its calls."""
        super().deeper(depth, place, function)
        self._calls += 1
        if self._calls > MOST_CALLS:
            raise DependsOnDevice("too many calls")

    def statuses(self, words: int) -> Buffer:
        """The status words of a scan: the device has one buffer for all scans."""
        return self._statuses

    def table(self, values: np.ndarray[Any, Any]) -> Any:
        """A table without values."""
        return object()

    def issue(self, number: int, groups: int, group: int, lengths: tuple[int, ...],
              *args: Any) -> None:
        """Note a launch of a kernel that is built for all sizes."""
        self._follow_facts(number, args)
        self._note(number, (), groups, group, lengths)

    def issue_built(self, number: int, constants: tuple[int, ...], groups: int, group: int,
                    lengths: tuple[int, ...], *args: Any) -> None:
        """Note that a launch uses a kernel that is built for ``constants``."""
        if group == 0:
            raise Infeasible(f"kernel {self._sites[number].launch}: the rows are too long")
        self._follow_facts(number, args)
        self._note(number, constants, groups, group, lengths)

    def known_reads(self, elements: Sequence[tuple[Buffer, str, int]]) -> list[int | None]:
        """Elements of buffers, where they are known lengths or facts about these, else None."""
        return [self._known(buffer.handle, index) for buffer, _, index in elements]

    def _known(self, handle: Any, index: int) -> int | None:
        if (facts := self._facts.get(id(handle))) is not None:
            return facts[1][index]
        element: Callable[[int], int | None] | None = getattr(handle, "element", None)
        return None if element is None else element(index)

    def reads(self, *elements: tuple[Buffer, str, int]) -> list[Any]:
        """Lengths and facts about them; DependsOnDevice if other values are read."""
        found = self.known_reads(elements)
        return super().reads(*elements) if None in found else found

    def _follow_facts(self, number: int, args: Sequence[Any]) -> None:
        """Note the buffer that a launch leaves facts about known lengths in."""
        if (flow := self._sites[number].launch.facts) is not None:
            source, target = args[flow.source], args[flow.target]
            facts = getattr(source, "facts", None) or self._facts.get(id(source), (source, None))[1]
            if facts is not None:
                self._facts[id(target)] = target, facts

    def _note(self, number: int, constants: tuple[int, ...], groups: int, group: int,
              lengths: Sequence[int]) -> None:
        """Count a launch, and its work-items."""
        self._launches += 1
        if self._launches > MOST_LAUNCHES:
            raise DependsOnDevice("too many launches")
        if sum(lengths) > self.device.info.local_bytes:
            raise Infeasible(f"kernel {self._sites[number].launch}: too little local memory")
        if groups > 0 and group > 0:
            self._items += groups * group

    def persistent_kernel(self, kernel: PersistentKernel) -> None:
        """Build no kernel that merges a loop."""

    def rounds(self, bound: int, carried: Callable[[], tuple[Buffer | None, ...]],
               course: LoopScalars | None = None) -> Iterator[Any]:
        """The first iterations: every later iteration launches the kernels of the last of them.

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


def no_memory(size: int) -> Buffer:
    """A buffer without memory, unlike any other."""
    return Buffer(object(), max(size, 0), None)
