"""Reductions by a work-group: of all its points, or of the segments of a space.

A segment is reduced by one work-item.  If there are few segments and the device has sub-groups,
several neighbouring work-items of a sub-group reduce it, and combine their totals without barriers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from runelift.codegen.intragroup.access import own_elements
from runelift.codegen.intragroup.group_points import PointsBuilder
from runelift.codegen.intragroup.private_chunks import ChunkedArray, Point
from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.collectives import group_total, row_total, truth
from runelift.codegen.kernel.kernel_builder import Value
from runelift.codegen.plan.views import View, all_of, lit, negated, op, unflat_index, volume
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, ceil_div
from runelift.ir.syntax import Param, SegRed, Space, Stm
from runelift.ir.types import Type


def lower_reduction(k: PointsBuilder, stm: Stm, exp: SegRed) -> None:
    """Bind the totals of ``exp``, and the results of its map that are not reduced."""
    count = sum(len(o.neutral) for o in exp.ops)
    more = _more_results(k, stm.pat[count:], exp.ret[count:], exp.space)
    found: Sequence[Value]
    if len(exp.space) > 1:
        found = _Segments(k, exp, more).reduce(stm.pat[:count])
    else:
        found = _reduce_all(k, exp, more)
    k.bind_all(stm.pat, [*found, *more])


def _more_results(k: PointsBuilder, pat: Sequence[Param], ret: Sequence[Type], space: Space
                  ) -> list[View]:
    """Memory for the results of a reduction's map that are not reduced."""
    return [k.chunked_array(p.name, t, launches.widths(k, space), k.layout(k.count(space)))
            if len(space) == 1 and isinstance(t, Prim) else k.allocate(p.name, p.type)
            for p, t in zip(pat, ret, strict=True)]


def _reduce_all(k: PointsBuilder, exp: SegRed, more: Sequence[View]) -> list[Value]:
    """The totals of a reduction over all points of a group."""
    arrays = launches.local_arrays(k, exp.ops, Size.var(k.group))
    totals = [launches.scalars(k.neutral(o)) for o in exp.ops]
    _fold(k, exp, totals, more)
    found: list[Value] = []
    for op_, mems, total in zip(exp.ops, arrays, totals, strict=True):
        with k.per_item(None) as code:
            found += group_total(k, op_, total, mems, k.subgroup)
        k.emit(*code)
    return found


def _fold(k: PointsBuilder, exp: SegRed, totals: Sequence[Sequence[imp.Var]],
          more: Sequence[View]) -> None:
    """Emit the reduction of each work-item's elements, in any number unless chunks hold them."""
    def element(indices: Sequence[Exp]) -> None:
        _take(k, exp, totals, more, indices)

    points = k.count(exp.space)
    if any(isinstance(out, ChunkedArray) for out in more):
        k.each_point(exp, k.layout(points), lambda here: element(here.indices))
        return
    if all(o.comm for o in exp.ops) or any(isinstance(k.env.get(name), ChunkedArray)
                                           for name in own_elements(exp.body, exp.space)):
        k.everywhere(exp, element)
        return
    k.loops.append(points)
    with k.reading(exp.body, exp.space, None), k.per_item(None) as code:
        def point(position: Exp) -> None:
            k.bind_indices(exp.space, [position])
            element([position])

        part = launches.even_part(k, launches.widths(k, exp.space)[0], launches.LID, launches.LSIZE)
        k.loop(part.end, point, start=part.start, base="e")
    k.emit(*code)


def _take(k: PointsBuilder, exp: SegRed, totals: Sequence[Sequence[imp.Var]],
          more: Sequence[View], indices: Sequence[Exp]) -> None:
    """Take one element, whose indices are bound, into the totals."""
    values = k.body(exp.body)
    launches.store_results(k, more, indices, values[sum(len(t) for t in totals):])
    k.accumulate_all(exp.ops, totals, values)


