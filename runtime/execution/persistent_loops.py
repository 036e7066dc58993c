"""Persistent loops: one launch runs the iterations of a loop.

See :mod:`runelift.codegen.emit.persistent` for the kernel.  The host takes the first iterations.
Then it traces one: launches are noted and not issued.  A kernel is built for the traced iteration
and all after it.  If the condition of the loop is on the device, one launch runs many iterations
before the host reads it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import accumulate
from math import lcm
from typing import TYPE_CHECKING, Any

from runelift.codegen.emit.phases import PersistentKernel, Phase, argument, turn
from runelift.codegen.emit.signatures import parameters
from runelift.codegen.passes.local_memory import CELL_BYTES
from runelift.ir import imp
from runelift.ir.imp import Kernel
from runelift.ir.prim import Prim
from runelift.runtime.devices.limits import LEAST_ITERATIONS
from runelift.runtime.devices.memory import Buffer
from runelift.runtime.execution.commands import Launch, Ring, RunLoop
from runelift.runtime.execution.loop_scalars import (
    LoopScalars,
    Row,
    ScalarColumn,
    ScalarTable,
    packed,
)
from runelift.runtime.records.loop_sampling import sample_size

if TYPE_CHECKING:
    from runelift.runtime.execution.kernels import KernelSite
    from runelift.runtime.execution.run import Run

INDEX = object()
"""Stands for the loop's index in the arguments of traced launches."""

BARRIER_FAILURE = ("The device did not run all work-groups of a persistent kernel at the same "
                   "time; it may be shared with another program.")

MOST_WAVES = 8
"""Launches with so much more work than fits on the device at once gain nothing by merging."""
MOST_SETTLING = 4
"""The most iterations that are issued until loops carry only buffers that they allocated."""
MOST_PHASES = 16
"""An iteration with more launches would make too large a kernel."""
MORE_WAVES = 4
"""Fewer groups may take turns once more in one of so many phases."""
FIRST_WHILE_ITERATIONS = 1 << 6
"""The most iterations of the first launch of a ``while`` loop; even.

The host waits for each launch, and users may want to stop a loop that does not end.
"""
MOST_WHILE_ITERATIONS = 1 << 12
"""The most iterations of a later launch of a ``while`` loop; even."""


@dataclass(slots=True)
class TracedIteration:
    """A traced iteration: its launches, the buffers it allocated, and all carried in and on."""

    before: tuple[Buffer | None, ...]
    after: tuple[Buffer | None, ...] = ()
    launches: list[Launch] = field(default_factory=list)
    allocated: list[Buffer] = field(default_factory=list)
    fresh: frozenset[int] = frozenset()
    condition: Buffer | None = None
    """The condition of the loop, if it is on the device."""
    table: ScalarTable | None = None
    """The scalars that the host has computed for this iteration and all later iterations."""

    def rings(self) -> list[Ring] | None:
        """The rings of buffers that exchange roles after every iteration; None if there are none.

        The last buffer of a ring was allocated by the iteration, all other buffers by iterations
        before.  So the first one is free to take the role of the last one in the next iteration.
        """
        allocated, found = {id(b.handle) for b in self.allocated}, rings(self.before, self.after)
        lawful = found is not None and all(
            id(ring[-1].handle) in allocated and all(id(b.handle) in self.fresh for b in ring[:-1])
            for ring in found)
        return found if lawful else None


def rings(before: Sequence[Buffer | None], after: Sequence[Buffer | None]) -> list[Ring] | None:
    """The rings of buffers that exchange roles in an iteration; None if that is unclear.

    A buffer keeps its role, or the next one of its ring has its role from then on.
    """
    following: dict[int, Buffer] = {}
    for old, new in zip(before, after, strict=True):
        if old is not None and new is not None and following.setdefault(
                id(old.handle), new).handle is not new.handle:
            return None
    reached = {id(new.handle) for new in following.values()}
    if len(reached) < len(following):
        return None
    iteration_inputs = {id(b.handle): b for b in before if b is not None}
    found: list[Ring] = []
    for start in following.keys() - reached:
        ring = [iteration_inputs[start]]
        while (new := following.pop(id(ring[-1].handle), None)) is not None:
            ring.append(new)
        found.append(tuple(ring))
    stays = all(id(new.handle) == handle for handle, new in following.items())
    alike = all(b.size == ring[0].size for ring in found for b in ring)
    return found if stays and alike else None


