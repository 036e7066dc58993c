"""Segmented reductions over the grid: each segment by itself.

Strategies, by the length and the number of segments:

- *small* segments (``segred_small``): a work-item per segment;
- *medium* segments (``segred_large``): a group per segment.  Its work-items fold a part each, then
  combine their totals in local memory or by shuffles.  On devices with coalesced accesses groups
  have several segments side by side, as an intra-group version has
  (:mod:`~runelift.codegen.intragroup.group_version`).  The map then has no other results;
- *large* segments (``segred``): several groups per segment write partial results.  The last group
  to finish combines them, if the device shows it the writes of the other groups.  Otherwise a
  second launch does (``segred_final``).

The host plan picks small if the length is at most a parameter of the operation.  Otherwise it picks
medium if one group per segment keeps the device busy, or is enough, else large.  Segments that
have elements in common go to :mod:`~runelift.codegen.segops.segred_blocked` first, columns to
:mod:`~runelift.codegen.segops.segred_columns`.

In a fold, commuting operators take interleaved elements on devices with coalesced accesses.  On
other devices a work-item folds its part as the rows of a matrix, by vector instructions.  Operators
that do not commute take contiguous parts in order.

Source: Larsen and Henriksen 2017, "Strategies for regular segmented reductions on GPU".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.collectives import group_total
from runelift.codegen.kernel.column_strips import beside_lanes, fold_lanes, lanes_of
from runelift.codegen.kernel.kernel_builder import Value
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.passes.accesses import IS_FIRST
from runelift.codegen.passes.barriers import insert_barriers
from runelift.codegen.plan import plan
from runelift.codegen.plan.parameters import Quantity
from runelift.codegen.plan.views import View, lit, op, unflat_index, volume
from runelift.codegen.segops.segments import segments_of_reduction
from runelift.codegen.segops.segred_blocked import lower_blocked
from runelift.ir import imp
from runelift.ir.analysis.products import is_cheap
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, ceil_div, greatest, least
from runelift.ir.syntax import SOACS, Index, Operator, SegRed, SegScan
from runelift.ir.types import Atom, Const, i64

LEAST_ELEMENTS_OF_CORES = 512
"""The least cheap elements per work-item for which a processor gets a further group.

A core adds 64 times as many floats in the time that a launch takes (EPYC, PoCL 3.0, 2026-11-25).
"""
LEAST_STEPS_OF_CORES = 4096
"""The least steps of loops inside of elements for which a processor gets a further group.

A core does so many, one after the other, in the time that a launch takes (PoCL 3.0, 2026-11-28).
"""
LINES_PER_GROUP = 2
"""So many groups would share the cache of a compute unit if each work-item had a line of it.

Times of 10^7 elements fall to a quarter for four arrays, and to half for two (H100, 2026-11-26).
"""


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment that is folded into ``totals``, and the places of its map's other results."""

    k: KernelBuilder
    exp: SegRed | SegScan
    totals: Sequence[Sequence[imp.Var]]
    outs: Sequence[View]
    outer: Sequence[Exp]
    """The indices of the segment."""
    trips: imp.Trips | None = field(default=None, kw_only=True)
    """The elements that are expected in a part of a segment, if segments differ in length."""

    @property
    def width(self) -> Exp:
        """The number of elements of the segment."""
        return self.k.scalar(self.exp.space[-1].width)

    def element(self, index: Exp) -> list[Value]:
        """The operands from an element; other results of the map are stored."""
        launches.bind_point(self.k, self.exp.space, [*self.outer, index])
        values = self.k.body(self.exp.body)
        count = sum(len(t) for t in self.totals)
        launches.store_results(self.k, self.outs, self.place(index), values[count:])
        return values[:count]

    def place(self, index: Exp) -> list[Exp]:
        """The indices of an element's further results."""
        return [*self.outer, index]

    def fold(self, start: Exp, bound: Exp, step: Exp, trips: imp.Trips | None = None) -> None:
        """Fold the elements start, start + step, ..."""
        self.k.loop(bound, lambda index: self.k.accumulate_all(
            self.exp.ops, self.totals, self.element(index)), start=start, step=step, base="e",
            expected=trips or self.trips)

    def fold_run(self, start: Exp, end: Exp, *, part: bool = False) -> None:
        """Fold the elements from ``start`` on, in lanes as long as that is quicker."""
        lanes = lanes_of(self.k, self.exp.ops, self.exp.body, part=part)
        alone = len(self.exp.body.result) == sum(len(t) for t in self.totals)
        trips = self.trips
        if lanes is not None and (part or alone):
            start = fold_lanes(self.k, lanes, self.exp.ops, self.totals, self.element,
                               (start, end), trips)
            trips = trips and beside_lanes(lanes, trips)
        self.fold(start, end, lit(1), trips)

    def fold_part(self, item: Exp, items: Exp, first: Exp | None = None,
                  count: Exp | None = None) -> None:
        """Fold the part of work-item ``item`` of ``items``: of all elements, or ``count`` of them.

        These begin at ``first``.  If the operators commute, parts are interleaved on devices with
        coalesced accesses.  On other devices vector instructions fold the part.
        """
        k, first, count = self.k, first or lit(0), count or self.width
        if all(o.comm for o in self.exp.ops) and k.host.interleave:
            self.fold(op("add", first, item), op("add", first, count), items)
            return
        part = launches.even_part(k, count, item, items)
        end = op("add", first, part.end)
        self.fold_run(op("add", first, part.start), end, part=True)


