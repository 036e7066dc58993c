"""Reductions down the columns of matrices.

Strategy: taken for reductions whose segments, or maps whose points, are columns of a matrix, if
strips pay on the device.  Else the other steps of the caller run.

Kernel ``columns``: each work-item has a strip of neighbouring columns
(:mod:`runelift.codegen.kernel.column_strips`).  If strips are few or columns long, the rows are cut
into pieces: ``column_pieces`` makes their totals, and ``columns_combined`` combines them in order.
Where work-items run together, neighbours have neighbouring columns, and a strip has one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.column_strips import Columns, ColumnStrip, StripRows, is_straight
from runelift.codegen.kernel.kernel_builder import Value
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.kernel.soacs import SecondOrder
from runelift.codegen.plan import plan
from runelift.codegen.plan.shapes import StripShape
from runelift.codegen.plan.views import View, ceil_quot, flat_index, op, unflat_index, volume
from runelift.codegen.segops.product_operands import element as operand_element
from runelift.codegen.segops.product_operands import is_near
from runelift.ir import imp
from runelift.ir.analysis.products import (
    Product,
    Reducing,
    dependences,
    is_cheap,
    product_of,
    reducing,
)
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, ceil_div
from runelift.ir.syntax import Body, Dim, Index, PrimOp, SegMap, SegRed, SliceDim, Space, Stm
from runelift.ir.traverse import free_vars
from runelift.ir.types import i64


def columns_of_map(lowering: launches.Lowering, exp: SegMap) -> Columns | None:
    """The map as reductions down columns; None for other maps."""
    product = product_of(exp)
    if product is not None and len(product.walks) == 1:
        return columns_of_product(lowering, product)
    parts = reducing(exp.body, exp.ret)
    if parts is None or not is_straight(parts, (dim.index for dim in exp.space)):
        return None
    redomap, uses = parts.redomap, dependences(parts.before)
    column = exp.space[-1].index
    made = {p.name: s.exp for s in parts.before for p in s.pat}
    varying = [a for a in redomap.arrays if column in uses.get(a, {a})]
    near = _neighbours(parts.before, column)
    if not varying or not all(_is_column(made[a], uses, near, column) for a in varying):
        return None
    needed = parts.needed([*redomap.arrays, *parts.inner_names()])

    def element(k: SecondOrder, point: Sequence[Exp], row: Sequence[Exp]) -> Sequence[Value]:
        launches.bind_point(k, exp.space, point)
        k.body(Body(needed, ()))
        return k.apply(redomap.lam, k.elements(redomap.lam, redomap.arrays, row[0]))

    return Columns((redomap.width,), redomap.ops, element, _finish_of(exp, parts))


def columns_of_product(lowering: launches.Lowering, product: Product) -> Columns | None:
    """The product as reductions down columns; None if its elements are costly.

    Columns may lie apart: totals in vectors pay even where their elements are gathered.
    """
    exp = product.exp
    if not all(map(is_cheap, (product.combine, *(o.lam.body for o in product.redomap.ops)))) or (
            len(product.walks) == 1
            and not is_straight(product, (dim.index for dim in exp.space))):
        return None

    def element(k: SecondOrder, point: Sequence[Exp], row: Sequence[Exp]) -> Sequence[Value]:
        launches.bind_point(k, exp.space, point)
        k.body(Body(product.needed(product.constant_names), ()))
        for operand in product.operands:
            k.bind_scalar(operand.param, operand_element(k, operand, row))
        return k.body(product.combine)

    return Columns(product.lengths, product.redomap.ops, element, _finish_of(exp, product),
                   product.rows[-1], not all(
                       is_near(lowering.builder(), product, operand)
                       for operand in product.operands if operand.param.name in product.right))


def _finish_of(exp: SegMap, parts: Reducing
               ) -> Callable[[SecondOrder, Sequence[View], Sequence[Exp], Sequence[Exp]], None]:
    """The code for the results of a point, given the totals of its reduction."""
    def finish(k: SecondOrder, outs: Sequence[View], point: Sequence[Exp],
               totals: Sequence[Exp]) -> None:
        launches.bind_point(k, exp.space, point)
        launches.store_results(k, outs, point, k.finish_reduction(parts, totals))

    return finish


def columns_of_reduction(exp: SegRed) -> Columns | None:
    """The segmented reduction as reductions down columns; None for other reductions."""
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

    def element(k: SecondOrder, point: Sequence[Exp], index: Sequence[Exp]) -> Sequence[Value]:
        launches.bind_point(k, exp.space, [*point, *index])
        return k.body(exp.body)

    return Columns((row.width,), exp.ops, element, launches.store_results)


def _is_column(exp: object, uses: dict[VName, set[VName]], near: set[Dim], column: VName) -> bool:
    """True if an array is a column, or part of a column, that ``column`` selects."""
    if not isinstance(exp, Index):
        return False
    *rows, last = exp.dims
    return (last in near and any(isinstance(dim, SliceDim) for dim in rows)
            and not any(column in _needs(dim, uses) for dim in rows))


def _needs(dim: Dim, uses: dict[VName, set[VName]]) -> set[VName]:
    """The names that a dimension of an access depends on."""
    atoms = (dim.start, dim.count, dim.stride) if isinstance(dim, SliceDim) else (dim,)
    return {d for a in atoms if isinstance(a, VName) for d in uses.get(a, {a})}


def _neighbours(stms: Iterable[Stm], column: VName) -> set[Dim]:
    """The names that grow by one when ``column`` does."""
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


def reduce_columns(lowering: launches.Lowering, space: Space, columns: Columns,
                   otherwise: tuple[plan.Step, ...]) -> None:
    """Add kernels for strips if they pay for the device and the sizes, else other steps."""
    fresh = lowering.names.fresh
    strip = StripShape(
        fresh("group"), fresh("columns"), fresh("rows"), fresh("cells"), fresh("pieces"),
        lowering.size(space[-1].width),
        Size.of(1) if columns.down is None else lowering.size(space[columns.down].width),
        launches.total(lowering, tuple(d for n, d in enumerate(space[:-1]) if n != columns.down)),
        lowering.size(columns.lengths[0]))
    lowering.steps.append(strip)
    lowering.scalars.add(strip.pieces)
    whole = launches.branch(lowering, lambda: _whole(lowering, space, columns, strip), "strips")
    split = launches.branch(lowering, lambda: _pieces(lowering, space, columns, strip),
                            "pieces of strips")
    apart, one = fresh("apart"), fresh("one")
    lowering.steps += [
        plan.Compute(apart, "eq", Prim.I64, (strip.columns, i64(0))),
        plan.Compute(one, "eq", Prim.I64, (strip.pieces, i64(1)))]
    launches.choose(lowering, apart, otherwise, launches.branch(
        lowering, lambda: launches.choose(lowering, one, whole, split)))


def _whole(lowering: launches.Lowering, space: Space, columns: Columns,
           strip: StripShape) -> None:
    """Add a kernel of whole columns, with one strip for each work-item."""
    k = lowering.builder()
    k.constants = list(strip.constants())
    outs = lowering.results
    _strip(k, space, columns, strip, launches.GROUP_ID).whole(outs)
    lowering.launch(k, "columns", _count(strip), Size.var(strip.group))


def _strip(k: KernelBuilder, space: Space, columns: Columns, strip: StripShape,
           number: Exp) -> ColumnStrip:
    """The code for strip ``number``.

    Strips of a product of matrices that have columns in common follow each other: columns have
    more elements than rows.  Where windows overlap, neighbouring strips of equal rows have most
    elements in common.
    """
    width, breadth = k.scalar(space[-1].width), imp.Var(strip.columns)
    along = k.declare("strips", Prim.I64, ceil_quot(width, breadth))
    held = k.declare("strip", Prim.I64, number)
    widths, down = [*launches.widths(k, space[:-1])], columns.down
    if down is None:
        batch = k.declare("batch", Prim.I64, op("quot", held, along))
        outer = [k.declare("o", Prim.I64, i) for i in unflat_index(batch, widths)]
        own = k.declare("own", Prim.I64, op("mul", op("rem", held, along), breadth))
        return ColumnStrip(k, columns, strip.columns, outer, own, width)
    every, widths[down] = widths[down], ceil_quot(widths[down], imp.Var(strip.rows))
    order = [*range(len(space))]
    if len(columns.lengths) == 1:
        order.append(order.pop(down))
    found = launches.unflat(k, held, [[*widths, along][n] for n in order])
    places = [k.declare("o", Prim.I64, found[order.index(n)]) for n in range(len(space))]
    own = k.declare("own", Prim.I64, op("mul", places[-1], breadth))
    rows = StripRows(strip.rows, strip.cells, k.declare("own", Prim.I64, op(
        "mul", places[down], imp.Var(strip.rows))), every)
    return ColumnStrip(k, columns, strip.columns, places[:-1], own, width, rows)


def _count(strip: StripShape) -> Size:
    """The number of strips that cover all columns."""
    return (strip.batch * ceil_div(strip.height, Size.var(strip.rows))
            * ceil_div(strip.width, Size.var(strip.columns)))


def _pieces(lowering: launches.Lowering, space: Space, columns: Columns,
            strip: StripShape) -> None:
    """Reduce pieces of columns, then combine the pieces of each column."""
    pieces, points = Size.var(strip.pieces), launches.total(lowering, space)
    partials = [lowering.temporary("partial", prim, points * pieces) for prim in columns.prims]
    k = lowering.builder()
    k.constants = list(strip.constants())
    outer = [*launches.widths(k, space[:-1])]
    if columns.down is not None:
        outer[columns.down] = ceil_quot(outer[columns.down], imp.Var(strip.rows))
    count = op("mul", volume(outer), ceil_quot(k.scalar(space[-1].width), imp.Var(strip.columns)))
    with k.block() as code:
        _piece(k, space, columns, strip, partials, count)
    total = op("mul", count, k.scalar(strip.pieces))
    k.emit(*(imp.If(op("lt", launches.GID, total), tuple(code)),) if lowering.interleave else code)
    lowering.launch(k, "column_pieces", ceil_div(_count(strip) * pieces, Size.var(strip.group)),
                    Size.var(strip.group))
    _combine(lowering, space, columns, strip, partials)


def _piece(k: KernelBuilder, space: Space, columns: Columns, strip: StripShape,
           partials: Sequence[VName], count: Exp) -> None:
    """Emit the code for a piece of one of ``count`` strips."""
    piece = k.declare("piece", Prim.I64, op("quot", launches.GID, count))
    work = _strip(k, space, columns, strip, op("rem", launches.GID, count))
    length = k.scalar(columns.lengths[0])
    part_length = k.declare("share", Prim.I64, ceil_quot(length, k.scalar(strip.pieces)))
    start = k.declare("start", Prim.I64, op("mul", piece, part_length))
    end = op("min", op("add", start, part_length), length)
    totals = work.reduce(start, k.declare("end", Prim.I64, end))
    shape = launches.widths(k, space)

    def keep(point: Sequence[Exp], values: Sequence[Exp]) -> None:
        place = op("add", op("mul", piece, volume(shape)), flat_index(point, shape))
        k.emit(*launches.stores(partials, place, values, columns.prims))

    work.each_own(totals, keep)


def _combine(lowering: launches.Lowering, space: Space, columns: Columns,
             strip: StripShape, partials: Sequence[VName]) -> None:
    """Combine the pieces of each column, by a work-item per point."""
    k = lowering.builder()
    outs = lowering.results
    shape = launches.widths(k, space)

    def point(indices: Sequence[Exp]) -> None:
        totals = [launches.scalars(k.neutral(o)) for o in columns.ops]

        def fold(piece: Exp) -> None:
            place = op("add", op("mul", piece, volume(shape)), flat_index(indices, shape))
            k.accumulate_all(columns.ops, totals, launches.loaded(
                k, "partial", partials, place, columns.prims))

        k.loop(k.scalar(strip.pieces), fold, base="piece")
        columns.finish(k, outs, indices, [t for held in totals for t in held])

    launches.each_point(lowering, k, space, point, "columns_combined")
