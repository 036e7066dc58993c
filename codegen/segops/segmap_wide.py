"""Wide maps: work-items that compute several points each.

Strategy: taken if points have neither loops nor arrays, and the runtime chooses a width above 1.  A
work-item of such a map loads, waits and ends.  A device full of these may still have too few bytes
in flight to keep its memory busy.  A work-item with several points loads the elements for all of
them before it stores the first result.

Kernel ``segmap_wide``: neighbouring work-items access neighbouring elements.  In one dimension,
work-items share a block of points, and the points of one lie :data:`BLOCK_ITEMS` apart.  In several
dimensions the points of a work-item are neighbours along the last dimension but one.  So they reuse
loads along it, as in stencils, and the arithmetic of indices.  Where rows are short, or few, points
lie as in one dimension.  Then compilers see that index arithmetic of dense arrays cancels out.  A
work-item with missing points runs another loop, which checks each point.

Source: Volkov 2010, "Better performance at lower occupancy".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.plan import distribution, plan
from runelift.codegen.plan.parameters import Quantity
from runelift.codegen.plan.views import View, ceil_quot, lit, op, unflat_index, volume
from runelift.ir import imp
from runelift.ir.errors import CompilerLimitation
from runelift.ir.imp import Exp, Stm
from runelift.ir.imp.traverse import evaluated, statements
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, ceil_div, product
from runelift.ir.syntax import SOACS, Body, Loop, SegMap
from runelift.ir.traverse import bodies_of
from runelift.ir.types import elem_of, i64, shape_of

BLOCK_ITEMS = 256
"""The work-items that share a block of points in one dimension, whatever the size of groups."""
MOST_POINTS = 16
"""The most points of a work-item."""
MOST_STATEMENTS = 512
"""The most statements for all points of a work-item together."""
MOST_RESULT_BYTES = 256
"""The most bytes of results that a work-item keeps."""


def lower_wide(lowering: launches.Lowering, exp: SegMap, otherwise: tuple[plan.Step, ...]) -> None:
    """The kernel for several points if it is possible and wanted, else other steps."""
    try:
        line = _WideMap(lowering, exp)
        block = _WideMap(lowering, exp, line.width) if len(exp.space) > 1 else line
    except CompilerLimitation:
        lowering.steps += otherwise
        return
    width = line.width
    several = launches.branch(lowering, line.launch)
    rows, beside = (lowering.size(dim.width) for dim in (exp.space[-2:][0], exp.space[-1]))
    one, flat = lowering.names.fresh("one"), lowering.names.fresh("flat")
    if block is not line:
        beneath, lies_flat = launches.branch(lowering, block.launch), lowering.names.fresh("line")
        several = (plan.Compute(lies_flat, "eq", Prim.I64, (flat, i64(1))),
                   plan.Branch(lies_flat, several, beneath))
    lowering.steps += [
        distribution.MapWidth(width, flat, launches.total(lowering, exp.space), rows, beside,
                              block.bytes, block is not line and block.overlapping,
                              min(line.most, block.most), lowering.setting(Quantity.WIDTH)),
        plan.Compute(one, "eq", Prim.I64, (width, i64(1))),
        plan.Branch(one, otherwise, several)]


class _WideMap:
    """The kernel of a wide map; CompilerLimitation if points have loops or make arrays.

    The points of a work-item lie as in one dimension, unless there is a flat kernel with its
    ``width`` already.  A point loads and stores ``bytes`` bytes.  ``overlapping``: it loads several
    elements of an array, so that its neighbours may need the same.  A work-item has at most
    ``most`` points.
    """

    def __init__(self, lowering: launches.Lowering, exp: SegMap,
                 width: VName | None = None) -> None:
        if not lowering.stm.pat or any(
                len(shape_of(p.type)) > len(exp.space) for p in lowering.stm.pat):
            raise CompilerLimitation("a wide map needs scalar results")
        if launches.total(lowering, exp.space).constant == 1:
            raise CompilerLimitation("a map of a single point cannot be wide")
        if not _is_straight(exp.body):
            raise CompilerLimitation("a wide map cannot have loops")
        self.lowering, self.exp = lowering, exp
        self.k = lowering.builder()
        self.is_flat = width is None
        self.width = width or lowering.names.fresh("width")
        self.k.constants, self.k.width = [self.width], self.width
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
        if self.most == 1:
            raise CompilerLimitation("the points of this map are too large for a wide map")

    def launch(self) -> None:
        """Finish and launch the kernel."""
        self.k.emit(*self.code)
        width, group = Size.var(self.width), self.lowering.group
        if self.is_flat:
            points = launches.total(self.lowering, self.exp.space)
            items = ceil_div(points, width * BLOCK_ITEMS) * BLOCK_ITEMS
        else:
            *outer, rows, last = (self.lowering.size(dim.width) for dim in self.exp.space)
            items = product(outer) * ceil_div(rows, width) * last
        self.lowering.launch(self.k, "segmap_wide", ceil_div(items, group), group)

    def _points(self) -> None:
        """The code for the points of a work-item."""
        k, width = self.k, imp.Var(self.width)
        if self.is_flat:
            points = volume(self.shape)
            beside = lit(BLOCK_ITEMS)
            block = op("mul", op("quot", launches.GID, beside), op("mul", width, beside))
            first = k.declare("first", Prim.I64, op("add", block, op("rem", launches.GID, beside)))
            end = op("add", first, op("mul", op("sub", width, lit(1)), beside))
            self._several(lambda n: self._unflat(op("add", first, op("mul", n, beside))),
                          op("lt", end, points))
            return
        *outer, rows, last = self.shape
        shape = [*outer, k.declare("blocks", Prim.I64, ceil_quot(rows, width)), last]
        with k.block() as inside:
            *before, block, column = (k.declare("i", Prim.I64, i)
                                      for i in unflat_index(launches.GID, shape))
            top = k.declare("top", Prim.I64, op("mul", block, width))
            self._several(lambda n: [*before, op("add", top, n), column],
                          imp.Apply("le", Prim.I64, (op("add", top, width), rows)))
        k.emit(imp.If(op("lt", launches.GID, volume(shape)), tuple(inside)))

    def _unflat(self, position: Exp) -> list[Exp]:
        """The indices of a position in the flat space."""
        if len(self.shape) == 1:
            return [position]
        return unflat_index(self.k.declare("point", Prim.I64, position), self.shape)

    def _several(self, place: Callable[[Exp], list[Exp]], whole: Exp) -> None:
        """The points at the places 0 up to the width; all of them exist if ``whole``."""
        k, width = self.k, imp.Var(self.width)

        def indices(number: Exp) -> list[Exp]:
            return [k.declare("i", Prim.I64, i) for i in place(number)]

        def compute(number: Exp) -> None:
            with k.block() as self.point:
                k.emit(*(imp.Store(cell, number, value, prim) for cell, value, prim in zip(
                    self.cells, self._values(indices(number)), self.prims, strict=True)))
            k.emit(*self.point)

        def store(number: Exp) -> None:
            launches.store_results(k, self.outs, indices(number), [
                imp.Load(cell, number, prim)
                for cell, prim in zip(self.cells, self.prims, strict=True)])

        def run(number: Exp) -> None:
            point = indices(number)
            exists = [op("lt", i, size) for i, size in zip(point, self.shape, strict=True)]
            with k.block() as inside:
                launches.store_results(k, self.outs, point, self._values(point))
            k.emit(imp.If(exists[0 if self.is_flat else -2], tuple(inside)))

        with k.block() as together:
            k.emit(*(imp.DeclareArray(cell, prim, self.width)
                     for cell, prim in zip(self.cells, self.prims, strict=True)))
            k.loop(width, compute, base="p", unroll=True)
            k.loop(width, store, base="p", unroll=True)
        with k.block() as apart:
            k.loop(width, run, base="p")
        k.emit(imp.If(whole, tuple(together), tuple(apart)))

    def _values(self, indices: Sequence[Exp]) -> list[Exp]:
        """The results of a point."""
        launches.bind_point(self.k, self.exp.space, indices)
        values = self.k.body(self.exp.body)
        found = [value for value in values if not isinstance(value, View)]
        if len(found) != len(values):
            raise CompilerLimitation("a wide map needs scalar results")
        return found


def _is_straight(body: Body) -> bool:
    """True if a body contains no loops."""
    return not any(isinstance(stm.exp, (Loop, *SOACS)) or not all(
        map(_is_straight, bodies_of(stm.exp))) for stm in body.stms)