@dataclass(slots=True)
class PhaseArguments:
    """The arguments of a persistent kernel that is being put together from phases."""

    turns: Mapping[int, Sequence[Any]]
    table: ScalarTable | None = None
    buffers: list[Any] = field(default_factory=list)
    scalars: list[Any] = field(default_factory=list)
    prims: list[Prim] = field(default_factory=list)

    def phase(self, launch: Launch, kernel: Kernel) -> Phase:
        """The phase that does the work of a launch."""
        return Phase(kernel, launch.constants, tuple(
            self._of(p, v) for p, v in zip(parameters(kernel), launch.args, strict=True)),
            _offsets(launch.lengths)[:-1], self._count(launch))

    def _count(self, launch: Launch) -> str:
        """The C expression for the number of groups, if iterations differ in that."""
        if launch.count is None:
            return ""
        (column, counted), group = launch.count, launch.group
        count = self._element(column, Prim.I64)
        return count if counted == group else f"({count} * {counted} + {group - 1}) / {group}"

    def _element(self, column: ScalarColumn, prim: Prim) -> str:
        """The C expression for a scalar that changes in each iteration."""
        assert self.table is not None
        return self.table.element(column, prim, self._buffer(self.table.handle))

    def _of(self, param: imp.KernelParam, value: Any) -> str:
        """The C expression for an argument of a phase."""
        if isinstance(param, imp.ScalarParam):
            if value is INDEX:
                return "index"
            if isinstance(value, ScalarColumn):
                return self._element(value, param.prim)
            return self.scalar(value, param.prim)
        return argument(param, self.place(value))

    def scalar(self, value: Any, prim: Prim) -> str:
        """The C expression for a scalar."""
        self.scalars.append(value)
        self.prims.append(prim)
        return f"scalar_{len(self.scalars) - 1}"

    def place(self, handle: Any) -> str:
        """The C expression for a buffer, which may be a different buffer in the next iteration."""
        now, *others = map(self._buffer, self.turns.get(id(handle), (handle,)))
        count = len(others) + 1
        return "".join(f"{turn(count)} == {number} ? {other} : "
                       for number, other in enumerate(others, 1)) + now

    def _buffer(self, handle: Any) -> str:
        place = next((n for n, b in enumerate(self.buffers) if b is handle), None)
        if place is None:
            place = len(self.buffers)
            self.buffers.append(handle)
        return f"buffer_{place}"


def is_worthwhile(run: Run, bound: int) -> bool:
    """True if one kernel might run the iterations of a loop."""
    return run.device.info.coherent and bound >= LEAST_ITERATIONS


@contextmanager
def noting_allocations(run: Run) -> Iterator[list[Buffer]]:
    """Keep all buffers that are allocated while the context lasts."""
    allocate, noted = run.allocate, list[Buffer]()

    def note(size: int) -> Buffer:
        noted.append(allocate(size))
        return noted[-1]

    run.allocate = note
    try:
        yield noted
    finally:
        run.allocate = allocate


@contextmanager
def tracing(run: Run, traced: TracedIteration) -> Iterator[None]:
    """Note launches in ``traced`` rather than issue them."""
    def launch(number: int, groups: int, group: int, lengths: tuple[int, ...],
               *args: Any) -> None:
        launch_built(number, (), groups, group, lengths, *args)

    def launch_built(number: int, constants: tuple[int, ...], groups: int, group: int,
                     lengths: tuple[int, ...], *args: Any) -> None:
        if isinstance(groups, ScalarColumn) or groups > 0:
            traced.launches.append(Launch(number, constants, groups, group, lengths, args))

    with noting_allocations(run) as traced.allocated:
        run.launch, run.launch_built = launch, launch_built
        try:
            yield
        finally:
            run.launch, run.launch_built = run.issue, run.issue_built


def issue_traced(run: Run, traced: TracedIteration, index: int, row: Row = ()) -> None:
    """Issue the launches of an iteration that was traced in vain, with its scalars."""
    def value(arg: Any) -> Any:
        return (index if arg is INDEX
                else row[arg.number] if isinstance(arg, ScalarColumn) else arg)

    for launch in traced.launches:
        args = map(value, launch.args)
        shape = value(launch.groups), launch.group, launch.lengths
        if launch.constants:
            run.issue_built(launch.number, launch.constants, *shape, *args)
        else:
            run.issue(launch.number, *shape, *args)


