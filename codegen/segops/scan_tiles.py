"""Tiles: the pieces of a scan that work-groups take, with a chunk per work-item in private memory.

A tile is a piece of the flat index space; segments may start anywhere in it.  The starts follow
from the widths.  A work-item loads its chunk and scans it.  The group scans the totals of the
chunks.  Then each work-item adds the total before its chunk, and writes the results.
:mod:`~runelift.codegen.segops.segscan_two_pass` and
:mod:`~runelift.codegen.segops.segscan_single_pass` connect tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.collectives import combine, combined, group_scan, truth
from runelift.codegen.kernel.kernel_builder import Value
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.passes.accesses import PADDING, padded
from runelift.codegen.passes.barriers import insert_barriers
from runelift.codegen.plan import plan
from runelift.codegen.plan.parameters import Quantity
from runelift.codegen.plan.shapes import ScanTileShape, SubGroupSize
from runelift.codegen.plan.views import (
    View,
    all_of,
    any_of,
    flat_index,
    lit,
    negated,
    op,
    unflat_index,
)
from runelift.codegen.segops.packed_scan import PackedScan
from runelift.ir import imp
from runelift.ir.analysis.products import is_cheap
from runelift.ir.imp import Exp
from runelift.ir.imp.traverse import evaluated, map_parts, map_statement, statements, subexpressions
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, ceil_div
from runelift.ir.syntax import SegRed, SegScan
from runelift.ir.types import i64

MOST_REPEATED_STATEMENTS = 16
"""Code for elements is duplicated if it has at most this many statements."""


@dataclass(frozen=True, slots=True)
class Scan:
    """A scan in tiles: the types of scanned values per operator, and the shape of tiles.

    ``subgroup`` neighbouring work-items can exchange values.  ``packed`` says what becomes of the
    results if they are not stored.
    """

    exp: SegScan | SegRed
    prims: list[list[Prim]]
    tile_shape: ScanTileShape
    subgroup: VName
    tiles: VName
    packed: PackedScan | None = None

    def values(self) -> list[Prim]:
        """The types of scanned values, over all operators."""
        return [p for ps in self.prims for p in ps]


def choose_tiles(lowering: launches.Lowering, exp: SegScan | SegRed, base: str, points: Size,
                 more_bytes: int = 0, packed: PackedScan | None = None) -> Scan:
    """Tiles of so many points, whose number is ``base`` for the host; adds the step of the choice.

    A point has ``more_bytes`` besides the scanned values.
    """
    fresh, prims = lowering.names.fresh, [launches.prims_of(o) for o in exp.ops]
    shape = ScanTileShape(
        fresh("group"), fresh("staged"), fresh("chunk"), fresh("window"), fresh("patience"),
        lowering.scalar(base, points), sum(p.bytes for ps in prims for p in ps) + more_bytes,
        lowering.group_size, lowering.setting(Quantity.CHUNK))
    subgroup = fresh("subgroup")
    lowering.steps += [shape, SubGroupSize(subgroup, shape.group)]
    lowering.scalars.add(shape.patience)
    return Scan(exp, prims, shape, subgroup, lowering.scalar("tiles", ceil_div(
        Size.var(shape.points), Size.var(shape.group) * Size.var(shape.chunk))), packed)


def by_patience(lowering: launches.Lowering, scan: Scan, once: Callable[[], None],
                twice: Callable[[], None]) -> None:
    """Add the kernels of ``once`` if groups may wait for each other, else of ``twice``."""
    first, second = (launches.branch(lowering, once, "one pass"),
                     launches.branch(lowering, twice, "two passes"))
    patient = lowering.names.fresh("patient")
    lowering.steps.append(plan.Compute(patient, "lt", Prim.I64, (i64(0), scan.tile_shape.patience)))
    launches.choose(lowering, patient, first, second)


class ScanTile:
    """A kernel whose groups handle tiles: each work-item has a chunk in private memory.

    On devices with coalesced accesses, elements go through local memory.  Work-items load
    neighbouring elements, and then read their chunks.  Elements beyond the last are neutral.
    """

    def __init__(self, lowering: launches.Lowering, scan: Scan) -> None:
        assert isinstance(scan.exp, SegScan)
        self.lowering = lowering
        self.scan = scan
        self.exp = scan.exp
        self.k = lowering.builder()
        self.k.constants = [scan.tile_shape.group, scan.tile_shape.staged, scan.tile_shape.chunk,
                            scan.subgroup]
        self.outs = lowering.results
        first = len(scan.exp.stored) - len(scan.exp.ret) + len(scan.values())
        self.results, self.mapped = self.outs[:first], self.outs[first:]
        self.number = imp.Var(lowering.names.fresh("tile"))
        self.chunk = imp.Var(scan.tile_shape.chunk)
        self.points = imp.Var(scan.tile_shape.points)
        self.staged = op("eq", imp.Var(scan.tile_shape.staged), lit(1))
        self.shape = launches.widths(self.k, scan.exp.space)
        self.width = self.shape[-1]
        cells = Size.var(scan.tile_shape.group) * Size.var(scan.tile_shape.chunk)
        cells = (cells + ceil_div(cells, Size.of(PADDING))) * Size.var(scan.tile_shape.staged)
        self.stages = [lowering.names.fresh("stage") for _ in scan.values()]
        self.k.locals += [imp.LocalArray(name, prim, cells)
                          for name, prim in zip(self.stages, scan.values(), strict=True)]
        self.held = [lowering.names.fresh("held") for _ in scan.values()]

    def launch(self, kind: str, groups: Size) -> None:
        """Finish the kernel."""
        self.lowering.launch(self.k, kind, groups, Size.var(self.scan.tile_shape.group), fits=True)

    # Places

    def begin(self) -> None:
        """Set the start of the tile and of the work-item's chunk, and flags of the tile.

        ``whole``: the tile is not cut short.  ``alone``: all of it belongs to one segment, so that
        neither starts nor wrapped indices need checks.  ``first``: the number of elements of the
        chunk before its first segment start, up to all of them.
        """
        k = self.k
        self.base = k.declare("base", Prim.I64, op("mul", self.number, self.full))
        self.start = k.declare("start", Prim.I64,
                               op("add", self.base, op("mul", launches.LID, self.chunk)))
        end = op("add", self.base, self.full)
        self.whole = k.declare("whole", Prim.BOOL, op("le", end, self.points))
        if len(self.shape) > 1:
            self.column = k.declare("column", Prim.I64, op("rem", self.base, self.width))
            end = op("add", self.column, self.length())
            self.alone = k.declare("alone", Prim.BOOL, op("le", end, self.width))
            self.first = k.declare("first", Prim.I32, _small(self.chunk))
            with k.when(negated(self.alone)):
                column = k.declare("column", Prim.I64, op("rem", op("add", self.column, op(
                    "mul", launches.LID, self.chunk)), self.width))
                left = op("min", op("sub", self.width, column), self.chunk)
                k.emit(imp.Assign(self.first.name, _small(imp.Select(
                    op("lt", lit(0), column), left, lit(0), Prim.I64))))

    @property
    def full(self) -> Exp:
        """The number of elements of a whole tile."""
        return op("mul", launches.LSIZE, self.chunk)

    def length(self) -> Exp:
        """The number of elements of the tile."""
        return op("min", self.full, op("sub", self.points, self.base))

    def starts_within(self, length: Exp) -> Exp:
        """True if a segment starts among the first ``length`` elements of the tile."""
        end = op("add", self.column, length)
        return any_of(op("eq", self.column, lit(0)), op("lt", self.width, end))

    def linked(self, fresh: imp.Var | None) -> Exp:
        """True if the total before the work-item's chunk includes that of earlier tiles."""
        later: Exp = op("lt", lit(0), self.number)
        if fresh is None:
            return later
        return all_of(later, negated(self.starts_within(op("mul", launches.LID, self.chunk))))

    # Elements

    def compute(self, indices: Sequence[Exp], position: Exp, *, stored: bool) -> list[Exp]:
        """The values to be scanned; other results of the map are stored if wanted.

        An array as large as the space has the element at its flat ``position``.  So simple bodies
        need no indices, which would take longer to count than the scan.
        """
        def values() -> Sequence[Value]:
            found, count = self.k.body(self.exp.body), len(self.held)
            if stored and self.scan.packed is None:
                launches.store_results(self.k, self.mapped, indices, found[count:])
            return found[:count]

        return self._at(indices, position, values)

    def _at(self, indices: Sequence[Exp], position: Exp, values: Callable[[], Sequence[Value]]
            ) -> list[Exp]:
        """Scalars that a point makes, in terms of its flat ``position`` where that is simpler."""
        k, space = self.k, self.exp.space
        with k.block() as code:
            launches.bind_point(k, space, indices)
            made = [v for v in values() if not isinstance(v, View)]
            bound = [k.scalar(dim.index) for dim in space]
        place = flat_index(bound, self.shape)

        def at_position(exp: Exp) -> Exp:
            return position if exp == place else map_parts(exp, at_position)

        def inside(stm: imp.Stm) -> imp.Stm:
            return map_statement(stm, at_position, inside)

        found = [at_position(value) for value in made]
        code = [*map(inside, code)]
        used = (*evaluated(statements(code)), *subexpressions(*found))
        unused = [index for index in bound if index not in used]
        k.emit(*(stm for stm in code if not isinstance(stm, imp.Declare)
                 or imp.Var(stm.name) not in unused))
        return found

    def take(self, elements: Callable[[Sequence[Exp], Exp], Sequence[Exp]]) -> None:
        """Fill the chunks.

        Short code for elements is there twice: for whole tiles, and for any other tile.
        """
        k, prims = self.k, self.scan.values()
        k.emit(*(imp.DeclareArray(m, p, self.scan.tile_shape.chunk)
                 for m, p in zip(self.held, prims, strict=True)))
        if self._is_short():
            with k.block() as inside:
                counts = self._fill(elements, alone=True, guarded=False)
            if counts:
                with k.block() as several:
                    self._fill(elements, guarded=False)
                inside = [imp.If(self.alone, tuple(inside), tuple(several))]
            with k.block() as last:
                self._fill(elements, guarded=True)
            k.emit(imp.If(self.whole, tuple(inside), tuple(last)))
        else:
            self._fill(elements, guarded=True)
        with k.when(self.staged):
            k.emit(imp.Barrier(imp.Space.LOCAL))
            self._each(lambda offset: k.emit(*(
                imp.Store(held, offset, imp.Load(stage, self._cell(offset), p), p)
                for held, stage, p in zip(self.held, self.stages, prims, strict=True))))

    def _if_alone(self, work: Callable[[bool], None]) -> None:
        """Emit ``work``, told whether the tile is known to belong to one segment."""
        if len(self.shape) == 1:
            work(True)
            return
        with self.k.block() as one:
            work(True)
        with self.k.block() as several:
            work(False)
        self.k.emit(imp.If(self.alone, tuple(one), tuple(several)))

    def _is_short(self) -> bool:
        """True if the code for an element may be duplicated, to have many loads in flight."""
        body = self.scan.exp.body
        return is_cheap(body) and len(body.stms) <= MOST_REPEATED_STATEMENTS

    def _fill(self, elements: Callable[[Sequence[Exp], Exp], Sequence[Exp]],
              alone: bool = False, *, guarded: bool) -> bool:
        """Emit the filling of chunks with ``elements``; True if its code counts indices."""
        k = self.k
        step = imp.Select(self.staged, launches.LSIZE, lit(1), Prim.I64)
        position = k.declare("p", Prim.I64, imp.Select(
            self.staged, op("add", self.base, launches.LID), self.start, Prim.I64))
        with k.block() as walk:
            place = self._walk(position, alone)
        walked = False

        def element(offset: Exp) -> None:
            nonlocal walked
            with k.block() as inside:
                self._put(offset, elements(place.indices(position), place.memory(position)))
            walked = place.is_read(inside)
            if guarded:
                with k.block() as outside:
                    self._put(offset, [k.scalar(a) for o in self.scan.exp.ops for a in o.neutral])
                k.emit(imp.If(op("lt", position, self.points), tuple(inside), tuple(outside)))
            else:
                k.emit(*inside)
            k.emit(imp.Assign(position.name, op("add", position, step)))
            if walked:
                place.advance(step)

        with k.block() as code:
            self._each(element, unroll=self._is_short())
        k.emit(*(walk if walked else ()), *code)
        return walked

    def _walk(self, position: Exp, alone: bool = False) -> _Walk:
        return _Walk(self.k, self.shape, position, alone, self.exp.backwards)

    def _put(self, offset: Exp, values: Sequence[Exp]) -> None:
        """Keep the values that a work-item computed ``offset`` steps after its first."""
        prims, cell = self.scan.values(), padded(self._strided(offset))
        self.k.emit(imp.If(self.staged, launches.stores(self.stages, cell, values, prims),
                           launches.stores(self.held, offset, values, prims)))

    def _strided(self, offset: Exp) -> Exp:
        """The place in the tile of element ``offset`` in the order of coalesced accesses."""
        return op("add", op("mul", offset, launches.LSIZE), launches.LID)

    def _cell(self, offset: Exp) -> Exp:
        return padded(op("add", op("mul", launches.LID, self.chunk), offset))

    def _each(self, work: Callable[[Exp], None], *, unroll: bool = True) -> None:
        """Emit ``work`` at every offset of a chunk."""
        offset = self.k.names.fresh("k")
        with self.k.block() as code:
            work(imp.Var(offset))
        self.k.emit(imp.For(offset, lit(0), self.chunk, lit(1), tuple(code), unroll))

    # Scanning

    def run(self) -> tuple[list[list[imp.Var]], imp.Var | None]:
        """Scan the chunks; the result is their totals, and a flag for segment starts inside a
        chunk.
        """
        k, exp, prims = self.k, self.scan.exp, self.scan.values()
        totals = [launches.scalars(k.neutral(o)) for o in exp.ops]
        flat = [t for ts in totals for t in ts]
        fresh = k.declare("fresh", Prim.BOOL, truth(False)) if len(self.shape) > 1 else None

        def scan(alone: bool) -> None:
            start = None if alone else k.declare("next", Prim.I32, self.first)

            def element(offset: Exp) -> None:
                if start is not None and fresh is not None:
                    with k.when(imp.Apply("eq", Prim.I32, (start, _small(offset)))):
                        launches.reset(k, exp.ops, totals)
                        k.emit(imp.Assign(fresh.name, truth(True)),
                               imp.Assign(start.name, op("add", start, _small(
                                   op("min", self.width, self.chunk)), prim=Prim.I32)))
                k.accumulate_all(exp.ops, totals, launches.loaded(k, "x", self.held, offset, prims))
                k.emit(*launches.stores(self.held, offset, flat, prims))

            self._each(element)

        self._if_alone(scan)
        return totals, fresh

    def exchange(self, totals: Sequence[Sequence[imp.Var]],
                 fresh: imp.Var | None) -> list[list[imp.Var]]:
        """The totals before each work-item's chunk, within the tile; not set for the first."""
        group = Size.var(self.scan.tile_shape.group)
        with self.k.block() as code:
            carries = [group_scan(self.k, o, t, group, fresh, self.scan.subgroup)
                       for o, t in zip(self.scan.exp.ops, totals, strict=True)]
        self.k.emit(*insert_barriers(code))
        return carries

    def complete(self, totals: Sequence[Sequence[imp.Var]], carries: Sequence[Sequence[imp.Var]],
                 fresh: imp.Var | None) -> None:
        """Make the last work-item's totals the totals of the tile."""
        join = combined(self.k, self.scan.exp.ops, carries, totals)
        later: Exp = op("lt", lit(0), launches.LID)
        if fresh is not None:
            later = all_of(later, negated(fresh))
        self.k.emit(imp.If(later, join))

    def finish(self, carries: Sequence[Sequence[imp.Var]], linked: Exp,
               earlier: Sequence[Sequence[Exp]]) -> None:
        """Add the totals of all earlier tiles to chunks linked to them, and write the results."""
        k = self.k
        found_linked = k.declare("linked", Prim.BOOL, linked)
        with k.when(found_linked):
            for op_, ps, before, carry in zip(self.scan.exp.ops, self.scan.prims, earlier, carries,
                                              strict=True):
                found = [k.declare("earlier", p, e) for p, e in zip(ps, before, strict=True)]
                with k.block() as both:
                    combine(k, op_, found, carry)
                k.emit(imp.If(op("lt", lit(0), launches.LID), tuple(both), tuple(
                    imp.Assign(c.name, e) for c, e in zip(carry, found, strict=True))))
        self._add(carries, any_of(found_linked, op("lt", lit(0), launches.LID)))
        self._store()

    def _add(self, carries: Sequence[Sequence[imp.Var]], cond: Exp) -> None:
        """Add the carries to the elements before the chunk's first segment start."""
        k, prims = self.k, self.scan.values()

        def element(offset: Exp) -> None:
            with k.block() as take:
                held = launches.loaded(k, "x", self.held, offset, prims)
                rest = held
                for op_, carry in zip(self.scan.exp.ops, carries, strict=True):
                    combine(k, op_, carry, rest[: len(carry)])
                    rest = rest[len(carry):]
                k.emit(*launches.stores(self.held, offset, held, prims))
            k.emit(*take if len(self.shape) == 1 else (imp.If(imp.Apply("lt", Prim.I32, (
                _small(offset), self.first)), tuple(take)),))

        with k.when(cond):
            self._each(element)

    def _store(self) -> None:
        """Write the chunks to the results."""
        k, prims = self.k, self.scan.values()
        with k.block() as by_stage:  # a work-item has read its chunk there, and no other one's
            self._each(lambda offset: k.emit(*(
                imp.Store(stage, self._cell(offset), imp.Load(held, offset, p), p)
                for held, stage, p in zip(self.held, self.stages, prims, strict=True))))
            k.emit(imp.Barrier(imp.Space.LOCAL))
            self._write(lambda offset: op("add", self.base, self._strided(offset)), launches.LSIZE,
                        lambda offset: launches.elements(
                            self.stages, padded(self._strided(offset)), prims))
        with k.block() as directly:
            self._write(lambda offset: op("add", self.start, offset), lit(1),
                        lambda offset: launches.elements(self.held, offset, prims))
        k.emit(imp.If(self.staged, tuple(by_stage), tuple(directly)))

    def _write(self, position: Callable[[Exp], Exp], step: Exp,
               values: Callable[[Exp], list[Exp]]) -> None:
        """Emit, for each offset of a chunk, a write of the results of the scanned ``values``.

        Elements ``step`` apart follow each other.
        """
        k, post = self.k, self.exp.post
        short = post is None or len(post.body.stms) <= MOST_REPEATED_STATEMENTS
        outs = self.outs if self.scan.packed else [
            out.reshape((self.points,)) for out in self.results]

        def chunk(*, guarded: bool) -> None:
            with k.block() as begin:
                place = self._walk(position(lit(0)))
            walked = False

            def element(offset: Exp) -> None:
                nonlocal walked
                at = k.declare("p", Prim.I64, position(offset))
                with k.block() as writes:
                    self._result(outs, place.indices(at), place.memory(at), values(offset))
                k.emit(*((imp.If(op("lt", at, self.points), tuple(writes)),) if guarded
                         else writes))
                walked = place.is_read(writes)
                if walked:
                    place.advance(step)

            with k.block() as code:
                self._each(element, unroll=short)
            k.emit(*(begin if walked else ()), *code)

        if self.scan.packed is not None or not short:
            chunk(guarded=True)
            return
        with k.block() as inside:
            chunk(guarded=False)
        with k.block() as last:
            chunk(guarded=True)
        k.emit(imp.If(self.whole, tuple(inside), tuple(last)))

    def _result(self, outs: Sequence[View], indices: Sequence[Exp], position: imp.Var,
                scanned: Sequence[Exp]) -> None:
        """Do with the scanned values of an element what the scan wants: mostly, write them."""
        k, post = self.k, self.exp.post
        if self.scan.packed is not None:
            self.scan.packed.element(k, self.exp, outs, position, scanned)
            return
        if post is not None:
            values: list[Value] = [k.declare("x", p, value) for p, value in zip(
                self.scan.values(), scanned, strict=True)]
            scanned = self._at(indices, position, lambda: k.apply(post, values))
        k.emit(*launches.writes(outs, [position], [scanned]))


