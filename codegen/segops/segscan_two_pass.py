"""Segmented scans over the grid: the choice of a strategy, and scans in two passes.

Strategies:

- *small* segments (``segscan_small``): a work-item per segment, up to a length that is a parameter;
- *medium* segments, on devices with coalesced accesses: as in an intra-group version
  (:mod:`~runelift.codegen.intragroup.group_version`), whose groups have several segments side by
  side.  There only tiny segments count as small, as work-items that write far apart take long;
- *single pass* (``segscan_once``), if groups of the device may wait for each other
  (:mod:`~runelift.codegen.segops.segscan_single_pass`);
- *two passes* otherwise.

Groups scan tiles of the flat index space, regardless of segment starts
(:mod:`~runelift.codegen.segops.scan_tiles`).  In two passes, ``segscan_sums`` makes the total of
every tile, ``segscan_carries`` scans the totals in one group, and ``segscan`` scans the tiles.  So
elements are computed or read twice, and written once.  A single tile needs only the last kernel.
The total of a tile counts only up to its first segment start.

Source: Blelloch 1990, "Prefix sums and their applications", section 1.5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.collectives import combine, group_scan, truth
from runelift.codegen.passes.barriers import insert_barriers
from runelift.codegen.plan import plan
from runelift.codegen.plan.views import lit, op
from runelift.codegen.segops.packed_scan import PackedScan
from runelift.codegen.segops.scan_tiles import Scan, ScanTile, by_patience, choose_tiles
from runelift.codegen.segops.segscan_single_pass import scan_single_pass
from runelift.ir import imp
from runelift.ir.analysis.placement import REPEATABLE
from runelift.ir.analysis.products import is_cheap
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, least
from runelift.ir.syntax import SegScan
from runelift.ir.types import Atom, elem_of, i64

TINY = 4
"""The most elements that work-items write far apart."""
MOST_SIDE_BY_SIDE = 1024
"""The most elements of a medium segment."""
SIDE_BY_SIDE_BYTES = 8192
"""The most bytes of a medium segment's results; local memory holds a few such arrays."""


def segscan(lowering: launches.Lowering, exp: SegScan,
            side_by_side: Callable[[], None] | None = None, packed: PackedScan | None = None
            ) -> None:
    """Scan a segment by one work-item if small, by a group if medium, by tiles if large.

    ``side_by_side`` lowers medium segments as an intra-group version does.  A scan of one segment
    may be ``packed``: its results then go to a scatter, as ``packed`` says.
    """
    if len(exp.space) == 1:
        _segscan_tiles(lowering, exp, packed)
        return
    length = lowering.size(exp.space[-1].width)
    short = launches.branch(lowering, lambda: _segscan_items(lowering, exp), "a work-item per row")
    long = launches.branch(lowering, lambda: _segscan_tiles(lowering, exp), "long rows")
    most: Atom | None = None
    if side_by_side and lowering.interleave and all(isinstance(t, Prim) for t in exp.ret):
        medium, tiles = launches.branch(lowering, side_by_side, "rows side by side"), long
        least_of = min(MOST_SIDE_BY_SIDE, SIDE_BY_SIDE_BYTES // sum(
            elem_of(t).bytes for t in (*exp.ret, *(exp.post.ret if exp.post else ()))))
        most = i64(TINY)
        long = launches.branch(lowering, lambda: launches.choose_by_length(
            lowering, length, medium, tiles, i64(least_of)))
    launches.choose_by_length(lowering, length, short, long, most)


def _segscan_items(lowering: launches.Lowering, exp: SegScan) -> None:
    """Add a kernel with one work-item per segment."""
    k = lowering.builder()
    outs = lowering.results

    def segment(outer: list[Exp]) -> None:
        totals = [launches.scalars(k.neutral(o)) for o in exp.ops]

        def element(step: Exp) -> None:
            last = op("sub", k.scalar(exp.space[-1].width), lit(1))
            indices = [*outer, op("sub", last, step) if exp.backwards else step]
            launches.bind_point(k, exp.space, indices)
            values = k.body(exp.body)
            count = sum(map(len, totals))
            launches.store_results(k, outs[len(outs) - len(values[count:]):], indices,
                                   values[count:])
            k.accumulate_all(exp.ops, totals, values)
            launches.store_scanned(k, exp.post, outs, indices, totals)

        k.loop(k.scalar(exp.space[-1].width), element, base="e")

    launches.each_point(lowering, k, exp.space[:-1], segment, "segscan_small", busy=True)


# Tiles


def _segscan_tiles(lowering: launches.Lowering, exp: SegScan,
                   packed: PackedScan | None = None) -> None:
    """Add a scan by tiles: in one pass if the host lets groups wait for each other, else two."""
    scan = choose_tiles(lowering, exp, "points", launches.total(lowering, exp.space), packed=packed)
    by_patience(lowering, scan, lambda: scan_single_pass(lowering, scan),
                lambda: _scan_in_two_passes(lowering, scan))


# Two passes


@dataclass(frozen=True, slots=True)
class _Passes:
    """The buffers of a scan in two passes.

    ``sums`` has the totals of the tiles, per operator and value.  For several segments, ``flags``
    tells if a segment starts in a tile.  ``kept`` has the values of all elements, if they are too
    costly to be computed twice.
    """

    scan: Scan
    sums: list[list[VName]]
    flags: VName | None
    kept: list[VName]


