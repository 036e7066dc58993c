"""Reductions down the columns of matrices, for devices whose work-items run one after the other.

A work-item per column reads one element of a row and goes on to the next row: of each line that
the cache loads, it uses a single element.  Here a work-item has a *strip* of neighbouring columns,
with a total for each of them, and goes through the rows once, so that it reads what lies side by
side, and the compiler makes vector instructions of the loop over the strip (interchange of a map
with the reduction inside of it; Henriksen 2017, section 5.2, has the reverse direction).  Where
strips are few or columns long, the rows are shared out in pieces, whose totals a second kernel
combines in order.  The last strip begins early enough to be as broad as the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from runelift.codegen import plan
from runelift.codegen.builder import Value
from runelift.codegen.launches import (
    GROUP_ID,
    Lowering,
    WithScalar,
    bind_point,
    branch,
    each_point,
    is_cheap,
    require_scalar,
    scalars,
    store_results,
    total,
    widths,
)
from runelift.codegen.lowering import KernelBuilder
from runelift.codegen.tiling import conclude
from runelift.codegen.views import View, ceil_quot, flat_index, lit, op, unflat_index, volume
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.products import dependences, reducing
from runelift.ir.sizes import Size, ceil_div
from runelift.ir.syntax import (
    Atom,
    Body,
    Dim,
    Index,
    Operator,
    PrimOp,
    SegMap,
    SegRed,
    SliceDim,
    Space,
    Stm,
    i64,
)
from runelift.ir.traverse import free_vars


@dataclass(frozen=True, slots=True)
class Columns:
    """Reductions at the points of ``space``, whose last index picks a column.

    ``element`` writes the code for an element at a point, given their indices, ``finish`` that for
    the results of a point, given its totals.
    """

    space: Space
    length: Atom
    ops: tuple[Operator, ...]
    element: Callable[[KernelBuilder, Sequence[Exp], Exp], Sequence[Value]]
    finish: Callable[[KernelBuilder, Sequence[View], Sequence[Exp], Sequence[Exp]], None]

    @property
    def prims(self) -> list[Prim]:
        """The types of the totals of all operators."""
        return [require_scalar(t) for o in self.ops for t in o.lam.ret]


def columns_of_map(exp: SegMap) -> Columns | None:
    """The map as reductions down columns, if it is that."""
    parts = reducing(exp)
    if parts is None:
        return None
    redomap, uses = parts.redomap, dependences(parts.before)
    column = exp.space[-1].index
    made = {p.name: s.exp for s in parts.before for p in s.pat}
    varying = [a for a in redomap.arrays if column in uses.get(a, {a})]
    down = [_column_read(made[a], parts.before, column) for a in varying]
    straight = all(map(is_cheap, (redomap.lam.body, *(o.lam.body for o in redomap.ops))))
    if not down or not all(down) or not straight or redomap.width in {*made, *_indices(exp.space)}:
        return None
    needed = parts.needed([*redomap.arrays, *parts.inner_names()])

    def element(k: KernelBuilder, point: Sequence[Exp], index: Exp) -> Sequence[Value]:
        bind_point(k, exp.space, point)
        k.body(Body(needed, ()))
        return k.apply(redomap.lam, k.elements(redomap.lam, redomap.arrays, index))

    return Columns(exp.space, redomap.width, redomap.ops, element,
                   lambda k, outs, point, totals: conclude(k, parts, outs, point, totals))


def _column_read(exp: object, before: Sequence[Stm], column: VName) -> bool:
    """Whether an array is a column, or a part of one, that ``column`` picks."""
    if not isinstance(exp, Index):
        return False
    *rows, last = exp.dims
    near, uses = _neighbours(before, column), dependences(before)
    return (last in near and any(isinstance(dim, SliceDim) for dim in rows)
            and not any(column in _needs(dim, uses) for dim in rows))


def columns_of_reduction(exp: SegRed) -> Columns | None:
    """The segmented reduction as reductions down columns, if it is that."""
    *points, row = exp.space
    if not points or len(exp.body.result) != sum(len(o.neutral) for o in exp.ops) or not all(
        map(is_cheap, (exp.body, *(o.lam.body for o in exp.ops)))
    ):
        return None
    column, uses = points[-1].index, dependences(exp.body.stms)
    near = _neighbours(exp.body.stms, column)
    down = False
    for stm in exp.body.stms:
        if isinstance(stm.exp, Index):
            *rows, last = (_needs(dim, uses) for dim in stm.exp.dims)
            if any(column in needs for needs in rows) or (column in last
                                                          and stm.exp.dims[-1] not in near):
                return None
            down |= column in last and any(row.index in needs for needs in rows)
    if not down:
        return None

    def element(k: KernelBuilder, point: Sequence[Exp], index: Exp) -> Sequence[Value]:
        bind_point(k, exp.space, [*point, index])
        return k.body(exp.body)

    return Columns(tuple(points), row.width, exp.ops, element, store_results)


def _indices(space: Space) -> set[VName]:
    return {dim.index for dim in space}


def _needs(dim: Dim, uses: dict[VName, set[VName]]) -> set[VName]:
    """What a dimension of an access depends on."""
    atoms = (dim.start, dim.count, dim.stride) if isinstance(dim, SliceDim) else (dim,)
    return {d for a in atoms if isinstance(a, VName) for d in uses.get(a, {a})}


def _neighbours(stms: Iterable[Stm], column: VName) -> set[Dim]:
    """The names that grow by one where ``column`` does."""
    near, uses = {column}, {column}
    for stm in stms:
        if uses.isdisjoint(free_vars(stm)):
            continue
        uses |= {p.name for p in stm.pat}
        match stm.exp:
            case PrimOp("add", Prim.I64, (x, y)) if (x in near) != (y in near) and (
                len(uses.intersection((x, y))) == 1
            ):
                near.add(stm.pat[0].name)
            case PrimOp("sub", Prim.I64, (x, y)) if x in near and y not in uses:
                near.add(stm.pat[0].name)
    return {*near}


def reduce_columns(lowering: Lowering, columns: Columns,
                   otherwise: tuple[plan.Step, ...]) -> None:
    """Kernels for strips where the device and the sizes are worth it, else other steps."""
    fresh = lowering.names.fresh
    strip = plan.Strip(fresh("group"), fresh("columns"), fresh("pieces"),
                       lowering.size(columns.space[-1].width),
                       total(lowering, columns.space[:-1]), lowering.size(columns.length))
    lowering.steps.append(strip)
    lowering.env = WithScalar(lowering.env, strip.pieces)
    whole = branch(lowering, lambda: _strips(lowering, columns, strip))
    split = branch(lowering, lambda: _pieces(lowering, columns, strip))
    apart, one = fresh("apart"), fresh("one")
    lowering.steps += [
        plan.Compute(apart, "eq", Prim.I64, (strip.columns, i64(0))),
        plan.Compute(one, "eq", Prim.I64, (strip.pieces, i64(1))),
        plan.Branch(apart, otherwise, (plan.Branch(one, whole, split),))]


def _strips(lowering: Lowering, columns: Columns, strip: plan.Strip) -> None:
    """Whole columns, one strip for each work-item."""
    k = lowering.builder()
    outs = [lowering.result(p, k) for p in lowering.stm.pat]
    work = _Strip(k, columns, strip, GROUP_ID)
    totals = work.reduce(lit(0), k.scalar(columns.length))
    work.each_own(lambda point, c: columns.finish(k, outs, point, work.held(totals, c)))
    lowering.launch(k, "columns", _strip_count(strip), Size.var(strip.group))


def _pieces(lowering: Lowering, columns: Columns, strip: plan.Strip) -> None:
    """Pieces of columns, and then the pieces of each column together."""
    pieces, points = Size.var(strip.pieces), total(lowering, columns.space)
    partials = [lowering.temporary("partial", prim, points * pieces) for prim in columns.prims]
    k = lowering.builder()
    strips = op("mul", volume(widths(k, columns.space[:-1])), ceil_quot(
        k.scalar(columns.space[-1].width), imp.Var(strip.columns)))
    piece = k.declare("piece", Prim.I64, op("quot", GROUP_ID, strips))
    work = _Strip(k, columns, strip, op("rem", GROUP_ID, strips))
    length = k.scalar(columns.length)
    share = k.declare("share", Prim.I64, ceil_quot(length, k.scalar(strip.pieces)))
    start = k.declare("start", Prim.I64, op("mul", piece, share))
    end = imp.Apply("min", Prim.I64, (op("add", start, share), length))
    totals = work.reduce(start, k.declare("end", Prim.I64, end))
    shape = widths(k, columns.space)

    def keep(point: Sequence[Exp], c: Exp) -> None:
        place = op("add", op("mul", piece, volume(shape)), flat_index(point, shape))
        k.emit(*(imp.Store(mem, place, value, prim) for mem, value, prim in zip(
            partials, work.held(totals, c), columns.prims, strict=True)))

    work.each_own(keep)
    lowering.launch(k, "column_pieces", _strip_count(strip) * pieces, Size.var(strip.group))
    _combine(lowering, columns, strip, partials)


def _combine(lowering: Lowering, columns: Columns, strip: plan.Strip,
             partials: Sequence[VName]) -> None:
    """A work-item for each point."""
    k = lowering.builder()
    outs = [lowering.result(p, k) for p in lowering.stm.pat]
    shape = widths(k, columns.space)

    def point(indices: Sequence[Exp]) -> None:
        totals = [scalars(k.neutral(o)) for o in columns.ops]

        def fold(piece: Exp) -> None:
            place = op("add", op("mul", piece, volume(shape)), flat_index(indices, shape))
            k.accumulate_all(columns.ops, totals, [
                k.declare("partial", p, imp.Load(m, place, p))
                for m, p in zip(partials, columns.prims, strict=True)])

        k.loop(k.scalar(strip.pieces), fold, base="piece")
        columns.finish(k, outs, indices, [t for held in totals for t in held])

    each_point(lowering, k, columns.space, point, "columns_combined")


def _strip_count(strip: plan.Strip) -> Size:
    return strip.batch * ceil_div(strip.width, Size.var(strip.columns))


class _Strip:
    """The code of a work-item for strip ``number``."""

    def __init__(self, k: KernelBuilder, columns: Columns, strip: plan.Strip, number: Exp) -> None:
        self.k, self.columns, self.breadth = k, columns, strip.columns
        k.constants = list(strip.constants())
        width, breadth = k.scalar(columns.space[-1].width), imp.Var(strip.columns)
        along = k.declare("strips", Prim.I64, ceil_quot(width, breadth))
        strip_number = k.declare("strip", Prim.I64, number)
        self.outer = [k.declare("o", Prim.I64, i) for i in unflat_index(
            k.declare("batch", Prim.I64, op("quot", strip_number, along)),
            widths(k, columns.space[:-1]))]
        self.own = k.declare("own", Prim.I64, op("mul", op("rem", strip_number, along), breadth))
        self.first = k.declare("first", Prim.I64, imp.Apply("min", Prim.I64, (
            self.own, op("sub", width, breadth))))

    def each(self, work: Callable[[list[Exp], Exp], None]) -> None:
        """An unrolled loop over the columns: the indices of a point and its number."""
        self.k.loop(imp.Var(self.breadth), lambda c: work(
            [*self.outer, self.k.declare("column", Prim.I64, op("add", self.first, c))], c),
            base="c", unroll=True)

    def each_own(self, work: Callable[[list[Exp], Exp], None]) -> None:
        """The columns that the strip before has not."""
        def column(point: list[Exp], c: Exp) -> None:
            with self.k.block() as code:
                work(point, c)
            self.k.emit(imp.If(imp.Apply("le", Prim.I64, (self.own, point[-1])), tuple(code)))

        self.each(column)

    def reduce(self, start: Exp, end: Exp) -> list[VName]:
        """Reduce rows; private arrays hold the totals of the columns."""
        k, ops, prims = self.k, self.columns.ops, self.columns.prims
        totals = [k.names.fresh("total") for _ in prims]
        neutral = [atom for o in ops for atom in o.neutral]
        k.emit(*(imp.DeclareArray(name, prim, self.breadth)
                 for name, prim in zip(totals, prims, strict=True)))
        self.each(lambda _, c: k.emit(*(imp.Store(name, c, k.scalar(atom), prim)
                                        for name, atom, prim in zip(totals, neutral, prims,
                                                                    strict=True))))

        def element(point: list[Exp], c: Exp, row: Exp) -> None:
            values = self.columns.element(k, point, row)
            held = [k.declare("total", prim, value)
                    for prim, value in zip(prims, self.held(totals, c), strict=True)]
            of_each = iter(held)
            k.accumulate_all(ops, [[next(of_each) for _ in o.neutral] for o in ops], values)
            k.emit(*(imp.Store(name, c, value, prim)
                     for name, value, prim in zip(totals, held, prims, strict=True)))

        k.loop(end, lambda row: self.each(lambda point, c: element(point, c, row)),
               start=start, base="row")
        return totals

    def held(self, totals: Sequence[VName], c: Exp) -> list[Exp]:
        """The totals of a column."""
        return [imp.Load(name, c, prim)
                for name, prim in zip(totals, self.columns.prims, strict=True)]