def segred(lowering: launches.Lowering, exp: SegRed,
           side_by_side: Callable[[], None] | None) -> None:
    """Reduce a segment by one work-item if small, by a group if medium, by several groups if large.

    ``side_by_side``, if not None, lowers segments of any length as an intra-group version does.
    """
    if len(exp.space) == 1:
        _segred_long(lowering, exp, lambda: _segred_groups(lowering, exp))
        return
    def medium() -> None:
        if not side_by_side or not lowering.interleave:
            _segred_groups(lowering, exp)
        elif launches.item_bytes(exp.ops) <= launches.ITEM_BYTES:
            side_by_side()
        else:
            near = launches.branch(lowering, side_by_side, "side by side")
            launches.choose(lowering, Const(True, Prim.BOOL), near, launches.branch(
                lowering, lambda: _segred_groups(lowering, exp), "apart"))

    lower_blocked(lowering, segments_of_reduction(exp), lambda: _segred_each(lowering, exp, medium))


def _segred_each(lowering: launches.Lowering, exp: SegRed, medium: Callable[[], None]) -> None:
    """Add kernels that reduce each segment by itself."""
    short = launches.branch(lowering, lambda: _segred_items(lowering, exp), "a work-item per row")
    long = launches.branch(lowering, lambda: _segred_long(lowering, exp, medium), "long rows")
    cond = launches.is_short(lowering, lowering.size(exp.space[-1].width),
                             _longest_alone(lowering, exp))
    lowering.steps.append(plan.Branch(cond, short, long))


def _longest_alone(lowering: launches.Lowering, exp: SegRed) -> Atom | None:
    """The greatest length that a work-item reduces alone; None for the parameter's value.

    0 if elements take long and there are so few segments that each can have a group.
    """
    if is_cheap(exp.body) or not lowering.interleave:
        return None
    waves = ceil_div(launches.total(lowering, exp.space[:-1]), lowering.groups)
    usual = lowering.size(lowering.setting(Quantity.SHORT))
    return lowering.scalar("alone", least(Size.of(1), waves - 1) * usual)


def _segred_long(lowering: launches.Lowering, exp: SegRed, by_groups: Callable[[], None]) -> None:
    per = _groups_per_segment(lowering, exp)
    medium = launches.branch(lowering, by_groups, "a group per row")
    large = launches.branch(lowering, lambda: _segred_several_groups(lowering, exp, per),
                            "several groups per row")
    one = lowering.names.fresh("one")
    lowering.steps += [plan.Compute(one, "le", Prim.I64, (per, i64(1))),
                       plan.Branch(one, medium, large)]


def _groups_per_segment(lowering: launches.Lowering, exp: SegRed) -> VName:
    """The number of groups that keeps the device busy, with enough work for each work-item.

    A core folds cheap elements faster than another core begins to.  Work-items with contiguous
    parts read a line of the cache each, for every array.  So there are fewer groups: their lines
    must stay until all elements were read.
    """
    length, segments = lowering.size(exp.space[-1].width), launches.total(lowering, exp.space[:-1])
    busy = not is_cheap(exp.body)
    least_elements = _least_costly(lowering, exp) if busy and not lowering.interleave else (
        lowering.group * (1 if busy else launches.LEAST_ELEMENTS if lowering.interleave
                          else LEAST_ELEMENTS_OF_CORES))
    useful = greatest(Size.of(1), ceil_div(length, least_elements))
    shares = max(1, LINES_PER_GROUP * _own_lines(exp)) if lowering.interleave else 1
    wanted = ceil_div(lowering.groups, greatest(Size.of(1), segments) * shares)
    return lowering.scalar("per_segment", least(useful, wanted))


def _least_costly(lowering: launches.Lowering, exp: SegRed) -> Size:
    """The least elements for which a processor gets a further group, if they have loops inside."""
    inside = {p.name for stm in exp.body.stms for p in stm.pat}.union(d.index for d in exp.space)
    steps = [lowering.size(stm.exp.width) for stm in exp.body.stms if isinstance(stm.exp, SOACS)
             and stm.exp.width not in inside]
    if not steps:
        return Size.of(1)
    return ceil_div(Size.of(LEAST_STEPS_OF_CORES), greatest(Size.of(1), *steps))


