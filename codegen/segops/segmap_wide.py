"""Maps without loops: work-items that compute one point, or several.

Strategy: taken if points have neither loops nor arrays.  A work-item of such a map loads, waits and
ends.  A device full of these may still have too few bytes in flight to keep its memory busy.  A
work-item with several points loads the elements for all of them before it stores the first result.

Kernel ``segmap_wide``, built for the number of points (``width``) and for their arrangement
(``flat``): neighbouring work-items access neighbouring elements.  In one dimension, work-items
share a block of points, and the points of one lie :data:`BLOCK_ITEMS` apart.  In several dimensions
the points of a work-item are neighbours along the last dimension but one.  So they reuse loads
along it, as in stencils, and the arithmetic of indices.  Where rows are short, or few, points lie
as in one dimension.  Then compilers see that index arithmetic of dense arrays cancels out.  A
work-item with missing points, or a single one, runs another loop, which checks each point.

Devices that run work-items one after the other have no use for that.  There a work-item runs along
a row of the last dimension.  It divides once for a row, and compilers vectorise its loop.

Source: Volkov 2010, "Better performance at lower occupancy".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.plan.parameters import Quantity
from runelift.codegen.plan.shapes import MapWidth
from runelift.codegen.plan.views import View, all_of, any_of, ceil_quot, lit, op, volume
from runelift.ir import imp
from runelift.ir.base.errors import CompilerLimitation
from runelift.ir.imp import Exp, Stm
from runelift.ir.imp.traverse import evaluated, statements
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, ceil_div, least, product
from runelift.ir.syntax import SOACS, Body, Loop, Param, SegMap
from runelift.ir.traverse import bodies_of
from runelift.ir.types import FALSE, TRUE, elem_of, i64, shape_of

BLOCK_ITEMS = 256
"""The work-items that share a block of points in one dimension, whatever the size of groups."""
MOST_POINTS = 16
"""The most points of a work-item."""
MOST_STATEMENTS = 512
"""The most statements for all points of a work-item together."""
MOST_RESULT_BYTES = 256
"""The most bytes of results that a work-item keeps."""


def lower_wide(lowering: launches.Lowering, exp: SegMap) -> bool:
    """Add the kernel for any number of points; False if that is not possible."""
    held = list(lowering.steps)
    try:
        made = _WideMap(lowering, exp)
    except CompilerLimitation:
        lowering.steps[:] = held
        return False
    rows, beside = (lowering.size(dim.width) for dim in (exp.space[-2:][0], exp.space[-1]))
    lowering.steps.append(MapWidth(
        made.width, made.flat, launches.total(lowering, exp.space), rows, beside, made.bytes,
        len(exp.space) > 1 and made.overlapping, made.most,
        lowering.setting(Quantity.WIDTH) if made.lockstep else i64(0)))
    made.launch()
    return True


class _WideMap:
    """The kernel of a wide map; CompilerLimitation if points have loops or make arrays.

    The points of a work-item lie as in one dimension if the constant ``flat`` is 1, and fill a row
    if it is 2.  A point loads and stores ``bytes`` bytes.  ``overlapping``: it loads several
    elements of an array, which its neighbours may need, too.  A work-item has at most ``most``
    points.
    """

    def __init__(self, lowering: launches.Lowering, exp: SegMap) -> None:
        if not lowering.stm.pat or any(
                len(shape_of(p.type)) > len(exp.space) for p in lowering.stm.pat):
            raise CompilerLimitation("a wide map needs scalar results")
        if launches.total(lowering, exp.space).constant == 1:
            raise CompilerLimitation("a map of a single point cannot be wide")
        if len(exp.space) == 1 and not lowering.interleave:
            raise CompilerLimitation("a processor has a work-item for each point of a line")
        if not _is_straight(exp.body):
            raise CompilerLimitation("a wide map cannot have loops")
        self.lowering, self.exp = lowering, exp
        self.k = lowering.builder()
        self.width, self.flat = lowering.names.fresh("width"), lowering.names.fresh("flat")
        self.is_line = len(exp.space) == 1
        self.lockstep = lowering.interleave
        self.k.constants = [self.width] if self.is_line else [self.width, self.flat]
        self.k.width = self.width
        self.outs = lowering.results
        self.prims = [elem_of(p.type) for p in lowering.stm.pat]
        self.cells = [lowering.names.fresh("result") for _ in self.prims]
        self.shape = launches.widths(self.k, exp.space)
        self.point: list[Stm] = []
        with self.k.block() as self.code:
            self._points()
        point = list(statements(self.point))
        if self.k.scratch or self.k.lengths or not all(
                isinstance(s, imp.Declare | imp.Assign | imp.Store | imp.If | imp.Fail)
                for s in point):
            raise CompilerLimitation("a wide map cannot have private arrays")
        results = sum(prim.bytes for prim in self.prims)
        loads = {part for part in evaluated(point) if isinstance(part, imp.Load)}
        self.bytes = results + sum(load.prim.bytes for load in loads)
        self.overlapping = len(loads) > len({load.mem for load in loads})
        self.most = MOST_POINTS
        while self.most > 1 and (len(point) * self.most > MOST_STATEMENTS
                                 or results * self.most > MOST_RESULT_BYTES):
            self.most //= 2
        if self.most == 1 and self.lockstep:
            raise CompilerLimitation("the points of this map are too large for a wide map")

    def launch(self) -> None:
        """Finish and launch the kernel."""
        self.k.emit(*self.code)
        lowering, width, flat = self.lowering, Size.var(self.width), Size.var(self.flat)
        items = points = launches.total(lowering, self.exp.space)
        sizes = [lowering.size(dim.width) for dim in self.exp.space]
        outer, (rows, last), two = sizes[:-2], (sizes[-2:][0], sizes[-1]), Size.of(2)
        group = lowering.group
        if self.lockstep:
            items = least(points, ceil_div(points, width * BLOCK_ITEMS) * BLOCK_ITEMS)
            if not self.is_line:
                blocks = product(outer) * ceil_div(rows, width) * last
                items = flat * items + (Size.of(1) - flat) * blocks
        else:  # factors that are 0 for one of the values of ``flat``, 0 and 2
            items = lowering.size(lowering.scalar("items", ceil_div(
                (two - flat) * points + flat * product([*outer, rows]), two)))
            group = Size.var(launches.spread_group(lowering, items))
        lowering.launch(self.k, "segmap_wide", ceil_div(items, group), group)

    def _points(self) -> None:
        """Emit the code for the points of a work-item."""
        k, width, beside = self.k, imp.Var(self.width), lit(BLOCK_ITEMS)
        block = op("mul", op("quot", launches.GID, beside), op("mul", width, beside))
        first = op("add", block, op("rem", launches.GID, beside))
        several = op("lt", lit(1), width)
        if self.is_line:
            first = k.declare("first", Prim.I64, first)
            end = op("add", first, op("mul", op("sub", width, lit(1)), beside))
            self._several(lambda n: [op("add", first, op("mul", n, beside))],
                          all_of(several, op("lt", end, self.shape[0])), imp.Lit(FALSE))
            return
        *outer, rows, last = self.shape
        firsts = [k.declare("first", Prim.I64) for _ in self.shape]
        whole, limit = k.declare("whole", Prim.BOOL), k.declare("limit", Prim.I64)
        bound = k.declare("bound", Prim.I64, lit(1))

        def assign(to: Sequence[imp.Var], values: Sequence[Exp]) -> None:
            k.emit(*(imp.Assign(each.name, value) for each, value in zip(to, values, strict=True)))

        def by_line() -> None:
            end = op("add", first, op("mul", op("sub", width, lit(1)), beside))
            points = volume(self.shape)
            assign([firsts[-1], whole, limit], [first, op("lt", end, points), points])

        def by_block() -> None:
            shape = [*outer, k.declare("blocks", Prim.I64, ceil_quot(rows, width)), last]
            *before, top, column = launches.unflat(k, launches.GID, shape)
            assign(firsts, [*before, op("mul", top, width), column])
            below = op("le", op("add", firsts[-2], width), rows)
            assign([whole, limit], [below, volume(shape)])

        def by_row() -> None:
            shape = [*outer, rows]
            assign(firsts[:-1], launches.unflat(k, launches.GID, shape))
            assign([limit, bound], [volume(shape), last])

        def place(number: Exp) -> list[Exp]:
            found = [k.declare("i", Prim.I64) for _ in self.shape]

            def in_line() -> None:
                position = k.declare("point", Prim.I64, op("add", firsts[-1],
                                                           op("mul", number, beside)))
                assign(found, launches.unflat(k, position, self.shape))

            self._arranged(in_line, lambda: assign(
                found, [*firsts[:-2], op("add", firsts[-2], number), firsts[-1]]),
                lambda: assign(found, [*firsts[:-1], number]))
            return list(found)

        self._arranged(by_line, by_block, by_row)
        with k.when(op("lt", launches.GID, limit)):
            if self.lockstep:
                self._several(place, all_of(several, whole), all_of(
                    op("eq", width, lit(1)), self._is_flat(0)))
            else:
                k.loop(bound, lambda n: self._one(place, n, imp.Lit(TRUE)), base="p")

    def _is_flat(self, value: int) -> Exp:
        return op("eq", imp.Var(self.flat), lit(value))

    def _arranged(self, line: Callable[[], None], block: Callable[[], None],
                  row: Callable[[], None]) -> None:
        """Emit code for the arrangements of a work-item's points that a device can have."""
        with self.k.block() as special:
            (line if self.lockstep else row)()
        with self.k.block() as usual:
            block()
        self.k.emit(imp.If(self._is_flat(1 if self.lockstep else 2), tuple(special), tuple(usual)))

    def _one(self, place: Callable[[Exp], list[Exp]], number: Exp, sure: Exp) -> None:
        """Emit the point at a place, if it exists; ``sure``: it does."""
        k = self.k
        point = [k.declare("i", Prim.I64, i) for i in place(number)]
        exists = [op("lt", i, size) for i, size in zip(point, self.shape, strict=True)]
        with k.block() as self.point:
            launches.store_results(k, self.outs, point, self._values(point))
        if sure == imp.Lit(TRUE):
            k.emit(*self.point)
        else:
            known = exists[0] if len(point) == 1 else any_of(sure, all_of(exists[0], exists[-2]))
            k.emit(imp.If(known, tuple(self.point)))

    def _several(self, place: Callable[[Exp], list[Exp]], whole: Exp, sure: Exp) -> None:
        """Emit the points at the places from 0 up to the width; ``whole``: all of them exist.

        Else each place is checked, unless it is ``sure``.
        """
        k, width = self.k, imp.Var(self.width)

        def compute(number: Exp) -> None:
            point = [k.declare("i", Prim.I64, i) for i in place(number)]
            k.emit(*launches.stores(self.cells, number, self._values(point), self.prims))

        def store(number: Exp) -> None:
            launches.store_results(k, self.outs, place(number), launches.elements(
                self.cells, number, self.prims))

        with k.block() as together:
            k.emit(*(imp.DeclareArray(cell, prim, self.width)
                     for cell, prim in zip(self.cells, self.prims, strict=True)))
            k.loop(width, compute, base="p", unroll=True)
            k.loop(width, store, base="p", unroll=True)
        with k.block() as apart:
            k.loop(width, lambda n: self._one(place, n, sure), base="p")
        k.emit(imp.If(whole, tuple(together), tuple(apart)))

    def _values(self, indices: Sequence[Exp]) -> list[Exp]:
        """The results of the map at a point."""
        for dim, index in zip(self.exp.space, indices, strict=True):
            self.k.bind(Param(dim.index, Prim.I64), index)
        values = self.k.body(self.exp.body)
        found = [value for value in values if not isinstance(value, View)]
        if len(found) != len(values):
            raise CompilerLimitation("a wide map needs scalar results")
        return found


def _is_straight(body: Body) -> bool:
    """True if a body contains no loops."""
    return not any(isinstance(stm.exp, (Loop, *SOACS)) or not all(
        map(_is_straight, bodies_of(stm.exp))) for stm in body.stms)
