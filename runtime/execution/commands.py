"""Commands: launches, copies and whole loops that a run issues to its device, as values.

Tracing notes the launches of an iteration
(:mod:`~runelift.runtime.execution.persistent_loops`).  Capturing notes the commands of a run
(:mod:`~runelift.runtime.execution.calls`).  Fusion replaces several commands by one launch
(:mod:`~runelift.runtime.execution.fused_launches`).  Where commands are issued again on other
buffers, a :class:`Slot` stands for each buffer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from runelift.runtime.devices.kernel import BoundKernel
from runelift.runtime.devices.memory import Buffer
from runelift.runtime.execution.loop_scalars import ScalarColumn

FUSED = -1
"""The number of a fused launch, which has no site in the plan."""

Ring: TypeAlias = tuple[Buffer, ...]
"""Buffers each of which has the role of the one before it in the next iteration."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The number of a buffer of a run: given buffers first, then buffers that the run allocates."""

    number: int


Slots: TypeAlias = Sequence[Any] | Mapping[int, Any]
"""Buffers by their numbers, or other slots."""


def filled(values: Sequence[Any], slots: Slots) -> tuple[Any, ...]:
    """The values, with the buffers of these numbers in place of slots."""
    return tuple([slots[value.number] if type(value) is Slot else value for value in values])


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel launch: the number of its site in the plan, its geometry and arguments.

    ``kernel`` is None in traced iterations, which are not issued as they are.  If iterations differ
    in their numbers of groups, ``groups`` is the most of them.  ``count`` then has the column of
    the numbers, and the size of the groups that are counted.
    """

    number: int
    constants: tuple[int, ...]
    groups: int
    group: int
    lengths: tuple[int, ...]
    args: tuple[Any, ...]
    kernel: BoundKernel | None = None
    count: tuple[ScalarColumn, int] | None = None

    def filled(self, slots: Slots) -> Launch:
        """The launch with buffers, or other numbers, in place of slots."""
        return replace(self, args=filled(self.args, slots))


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of ``size`` bytes, from ``offset`` on in ``source``; buffers are slots or handles."""

    target: Any
    source: Any
    size: int
    offset: int

    def filled(self, slots: Slots) -> Copy:
        """The copy with buffers, or other numbers, in place of slots."""
        target, source = filled((self.target, self.source), slots)
        return Copy(target, source, self.size, self.offset)


@dataclass(frozen=True, slots=True)
class RunLoop:
    """One launch of a persistent kernel: ``count`` iterations, from index ``first`` on.

    ``groups`` work-groups of ``group`` work-items meet after each of ``phases`` phases; the
    buffers of ``rings`` exchange roles after every iteration.
    """

    kernel: BoundKernel
    groups: int
    group: int
    phases: int
    local_bytes: int
    args: tuple[Any, ...]
    rings: Sequence[Ring]
    first: int
    count: int

    def arrivals(self, count: int) -> int:
        """The number of times that groups come to a barrier in ``count`` iterations."""
        return self.groups * self.phases * count

    def filled(self, slots: Slots) -> RunLoop:
        """The launch with buffers, or other numbers, in place of slots."""
        return replace(self, args=filled(self.args, slots))


@dataclass(frozen=True, slots=True)
class Expect:
    """A read of elements that had ``values`` in the captured run, on which the host decided.

    ``elements`` are buffers, as slots or handles, with the types and indices of the elements.
    ``fallible``: kernels before may have failed.  ``decides`` says if other values lead to the
    same decision; without it, all values must be as they were.
    """

    elements: tuple[tuple[Any, str, int], ...]
    values: tuple[Any, ...]
    fallible: bool
    decides: Callable[[Sequence[Any]], bool] | None = field(default=None, compare=False)

    def filled(self, slots: Slots) -> Expect:
        """The read with buffers, or other numbers, in place of slots."""
        return replace(self, elements=tuple(
            [(*filled((buffer,), slots), prim, index) for buffer, prim, index in self.elements]))


Command: TypeAlias = Launch | Copy | RunLoop | Expect