def _scan_in_two_passes(lowering: launches.Lowering, scan: Scan) -> None:
    """Add the three kernels; a single tile needs only the last, if it computes its elements."""
    exp, tiles, points = scan.exp, Size.var(scan.tiles), Size.var(scan.tile_shape.points)
    passes = _Passes(
        scan, [[lowering.temporary("sum", p, tiles) for p in ps] for ps in scan.prims],
        lowering.temporary("flag", Prim.BOOL, tiles) if len(exp.space) > 1 else None,
        [] if is_cheap(exp.body) or REPEATABLE in lowering.stm.attrs else [
            lowering.temporary("kept", p, points) for p in scan.values()])
    sums = launches.branch(lowering, lambda: _tile_sums(lowering, passes))
    carries = launches.branch(lowering, lambda: _scan_sums(lowering, passes))
    several = lowering.names.fresh("several")
    compare = plan.Compute(several, "lt", Prim.I64, (i64(1), scan.tiles))
    if passes.kept:
        lowering.steps += [*sums, compare, plan.Branch(several, carries, ())]
    else:
        lowering.steps += [compare, plan.Branch(several, (*sums, *carries), ())]
    _scan_tiles(lowering, passes)


def _tile_sums(lowering: launches.Lowering, passes: _Passes) -> None:
    """Add a kernel that computes the total of every tile after its last segment start."""
    scan = passes.scan
    tile = ScanTile(lowering, scan)
    k = tile.k

    def elements(indices: Sequence[Exp], position: Exp) -> list[Exp]:
        values = tile.compute(indices, position, stored=bool(passes.kept))
        for mem, prim, value in zip(passes.kept, scan.values(), values, strict=False):
            k.emit(imp.Store(mem, position, value, prim))
        return values

    with k.block() as code:
        tile.begin()
        tile.take(elements)
        totals, fresh = tile.run()
        carries = tile.exchange(totals, fresh)
        with k.when(op("eq", launches.LID, op("sub", launches.LSIZE, lit(1)))):
            tile.complete(totals, carries, fresh)
            for mems, total_, ps in zip(passes.sums, totals, scan.prims, strict=True):
                k.emit(*launches.stores(mems, tile.number, total_, ps))
            if passes.flags is not None:
                k.emit(imp.Store(passes.flags, tile.number, tile.starts_within(tile.length()),
                                 Prim.BOOL))
    if k.scratch:
        k.emit(imp.For(tile.number.name, launches.GROUP_ID, imp.Var(scan.tiles),
                       launches.GROUP_COUNT,
                       (*code, imp.Barrier(imp.Space.LOCAL))))
        tile.launch("segscan_sums", least(Size.var(scan.tiles), lowering.groups))
    else:
        k.emit(imp.Declare(tile.number.name, Prim.I64, launches.GROUP_ID), *code)
        tile.launch("segscan_sums", Size.var(scan.tiles))


def _scan_tiles(lowering: launches.Lowering, passes: _Passes) -> None:
    """Scan every tile, with the carry of the tiles before it."""
    scan = passes.scan
    tile = ScanTile(lowering, scan)
    k = tile.k

    def elements(indices: Sequence[Exp], position: Exp) -> list[Exp]:
        if not passes.kept:
            return tile.compute(indices, position, stored=True)
        return launches.elements(passes.kept, position, scan.values())

    k.emit(imp.Declare(tile.number.name, Prim.I64, launches.GROUP_ID))
    tile.begin()
    tile.take(elements)
    totals, fresh = tile.run()
    carries = tile.exchange(totals, fresh)
    before = op("sub", tile.number, lit(1))
    tile.finish(carries, tile.linked(fresh), [
        launches.elements(mems, before, ps)
        for mems, ps in zip(passes.sums, scan.prims, strict=True)])
    tile.launch("segscan", Size.var(scan.tiles))


# Totals of tiles


def _scan_sums(lowering: launches.Lowering, passes: _Passes) -> None:
    """Add a kernel in which one group scans the totals in place.

    Each work-item scans a run of totals, then the group scans the runs.
    """
    scan, k = passes.scan, lowering.builder_of_groups()
    exp = scan.exp
    part = launches.even_part(k, imp.Var(scan.tiles), launches.LID, launches.LSIZE)
    totals = [launches.scalars(k.neutral(o)) for o in exp.ops]
    several = passes.flags is not None
    fresh = k.declare("fresh", Prim.BOOL, truth(False)) if several else None

    def starts(position: Exp) -> Exp:
        assert passes.flags is not None
        return imp.Load(passes.flags, position, Prim.BOOL)

    def held(position: Exp) -> list[list[imp.Var]]:
        return [launches.loaded(k, "x", mems, position, ps)
                for mems, ps in zip(passes.sums, scan.prims, strict=True)]

    def put(position: Exp, values: Sequence[Sequence[imp.Var]]) -> None:
        for mems, some, prims in zip(passes.sums, values, scan.prims, strict=True):
            k.emit(*launches.stores(mems, position, some, prims))

    def run(position: Exp) -> None:
        if fresh is not None:
            with k.when(starts(position)):
                launches.reset(k, exp.ops, totals)
                k.emit(imp.Assign(fresh.name, truth(True)))
        k.accumulate_all(exp.ops, totals, [x for xs in held(position) for x in xs])
        put(position, totals)

    k.loop(part.end, run, start=part.start, base="p")
    with k.block() as exchange:
        carries = [group_scan(k, o, t, lowering.group, fresh, k.constants[1])
                   for o, t in zip(exp.ops, totals, strict=True)]
    k.emit(*insert_barriers(exchange))
    going = k.declare("going", Prim.BOOL, op("lt", lit(0), launches.LID))

    def add(position: Exp) -> None:
        if fresh is not None:
            k.emit(imp.If(starts(position), (imp.Assign(going.name, truth(False)),)))
        with k.when(going):
            values = held(position)
            for op_, carry, xs in zip(exp.ops, carries, values, strict=True):
                combine(k, op_, carry, xs)
            put(position, values)

    k.loop(part.end, add, start=part.start, base="p")
    lowering.launch_groups(k, "segscan_carries", Size.of(1))