def _small(count: Exp) -> Exp:
    """A number of elements of a chunk."""
    return imp.Convert(Prim.I64, Prim.I32, count)


class _Walk:
    """The indices of a flat position that moves on; long rows need no divisions for that.

    A walk that is ``alone`` stays within its row.  Positions count the order of the scan, which
    may go ``backwards`` in each row.
    """

    def __init__(self, k: KernelBuilder, shape: Sequence[Exp], position: Exp, alone: bool,
                 backwards: bool) -> None:
        self.k = k
        self.shape = shape
        self.alone = alone
        self.backwards = backwards
        if len(shape) > 1:
            self.row = k.declare("row", Prim.I64, op("quot", position, shape[-1]))
            self.column = k.declare("column", Prim.I64, op("rem", position, shape[-1]))

    def is_read(self, code: Sequence[imp.Stm]) -> bool:
        """True if code needs the row or the column, which are counted then."""
        counted = () if len(self.shape) == 1 else (self.row, self.column)
        return any(isinstance(exp, imp.Var) and exp in counted
                   for exp in evaluated(statements(code)))

    def indices(self, position: imp.Var) -> list[Exp]:
        """The indices of the element at the present position."""
        if len(self.shape) == 1:
            return [self.memory(position)]
        column = self._last(self.column) if self.backwards else self.column
        return [*unflat_index(self.row, self.shape[:-1]), column]

    def memory(self, position: imp.Var) -> imp.Var:
        """The flat position in memory of the element at the present position."""
        if not self.backwards:
            return position
        place = self._last(position) if len(self.shape) == 1 else op("add", position, op(
            "sub", self._last(self.column), self.column))
        return self.k.declare("place", Prim.I64, place)

    def _last(self, column: Exp) -> Exp:
        """A place in a row, counted from the last one."""
        return op("sub", op("sub", self.shape[-1], lit(1)), column)

    def advance(self, step: Exp) -> None:
        """Go on by ``step``; the position itself has been moved already."""
        if len(self.shape) == 1:
            return
        onwards = imp.Assign(self.column.name, op("add", self.column, step))
        if self.alone:
            self.k.emit(onwards)
            return
        width = self.shape[-1]
        beyond = op("le", width, self.column)
        wrap: tuple[imp.Stm, ...] = (
            imp.Assign(self.row.name, op("add", self.row, lit(1))),
            imp.Assign(self.column.name, op("sub", self.column, width)))
        if step != lit(1):
            wrap += (imp.If(beyond, (
                imp.Assign(self.row.name, op("add", self.row, op("quot", self.column, width))),
                imp.Assign(self.column.name, op("rem", self.column, width)))),)
        self.k.emit(onwards, imp.If(beyond, wrap))
