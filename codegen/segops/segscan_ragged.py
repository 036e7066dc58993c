"""Segmented scans over the grid whose segments differ in length.  All results are flat.

Nothing passes from one segment to the next.  The version says who shares the elements:

- *row* (``ragged_scan_rows``): a work-item per segment;
- otherwise equal parts of a merge path (:mod:`~runelift.codegen.segops.merge_path`), which ends
  segments where the offsets say so.  Where groups may wait for each other, a kernel scans tiles and
  looks back (``merge_scan_once``).  Otherwise the parts are folded first, one group finds the total
  before each part (``merge_joined``), and the parts are scanned (``merge_scan_tiles``,
  ``merge_scan_parts``).  So elements are computed twice there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.collectives import truth
from runelift.codegen.kernel.kernel_builder import Value
from runelift.codegen.kernel.launch_builder import LID, LSIZE
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.plan import plan
from runelift.codegen.plan.views import View, all_of, any_of, lit, negated, op
from runelift.codegen.segops.merge_parts import (
    PartOfItem,
    Parts,
    if_several,
    join,
    parts_of,
    parts_of_items,
)
from runelift.codegen.segops.merge_path import Tile, Totals, short, tiles_of
from runelift.codegen.segops.ragged import RaggedSegment, announce, expect, offset, ragged_of
from runelift.codegen.segops.scan_tiles import Scan, by_patience
from runelift.codegen.segops.segred_merge import fold_parts, fold_tiles
from runelift.codegen.segops.segscan_single_pass import LookBack, status_words
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.prim import Prim
from runelift.ir.ragged import Sharing
from runelift.ir.sizes import Size
from runelift.ir.syntax import Body, SegScan


def segscan_ragged(lowering: launches.Lowering, exp: SegScan) -> None:
    """Add the kernels of a scan over a ragged space, as its version says."""
    if ragged_of(exp).sharing is Sharing.ROW:
        _by_rows(lowering, exp)
    elif lowering.interleave:
        scan = tiles_of(lowering, exp)
        by_patience(lowering, scan, lambda: _scan_once(lowering, scan),
                    lambda: _scan_twice(lowering, scan))
    else:
        parts = parts_of_items(lowering, exp)
        if_several(lowering, parts, lambda: _find_before(lowering, parts))
        _scan_parts(lowering, parts)


def _operands(exp: SegScan) -> SegScan:
    """The scan without further results of its map."""
    count = sum(len(o.neutral) for o in exp.ops)
    return replace(exp, body=Body(exp.body.stms, exp.body.result[:count]), ret=exp.ret[:count])


# Rows


def _by_rows(lowering: launches.Lowering, exp: SegScan) -> None:
    """Add a kernel with one work-item per segment."""
    k, outs, ragged = lowering.builder(), lowering.results, ragged_of(exp)

    def row(outer: list[Exp]) -> None:
        totals = [launches.scalars(k.neutral(o)) for o in exp.ops]
        length = k.declare("length", Prim.I64, k.array(ragged.lengths).read(outer))
        start = k.declare("start", Prim.I64, offset(k, ragged, outer[0]))
        each = RaggedSegment(k, exp, totals, outs[sum(map(len, totals)):], outer, length, start)
        k.loop(length, lambda index: _scan_element(each, outs, index), base="e")
        expect(k, ragged, k.scalar(exp.space[0].width))

    launches.each_point(lowering, k, exp.space[:1], row, "ragged_scan_rows", busy=True)


def _scan_element(each: RaggedSegment, outs: Sequence[View], index: Exp) -> None:
    """Take an element into the totals, and store these."""
    k = each.k
    values: list[Value] = each.element(index)
    k.accumulate_all(each.exp.ops, each.totals, values)
    k.emit(*launches.writes(outs, each.place(index), each.totals))


# Parts of work-items


def _find_before(lowering: launches.Lowering, parts: Parts) -> None:
    """Find the total before each part, which takes the place of what the part leaves."""
    assert isinstance(parts.exp, SegScan)
    fold_parts(lowering, replace(parts, exp=_operands(parts.exp)), stored=False)
    _join(lowering, parts)


def _join(lowering: launches.Lowering, parts: Parts) -> None:
    """Let one group put the total before each part in place of what the part leaves."""
    def found(k: KernelBuilder, part: Exp, before: Totals) -> None:
        k.emit(*parts.put(part, before))

    join(lowering, parts, found)


def _scan_parts(lowering: launches.Lowering, parts: Parts) -> None:
    """Add a kernel whose work-items scan their parts of the path."""
    exp, k, outs = parts.exp, lowering.builder(), lowering.results
    part = PartOfItem(k, parts, outs[sum(map(len, parts.prims)):])
    totals = [launches.scalars(k.neutral(o)) for o in exp.ops]
    with k.when(op("lt", lit(0), part.number)):
        for ts, before in zip(totals, parts.tail(k, part.number), strict=True):
            k.emit(*(imp.Assign(t.name, b) for t, b in zip(ts, before, strict=True)))

    def scan(segment: Exp, until: Exp) -> None:
        start = k.declare("start", Prim.I64, part.path.offset(segment))
        each = part.path.segment(totals, segment, start)
        k.loop(op("sub", until, start), lambda index: _scan_element(each, outs, index),
               start=op("sub", part.element, start), base="e")
        announce(k, part.path.elements, part.path.segments)

    part.each(scan, lambda _: launches.reset(k, exp.ops, totals))
    part.launch(lowering, "merge_scan_parts")


# Tiles of groups


def _scan_once(lowering: launches.Lowering, scan: Scan) -> None:
    """Add a kernel whose groups scan tiles and look back at earlier tiles."""
    statuses = lowering.names.fresh("statuses")
    lowering.steps.append(plan.AllocScanStatus(statuses, status_words(scan)))
    tile = _ScannedTile(lowering, scan)
    k = tile.k
    k.constants.append(scan.tile_shape.window)
    back = LookBack(k, scan, tile.number, statuses)
    with k.block() as code:
        back.take_tile([tile.note_failure()])
        with k.block() as scanned:
            tile.scan_chunks()
        tile.emit_ordered(scanned)
        open_ = k.declare("open", Prim.BOOL, tile.open)
        own = k.declare("own", Prim.BOOL, all_of(open_, op("eq", tile.rows, lit(0))))
        earlier = back.join(tile.totals, open_, own, lambda: tile.complete(
            tile.totals, tile.carries, tile.fresh))
        with k.block() as finished:
            tile.finish(tile.held("earlier", earlier), open_)
        tile.emit_ordered(finished)
    tile.launch("merge_scan_once", code)


def _scan_twice(lowering: launches.Lowering, scan: Scan) -> None:
    """Add kernels that fold tiles, find the total before each, and scan them."""
    assert isinstance(scan.exp, SegScan)
    operands = replace(scan, exp=_operands(scan.exp))
    parts = parts_of(lowering, operands.exp, scan.tile_shape.points, Size.var(scan.tiles))

    def find() -> None:
        fold_tiles(lowering, operands, parts, stored=False)
        _join(lowering, parts)

    if_several(lowering, parts, find)
    tile = _ScannedTile(lowering, scan)
    k = tile.k
    with k.block() as code:
        tile.number_by_group()
        tile.scan_chunks()
        open_ = k.declare("open", Prim.BOOL, tile.open)
        before = [[k.declare("earlier", p, imp.Select(open_, imp.Load(
            m, tile.number, p), k.scalar(neutral), p))
            for m, p, neutral in zip(mems, ps, o.neutral, strict=True)]
            for mems, ps, o in zip(parts.tails, parts.prims, scan.exp.ops, strict=True)]
        tile.finish(before, open_)
    with k.block() as ordered:
        tile.emit_ordered(code)
    tile.launch("merge_scan_tiles", ordered)


class _ScannedTile(Tile):
    """A tile that is scanned; results stand in place of operands until they are stored."""

    def __init__(self, lowering: launches.Lowering, scan: Scan) -> None:
        super().__init__(lowering, scan, len(scan.values()))

    def scan_chunks(self) -> None:
        """Emit the scans of chunks by work-items, and the exchange of their totals.

        ``lead`` is the number of elements of a chunk before its first end of a segment.
        """
        k, ops = self.k, self.scan.exp.ops
        self.place()
        self.totals = [launches.scalars(k.neutral(o)) for o in ops]
        self.stage(self.totals)
        self.fresh = k.declare("fresh", Prim.BOOL, truth(False))
        self.lead = k.declare("lead", Prim.I64, lit(0))
        with k.block() as renew:
            launches.reset(k, ops, self.totals)
            k.emit(imp.Assign(self.fresh.name, truth(True)))

        def at_element(_: Exp, place: Exp) -> list[imp.Stm]:
            with k.block() as code:
                k.accumulate_all(ops, self.totals, self.staged(place))
                k.emit(*self.restage(place, [t for ts in self.totals for t in ts]), imp.If(
                    negated(self.fresh), (imp.Assign(self.lead.name, op(
                        "add", self.lead, lit(1))),)))
            return code

        self.walk(lambda row: renew, at_element)
        self.carries = self.exchange(self.totals, self.fresh)

    def finish(self, earlier: Totals, open_: Exp) -> None:
        """Emit the addition of the totals before chunks, and the stores of results."""
        k, later = self.k, op("lt", lit(0), LID)
        linked = k.declare("linked", Prim.BOOL, all_of(open_, self.begins_first))
        taken = tuple(imp.Assign(c.name, e) for cs, es in zip(self.carries, earlier, strict=True)
                      for c, e in zip(cs, es, strict=True))
        k.emit(imp.If(linked, (imp.If(later, self.combine(earlier, self.carries), taken),)))

        def add(number: Exp) -> None:
            place = k.declare("p", Prim.I32, op("add", self.begin, short(number), prim=Prim.I32))
            flat = self.staged(place)
            rest = iter(flat)
            values = [[next(rest) for _ in ps] for ps in self.scan.prims]
            k.emit(*self.combine(self.carries, values), *self.restage(place, flat))

        added = imp.Select(any_of(linked, later), self.lead, lit(0), Prim.I64)
        k.loop(k.declare("added", Prim.I64, added), add, base="t")
        announce(k, self.path.elements, self.items)
        outs = self.lowering.results
        k.loop(self.count, lambda place: k.emit(*(
            out.write([op("add", self.element, place)], value)
            for out, value in zip(outs, self.staged(short(place)), strict=False))),
               start=LID, step=LSIZE, base="x")
        announce(k, self.path.elements, self.items)