def host_iterations(run: Run, bound: int, carried: Callable[[], tuple[Buffer | None, ...]],
                    scalars: LoopScalars | None) -> Iterator[Any]:
    """The iterations of a loop that the host takes before a kernel runs all later iterations."""
    encounters, allocated_ids = run.encounters, set[int]()

    def taken(index: int) -> Iterator[Any]:
        with noting_allocations(run) as allocated:
            yield from iteration_inputs(scalars, (index,))
        allocated_ids.update(id(b.handle) for b in allocated)
        allocated.clear()

    period = None
    for settling in range(MOST_SETTLING):
        before = carried()
        yield from taken(settling)
        period = _period(before, carried(), allocated_ids)
        del before
        if period is not None:
            break
    first = settling + 1
    if period is None or run.encounters > encounters:  # what is encountered is to be timed alone
        yield from iterations(run, scalars, first, bound)
        return
    # The traced iteration and as many after it are done by the kernel that what the traced one
    # hands on is what the last one does.
    start, first = first, first + (bound - first - 1) % period
    for index in range(start, first):
        yield from taken(index)
    traced = TracedIteration(carried(), fresh=frozenset(allocated_ids))
    with run.tracing(traced):
        yield INDEX if scalars is None else (INDEX, *scalars.columns)
    traced.after = carried()
    rows = None if scalars is None else scalars.rows(first, bound)
    if scalars is not None and rows is None:  # one of them fails, after what is before it
        run.recheck()
        issue_traced(run, traced, first, scalars.row(first))
        yield from iteration_inputs(scalars, range(first + 1, bound))
        return
    if scalars is not None and rows and scalars.prims:
        traced.table = ScalarTable(run.table(packed(rows, scalars.prims)), rows)
    loop = persistent_loop(run, traced, first, bound - first)
    if loop is not None and (loop.count - 1) % lcm(*map(len, loop.rings)) == 0:
        run.run_loop(loop)
        return
    issue_traced(run, traced, first, rows[0] if rows else ())
    for index in range(first + 1, bound):
        yield (index, *rows[index - first]) if rows else index


def iterations(run: Run, scalars: LoopScalars | None, first: int, bound: int) -> Iterable[Any]:
    """Iterations that the host takes; in a run with a record they may be samples."""
    indices = range(first, bound)
    if run.samples and len(indices) > 1:
        count = sample_size(len(indices) - 1)
        if count < len(indices) - 1:
            return _sampled(run, scalars, indices, count)
    return iteration_inputs(scalars, indices)


def _sampled(run: Run, scalars: LoopScalars | None, indices: range, count: int) -> Iterator[Any]:
    """Iterations of which ``count`` stand for all but the first one, which may take longer."""
    assert run.recorder is not None
    yield from iteration_inputs(scalars, indices[:1])
    begin = run.recorder.place
    yield from iteration_inputs(scalars, indices[1:1 + count])
    left = iteration_inputs(scalars, indices[1 + count:])
    if not run.recorder.stand_for(begin, count, len(indices) - 1 - count):
        yield from left
    elif scalars is not None:
        deque(left, maxlen=0)  # what comes after the loop is given the last of its scalars


def iteration_inputs(scalars: LoopScalars | None, indices: Iterable[int]) -> Iterable[Any]:
    """The inputs of iterations: the index, and the scalars of the loop if it has some."""
    return indices if scalars is None else ((index, *scalars.row(index)) for index in indices)


def _period(before: Sequence[Buffer | None], after: Sequence[Buffer | None],
            allocated_ids: Collection[int]) -> int | None:
    """The iterations after which buffers have their roles again; None if some are not the
    loop's.
    """
    found = rings(before, after)
    if found is None or any(id(b.handle) not in allocated_ids for ring in found for b in ring[1:]):
        return None
    return lcm(*map(len, found))


