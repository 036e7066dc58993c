"""Segmented scans over the grid, tile by tile.

Work-groups scan tiles: pieces of the flat index space, regardless of where segments start.  One
kernel finds the total of every tile, one work-group scans the totals, and one kernel scans the
tiles for good, so elements are computed or read twice and written once.  Where segments start is
known from the widths; a total counts only up to the first start (Blelloch 1990, "Prefix sums and
their applications", section 1.5).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runelift.codegen import plan
from runelift.codegen.barriers import PADDING, insert_barriers, padded
from runelift.codegen.collectives import group_scan, truth
from runelift.codegen.launches import (
    GROUP,
    GROUP_ID,
    GROUPS,
    LID,
    LSIZE,
    NUM,
    Lowering,
    bind_point,
    branch,
    choose_by_length,
    each_point,
    is_cheap,
    require_scalar,
    reset,
    scalars,
    share,
    store_results,
    total,
    widths,
)
from runelift.codegen.lowering import KernelBuilder
from runelift.codegen.views import View, lit, op, unflat_index
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, ceil_div, least
from runelift.ir.syntax import (
    Operator,
    SegScan,
    i64,
)


def segscan(lowering: Lowering, exp: SegScan) -> None:
    """Small segments by work-items, all others by tiles."""
    if len(exp.space) == 1:
        _segscan_tiles(lowering, exp)
        return
    length = lowering.size(exp.space[-1].width)
    short = branch(lowering, lambda: _segscan_items(lowering, exp))
    long = branch(lowering, lambda: _segscan_tiles(lowering, exp))
    choose_by_length(lowering, length, short, long)


def _segscan_items(lowering: Lowering, exp: SegScan) -> None:
    """One work-item per segment."""
    k = lowering.builder()
    outs = [lowering.result(p, k) for p in lowering.stm.pat]

    def segment(outer: list[Exp]) -> None:
        totals = [scalars(k.neutral(o)) for o in exp.ops]

        def element(index: Exp) -> None:
            indices = [*outer, index]
            bind_point(k, exp.space, indices)
            values = k.body(exp.body)
            count = sum(len(t) for t in totals)
            store_results(k, outs[count:], indices, values[count:])
            k.accumulate_all(exp.ops, totals, values)
            for out, t in zip(outs, (t for ts in totals for t in ts), strict=False):
                k.store(out, indices, t)

        k.loop(k.scalar(exp.space[-1].width), element, base="e")

    each_point(lowering, k, exp.space[:-1], segment, "segscan_small")


# Tiles


@dataclass(frozen=True, slots=True)
class _Scan:
    """What the three kernels share: names of sizes and buffers.

    ``sums`` has the totals of the tiles, per operator and value, and ``flags``, for more than one
    segment, whether a segment starts in a tile.  ``kept`` has the values of all elements where
    they are too costly to be computed twice.
    """

    exp: SegScan
    prims: list[list[Prim]]
    tiles: VName
    shares: plan.Tile
    sums: list[list[VName]]
    flags: VName | None
    kept: list[VName]

    def values(self) -> list[Prim]:
        """The types of what is scanned, over all operators."""
        return [p for ps in self.prims for p in ps]


def _segscan_tiles(lowering: Lowering, exp: SegScan) -> None:
    """The three kernels; a single tile needs only the last, if it computes its elements."""
    scan = _prepare(lowering, exp)
    sums = branch(lowering, lambda: _tile_sums(lowering, scan))
    carries = branch(lowering, lambda: _scan_sums(lowering, scan))
    several = lowering.names.fresh("several")
    compare = plan.Compute(several, "lt", Prim.I64, (i64(1), scan.tiles))
    if scan.kept:
        lowering.steps += [*sums, compare, plan.Branch(several, carries, ())]
    else:
        lowering.steps += [compare, plan.Branch(several, (*sums, *carries), ())]
    _scan_tiles(lowering, scan)


def _prepare(lowering: Lowering, exp: SegScan) -> _Scan:
    """Choose the tiles and allocate what lives between kernels."""
    prims = [[require_scalar(t) for t in o.lam.ret] for o in exp.ops]
    fresh = lowering.names.fresh
    shares = plan.Tile(fresh("group"), fresh("staged"), fresh("chunk"),
                       lowering.scalar("points", total(lowering, exp.space)),
                       sum(p.bytes for ps in prims for p in ps))
    points, tile = Size.var(shares.points), Size.var(shares.group) * Size.var(shares.chunk)
    lowering.steps.append(shares)
    tiles = lowering.scalar("tiles", ceil_div(points, tile))
    sums = [[lowering.temporary("sum", p, Size.var(tiles)) for p in ps] for ps in prims]
    flags = lowering.temporary("flag", Prim.BOOL, Size.var(tiles)) if len(exp.space) > 1 else None
    kept = [] if is_cheap(exp.body) else [
        lowering.temporary("kept", p, points) for ps in prims for p in ps]
    return _Scan(exp, prims, tiles, shares, sums, flags, kept)


def _tile_sums(lowering: Lowering, scan: _Scan) -> None:
    """The total of every tile after its last segment start."""
    tile = _Tile(lowering, scan)
    k = tile.k

    def elements(indices: Sequence[Exp], position: Exp) -> list[Exp]:
        values = tile.compute(indices, stored=bool(scan.kept))
        for mem, prim, value in zip(scan.kept, scan.values(), values, strict=False):
            k.emit(imp.Store(mem, position, value, prim))
        return values

    with k.block() as code:
        tile.begin()
        tile.take(elements)
        totals, fresh = tile.run()
        carries = tile.exchange(totals, fresh)
        with k.block() as last:
            with k.block() as join:
                for op_, total_, carry in zip(scan.exp.ops, totals, carries, strict=True):
                    _combine(k, op_, carry, total_)
            linked: Exp = imp.Apply("lt", Prim.I64, (lit(0), LID))
            if fresh is not None:
                linked = imp.Apply("and", Prim.BOOL, (
                    linked, imp.Apply("not", Prim.BOOL, (fresh,))))
            k.emit(imp.If(linked, tuple(join)))
            for mems, total_, ps in zip(scan.sums, totals, scan.prims, strict=True):
                for mem, t, p in zip(mems, total_, ps, strict=True):
                    k.emit(imp.Store(mem, tile.number, t, p))
            if scan.flags is not None:
                k.emit(imp.Store(scan.flags, tile.number, tile.starts_within(tile.length()),
                                 Prim.BOOL))
        k.emit(imp.If(imp.Apply("eq", Prim.I64, (LID, op("sub", LSIZE, lit(1)))), tuple(last)))
    if k.scratch:
        k.emit(imp.For(tile.number.name, GROUP_ID, imp.Var(scan.tiles), NUM,
                       (*code, imp.Barrier(imp.Space.LOCAL))))
        tile.launch("segscan_sums", least(Size.var(scan.tiles), GROUPS))
    else:
        k.emit(imp.Declare(tile.number.name, Prim.I64, GROUP_ID), *code)
        tile.launch("segscan_sums", Size.var(scan.tiles))


def _scan_tiles(lowering: Lowering, scan: _Scan) -> None:
    """Every tile, with the carry of those before it."""
    tile = _Tile(lowering, scan)
    k = tile.k

    def elements(indices: Sequence[Exp], position: Exp) -> list[Exp]:
        if not scan.kept:
            return tile.compute(indices, stored=True)
        return [imp.Load(mem, position, p) for mem, p in zip(scan.kept, scan.values(), strict=True)]

    k.emit(imp.Declare(tile.number.name, Prim.I64, GROUP_ID))
    tile.begin()
    tile.take(elements)
    totals, fresh = tile.run()
    carries = tile.exchange(totals, fresh)
    linked: Exp = imp.Apply("lt", Prim.I64, (lit(0), tile.number))
    if fresh is not None:
        linked = imp.Apply("and", Prim.BOOL, (linked, imp.Apply("not", Prim.BOOL, (
            tile.starts_within(op("mul", LID, tile.chunk)),))))
    linked = k.declare("linked", Prim.BOOL, linked)
    before = op("sub", tile.number, lit(1))
    with k.block() as join:
        for op_, mems, ps, carry in zip(scan.exp.ops, scan.sums, scan.prims, carries, strict=True):
            earlier = [k.declare("earlier", p, imp.Load(m, before, p))
                       for m, p in zip(mems, ps, strict=True)]
            with k.block() as both:
                _combine(k, op_, earlier, carry)
            k.emit(imp.If(imp.Apply("lt", Prim.I64, (lit(0), LID)), tuple(both), tuple(
                imp.Assign(c.name, e) for c, e in zip(carry, earlier, strict=True))))
    k.emit(imp.If(linked, tuple(join)))
    tile.add(carries, imp.Apply("or", Prim.BOOL, (
        linked, imp.Apply("lt", Prim.I64, (lit(0), LID)))))
    tile.store()
    tile.launch("segscan", Size.var(scan.tiles))


def _combine(k: KernelBuilder, op_: Operator, left: Sequence[imp.Var],
             right: Sequence[imp.Var]) -> None:
    """``right := op left right``."""
    results = [k.declare("sum", require_scalar(t), v) for t, v in zip(
        op_.lam.ret, k.apply(op_.lam, [*left, *right]), strict=True) if not isinstance(v, View)]
    for target, value in zip(right, results, strict=True):
        k.emit(imp.Assign(target.name, value))


class _Tile:
    """A kernel whose groups handle tiles: each work-item has a chunk in private memory.

    On devices that like neighbouring work-items to touch neighbouring elements, elements go
    through local memory: work-items load any of them, and take those of their chunks.
    """

    def __init__(self, lowering: Lowering, scan: _Scan) -> None:
        self.lowering = lowering
        self.scan = scan
        self.k = lowering.builder()
        self.k.constants = [scan.shares.group, scan.shares.staged, scan.shares.chunk]
        self.outs = [lowering.result(p, self.k) for p in lowering.stm.pat]
        self.number = imp.Var(lowering.names.fresh("tile"))
        self.chunk = imp.Var(scan.shares.chunk)
        self.points = imp.Var(scan.shares.points)
        self.staged = imp.Apply("eq", Prim.I64, (imp.Var(scan.shares.staged), lit(1)))
        self.shape = widths(self.k, scan.exp.space)
        self.width = self.shape[-1]
        cells = Size.var(scan.shares.group) * Size.var(scan.shares.chunk)
        cells = (cells + ceil_div(cells, Size.of(PADDING))) * Size.var(scan.shares.staged)
        self.stages = [lowering.names.fresh("stage") for _ in scan.values()]
        self.k.locals += [imp.LocalArray(name, prim, cells)
                          for name, prim in zip(self.stages, scan.values(), strict=True)]
        self.held = [lowering.names.fresh("held") for _ in scan.values()]

    def launch(self, kind: str, groups: Size) -> None:
        """Finish the kernel."""
        self.lowering.launch(self.k, kind, groups, Size.var(self.scan.shares.group), fits=True)

    def begin(self) -> None:
        """Where the tile and the work-item's chunk start."""
        k = self.k
        self.base = k.declare("base", Prim.I64, op("mul", self.number, op("mul", LSIZE,
                                                                          self.chunk)))
        self.start = k.declare("start", Prim.I64, op("add", self.base, op("mul", LID, self.chunk)))
        if len(self.shape) > 1:
            self.column = k.declare("column", Prim.I64, op("rem", self.base, self.width))

    def length(self) -> Exp:
        """The number of elements of the tile."""
        return imp.Apply("min", Prim.I64, (op("mul", LSIZE, self.chunk),
                                           op("sub", self.points, self.base)))

    def starts_within(self, length: Exp) -> Exp:
        """Whether a segment starts among the first ``length`` elements of the tile."""
        return imp.Apply("or", Prim.BOOL, (
            imp.Apply("eq", Prim.I64, (self.column, lit(0))),
            imp.Apply("lt", Prim.I64, (self.width, op("add", self.column, length)))))

    def compute(self, indices: Sequence[Exp], *, stored: bool) -> list[Exp]:
        """The values to be scanned; the map's other results are stored if wanted."""
        bind_point(self.k, self.scan.exp.space, indices)
        values, count = self.k.body(self.scan.exp.body), len(self.held)
        if stored:
            store_results(self.k, self.outs[count:], indices, values[count:])
        return [v for v in values[:count] if not isinstance(v, View)]

    def take(self, elements: Callable[[Sequence[Exp], Exp], Sequence[Exp]]) -> None:
        """Fill the chunks."""
        k, prims = self.k, self.scan.values()
        k.emit(*(imp.DeclareArray(m, p, self.scan.shares.chunk)
                 for m, p in zip(self.held, prims, strict=True)))
        step = imp.Select(self.staged, LSIZE, lit(1), Prim.I64)
        position = k.declare("p", Prim.I64, imp.Select(
            self.staged, op("add", self.base, LID), self.start, Prim.I64))
        place = _Walk(k, self.shape, position)

        def element(offset: Exp) -> None:
            with k.block() as inside:
                values = elements(place.indices(), position)
                cell = padded(op("sub", position, self.base))
                k.emit(imp.If(self.staged, tuple(
                    imp.Store(m, cell, v, p)
                    for m, v, p in zip(self.stages, values, prims, strict=True)), tuple(
                    imp.Store(m, offset, v, p)
                    for m, v, p in zip(self.held, values, prims, strict=True))))
            k.emit(imp.If(imp.Apply("lt", Prim.I64, (position, self.points)), tuple(inside)))
            k.emit(imp.Assign(position.name, op("add", position, step)))
            place.advance(step)

        self._each(element)
        with k.block() as collect:
            k.emit(imp.Barrier(imp.Space.LOCAL))
            self._each(lambda offset: k.emit(*(
                imp.Store(held, offset, imp.Load(stage, self._cell(offset), p), p)
                for held, stage, p in zip(self.held, self.stages, prims, strict=True))))
        k.emit(imp.If(self.staged, tuple(collect)))

    def _cell(self, offset: Exp) -> Exp:
        return padded(op("add", op("mul", LID, self.chunk), offset))

    def _each(self, work: Callable[[Exp], None]) -> None:
        """``work`` at every offset of a chunk."""
        offset = self.k.names.fresh("k")
        with self.k.block() as code:
            work(imp.Var(offset))
        self.k.emit(imp.For(offset, lit(0), self.chunk, lit(1), tuple(code), unroll=True))

    def _each_inside(self, work: Callable[[Exp], None]) -> None:
        """``work`` at those offsets of the chunk that are elements."""
        def element(offset: Exp) -> None:
            with self.k.block() as inside:
                work(offset)
            self.k.emit(imp.If(imp.Apply("lt", Prim.I64, (
                op("add", self.start, offset), self.points)), tuple(inside)))

        self._each(element)

    def run(self) -> tuple[list[list[imp.Var]], imp.Var | None]:
        """Scan the chunks: their totals, and whether a segment starts inside of a chunk."""
        k, exp, prims = self.k, self.scan.exp, self.scan.values()
        totals = [scalars(k.neutral(o)) for o in exp.ops]
        flat = [t for ts in totals for t in ts]
        several = len(self.shape) > 1
        fresh = k.declare("fresh", Prim.BOOL, truth(False)) if several else None
        place = _Walk(k, self.shape, self.start)

        def element(offset: Exp) -> None:
            if fresh is not None:
                with k.block() as begin:
                    reset(k, exp.ops, totals)
                    k.emit(imp.Assign(fresh.name, truth(True)))
                k.emit(imp.If(place.at_start(), tuple(begin)))
            k.accumulate_all(exp.ops, totals, [
                k.declare("x", p, imp.Load(m, offset, p))
                for m, p in zip(self.held, prims, strict=True)])
            k.emit(*(imp.Store(m, offset, t, p)
                     for m, t, p in zip(self.held, flat, prims, strict=True)))
            place.advance(lit(1))

        self._each_inside(element)
        return totals, fresh

    def exchange(self, totals: Sequence[Sequence[imp.Var]],
                 fresh: imp.Var | None) -> list[list[imp.Var]]:
        """The totals before each work-item's chunk, within the tile; not set for the first."""
        group = Size.var(self.scan.shares.group)
        with self.k.block() as code:
            carries = [group_scan(self.k, o, t, group, fresh)
                       for o, t in zip(self.scan.exp.ops, totals, strict=True)]
        self.k.emit(*insert_barriers(code))
        return carries

    def add(self, carries: Sequence[Sequence[imp.Var]], cond: Exp) -> None:
        """Take the carries into the elements before the chunk's first segment start."""
        k, prims = self.k, self.scan.values()
        several = len(self.shape) > 1
        with k.block() as code:
            going = k.declare("going", Prim.BOOL, truth(True)) if several else None
            place = _Walk(k, self.shape, self.start)

            def element(offset: Exp) -> None:
                with k.block() as take:
                    held = [k.declare("x", p, imp.Load(m, offset, p))
                            for m, p in zip(self.held, prims, strict=True)]
                    rest = held
                    for op_, carry in zip(self.scan.exp.ops, carries, strict=True):
                        _combine(k, op_, carry, rest[: len(carry)])
                        rest = rest[len(carry):]
                    k.emit(*(imp.Store(m, offset, x, p)
                             for m, x, p in zip(self.held, held, prims, strict=True)))
                if going is None:
                    k.emit(*take)
                    return
                k.emit(imp.If(place.at_start(), (imp.Assign(going.name, truth(False)),)),
                       imp.If(going, tuple(take)))
                place.advance(lit(1))

            self._each_inside(element)
        k.emit(imp.If(cond, tuple(code)))

    def store(self) -> None:
        """Write the chunks to the results."""
        k, prims = self.k, self.scan.values()
        outs = [out.reshape((self.points,)) for out in self.outs[: len(self.held)]]
        with k.block() as by_stage:
            k.emit(imp.Barrier(imp.Space.LOCAL))
            self._each(lambda offset: k.emit(*(
                imp.Store(stage, self._cell(offset), imp.Load(held, offset, p), p)
                for held, stage, p in zip(self.held, self.stages, prims, strict=True))))
            k.emit(imp.Barrier(imp.Space.LOCAL))

            def element(offset: Exp) -> None:
                within = op("add", op("mul", offset, LSIZE), LID)
                position = k.declare("p", Prim.I64, op("add", self.base, within))
                k.emit(imp.If(imp.Apply("lt", Prim.I64, (position, self.points)), tuple(
                    out.write([position], imp.Load(stage, padded(within), p))
                    for out, stage, p in zip(outs, self.stages, prims, strict=True))))

            self._each(element)
        with k.block() as directly:
            self._each_inside(lambda offset: k.emit(*(
                out.write([op("add", self.start, offset)], imp.Load(held, offset, p))
                for out, held, p in zip(outs, self.held, prims, strict=True))))
        k.emit(imp.If(self.staged, tuple(by_stage), tuple(directly)))


