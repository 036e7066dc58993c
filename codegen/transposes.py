"""Transposed copies: tiles go through local memory, so that reads and writes are both coalesced.

Work-items that are neighbours in the array that is read are far apart in the one that is
written, or the other way round.  So a work-group reads a square tile along the one dimension,
and writes it along the other (Ruetsch and Micikevicius 2009, "Optimizing Matrix Transpose in
CUDA").  Rows of the tile are one element longer, so that its columns lie in different banks.
"""

from __future__ import annotations

from dataclasses import dataclass

from runelift.codegen import plan
from runelift.codegen.launches import (
    GROUP_ID,
    LID,
    LSIZE,
    Lowering,
    bind_point,
    branch,
    choose_by_length,
    widths,
)
from runelift.codegen.lowering import KernelBuilder
from runelift.codegen.views import View, ceil_quot, lit, op, unflat_index
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, ceil_div, least, product
from runelift.ir.syntax import Index, SegMap, elem_of, i64

TILE = 32
"""The side of a tile, in elements."""
NARROW = 8
"""Rows or columns of up to so many elements share memory transactions anyway."""


@dataclass(frozen=True, slots=True)
class Transposition:
    """A map that only reads an element.

    Along dimension ``fast`` of the space they are neighbours in the memory that is read, along
    the last one in the memory that is written.
    """

    exp: SegMap
    fast: int


def transposition_of(lowering: Lowering, exp: SegMap) -> Transposition | None:
    """The map as a transposed copy, if it is one."""
    match exp.body.stms, exp.body.result:
        case (stm,), (result,) if isinstance(stm.exp, Index) and stm.pat[0].name == result:
            read = stm.exp
        case _:
            return None
    place = {dim.index: k for k, dim in enumerate(exp.space)}
    dims = [place[d] for d in read.dims if isinstance(d, VName) and d in place]
    order = lowering.view(read.array).order
    all_once = len(dims) == len(read.dims) and sorted(dims) == [*range(len(exp.space))]
    if read.checked or order is None or not all_once or dims[order[-1]] == len(dims) - 1:
        return None
    return Transposition(exp, dims[order[-1]])


def lower_transposition(lowering: Lowering, found: Transposition,
                        otherwise: tuple[plan.Step, ...]) -> None:
    """The copy by tiles where both sides are long enough, else other steps."""
    sides = [lowering.size(found.exp.space[k].width) for k in (found.fast, -1)]
    tiled = branch(lowering, lambda: _launch(lowering, found, sides))
    choose_by_length(lowering, least(*sides), otherwise, tiled, i64(NARROW))


def _launch(lowering: Lowering, found: Transposition, sides: list[Size]) -> None:
    k = lowering.builder()
    (param,) = lowering.stm.pat
    prim, space = elem_of(param.type), found.exp.space
    shape = widths(k, space)
    tile = k.names.fresh("tile")
    k.locals.append(imp.LocalArray(tile, prim, Size.of(TILE * (TILE + 1))))
    batch = [d for d in range(len(space) - 1) if d != found.fast]
    tiles = [k.declare("tiles", Prim.I64, ceil_quot(shape[d], lit(TILE)))
             for d in (found.fast, -1)]
    *outer_indices, down, along = (k.declare("o", Prim.I64, index) for index in unflat_index(
        GROUP_ID, [*(shape[d] for d in batch), *tiles]))
    outer: dict[int, Exp] = dict(zip(batch, outer_indices, strict=True))
    top = k.declare("top", Prim.I64, op("mul", down, lit(TILE)))
    left = k.declare("left", Prim.I64, op("mul", along, lit(TILE)))

    def at(row: Exp, column: Exp) -> list[Exp]:
        """The point of a tile's row, which is along ``fast``, and column."""
        moved: dict[int, Exp] = {found.fast: op("add", top, row),
                                 len(space) - 1: op("add", left, column)}
        return [(outer | moved)[d] for d in range(len(space))]

    def each(load: bool) -> None:
        """The elements of the tile inside of the array; neighbours are rows, or else columns."""
        index = k.names.fresh("e")
        with k.block() as code:
            slow = k.declare("slow", Prim.I64, op("quot", imp.Var(index), lit(TILE)))
            quick = k.declare("quick", Prim.I64, op("rem", imp.Var(index), lit(TILE)))
            row, column = (quick, slow) if load else (slow, quick)
            point = at(row, column)
            inside = imp.Apply("and", Prim.BOOL, tuple(
                imp.Apply("lt", Prim.I64, (point[d], shape[d])) for d in (found.fast, -1)))
            cell = op("add", op("mul", column, lit(TILE + 1)), row)
            with k.block() as work:
                bind_point(k, space, point)
                if load:
                    k.emit(imp.Store(tile, cell, _element(k, found), prim))
                else:
                    k.emit(lowering.result(param, k).write(point, imp.Load(tile, cell, prim)))
            k.emit(imp.If(inside, tuple(work)))
        k.emit(imp.For(index, LID, lit(TILE * TILE), LSIZE, tuple(code)))

    each(load=True)
    k.emit(imp.Barrier(imp.Space.LOCAL))
    each(load=False)
    groups = product([lowering.size(space[d].width) for d in batch]
                     + [ceil_div(side, Size.of(TILE)) for side in sides])
    lowering.launch(k, "transpose", groups)


def _element(k: KernelBuilder, found: Transposition) -> Exp:
    """The element that the map reads at the present point."""
    (value,) = k.body(found.exp.body)
    assert not isinstance(value, View)
    return value
