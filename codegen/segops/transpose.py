"""Transposed copies: tiles go through local memory, so that reads and writes are both coalesced.

Strategy: a map that only reads an element is a transposed copy if neighbouring work-items would
read far apart.  It is tiled if both sides of the array are long enough; otherwise the host plan
takes the plain map.

Kernel ``transpose``: a work-group reads a tile along one dimension, and writes it along the other.
Rows of the tile are one element longer, so that elements of a column lie in different banks.  A
tile is a square.  If one side of the array is short, the tile is half as wide there and twice as
long the other way.

Source: Ruetsch and Micikevicius 2009, "Optimizing Matrix Transpose in CUDA".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.plan import plan
from runelift.codegen.plan.views import View, ceil_quot, lit, op, unflat_index
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, ceil_div, least, product
from runelift.ir.syntax import Index, SegMap
from runelift.ir.types import elem_of, i64

TILE_SIDE = 32
"""The side of a square tile, in elements."""
NARROW_TILE_SIDE = 16
"""The side of a tile, in elements, along a side of the array that is no longer."""
LARGEST_TILE_ELEMENTS = 2 * TILE_SIDE * (NARROW_TILE_SIDE + 1)
"""The elements of the largest tile in local memory: its columns are the short side."""
NOT_TILED_UP_TO = 8
"""Rows or columns of up to so many elements share memory transactions anyway."""


@dataclass(frozen=True, slots=True)
class Transposition:
    """A map that only reads an element.

    Neighbours along dimension ``fast`` of the space are neighbours in the memory that is read.
    Neighbours along the last dimension are neighbours in the memory that is written.
    """

    exp: SegMap
    fast: int


def transposition_of(lowering: launches.Lowering, exp: SegMap) -> Transposition | None:
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


def lower_transposition(lowering: launches.Lowering, found: Transposition,
                        otherwise: tuple[plan.Step, ...]) -> None:
    """The tiled copy if both sides are long enough, else other steps."""
    sides = [lowering.size(found.exp.space[k].width) for k in (found.fast, -1)]
    tiled = launches.branch(lowering, lambda: _launch(lowering, found, sides))
    launches.choose_by_length(lowering, least(*sides), otherwise, tiled, i64(NOT_TILED_UP_TO))


def _launch(lowering: launches.Lowering, found: Transposition, sides: list[Size]) -> None:
    k = lowering.builder()
    k.constants = [lowering.names.fresh(base) for base in ("group", "height", "width")]
    high, wide = (least(Size.of(2), ceil_div(side, Size.of(NARROW_TILE_SIDE))) for side in sides)
    shape = [(Size.of(3) + one * Size.of(-1)) * other * NARROW_TILE_SIDE
             for one, other in ((wide, high), (high, wide))]
    lowering.steps += [plan.ComputeSize(name, size) for name, size in zip(
        k.constants, [lowering.group, *shape], strict=True)]
    tile = _TransposeTile(lowering, k, found)
    tile.load()
    k.emit(imp.Barrier(imp.Space.LOCAL))
    tile.store()
    groups = product([lowering.size(found.exp.space[d].width) for d in tile.batch]
                     + [ceil_div(side, Size.var(length))
                        for side, length in zip(sides, k.constants[1:], strict=True)])
    lowering.launch(k, "transpose", groups)


class _TransposeTile:
    """The tile of a group: its columns go along dimension ``fast``, its rows along the last one."""

    def __init__(self, lowering: launches.Lowering, k: KernelBuilder, found: Transposition) -> None:
        self.k, self.found, self.space = k, found, found.exp.space
        (param,) = lowering.stm.pat
        self.prim, self.result = elem_of(param.type), lowering.view(param.name)
        self.memory = k.names.fresh("tile")
        k.locals.append(imp.LocalArray(self.memory, self.prim, Size.of(LARGEST_TILE_ELEMENTS)))
        self.lengths = [imp.Var(name) for name in k.constants[1:]]
        shape = launches.widths(k, self.space)
        self.batch = [d for d in range(len(self.space) - 1) if d != found.fast]
        self.sides = [shape[d] for d in (found.fast, -1)]
        tiles = [k.declare("tiles", Prim.I64, ceil_quot(side, length))
                 for side, length in zip(self.sides, self.lengths, strict=True)]
        *outer, down, along = (k.declare("o", Prim.I64, index) for index in unflat_index(
            launches.GROUP_ID, [*(shape[d] for d in self.batch), *tiles]))
        self.outer = dict(zip(self.batch, outer, strict=True))
        self.top = k.declare("top", Prim.I64, op("mul", down, self.lengths[0]))
        self.left = k.declare("left", Prim.I64, op("mul", along, self.lengths[1]))
        even = imp.Apply("eq", Prim.I64,
                         (op("rem", lit(TILE_SIDE * TILE_SIDE), launches.LSIZE), lit(0)))
        self.whole = k.declare("whole", Prim.BOOL, _both(even, self._are_inside(
            *(op("add", corner, op("sub", length, lit(1)))
              for corner, length in zip((self.top, self.left), self.lengths, strict=True)))))

    def load(self) -> None:
        """Copy the elements to local memory; neighbouring work-items read neighbours."""
        self._each(lambda point, cell: imp.Store(
            self.memory, cell, self._element(point), self.prim), down=True)

    def store(self) -> None:
        """Write the elements; neighbouring work-items write neighbours."""
        self._each(lambda point, cell: self.result.write(
            point, imp.Load(self.memory, cell, self.prim)), down=False)

    def _each(self, move: Callable[[list[Exp], Exp], imp.Stm], *, down: bool) -> None:
        """Move the element at each point, which has a cell in local memory.

        Neighbouring work-items are ``down`` a column, or in a row.  Whole tiles need no bounds
        checks, so a work-item has several elements in flight.
        """
        k = self.k

        def turn(number: Exp, *, guarded: bool) -> None:
            item = k.declare("e", Prim.I64,
                             op("add", op("mul", number, launches.LSIZE), launches.LID))
            run = self.lengths[0] if down else self.lengths[1]
            slow = k.declare("slow", Prim.I64, op("quot", item, run))
            quick = k.declare("quick", Prim.I64, op("and", item, op("sub", run, lit(1))))
            row, column = (quick, slow) if down else (slow, quick)
            places = op("add", self.top, row), op("add", self.left, column)
            point = self.outer | {self.found.fast: places[0], len(self.space) - 1: places[1]}
            with k.block() as code:
                k.emit(move([point[d] for d in range(len(self.space))],
                            op("add", op("mul", column, op("add", self.lengths[0], lit(1))),
                               row)))
            there = _both(imp.Apply("lt", Prim.I64, (item, lit(TILE_SIDE * TILE_SIDE))),
                          self._are_inside(*places))
            k.emit(*((imp.If(there, tuple(code)),) if guarded else code))

        turns = ceil_quot(lit(TILE_SIDE * TILE_SIDE), launches.LSIZE)
        blocks: list[tuple[imp.Stm, ...]] = []
        for guarded in (False, True):
            with k.block() as code:
                k.loop(turns, partial(turn, guarded=guarded), base="turn",
                       unroll=k.host.interleave and not guarded)
            blocks.append(tuple(code))
        k.emit(imp.If(self.whole, *blocks))

    def _are_inside(self, row: Exp, column: Exp) -> Exp:
        """True if a place is in the array."""
        return _both(*(imp.Apply("lt", Prim.I64, (place, side))
                       for place, side in zip((row, column), self.sides, strict=True)))

    def _element(self, point: list[Exp]) -> Exp:
        """The element that the map reads at a point."""
        launches.bind_point(self.k, self.space, point)
        (value,) = self.k.body(self.found.exp.body)
        assert not isinstance(value, View)
        return value


def _both(one: Exp, other: Exp) -> Exp:
    return imp.Apply("and", Prim.BOOL, (one, other))