def _own_lines(exp: SegRed) -> int:
    """The arrays that a work-item reads in contiguous parts: none if operators commute."""
    own = exp.space[-1].index
    return 0 if all(o.comm for o in exp.ops) else sum(
        isinstance(stm.exp, Index) and stm.exp.dims[-1] == own for stm in exp.body.stms)


def _segred_items(lowering: launches.Lowering, exp: SegRed) -> None:
    """Add a kernel with one work-item per segment."""
    k = lowering.builder()
    outs = lowering.results

    def segment(outer: list[Exp]) -> None:
        totals = [launches.scalars(k.neutral(o)) for o in exp.ops]
        count = sum(len(t) for t in totals)
        each = Segment(k, exp, totals, outs[count:], outer)
        each.fold_run(lit(0), each.width)
        k.emit(*launches.writes(outs, outer, totals))

    launches.each_point(lowering, k, exp.space[:-1], segment, "segred_small", busy=True)


def _segred_groups(lowering: launches.Lowering, exp: SegRed) -> None:
    """Add a kernel with one group per segment: work-items fold, then combine in local memory."""
    k = lowering.builder_of_groups()
    outs = lowering.results
    outer_shape = launches.widths(k, exp.space[:-1])
    group = launches.roomy_group(lowering, exp.ops)
    arrays = launches.local_arrays(k, exp.ops, group)
    held = k.declare("segment", Prim.I64, launches.GROUP_ID)
    outer = [k.declare("o", Prim.I64, i) for i in unflat_index(held, outer_shape)]
    totals = [launches.scalars(k.neutral(o)) for o in exp.ops]
    count = sum(len(t) for t in totals)
    Segment(k, exp, totals, outs[count:], outer).fold_part(launches.LID, launches.LSIZE)
    place = iter(outs)
    for op_, mems, total_ in zip(exp.ops, arrays, totals, strict=True):
        found = total_of_group(k, op_, mems, total_)
        k.emit(imp.If(IS_FIRST, tuple(next(place).write(outer, value) for value in found)))
    segments = launches.total(lowering, exp.space[:-1])
    lowering.launch_groups(k, "segred_large", segments, _or_alone(lowering, k, group))


def _or_alone(lowering: launches.Lowering, k: KernelBuilder, group: Size) -> Size:
    """The size of a group: 1 for lone work-items with arrays in scratch memory."""
    return Size.of(1) if k.scratch and not lowering.interleave else group


def _segred_several_groups(lowering: launches.Lowering, exp: SegRed, per_segment: VName) -> None:
    """Add kernels in which several groups per segment make partial results.

    The last group to finish combines the partial results, if the device shows it the writes of the
    other groups.  Otherwise another launch combines them.  Groups of neighbouring segments are
    neighbours, so that they find each other's reads in the cache, as in the columns of a matrix.
    """
    together = lowering.coherent
    groups = launches.total(lowering, exp.space[:-1]) * Size.var(per_segment)
    partials = [[lowering.temporary("partial", p, groups) for p in launches.prims_of(o)]
                for o in exp.ops]
    k = lowering.builder_of_groups()
    results, group = lowering.results, launches.roomy_group(lowering, exp.ops)
    arrays = launches.local_arrays(k, exp.ops, group)
    per, segments = k.scalar(per_segment), volume(launches.widths(k, exp.space[:-1]))
    segment = k.declare("segment", Prim.I64, op("rem", launches.GROUP_ID, segments))
    part = k.declare("part", Prim.I64, op("quot", launches.GROUP_ID, segments))
    place = k.declare("place", Prim.I64, op("add", op("mul", segment, per), part))
    outer = [k.declare("o", Prim.I64, i)
             for i in unflat_index(segment, launches.widths(k, exp.space[:-1]))]
    totals = [launches.scalars(k.neutral(o)) for o in exp.ops]
    count = sum(len(t) for t in totals)
    item = k.declare("item", Prim.I64, op("add", op("mul", part, launches.LSIZE), launches.LID))
    Segment(k, exp, totals, results[count:], outer).fold_part(item, op("mul", per, launches.LSIZE))
    for op_, mems, total_, out in zip(exp.ops, arrays, totals, partials, strict=True):
        found = total_of_group(k, op_, mems, total_)
        stores = launches.stores(out, place, found, launches.prims_of(op_))
        k.emit(imp.If(IS_FIRST, stores))
    if together:
        with if_last_group(k, segment, per):
            found = combine_partials(k, exp.ops, arrays, partials, op("mul", segment, per), per)
            _write_combined(k, found, [r.row(*outer) for r in results[:count]])
    lowering.launch_groups(k, "segred", groups, _or_alone(lowering, k, group))
    if not together:
        _segred_final(lowering, exp, partials, per_segment)