class _Walk:
    """The indices of a flat position that moves on, without a division for each step."""

    def __init__(self, k: KernelBuilder, shape: Sequence[Exp], position: imp.Var) -> None:
        self.k = k
        self.shape = shape
        self.position = position
        if len(shape) > 1:
            self.row = k.declare("row", Prim.I64, op("quot", position, shape[-1]))
            self.column = k.declare("column", Prim.I64, op("rem", position, shape[-1]))

    def indices(self) -> list[Exp]:
        """The indices of the present element."""
        if len(self.shape) == 1:
            return [self.position]
        return [*unflat_index(self.row, self.shape[:-1]), self.column]

    def at_start(self) -> Exp:
        """Whether the element is the first of its segment."""
        return imp.Apply("eq", Prim.I64, (self.column, lit(0)))

    def advance(self, step: Exp) -> None:
        """Go on by ``step``; the position itself has been moved already."""
        if len(self.shape) == 1:
            return
        width = self.shape[-1]
        self.k.emit(imp.Assign(self.column.name, op("add", self.column, step)))
        self.k.emit(imp.If(imp.Apply("le", Prim.I64, (width, self.column)), (
            imp.Assign(self.row.name, op("add", self.row, op("quot", self.column, width))),
            imp.Assign(self.column.name, op("rem", self.column, width)))))


