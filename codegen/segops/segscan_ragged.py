"""Segmented scans over the grid whose segments differ in length.  All results are flat.

Nothing passes from one segment to the next.  The version says who shares the elements:

- *row* (``ragged_scan_rows``): a work-item per segment;
- otherwise equal parts of a merge path (:mod:`~runelift.codegen.segops.merge_path`).  In a tile,
  the ends of segments go to local memory.  Each work-item walks through its chunk and notes the
  segments of elements.  Then neighbouring work-items read neighbouring elements, and put the
  operands to local memory.  Where groups may wait for each other, a kernel scans tiles and
  looks back (``merge_scan_once``).  Otherwise the parts are folded first, one group finds the total
  before each part (``merge_joined``), and the parts are scanned (``merge_scan_tiles``,
  ``merge_scan_parts``).  So elements are computed twice there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.collectives import combined, group_scan, group_total, truth
from runelift.codegen.kernel.kernel_builder import Value
from runelift.codegen.kernel.launch_builder import LID, LSIZE
from runelift.codegen.passes.accesses import IS_FIRST, PADDING
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
from runelift.codegen.segops.merge_path import (
    SMALL,
    Tile,
    Totals,
    bits,
    halve,
    short,
    steps_of,
)
from runelift.codegen.segops.ragged import RaggedSegment, announce, offset, ragged_of, trips_of
from runelift.codegen.segops.scan_tiles import Scan, by_patience, choose_tiles
from runelift.codegen.segops.segred_merge import fold_parts
from runelift.codegen.segops.segscan_single_pass import LookBack, status_words
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.prim import Prim
from runelift.ir.ragged import Sharing
from runelift.ir.sizes import Size, ceil_div
from runelift.ir.syntax import Body, SegScan

STEP_BYTES = 4
"""The bytes of local memory for a step: where a segment ends, and the segment of an element."""


def segscan_ragged(lowering: launches.Lowering, exp: SegScan) -> None:
    """Add the kernels of a scan over a ragged space, as its version says."""
    if ragged_of(exp).sharing is Sharing.ROW:
        _by_rows(lowering, exp)
    elif lowering.interleave:
        scan = choose_tiles(lowering, exp, "steps", steps_of(lowering, exp), STEP_BYTES)
        by_patience(lowering, scan, lambda: _scan_once(lowering, scan),
                    lambda: _scan_twice(lowering, scan))
    else:
        parts = parts_of_items(lowering, exp)

        def find() -> None:
            fold_parts(lowering, replace(parts, exp=_operands(exp)), stored=False)
            _join(lowering, parts)

        if_several(lowering, parts, find)
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
        k.loop(length, lambda index: _scan_element(each, outs, index), base="e",
               expected=trips_of(k, ragged, k.scalar(exp.space[0].width)))

    launches.each_point(lowering, k, exp.space[:1], row, "ragged_scan_rows", busy=True)


def _scan_element(each: RaggedSegment, outs: Sequence[View], index: Exp) -> None:
    """Take an element into the totals, and store these."""
    k = each.k
    values: list[Value] = each.element(index)
    k.accumulate_all(each.exp.ops, each.totals, values)
    k.emit(*launches.writes(outs, each.place(index), each.totals))


# Parts of work-items


def _join(lowering: launches.Lowering, parts: Parts) -> None:
    """Let one group put the total before each part in place of what the part leaves."""
    join(lowering, parts, lambda k, part, before: k.emit(*parts.put(part, before)))


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
               start=op("sub", part.element, start), base="e", expected=each.trips)

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
        with tile.ordered():
            tile.scan_chunks()
        open_ = k.declare("open", Prim.BOOL, tile.open)
        own = k.declare("own", Prim.BOOL, all_of(open_, op("eq", tile.rows, lit(0))))
        earlier = back.join(tile.totals, open_, own, lambda: tile.complete(
            tile.totals, tile.carries, tile.fresh))
        with tile.ordered():
            tile.finish(tile.held("earlier", earlier), open_)
    tile.launch("merge_scan_once", code)


def _scan_twice(lowering: launches.Lowering, scan: Scan) -> None:
    """Add kernels that fold tiles, find the total before each, and scan them."""
    assert isinstance(scan.exp, SegScan)
    operands = replace(scan, exp=_operands(scan.exp))
    parts = parts_of(lowering, operands.exp, scan.tile_shape.points, Size.var(scan.tiles))

    def find() -> None:
        _fold_tails(lowering, operands, parts)
        _join(lowering, parts)

    if_several(lowering, parts, find)
    tile = _ScannedTile(lowering, scan)
    k = tile.k
    with k.block() as code, tile.ordered():
        tile.number_by_group()
        tile.scan_chunks()
        open_ = k.declare("open", Prim.BOOL, tile.open)
        before = [[k.declare("earlier", p, imp.Select(open_, imp.Load(
            m, tile.number, p), k.scalar(neutral), p))
            for m, p, neutral in zip(mems, ps, o.neutral, strict=True)]
            for mems, ps, o in zip(parts.tails, parts.prims, scan.exp.ops, strict=True)]
        tile.finish(before, open_)
    tile.launch("merge_scan_tiles", code)


def _fold_tails(lowering: launches.Lowering, scan: Scan, parts: Parts) -> None:
    """Add a kernel whose groups find the totals behind the last ends of segments in their tiles."""
    tile = Tile(lowering, scan, len(lowering.results))
    k, ops = tile.k, scan.exp.ops
    arrays = launches.local_arrays(k, ops, Size.var(scan.tile_shape.group))
    totals = [launches.scalars(k.neutral(o)) for o in ops]
    with k.block() as code, tile.ordered():
        tile.number_by_group()
        tile.place()
        segment = k.declare("segment", Prim.I64, op("add", tile.first, tile.rows))
        start = k.declare("start", Prim.I64, tile.path.offset(segment))
        begin = k.declare("begin", Prim.I64, op("max", start, tile.element))
        tile.path.segment(totals, segment, start).fold_part(LID, LSIZE, op("sub", begin, start), op(
            "sub", op("add", tile.element, tile.count), begin))
        announce(k, tile.path.elements, tile.items)
        found = [group_total(k, o, ts, ms, scan.subgroup)
                 for o, ts, ms in zip(ops, totals, arrays, strict=True)]
        with k.when(IS_FIRST):
            parts.leave(k, tile.number, tile.first_end, found)
    tile.launch("merge_tiles", code)


class _ScannedTile(Tile):
    """A tile that is scanned; results stand in place of operands until they are stored.

    ``ends`` has the ends of its segments, counted from its first element.  ``owners`` has the
    segments of its elements, counted from its first segment.  ``stages`` has their operands.
    """

    def __init__(self, lowering: launches.Lowering, scan: Scan) -> None:
        super().__init__(lowering, scan, len(scan.values()))
        fresh, values = lowering.names.fresh, scan.values()
        self.ends, self.owners = fresh("ends"), fresh("owners")
        self.stages = [fresh("stage") for _ in values]
        cells = Size.var(self.shape.group) * Size.var(self.shape.chunk)
        room = cells + ceil_div(cells, Size.of(PADDING))
        self.k.locals += [imp.LocalArray(m, p, room) for m, p in zip(
            (self.ends, self.owners, *self.stages), (SMALL, SMALL, *values), strict=True)]

    # Elements

    def stage(self, totals: Totals) -> None:
        """Bring the ends of segments and the operands of elements to local memory."""
        k = self.k
        k.loop(self.rows, lambda r: k.emit(imp.Store(
            self.ends, cell(short(r)), imp.Convert(Prim.I64, SMALL, op("sub", self.path.offset(
                op("add", self.first, op("add", r, lit(1)))), self.element)), SMALL)),
               start=LID, step=LSIZE, base="r")
        announce(k, self.path.segments, self.items)
        self._find_chunk()
        self.walk((), lambda row, place: [
            imp.Store(self.owners, cell(place), imp.Convert(Prim.I32, SMALL, row), SMALL)])
        k.loop(self.count, lambda place: self._operands(totals, place), start=LID, step=LSIZE,
               base="x")
        announce(k, self.path.elements, self.items)

    def _end_of(self, row: Exp) -> Exp:
        """The end of a segment of the tile, counted from the first element."""
        return imp.Convert(SMALL, Prim.I32, imp.Load(self.ends, cell(row), SMALL))

    def _find_chunk(self) -> None:
        """Find the segment and the element where the work-item's chunk begins."""
        k = self.k
        at = k.declare("at", Prim.I64, op("min", op("mul", LID, self.chunk), self.steps))
        self.walked = k.declare("walked", Prim.I64, op("min", self.chunk, op(
            "sub", self.steps, at)))
        self.row = k.declare("row", Prim.I32, short(op("max", lit(0), op("sub", at, self.count))))
        high = k.declare("high", Prim.I32, short(op("min", at, self.rows)))
        place = k.declare("diagonal", Prim.I32, short(at))
        halve(k, self.row, high, bits(self.rows), lambda middle: imp.Apply("lt", Prim.I32, (
            self._end_of(middle), op("sub", place, middle, prim=Prim.I32))))
        self.begin = k.declare("place", Prim.I32, op("sub", place, self.row, prim=Prim.I32))

    def walk(self, at_end: Sequence[imp.Stm],
             at_element: Callable[[Exp, Exp], Sequence[imp.Stm]]) -> None:
        """Emit a walk through the work-item's chunk."""
        k = self.k
        row, place = k.declare("r", Prim.I32, self.row), k.declare("x", Prim.I32, self.begin)
        rows = k.declare("rows", Prim.I32, short(self.rows))
        never = k.declare("never", Prim.I32, short(op("add", self.count, lit(1))))

        def end_of_row() -> Exp:
            return imp.Select(imp.Apply("lt", Prim.I32, (row, rows)), self._end_of(row), never,
                              Prim.I32)

        end = k.declare("stop", Prim.I32, end_of_row())

        def step(_: Exp) -> None:
            k.emit(imp.If(imp.Apply("le", Prim.I32, (end, place)), (
                *at_end, imp.Assign(row.name, after(row)),
                imp.Assign(end.name, end_of_row())), (
                *at_element(row, place), imp.Assign(place.name, after(place)))))

        k.loop(self.walked, step, base="t")
        announce(k, imp.Var(self.shape.points), self.items)

    def _operands(self, totals: Totals, place: Exp) -> None:
        """Emit the code that brings the operands of an element to local memory."""
        k = self.k
        row = imp.Var(k.names.fresh("owner"))
        k.emit(imp.Declare(row.name, Prim.I64, wide(imp.Convert(
            SMALL, Prim.I32, imp.Load(self.owners, cell(short(place)), SMALL))),
                           expected=op("quot", place, self.path.mean)))
        start = k.declare("begin", Prim.I64, imp.Select(
            op("lt", lit(0), row), op("add", self.element, wide(self._end_of(op(
                "sub", short(row), lit(1, Prim.I32), prim=Prim.I32)))),
            self.start, Prim.I64))
        each = self.path.segment(totals, op("add", self.first, row), start)
        values = each.element(k.declare("j", Prim.I64, op(
            "sub", op("add", self.element, place), start)))
        k.emit(*self.restage(short(place), [v for v in values if not isinstance(v, View)]))

    def staged(self, place: Exp) -> list[imp.Var]:
        """The operands of an element, or what has been put in their place."""
        return launches.loaded(self.k, "value", self.stages, cell(place), self.scan.values())

    def restage(self, place: Exp, values: Sequence[Exp]) -> list[imp.Stm]:
        """The stores of values in place of operands."""
        return [*launches.stores(self.stages, cell(place), values, self.scan.values())]

    @property
    def begins_first(self) -> Exp:
        """True if the work-item's chunk begins in the first segment of the tile."""
        return imp.Apply("eq", Prim.I32, (self.row, lit(0, Prim.I32)))

    def exchange(self, totals: Totals, fresh: imp.Var) -> list[list[imp.Var]]:
        """The totals before each work-item's chunk, within the tile; not set for the first."""
        return [group_scan(self.k, o, t, Size.var(self.shape.group), fresh, self.scan.subgroup)
                for o, t in zip(self.scan.exp.ops, totals, strict=True)]

    def complete(self, totals: Totals, carries: Totals, fresh: imp.Var) -> None:
        """Make the last work-item's totals the totals of the tile."""
        later = all_of(op("lt", lit(0), LID), negated(fresh))
        self.k.emit(imp.If(later, combined(self.k, self.scan.exp.ops, carries, totals)))

    # Scans

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

        self.walk(renew, at_element)
        self.carries = self.exchange(self.totals, self.fresh)

    def finish(self, earlier: Totals, open_: Exp) -> None:
        """Emit the addition of the totals before chunks, and the stores of results."""
        k, ops, later = self.k, self.scan.exp.ops, op("lt", lit(0), LID)
        linked = k.declare("linked", Prim.BOOL, all_of(open_, self.begins_first))
        taken = tuple(imp.Assign(c.name, e) for cs, es in zip(self.carries, earlier, strict=True)
                      for c, e in zip(cs, es, strict=True))
        k.emit(imp.If(linked, (imp.If(later, combined(k, ops, earlier, self.carries), taken),)))

        def add(number: Exp) -> None:
            place = k.declare("p", Prim.I32, op("add", self.begin, short(number), prim=Prim.I32))
            flat = self.staged(place)
            rest = iter(flat)
            values = [[next(rest) for _ in ps] for ps in self.scan.prims]
            k.emit(*combined(k, ops, self.carries, values), *self.restage(place, flat))

        added = imp.Select(any_of(linked, later), self.lead, lit(0), Prim.I64)
        k.loop(k.declare("added", Prim.I64, added), add, base="t")
        announce(k, self.path.elements, self.items)
        outs = self.lowering.results
        k.loop(self.count, lambda place: k.emit(*(
            out.write([op("add", self.element, place)], value)
            for out, value in zip(outs, self.staged(short(place)), strict=False))),
               start=LID, step=LSIZE, base="x")
        announce(k, self.path.elements, self.items)


def cell(place: Exp) -> Exp:
    """The cell of local memory for an element of a tile, an i32; see :func:`~.padded`."""
    return wide(op("add", place, imp.Apply("shr", Prim.I32, (
        place, lit(PADDING.bit_length() - 1, Prim.I32))), prim=Prim.I32))


def wide(number: Exp) -> Exp:
    """A number of elements of a tile as an i64."""
    return imp.Convert(Prim.I32, Prim.I64, number)


def after(number: Exp) -> Exp:
    """The number, an i32, and one more."""
    return op("add", number, lit(1, Prim.I32), prim=Prim.I32)
