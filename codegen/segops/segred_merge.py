"""Reductions of segments along a merge path (:mod:`~runelift.codegen.segops.merge_path`).

Only the totals of segments are stored, where the path ends a segment.

- ``merge_once``, where groups may wait for each other: work-items fold their chunks.  A scan of
  their totals completes segments that began in earlier chunks.  A look-back completes the segment
  that began in an earlier tile (:mod:`~runelift.codegen.segops.segscan_single_pass`).  If no
  segment ends in a tile and the operators commute, it is folded without a walk.
- ``merge_tiles`` is without a look-back.  Then one group completes the first segments that end in
  tiles (``merge_joined``).
- ``merge_parts``, on devices without coalesced accesses: a work-item folds its part of the path.
  ``merge_joined`` follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.collectives import truth
from runelift.codegen.kernel.launch_builder import LID, LSIZE
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.plan import plan
from runelift.codegen.plan.views import all_of, lit, negated, op
from runelift.codegen.segops.merge_parts import (
    PartOfItem,
    Parts,
    if_several,
    join,
    parts_of,
    parts_of_items,
)
from runelift.codegen.segops.merge_path import Tile, Totals, tiles_of
from runelift.codegen.segops.ragged import announce, begin_segment
from runelift.codegen.segops.scan_tiles import Scan, by_patience, combine
from runelift.codegen.segops.segscan_single_pass import IS_LAST, LookBack, status_words
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size
from runelift.ir.syntax import SegRed


def merged(lowering: launches.Lowering, exp: SegRed) -> None:
    """Add the kernels of a reduction along a merge path."""
    def complete(parts: Parts) -> None:
        if_several(lowering, parts, lambda: join(lowering, parts, partial(
            _complete, lowering, parts)))

    if not lowering.interleave:
        parts = parts_of_items(lowering, exp)
        fold_parts(lowering, parts, stored=True)
        complete(parts)
        return
    scan = tiles_of(lowering, exp)

    def twice() -> None:
        parts = parts_of(lowering, exp, scan.tile_shape.points, Size.var(scan.tiles))
        fold_tiles(lowering, scan, parts, stored=True)
        complete(parts)

    by_patience(lowering, scan, lambda: _fold_once(lowering, scan), twice)


def _complete(lowering: launches.Lowering, parts: Parts, k: KernelBuilder, part: Exp,
              before: Totals) -> None:
    """Emit the completion of the first segment that ends in a part."""
    first = k.declare("first", Prim.I64, imp.Load(parts.firsts, part, Prim.I64))
    outs = lowering.results
    with k.when(op("le", lit(0), first)):
        place = iter(outs)
        held = [[k.declare("held", p, next(place).read([first])) for p in ps] for ps in parts.prims]
        for op_, left, right in zip(parts.exp.ops, before, held, strict=True):
            combine(k, op_, left, right)
        k.emit(*launches.writes(outs, [first], held))


# Parts of work-items


def fold_parts(lowering: launches.Lowering, parts: Parts, *, stored: bool) -> None:
    """Add a kernel whose work-items fold their parts; the totals of segments are ``stored``."""
    exp, k, outs = parts.exp, lowering.builder(), lowering.results
    part = PartOfItem(k, parts, outs[sum(len(ps) for ps in parts.prims):] if stored else ())
    totals = [launches.scalars(k.neutral(o)) for o in exp.ops]

    def fold(segment: Exp, until: Exp) -> None:
        start = k.declare("start", Prim.I64, part.path.offset(segment))
        each = part.path.segment(totals, segment, start)
        bound = k.declare("until", Prim.I64, op("sub", until, start))
        index = k.declare("index", Prim.I64, op("sub", part.element, start))
        each.fold(each.fold_lanes(index, bound, part=True), bound, lit(1))
        announce(k, part.path.elements, part.path.segments)

    def finish(segment: Exp) -> None:
        if stored:
            k.emit(*launches.writes(outs, [segment], totals))
        launches.reset(k, exp.ops, totals)

    part.each(fold, finish)
    part.leave(totals)
    part.launch(lowering, "merge_parts")


# Tiles of groups


def fold_tiles(lowering: launches.Lowering, scan: Scan, parts: Parts, *, stored: bool) -> None:
    """Add a kernel whose groups fold their tiles; the totals of segments are ``stored``."""
    tile = _Fold(lowering, scan, stored=stored)
    with tile.k.block() as code:
        tile.number_by_group()
        tile.place()
        tile.fold()
        with tile.k.when(IS_LAST):
            parts.leave(tile.k, tile.number, tile.first_end, tile.totals)
        tile.write_leading()
    with tile.k.block() as ordered:
        tile.emit_ordered(code)
    tile.launch("merge_tiles", ordered)


def _fold_once(lowering: launches.Lowering, scan: Scan) -> None:
    """Add a kernel whose groups fold their tiles and look back at earlier tiles."""
    statuses = lowering.names.fresh("statuses")
    lowering.steps.append(plan.AllocScanStatus(statuses, status_words(scan)))
    tile = _Fold(lowering, scan, stored=True)
    k = tile.k
    k.constants.append(scan.tile_shape.window)
    back = LookBack(k, scan, tile.number, statuses)
    with k.block() as code:
        back.take_tile([tile.note_failure()])
        with k.block() as found:
            tile.place()
            tile.fold()
        tile.emit_ordered(found)
        open_ = k.declare("open", Prim.BOOL, tile.open)
        own = k.declare("own", Prim.BOOL, all_of(open_, op("eq", tile.rows, lit(0))))
        earlier = back.join(tile.totals, open_, own, lambda: None)
        with k.when(all_of(tile.leads, open_)):
            k.emit(*tile.combine(tile.held("earlier", earlier), tile.heads))
        tile.write_leading()
    tile.launch("merge_once", code)


class _Fold(Tile):
    """A tile that is folded.

    Afterwards the last work-item has the total behind the last end of a segment, in ``totals``.
    ``heads`` are the total of the segment that ends first, in the work-item that ``leads``.
    """

    def __init__(self, lowering: launches.Lowering, scan: Scan, *, stored: bool) -> None:
        values = len(scan.values())
        super().__init__(lowering, scan, values if stored else len(lowering.results))
        self.outs = lowering.results[:values] if stored else []

    def fold(self) -> None:
        """Emit a walk, and the completion of segments that began in earlier chunks.

        All totals are stored but the leading one.
        """
        k, ops = self.k, self.scan.exp.ops
        self.totals = [launches.scalars(k.neutral(o)) for o in ops]
        self.heads = [launches.scalars(k.neutral(o)) for o in ops]
        self.leads = k.declare("leads", Prim.BOOL, truth(False))
        alone = self._fold_alone() if all(o.comm for o in ops) else None
        self.stage(self.totals, alone)
        fresh = k.declare("fresh", Prim.BOOL, truth(False))
        with k.block() as keep:
            _assign(k, self.heads, self.totals)
            k.emit(imp.Assign(fresh.name, truth(True)))
        with k.block() as renew:
            launches.reset(k, ops, self.totals)

        def at_element(_: Exp, place: Exp) -> list[imp.Stm]:
            with k.block() as code:
                k.accumulate_all(ops, self.totals, self.staged(place))
            return code

        self.walk(lambda row: [imp.If(fresh, self._written(self.segment_of(row), self.totals),
                                      tuple(keep)),
                               *renew], at_element)
        carries = self.exchange(self.totals, fresh)
        leading = self.begins_first
        k.emit(imp.If(fresh, (
            imp.If(op("lt", lit(0), LID), self.combine(carries, self.heads)),
            imp.Assign(self.leads.name, leading),
            imp.If(negated(leading), self._written(self.segment_of(self.row), self.heads)))))
        self.complete(self.totals, carries, fresh)

    def _fold_alone(self) -> imp.Var:
        """Emit the folding of a tile in which no segment ends; the condition for that."""
        k = self.k
        alone = k.declare("alone", Prim.BOOL, op("eq", self.rows, lit(0)))
        with k.when(alone):
            exp = begin_segment(k, self.path.exp, self.first)
            each = replace(self.path, exp=exp).segment(self.totals, self.first, self.start)
            ahead = k.declare("ahead", Prim.I64, op("sub", self.element, self.start))
            each.fold(op("add", ahead, LID), op("add", ahead, self.count), LSIZE)
            announce(k, self.path.elements, self.items)
        return alone

    def write_leading(self) -> None:
        """Emit the stores of the total of the segment that ends first."""
        self.k.emit(imp.If(self.leads, self._written(self.first, self.heads)))

    def _written(self, segment: Exp, totals: Totals) -> tuple[imp.Stm, ...]:
        """The stores of the totals of a segment."""
        return launches.writes(self.outs, [segment], totals)


def _assign(k: KernelBuilder, targets: Totals, values: Sequence[Sequence[Exp]]) -> None:
    k.emit(*(imp.Assign(t.name, v) for ts, vs in zip(targets, values, strict=True)
             for t, v in zip(ts, vs, strict=True)))