@dataclass(frozen=True, slots=True)
class _Segments:
    """The segments of a reduction's space, its last dimension each."""

    k: PointsBuilder
    exp: SegRed
    more: Sequence[View]

    @property
    def outer(self) -> Space:
        """The dimensions that count the segments."""
        return self.exp.space[:-1]

    @property
    def shape(self) -> tuple[Exp, ...]:
        """The number of segments along each dimension."""
        return launches.widths(self.k, self.outer)

    @property
    def length(self) -> Exp:
        """The number of elements of a segment."""
        return self.k.scalar(self.exp.space[-1].width)

    def reduce(self, pat: Sequence[Param]) -> list[View]:
        """Arrays of the totals, in chunks of segments."""
        k, space = self.k, self.exp.space
        layout = k.layout(k.count(self.outer))
        k.rows.append((k.count(self.outer), k.host_size(space[-1].width)))
        types = [launches.require_scalar(t) for o in self.exp.ops for t in o.lam.ret]
        outs: list[View] = [k.chunked_array(p.name, t, self.shape, layout)
                            for p, t in zip(pat, types, strict=True)]

        def alone(here: Point) -> None:
            totals = self._totals(here.indices, launches.Part(lit(0), self.length), None)
            for out, value in zip(outs, chain(*totals), strict=True):
                k.emit(out.write(here.indices, value))

        with k.reading(self.exp.body, space, None):
            several = self._together(outs)
            with k.when(negated(several)):
                k.each(layout, self.shape, alone)
        return outs

    def _totals(self, indices: Sequence[Exp], part: launches.Part, step: Exp | None
                ) -> list[list[imp.Var]]:
        """The totals of a part of the segment with given indices, every ``step``-th element."""
        k, exp = self.k, self.exp
        k.bind_indices(self.outer, indices)
        totals = [launches.scalars(k.neutral(o)) for o in exp.ops]

        def element(index: Exp) -> None:
            k.bind_indices(exp.space[-1:], [index])
            _take(k, exp, totals, self.more, [*indices, index])

        k.loop(part.end, element, start=part.start, step=step, base="e")
        return totals

    def _together(self, outs: Sequence[View]) -> Exp:
        """Reduce each segment by several work-items if there are enough; the condition for that.

        Their number is a power of two.
        """
        k = self.k
        exist = ceil_div(Size.var(k.subgroup) - Size.of(1), Size.var(k.subgroup))
        arrays = launches.local_arrays(k, self.exp.ops, Size.var(k.group) * exist)
        several = k.declare("several", Prim.BOOL, truth(False))
        with k.block() as code:
            segments = k.declare("segments", Prim.I64, _at_least_one(volume(self.shape)))
            most = _at_least_one(op("min", op("quot", launches.LSIZE, segments), self.length))
            lanes = k.declare("lanes", Prim.I64, op("min", imp.Var(k.subgroup), op(
                "shl", lit(1), op("sub", lit(63), op("clz", most)))))
            k.emit(imp.Assign(several.name, op("lt", lit(1), lanes)))
            with k.when(several):
                self._by_rows(lanes, arrays)
                k.each(k.layout(k.count(self.outer)), self.shape, lambda here: k.emit(*(
                    out.write(here.indices, imp.Load(mem, here.position, out.prim))
                    for out, mem in zip(outs, chain(*arrays), strict=True))))
        # decided when a kernel is built: PoCL is slow where barriers are in branches that are not
        some = op("lt", lit(1), imp.Var(k.subgroup))
        k.emit(imp.If(some, tuple(code)))
        return all_of(some, several)

    def _by_rows(self, lanes: Exp, arrays: Sequence[Sequence[VName]]) -> None:
        """Bring the totals of all segments to local memory; ``lanes`` work-items reduce each."""
        k, ops, shape = self.k, self.exp.ops, self.shape
        with k.per_item(None) as code:
            segment = k.declare("segment", Prim.I64, op("quot", launches.LID, lanes))
            lane = k.declare("lane", Prim.I64, op("rem", launches.LID, lanes))
            exists = k.declare("exists", Prim.BOOL, op("lt", segment, volume(shape)))
            totals = [launches.scalars(k.neutral(o)) for o in ops]
            with k.when(exists):
                indices = [k.declare("i", Prim.I64, i) for i in unflat_index(segment, shape)]
                part, step = (launches.Part(lane, self.length),
                              lanes) if all(o.comm for o in ops) else (
                    launches.even_part(k, self.length, lane, lanes), None)
                found = self._totals(indices, part, step)
                for total, value in zip(chain(*totals), chain(*found), strict=True):
                    k.emit(imp.Assign(total.name, value))
            rows = [row_total(k, o, t, lanes, k.subgroup) for o, t in zip(ops, totals, strict=True)]
            with k.when(all_of(exists, op("eq", lane, lit(0)))):
                for o, mems, row in zip(ops, arrays, rows, strict=True):
                    for mem, value, type_ in zip(mems, row, o.lam.ret, strict=True):
                        k.emit(imp.Store(mem, segment, value, launches.require_scalar(type_)))
        k.emit(*code)


def _at_least_one(count: Exp) -> Exp:
    return op("max", count, lit(1))