def _segred_final(lowering: launches.Lowering, exp: SegRed, partials: Sequence[Sequence[VName]],
                  per_segment: VName) -> None:
    """Add a kernel in which one group per segment combines the segment's partial results."""
    k = lowering.builder_of_groups()
    results, group = lowering.results, launches.roomy_group(lowering, exp.ops)
    arrays = launches.local_arrays(k, exp.ops, group)
    segment = k.declare("segment", Prim.I64, launches.GROUP_ID)
    outer = [k.declare("o", Prim.I64, i)
             for i in unflat_index(segment, launches.widths(k, exp.space[:-1]))]
    per, count = k.scalar(per_segment), sum(len(p) for p in partials)
    found = combine_partials(k, exp.ops, arrays, partials, op("mul", segment, per), per)
    _write_combined(k, found, [r.row(*outer) for r in results[:count]])
    lowering.launch_groups(k, "segred_final", launches.total(lowering, exp.space[:-1]), group)


def is_last_group(k: KernelBuilder, number: Exp, groups: Exp, counters: VName = plan.COUNTERS
                  ) -> imp.Var:
    """True in the last of ``groups`` groups to come here, which sees the writes of all groups.

    They count in element ``number`` of counters, by default the device's; the last resets it.
    """
    told = k.names.fresh("told")
    k.locals.append(imp.LocalArray(told, Prim.I32, Size.of(1)))
    before = k.names.fresh("before")
    last = op("eq", imp.Convert(Prim.I32, Prim.I64, imp.Var(before)), op("sub", groups, lit(1)))
    zero, one = lit(0, Prim.I32), lit(1, Prim.I32)
    k.emit(imp.If(IS_FIRST, (
        imp.Fence(),
        imp.Atomic("add", Prim.I32, counters, number, one, imp.Space.GLOBAL, before),
        imp.If(last, (imp.Atomic("and", Prim.I32, counters, number, zero,
                                 imp.Space.GLOBAL),)),
        imp.Store(told, lit(0), imp.Convert(Prim.BOOL, Prim.I32, last), Prim.I32),
        imp.Fence())))
    k.emit(imp.Barrier(imp.Space.LOCAL))
    return k.declare("last", Prim.BOOL, imp.Convert(
        Prim.I32, Prim.BOOL, imp.Load(told, lit(0), Prim.I32)))


@contextmanager
def if_last_group(k: KernelBuilder, number: Exp, groups: Exp, counters: VName = plan.COUNTERS
                  ) -> Iterator[None]:
    """Emit code for the last group alone (:func:`is_last_group`)."""
    last = is_last_group(k, number, groups, counters)
    with k.block() as code:
        yield
    k.emit(imp.If(last, tuple(code)), imp.Barrier(imp.Space.LOCAL, imp.Placement.AFTER_BRANCH))


def total_of_group(k: KernelBuilder, op_: Operator, mems: Sequence[VName],
                   totals: Sequence[imp.Var]) -> list[imp.Var]:
    """The combined totals of the work-items, in order, valid in every work-item.

    ``k`` is a builder of groups; the local ``mems`` have an element for each work-item.
    """
    with k.block() as code:
        found = group_total(k, op_, totals, mems, k.constants[1])
    k.emit(*insert_barriers(code))
    return found


def combine_partials(k: KernelBuilder, ops: Sequence[Operator], arrays: Sequence[Sequence[VName]],
                     partials: Sequence[Sequence[VName]], first: Exp,
                     count: Exp) -> list[imp.Var]:
    """The combination of ``count`` partial results from ``first`` on, in order, by a group.

    ``k`` is a builder of groups; the local ``arrays`` have an element for each work-item.
    """
    found: list[imp.Var] = []
    part = launches.even_part(k, count, launches.LID, launches.LSIZE)
    for op_, mems, sources in zip(ops, arrays, partials, strict=True):
        totals = launches.scalars(k.neutral(op_))
        _fold_partials(k, op_, totals, sources, first, part)
        found += total_of_group(k, op_, mems, totals)
    return found


def _fold_partials(k: KernelBuilder, op_: Operator, totals: Sequence[imp.Var],
                   sources: Sequence[VName], first: Exp, part: launches.Part) -> None:
    """Fold the part of a work-item; ``first`` is where the segment begins in ``sources``."""
    k.loop(part.end, lambda i: k.accumulate(op_, totals, launches.loaded(
        k, "partial", sources, op("add", first, i), launches.prims_of(op_))), start=part.start)


def _write_combined(k: KernelBuilder, found: Sequence[Exp], results: Sequence[View]) -> None:
    """Write the result of :func:`combine_partials`."""
    k.emit(imp.If(IS_FIRST, tuple(result.write([], value) for result, value in zip(
        results, found, strict=True))))
