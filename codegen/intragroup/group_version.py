"""Intra-group versions: one work-group runs a body together.

Every work-item computes scalars alike, so control flow is uniform; the work-items divide the
elements of arrays.  An array that operations make element by element stays in private memory, a
chunk for each work-item (:mod:`runelift.codegen.intragroup.private_chunks`), also around loops.  It
is copied to local memory if work-items need each other's elements.  Other arrays live in local
memory.  :mod:`runelift.codegen.passes.barriers` inserts the barriers afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from runelift.codegen.intragroup.access import scanned_spaces
from runelift.codegen.intragroup.group_points import PointsBuilder
from runelift.codegen.intragroup.group_segred import lower_reduction
from runelift.codegen.intragroup.private_chunks import ChunkLayout, Point
from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.collectives import group_scan, truth
from runelift.codegen.kernel.kernel_builder import Value
from runelift.codegen.passes.accesses import IS_FIRST
from runelift.codegen.passes.barriers import insert_barriers
from runelift.codegen.passes.failed_checks import with_notes
from runelift.codegen.passes.local_memory import CELL_BYTES, cells_of, places, share_local_memory
from runelift.codegen.passes.teams import can_team, mask_absent_teams
from runelift.codegen.plan.parameters import Quantity
from runelift.codegen.plan.shapes import TeamCount
from runelift.codegen.plan.views import View, any_of, lit, op, unflat_index, volume
from runelift.codegen.segops.hist_parts import atomic_update
from runelift.ir import imp
from runelift.ir import syntax as ir
from runelift.ir.base.errors import CompilerLimitation
from runelift.ir.imp import Exp
from runelift.ir.imp.traverse import statements
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size
from runelift.ir.traverse import free_vars
from runelift.ir.types import Const, i64


def lower_group(lowering: launches.Lowering, exp: ir.SegMap) -> None:
    """Add a kernel with one work-group per point of ``exp.space``."""
    k = GroupBuilder(lowering.names, lowering, loc=lowering.stm.loc)
    k.contiguous = {k.count(space) for space in scanned_spaces(exp.body)}
    outs = lowering.results
    held = k.declare("point", Prim.I64, launches.GROUP_ID)
    indices: list[Exp] = [k.declare("g", Prim.I64, i)
                          for i in unflat_index(held, launches.widths(k, exp.space))]
    launches.bind_point(k, exp.space, indices)
    for out, value in zip(outs, k.body(exp.body), strict=True):
        if isinstance(value, View):
            k.copy(out.row(*indices), value)
        else:
            k.alone(lambda out=out, value=value: k.emit(out.write(indices, value)))  # type: ignore[misc]
    k.settle_failures()
    if k.all_fine is not None:
        one, none = (imp.Lit(Const(value, Prim.I32)) for value in (1, 0))
        first = imp.Store(k.all_fine, lit(0), one, Prim.I32)
        k.code = [imp.If(IS_FIRST, (first,)), *with_notes(k.code, imp.Atomic(
            "min", Prim.I32, k.all_fine, lit(0), none, imp.Space.LOCAL))]
    k.locals = share_local_memory(k.code, k.locals)
    groups = launches.total(lowering, exp.space)
    chunk = lowering.setting(Quantity.CHUNK) if k.layouts else i64(0)
    shape = k.group_shape(groups, (lowering.setting(Quantity.LANES), chunk), teams=False)
    k.constants = list(shape.names())
    k.code = list(insert_barriers(k.code, [s.name for s in k.scratch], k.independent,
                                  places(k.locals), k.constants))
    teams = bool(exp.space) and not k.scratch and can_team(k.code)
    independent = len(exp.space) if _is_independent(k) else 0
    lowering.steps.append(replace(shape, teams=teams, independent=independent))
    if teams:
        _side_by_side(k, lowering, exp.space, groups, independent)
    lowering.launch(k, "intragroup", groups, Size.var(k.group), shaped=k.group)


def _is_independent(k: GroupBuilder) -> bool:
    """True if the work-items of a group exchange nothing."""
    return not k.locals and not any(isinstance(s, imp.Barrier | imp.Shuffle)
                                    for s in statements(k.code))


def _side_by_side(k: GroupBuilder, lowering: launches.Lowering, space: ir.Space, groups: Size,
                  independent: int) -> None:
    """Let a group of the device be several of these groups."""
    k.teams, k.even = lowering.names.fresh("teams"), lowering.names.fresh("even")
    k.constants += [k.teams, k.even]
    need = Size.of(0)
    for array in k.locals:
        if array.within is None:
            need = need + cells_of(array) * CELL_BYTES
    lowering.steps.append(TeamCount(k.teams, k.even, k.group, groups, need,
                                    lowering.setting(Quantity.TEAMS), independent))
    present = imp.Var(k.names.fresh("present"))
    surely = op("eq", imp.Var(k.even), lit(1))
    exists = op("lt", launches.GROUP_ID, volume(launches.widths(k, space)))
    k.code = [imp.Declare(present.name, Prim.BOOL, any_of(surely, exists)),
              *mask_absent_teams(present, k.code)]


@dataclass(slots=True)
class GroupBuilder(PointsBuilder):
    """Lowers statements that the work-items of a group run together."""

    def statement(self, stm: ir.Stm) -> None:
        """Emit one statement; work-items divide the points of segmented operations."""
        self.loc = stm.loc or self.loc
        match stm.exp:
            case ir.SegMap():
                self._points(stm, stm.exp)
            case ir.SegRed():
                lower_reduction(self, stm, stm.exp)
            case ir.SegScan():
                self._scan(stm, stm.exp)
            case ir.SegScatter():
                self._scatter_points(stm, stm.exp)
            case ir.SegHist():
                self._histogram(stm, stm.exp)
            case _:
                if self.cooperative and isinstance(stm.exp, ir.SOACS):
                    self.exchange_all(free_vars(stm))
                PointsBuilder.statement(self, stm)

    def _points(self, stm: ir.Stm, exp: ir.SegMap) -> None:
        layout = self.layout(self.count(exp.space))
        outs: list[View] = [
            self.chunked_array(p.name, t, launches.widths(self, exp.space),
                               layout) if isinstance(t, Prim)
            else self.allocate(p.name, p.type) for p, t in zip(stm.pat, exp.ret, strict=True)]
        self.each_point(exp, layout,
                        lambda here: launches.run_point(self, exp.body, outs, here.indices))
        self.bind_all(stm.pat, outs)

    # Scans

    def _scan(self, stm: ir.Stm, exp: ir.SegScan) -> None:
        """Scan chunks by work-items, and their totals by the group; then add these to chunks."""
        shape, layout = launches.widths(self, exp.space), self.layout(self.count(exp.space))
        if not all(isinstance(t, Prim) for t in exp.ret):
            raise CompilerLimitation("a scan over rows inside of a work-group")
        outs: list[View] = [self.chunked_array(p.name, launches.require_scalar(t), shape, layout)
                            for p, t in zip(stm.pat, exp.ret, strict=True)]
        totals = [launches.scalars(self.neutral(o)) for o in exp.ops]
        fresh = self.declare("fresh", Prim.BOOL, truth(False)) if len(shape) > 1 else None

        def element(here: Point) -> None:
            if fresh is not None:
                with self.when(_starts(here, shape)):
                    launches.reset(self, exp.ops, totals)
                    self.emit(imp.Assign(fresh.name, truth(True)))
            self._scan_element(exp, totals, outs, here)

        self.each_point(exp, layout, element)
        with self.per_item(None) as code:
            carries = [group_scan(self, o, t, Size.var(self.group), fresh, self.subgroup)
                       for o, t in zip(exp.ops, totals, strict=True)]
            self._add_carries(exp, layout, shape, outs, carries, fresh)
        self.emit(*code)
        self.bind_all(stm.pat, outs)

    def _scan_element(self, exp: ir.SegScan, totals: Sequence[Sequence[imp.Var]],
                      outs: Sequence[View], here: Point) -> None:
        values = self.body(exp.body)
        count = sum(len(t) for t in totals)
        launches.store_results(self, outs[count:], here.indices, values[count:])
        self.accumulate_all(exp.ops, totals, values)
        self.emit(*launches.writes(outs, here.indices, totals))

    def _add_carries(self, exp: ir.SegScan, layout: ChunkLayout, shape: tuple[Exp, ...],
                     outs: Sequence[View], carries: Sequence[Sequence[imp.Var]],
                     fresh: imp.Var | None) -> None:
        """Add the carries to the elements before the chunk's first start of a segment."""
        with self.when(op("lt", lit(0), launches.LID)):
            going = self.declare("going", Prim.BOOL, truth(True)) if fresh is not None else None

            def element(here: Point) -> None:
                with self.block() as combine:
                    place = iter(outs)
                    for op_, carry in zip(exp.ops, carries, strict=True):
                        self._combine(op_, carry, [next(place) for _ in carry], here)
                if going is None:
                    self.emit(*combine)
                    return
                with self.block() as stop:
                    self.emit(imp.Assign(going.name, truth(False)))
                self.emit(imp.If(_starts(here, shape), tuple(stop)), imp.If(going, tuple(combine)))

            self.each(layout, shape, element)

    def _combine(self, op_: ir.Operator, carry: Sequence[imp.Var], targets: Sequence[View],
                 here: Point) -> None:
        held: list[Value] = [self.declare("x", t.prim, t.read(here.indices)) for t in targets]
        for target, value in zip(targets, self.apply(op_.lam, [*carry, *held]), strict=True):
            assert not isinstance(value, View)
            self.emit(target.write(here.indices, value))

    # Scatters and histograms

    def _scatter_points(self, stm: ir.Stm, exp: ir.SegScatter) -> None:
        read = free_vars(exp.body)
        outs = self.all_writable(stm.pat, [d.array for d in exp.dests], read)
        self.everywhere(exp, lambda _: self.write_inside(
            outs, [d.rank for d in exp.dests], self.body(exp.body)))
        self.bind_all(stm.pat, outs)

    def _histogram(self, stm: ir.Stm, exp: ir.SegHist) -> None:
        """Emit atomic updates in local memory; without atomics, one work-item updates a segment."""
        dests, read = [d for o in exp.ops for d in o.dests], free_vars(exp.body)
        outs = self.all_writable(stm.pat, dests, read)
        if all(op_.op.is_word for op_ in exp.ops):
            self.everywhere(exp, lambda indices: self._count(exp, outs, indices[:-1], atomic=True))
        else:
            shape = launches.widths(self, exp.space)

            def segment(outer: list[Exp]) -> None:
                def element(index: Exp) -> None:
                    self.bind_indices(exp.space, [*outer, index])
                    self._count(exp, outs, outer, atomic=False)
                self.loop(shape[-1], element, base="e")

            with self.reading(exp.body, exp.space, None):
                self.all_points(shape[:-1], segment)
        self.bind_all(stm.pat, outs)

    def _count(self, exp: ir.SegHist, outs: Sequence[View], segment: Sequence[Exp], *,
               atomic: bool) -> None:
        """Combine the values of a point with their bins."""
        values = self.body(exp.body)
        bins, rest, place = values[: len(exp.ops)], values[len(exp.ops):], list(outs)
        for op_, bin_ in zip(exp.ops, bins, strict=True):
            count = len(op_.dests)
            assert not isinstance(bin_, View)
            if atomic:
                atomic_update(self, op_.op, place[0], [*segment, bin_], rest[0],
                              imp.Space.LOCAL if self.is_local(place[0]) else imp.Space.GLOBAL)
            else:
                self.combine_inside(op_.op, self.scalar(op_.bins), place[:count],
                                    [*segment, bin_], rest[:count])
            rest, place = rest[count:], place[count:]


def _starts(here: Point, shape: tuple[Exp, ...]) -> Exp:
    """True if an element is the first of its segment."""
    return op("eq", op("rem", here.position, shape[-1]), lit(0))