def while_iterations(run: Run, cond: Callable[[], Buffer],
                     carried: Callable[[], tuple[Buffer | None, ...]]) -> Iterator[None]:
    """The iterations of a loop that continues while the only element of ``cond()`` is true."""
    def goes_on() -> bool:
        return bool(run.read(cond(), "bool", 0))

    encounters = run.encounters
    for _ in range(LEAST_ITERATIONS // 2 - 1):
        if not goes_on():
            return
        yield
    if not goes_on():
        return
    with noting_allocations(run) as fresh:
        yield
    if run.encounters == encounters and is_worthwhile(run, LEAST_ITERATIONS) and goes_on():
        traced = TracedIteration(carried(), fresh=frozenset(id(b.handle) for b in fresh))
        fresh.clear()
        traced.condition = cond()
        with run.tracing(traced):
            yield
        traced.after = carried()
        if (loop := persistent_loop(run, traced)) is not None:
            run.run_while_loop(loop)
            return
        issue_traced(run, traced, 0)
    while goes_on():
        yield


def issue_loop(run: Run, loop: RunLoop, *done: Any) -> None:
    """Launch the kernel of a loop."""
    device = run.device
    device.scan_status.repeat(loop.phases * loop.count)
    loop.kernel.set_args((device.arrivals(0), loop.count, loop.first, *loop.args, *done),
                     (loop.local_bytes,))
    run.enqueue_persistent(loop.kernel, loop.groups, loop.group)


def run_loop(run: Run, loop: RunLoop) -> None:
    """Run as many iterations as the host says."""
    issue_loop(run, loop)
    run.device.arrivals(loop.arrivals(loop.count))


def run_while_loop(run: Run, loop: RunLoop) -> None:
    """Run iterations until the device says that there is none."""
    done = run.allocate(8)
    most, left = FIRST_WHILE_ITERATIONS, True
    while left:
        count = run_some(run, replace(loop, count=most), done)
        most, left = min(2 * most, MOST_WHILE_ITERATIONS), count == most
    if count % 2 == 0:  # the results are where the traced iteration found its operands
        for old, new in loop.rings:
            run.copy(new, old, new.size)


def run_some(run: Run, loop: RunLoop, done: Buffer) -> int:
    """Run at most ``loop.count`` iterations; the device writes their number to ``done``."""
    issue_loop(run, loop, done.handle)
    count: int = run.read(done, "i64", 0)
    run.saw_iterations(count)
    run.device.arrivals(loop.arrivals(count))
    return count


def persistent_loop(run: Run, traced: TracedIteration, first: int = 0,
                    count: int = FIRST_WHILE_ITERATIONS) -> RunLoop | None:
    """The launch that runs a traced and all later iterations; None if it cannot be built."""
    found, launches = traced.rings(), traced.launches
    if found is None or not 0 < len(launches) <= MOST_PHASES:
        return None
    if traced.condition is not None and any(len(ring) != 2 for ring in found):
        return None  # only of two buffers it is clear which one has the results in the end
    launches, table = [_at_most(each, traced.table) for each in launches], traced.table
    alike = in_common_groups(run.executable.sites, launches)
    if alike is None:
        return None
    if all(run.executable.sites[each.number].free() for each in alike):
        alike = _in_large_groups(run, alike)
    turns = {id(b.handle): [other.handle for other in (*ring[place:], *ring[:place])]
             for ring in found for place, b in enumerate(ring)}
    arguments = PhaseArguments(turns, table)
    local_bytes, group = local_bytes_for(alike), alike[0].group
    phases = tuple([arguments.phase(each, run.executable.sites[each.number].launch.kernel)
                    for each in alike])
    counts = [launch.groups for launch in alike]
    groups = run.device.resident_groups(group, local_bytes)
    if max(_usual_groups(each, table) for each in alike) > MOST_WAVES * groups:
        return None
    condition = None if traced.condition is None else arguments.place(traced.condition.handle)
    kernel = run.persistent_kernel(PersistentKernel(
        phases, len(arguments.buffers), tuple(arguments.prims), condition,
        tuple(sorted({len(ring) for ring in found}))))
    if kernel is None:
        return None
    meeting = meeting_groups(alike, table, groups, run.device.info.units)
    return RunLoop(kernel, meeting, group, len(phases), local_bytes,
                   (*arguments.buffers, *arguments.scalars, *counts), found, first, count)


def meeting_groups(launches: Sequence[Launch], table: ScalarTable | None, most: int,
                   units: int) -> int:
    """The number of groups of a loop's kernel, of at most ``most``.

    Where most iterations are small, each of ``units`` compute units has one: few meet sooner.
    """
    most = min(most, max(each.groups for each in launches))
    counted = [each for each in launches if each.count is not None]
    if table is None or not counted or units >= most:
        return most
    needed = [[-(-count * each.count[1] // each.group) for count in table.column(each.count[0])]
              for each in counted if each.count is not None]
    needed += [[each.groups] * len(table.rows) for each in launches if each.count is None]
    few, many = (sum(-(-count // groups) for counts in needed for count in counts)
                 for groups in (units, most))
    return units if MORE_WAVES * few <= (MORE_WAVES + 1) * many else most


def _at_most(launch: Launch, table: ScalarTable | None) -> Launch:
    """A launch with as many groups as any iteration has."""
    column: Any = launch.groups
    if not isinstance(column, ScalarColumn):
        return launch
    assert table is not None
    return replace(launch, groups=max(1, *table.column(column)), count=(column, launch.group))


def _usual_groups(launch: Launch, table: ScalarTable | None) -> float:
    if launch.count is None:
        return launch.groups
    assert table is not None
    column, counted = launch.count
    return counted / launch.group * sum(table.column(column)) / len(table.rows)


def in_common_groups(sites: Sequence[KernelSite],
                     launches: Sequence[Launch]) -> list[Launch] | None:
    """The launches in groups of one size; None if two of them need different sizes."""
    kernels = [sites[each.number].launch.kernel for each in launches]
    group = common_group([(each, kernel)
                          for each, kernel in zip(launches, kernels, strict=True)
                          if not sites[each.number].free()], launches)
    return None if group is None else [
        _in_groups_of(group, each, kernel) for each, kernel in zip(launches, kernels, strict=True)]


def common_group(fixed: Sequence[tuple[Launch, Kernel]],
                 launches: Sequence[Launch]) -> int | None:
    """The size of groups that can do all launches; None if two launches need different sizes.

    ``fixed`` are the launches whose groups cannot have any size; teams may be more or fewer.
    """
    needed = {launch.group for launch, kernel in fixed if kernel.teams is None}
    rows = [(launch.group, launch.constants[0]) for launch, kernel in fixed
            if kernel.teams is not None]
    group = max(needed or [group for group, _ in rows] or [each.group for each in launches],
                default=1)
    fits = len(needed) <= 1 and all(group % size == 0 for _, size in rows)
    return group if fits else None


def _in_large_groups(run: Run, launches: Sequence[Launch]) -> list[Launch]:
    """Launches with groups twice as large as usual, so that fewer groups have to meet.

    They stay as they are where compute units would be left without a group, or where a parameter
    has chosen another size.
    """
    info = run.device.info
    usual, enough = info.group_size, max(each.groups for each in launches) >= 2 * info.units
    if launches[0].group != usual or 2 * usual > info.max_group or not enough:
        return list(launches)
    return [_in_groups_of(2 * usual, each, run.executable.sites[each.number].launch.kernel)
            for each in launches]


def _in_groups_of(group: int, launch: Launch, kernel: Kernel) -> Launch:
    if launch.group == group:
        return launch
    if kernel.teams is None:
        return replace(launch, group=group, groups=-(-launch.groups * launch.group // group))
    known = dict(zip(kernel.built_for, launch.constants, strict=True))
    before, teams = known[kernel.teams], group // launch.constants[0]
    known |= {name: value for name, value in ((kernel.teams, teams), (kernel.even, 0)) if name}
    return replace(launch, group=group, constants=tuple(known.values()),
                   groups=-(-launch.groups * before // teams),
                   lengths=tuple(length // before * teams for length in launch.lengths))


def local_bytes_for(launches: Sequence[Launch]) -> int:
    """The bytes of local memory that suffice for each of these launches."""
    return CELL_BYTES * max([1, *(_offsets(each.lengths)[-1] for each in launches)])


def _offsets(lengths: Sequence[int]) -> tuple[int, ...]:
    """The offsets of pieces of local memory of so many bytes, and the end of the last, in cells."""
    return tuple(accumulate((-(-max(length, 1) // CELL_BYTES) for length in lengths), initial=0))
