"""Loops of kernels that a single launch finishes; see :mod:`runelift.codegen.persistent`.

The first iterations run as any others do.  Then one is traced: its launches are noted and not
issued.  Together they say what all further iterations do, so a kernel is built that does it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import pyopencl as cl

from runelift.codegen.local_memory import CELL_BYTES
from runelift.codegen.opencl import parameters
from runelift.codegen.persistent import Phase, argument
from runelift.ir import imp
from runelift.ir.imp import Kernel
from runelift.ir.prim import Prim
from runelift.runtime.choice import MOST_WAVES
from runelift.runtime.memory import Buffer

if TYPE_CHECKING:
    from runelift.runtime.executor import Run

INDEX = object()
"""Stands for the loop's index in the arguments of traced launches."""

LATE = ("The device did not run all work-groups of a persistent kernel at the same time; it may be "
        "shared with another program.")

LEAST_ROUNDS = 8
"""Loops of fewer iterations are not worth a kernel of their own."""
MOST_PHASES = 16
"""An iteration with more launches would make too large a kernel."""


@dataclass(frozen=True, slots=True)
class Launched:
    """A traced launch: the number of its site in the plan, and what was given."""

    number: int
    constants: tuple[int, ...]
    groups: int
    group: int
    lengths: tuple[int, ...]
    args: tuple[Any, ...]


@dataclass(slots=True)
class Round:
    """A traced iteration: its launches, what it allocated, what it was given and hands on."""

    before: tuple[Buffer | None, ...]
    after: tuple[Buffer | None, ...] = ()
    launches: list[Launched] = field(default_factory=list)
    allocated: list[Buffer] = field(default_factory=list)
    fresh: frozenset[int] = frozenset()

    def exchanged(self) -> list[tuple[Buffer, Buffer]] | None:
        """The pairs of buffers that swap roles after every iteration; None if there is no law.

        A buffer must stay as it is, or be replaced by one that the iteration allocated while
        the old one, allocated by the iteration before, is free to become the next.
        """
        own = {id(b.handle) for b in self.allocated}
        pairs = [(old, new) for old, new in zip(self.before, self.after, strict=True)
                 if old is not new and old is not None and new is not None]
        handles = {id(b.handle) for pair in pairs for b in pair}
        kept = {id(old.handle) for old, new in zip(self.before, self.after, strict=True)
                if old is new and old is not None}
        lawful = (len(handles) == 2 * len(pairs) and not handles & kept
                  and all(id(new.handle) in own and id(old.handle) in self.fresh
                          for old, new in pairs))
        return pairs if lawful else None


@dataclass(slots=True)
class Arguments:
    """The arguments of a persistent kernel while its phases are put together."""

    swapped: Mapping[int, tuple[Any, Any]]
    buffers: list[Any] = field(default_factory=list)
    scalars: list[Any] = field(default_factory=list)
    prims: list[Prim] = field(default_factory=list)

    def of(self, param: imp.KernelParam, value: Any) -> str:
        """The C expression for an argument of a phase."""
        if isinstance(param, imp.ScalarParam):
            if value is INDEX:
                return "index"
            self.scalars.append(value)
            self.prims.append(param.prim)
            return f"scalar_{len(self.scalars) - 1}"
        if (pair := self.swapped.get(id(value))) is None:
            return argument(param, self._buffer(value))
        now, other = (self._buffer(handle) for handle in pair)
        return argument(param, f"round & 1 ? {other} : {now}")

    def _buffer(self, handle: Any) -> str:
        place = next((n for n, b in enumerate(self.buffers) if b is handle), None)
        if place is None:
            place = len(self.buffers)
            self.buffers.append(handle)
        return f"buffer_{place}"