# Totals of tiles


def _scan_sums(lowering: Lowering, scan: _Scan) -> None:
    """One group scans the totals in place: runs of work-items, then a scan of the runs."""
    k, exp = lowering.builder(), scan.exp
    part = share(k, imp.Var(scan.tiles), LID, LSIZE)
    totals = [scalars(k.neutral(o)) for o in exp.ops]
    several = scan.flags is not None
    fresh = k.declare("fresh", Prim.BOOL, truth(False)) if several else None

    def starts(position: Exp) -> Exp:
        assert scan.flags is not None
        return imp.Load(scan.flags, position, Prim.BOOL)

    def held(position: Exp) -> list[list[imp.Var]]:
        return [[k.declare("x", p, imp.Load(m, position, p)) for m, p in zip(mems, ps, strict=True)]
                for mems, ps in zip(scan.sums, scan.prims, strict=True)]

    def put(position: Exp, values: Sequence[Sequence[imp.Var]]) -> None:
        k.emit(*(imp.Store(m, position, v, p)
                 for mems, vs, ps in zip(scan.sums, values, scan.prims, strict=True)
                 for m, v, p in zip(mems, vs, ps, strict=True)))

    def run(position: Exp) -> None:
        if fresh is not None:
            with k.block() as begin:
                reset(k, exp.ops, totals)
                k.emit(imp.Assign(fresh.name, truth(True)))
            k.emit(imp.If(starts(position), tuple(begin)))
        k.accumulate_all(exp.ops, totals, [x for xs in held(position) for x in xs])
        put(position, totals)

    k.loop(part.end, run, start=part.start, base="p")
    with k.block() as exchange:
        carries = [group_scan(k, o, t, GROUP, fresh)
                   for o, t in zip(exp.ops, totals, strict=True)]
    k.emit(*insert_barriers(exchange))
    going = k.declare("going", Prim.BOOL, imp.Apply("lt", Prim.I64, (lit(0), LID)))

    def add(position: Exp) -> None:
        if fresh is not None:
            k.emit(imp.If(starts(position), (imp.Assign(going.name, truth(False)),)))
        with k.block() as take:
            values = held(position)
            for op_, carry, xs in zip(exp.ops, carries, values, strict=True):
                _combine(k, op_, carry, xs)
            put(position, values)
        k.emit(imp.If(going, tuple(take)))

    k.loop(part.end, add, start=part.start, base="p")
    lowering.launch(k, "segscan_carries", Size.of(1))