def rounds(run: Run, bound: int, carried: Callable[[], tuple[Buffer | None, ...]]) -> Iterator[Any]:
    """The iterations of a loop, as far as the host must take them."""
    # The traced iteration and an even number after it are done by the kernel, so that what the
    # traced one hands on is what the last one does.
    first = 1 + bound % 2
    yield from range(first - 1)
    met = run.encounters
    with run.noting_allocations() as fresh:
        yield first - 1
    if run.encounters > met:  # each is to be timed on its own
        yield from range(first, bound)
        return
    traced = Round(carried(), fresh=frozenset(id(b.handle) for b in fresh))
    del fresh
    with run.tracing(traced):
        yield INDEX
    traced.after = carried()
    if not _finish(run, traced, first, bound - first):
        run.replay(traced, first)
        yield from range(first + 1, bound)


def _finish(run: Run, traced: Round, first: int, count: int) -> bool:
    """Run the traced iteration and all after it by one kernel; False if that is not possible."""
    pairs, launches = traced.exchanged(), traced.launches
    sites = run.executable.sites
    group = _group([(each, sites[each.number].launch.kernel) for each in launches
                    if not sites[each.number].free()], launches)
    if pairs is None or not 0 < len(launches) <= MOST_PHASES or group is None:
        return False
    launches = [_in_groups_of(group, each, sites[each.number].launch.kernel) for each in launches]
    swapped = {id(old.handle): (old.handle, new.handle) for old, new in pairs}
    swapped |= {id(new.handle): (new.handle, old.handle) for old, new in pairs}
    arguments, phases, room = Arguments(swapped), list[Phase](), 0
    for launched in launches:
        offsets = _offsets(launched.lengths)
        room = max(room, CELL_BYTES * offsets[-1])
        kernel = sites[launched.number].launch.kernel
        phases.append(Phase(kernel, launched.constants, tuple(
            arguments.of(p, v) for p, v in zip(parameters(kernel), launched.args, strict=True)),
            offsets[:-1]))
    counts = [launched.groups for launched in launches]
    groups, most = run.device.resident_groups(group, room), max(counts)
    if most > MOST_WAVES * groups:
        return False
    kernel = run.merged_kernel(phases, len(arguments.buffers), arguments.prims)
    if kernel is None:
        return False
    device, groups = run.device, min(groups, most)
    device.statuses.repeat(len(phases) * count)
    kernel.set_args(*device.failure, device.arrived, device.arrivals(groups * len(phases) * count),
                    count, first, cl.LocalMemory(max(room, CELL_BYTES)), *arguments.buffers,
                    *arguments.scalars, *counts)
    run.enqueue_persistent(kernel, groups, group)
    return True


def _group(fixed: Sequence[tuple[Launched, Kernel]], launches: Sequence[Launched]) -> int | None:
    """The size of the groups that can do all of it; None if two launches need different ones.

    ``fixed`` are those whose groups have a size of their own; rows side by side may be others.
    """
    needed = {launched.group for launched, kernel in fixed if kernel.teams is None}
    rows = [(launched.group, launched.constants[0]) for launched, kernel in fixed
            if kernel.teams is not None]
    group = max(needed or [group for group, _ in rows] or [each.group for each in launches],
                default=1)
    fits = len(needed) <= 1 and all(group % own == 0 for _, own in rows)
    return group if fits else None


def _in_groups_of(group: int, launched: Launched, kernel: Kernel) -> Launched:
    """The same launch with groups of another size, if it has that."""
    if launched.group == group:
        return launched
    if kernel.teams is None:
        return replace(launched, group=group, groups=-(-launched.groups * launched.group // group))
    known = dict(zip(kernel.built_for, launched.constants, strict=True))
    before, teams = known[kernel.teams], group // launched.constants[0]
    known |= {name: value for name, value in ((kernel.teams, teams), (kernel.even, 0)) if name}
    return replace(launched, group=group, constants=tuple(known.values()),
                   groups=-(-launched.groups * before // teams),
                   lengths=tuple(length // before * teams for length in launched.lengths))


def _offsets(lengths: Sequence[int]) -> tuple[int, ...]:
    """Where pieces of local memory of so many bytes start, and where the last ends, in cells."""
    return tuple(accumulate((-(-max(length, 1) // CELL_BYTES) for length in lengths), initial=0))
