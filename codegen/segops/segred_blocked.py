"""Blocked reductions: work-items that reduce several segments together.

Strategy: taken if segments have elements in common and the device gains by it, else the caller's
other steps.  In a convolution, neighbouring points have all but one element in common; in an n-body
problem, every body feels all bodies.  A work-item reduces ``points`` segments, ``steps`` elements
at a time.  It loads a common element once for all of them
(:mod:`~runelift.codegen.segops.coarsen`).

Kernel ``segred_coarse`` or ``segmap_coarse``: a group has ``across`` work-items for neighbouring
segments, and ``split`` work-items for each segment.  The work-items of a segment divide the
elements and combine their totals in local memory, so that few segments still fill the device.

A work-item's segments are neighbours along one dimension, the *axis*.  Preferred is a dimension
along which segment r + 1 needs at step u the element that segment r needs at step u + 1.  Otherwise
it is any but the last dimension, so that accesses of neighbouring work-items stay coalesced.  If
the axis is the last dimension, neighbouring work-items have neighbouring segments.  The segments of
one work-item, and its elements at a time, then lie as far apart as the group is wide.

Elements with a loop inside may come from local memory (``_boxed``,
:mod:`~runelift.codegen.segops.local_tiles`).

Source: thread coarsening and register blocking (Volkov and Demmel 2008, "Benchmarking GPUs to tune
dense linear algebra").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.passes.rsqrt import is_by_root, with_roots
from runelift.codegen.plan import plan
from runelift.codegen.plan.parameters import Quantity
from runelift.codegen.plan.shapes import NO_WISH, Box, SegmentBlockShape
from runelift.codegen.plan.views import View, all_of, ceil_quot, lit, op, unflat_index
from runelift.codegen.segops.coarsen import Lanes, coarsen
from runelift.codegen.segops.local_tiles import BoxedCode, GroupIndices, with_boxes, with_tiles
from runelift.codegen.segops.own_values import Segment, with_own_values
from runelift.codegen.segops.segments import Segments
from runelift.ir import imp
from runelift.ir.analysis.blocks import Blocks, blocks_of
from runelift.ir.analysis.sharing import Sharing, sharing
from runelift.ir.base.errors import CompilerLimitation
from runelift.ir.imp import Exp
from runelift.ir.imp.traverse import blocks
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, ceil_div, least, product
from runelift.ir.syntax import SegRed
from runelift.ir.types import Atom, as_name, i64

MOST_TILE = 128
"""The iterations whose elements are copied where a schedule does not say how many."""
MOST_CHOSEN_BOXES = 3
"""Each box of so many can be left out; there is a kernel for each choice."""


def lower_blocked(lowering: launches.Lowering, segments: Segments | None,
                  otherwise: Callable[[], None]) -> None:
    """Add the blocked kernel if segments have elements in common and the host wants it.

    Else add the kernels of ``otherwise``.
    """
    shared = None
    if segments is not None and lowering.parameters is not None:
        shared = sharing(lowering.type, segments.exp)
    if segments is None or lowering.parameters is None or shared is None:
        otherwise()
        return
    others = launches.branch(lowering, otherwise, "no blocks")
    known = dict(lowering.parameters.found)
    asked = blocks_of(lowering.stm)
    if asked is not None:  # segments of a work-item are in the dimension that is cut
        beside = 3 if asked.own_columns == 1 and asked.rows > 1 else 2
        shared = replace(shared, axis=len(segments.exp.space) - beside)
    sizes = _sizes(lowering, segments.exp, shared, asked)
    kernel = partial(_BlockedKernel, lowering, segments, sizes, shared.axis)
    try:
        alone = kernel()
        steps = launches.branch(lowering, alone.launch, "blocks")
    except CompilerLimitation:
        lowering.parameters.found = known
        lowering.steps += others
        return
    sizes = replace(sizes, roots=alone.roots, loops=alone.loops,
                    apart=asked is not None and alone.apart)
    known = dict(lowering.parameters.found)
    try:
        if asked is not None and not asked.copies:
            raise CompilerLimitation("nothing is to be copied")
        together = kernel(boxes=True, tiles=asked is not None and not alone.loops_inside)
        tiled = launches.branch(lowering, together.launch, "blocks, boxes")
        sizes = replace(
            sizes, boxes=together.boxes, of_elements=together.of_elements,
            wanted_tile=lowering.setting(Quantity.TILE)
            if asked is None else i64(asked.tile or max(MOST_TILE, asked.depth)))
        if asked is None and 1 < len(sizes.boxes) <= MOST_CHOSEN_BOXES:
            arrays = lowering.setting(Quantity.ARRAYS)
            sizes = replace(sizes, wanted_arrays=arrays)
            for chosen in range(1, (1 << len(sizes.boxes)) - 1):
                some = launches.branch(lowering, kernel(boxes=True, chosen=chosen).launch,
                                       "blocks, some boxes")
                here = lowering.names.fresh("here")
                tiled = (plan.Compute(here, "eq", Prim.I64, (arrays, i64(chosen))),
                         plan.Branch(here, some, tiled))
        loose = lowering.names.fresh("loose")
        steps = (plan.Compute(loose, "eq", Prim.I64, (sizes.tile, i64(0))),
                 plan.Branch(loose, steps, tiled))
    except CompilerLimitation:
        lowering.parameters.found = known
    apart = lowering.names.fresh("apart")
    lowering.steps += [sizes, plan.Compute(apart, "eq", Prim.I64, (sizes.points, i64(0)))]
    launches.choose(lowering, apart, others, steps)


def _sizes(lowering: launches.Lowering, exp: SegRed, shared: Sharing,
           asked: Blocks | None) -> SegmentBlockShape:
    """The numbers of segments and elements, and the names of sizes to be chosen."""
    fresh = lowering.names.fresh
    *outer, width, length = (lowering.size(dim.width) for dim in exp.space)
    height = Size.of(0) if shared.axis == len(outer) else outer.pop(shared.axis)
    wanted: tuple[Atom, Atom, Atom, Atom] = (
        lowering.group_size, lowering.setting(Quantity.POINTS), lowering.setting(Quantity.STEPS),
        lowering.setting(Quantity.SPLIT))
    if asked is not None:
        commutes = all(o.comm for o in exp.ops)
        wanted = (i64(asked.side * asked.across), i64(asked.own_rows * asked.own_columns),
                  i64(asked.depth), NO_WISH if commutes else i64(1))
    return SegmentBlockShape(
        fresh("group"), fresh("across"), fresh("split"), fresh("points"), fresh("steps"),
        fresh("cells"), fresh("tile"), height, width, product(outer), length, shared.slides,
        sum(launches.require_scalar(t).bytes for o in exp.ops for t in o.lam.ret), *wanted,
        wanted_across=NO_WISH if asked is None else wanted[0])


class _BlockedKernel:
    """The kernel of a blocked reduction.

    With ``boxes``, arrays come from local memory: all that can, or the arrays ``chosen``, a bit
    each.  Segments beyond the last are computed, but not written.  The last blocks begin early
    enough to be whole, and do not write segments of other blocks.
    """

    def __init__(self, lowering: launches.Lowering, segments: Segments,
                 sizes: SegmentBlockShape,
                 axis: int, *, boxes: bool = False, tiles: bool = False, chosen: int = 0
                 ) -> None:
        self.lowering, self.segments, self.sizes, self.axis = lowering, segments, sizes, axis
        self.exp = exp = segments.exp
        self.k = lowering.builder()
        self.tiled, self.chosen = boxes, chosen
        self.of_elements = tiles
        self.roots, self.loops, self.boxes = False, 0, tuple[Box, ...]()
        self.loops_inside = 0
        *self.k.constants, tile = sizes.names()
        if boxes:
            self.k.constants.append(tile)
        self.unroll = as_name(lowering.unroll_factor())
        self.k.settings = [self.unroll]
        asked = blocks_of(lowering.stm)
        self.asked_unroll = self.unroll if asked is not None and asked.unroll else False
        self.across, self.split, self.points, self.steps = (
            imp.Var(n) for n in (sizes.across, sizes.split, sizes.points, sizes.steps))
        self.r, self.u = lowering.names.fresh("r"), lowering.names.fresh("u")
        self.prims = [launches.prims_of(o) for o in exp.ops]

    def launch(self) -> None:
        """Generate and launch the kernel."""
        k, sizes = self.k, self.sizes
        outs = self.lowering.results
        self.changed = {out.mem for out in outs if out.mem is not None}
        self._place()
        totals = self._start()
        self._reduce(totals)
        with k.block() as alone:
            self._each_point(lambda r: self._finish(outs, imp.Var(self.x.name), r, [
                imp.Load(name, r, prim) for names, prims in zip(totals, self.prims, strict=True)
                for name, prim in zip(names, prims, strict=True)]))
        with k.block() as together:
            self._combine(totals, outs)
        k.emit(imp.If(op("eq", self.split, lit(1)), tuple(alone), tuple(together)))
        if k.scratch or k.lengths:
            raise CompilerLimitation("a blocked reduction cannot have scratch memory")
        kind = self.segments.kind + ("_boxed" if self.tiled else "")
        self.lowering.launch(k, kind, self._groups(), Size.var(sizes.group), fits=True)

    def _groups(self) -> Size:
        sizes, across, points = self.sizes, Size.var(self.sizes.across), Size.var(self.sizes.points)
        if self._is_flat:
            return sizes.batch * ceil_div(sizes.width, across * points)
        return sizes.batch * ceil_div(sizes.height, points) * ceil_div(sizes.width, across)

    @property
    def _is_flat(self) -> bool:
        """True if the axis is the last dimension of segments."""
        return self.axis == len(self.exp.space) - 2

    # Places

    def _place(self) -> None:
        """Set the segments of the work-item and its part of their elements."""
        k = self.k
        *outer, width = launches.widths(k, self.exp.space[:-1])
        span = op("mul", self.across, self.points) if self._is_flat else self.across
        along = k.declare("along", Prim.I64, ceil_quot(width, span))
        self.x = k.declare("x", Prim.I64, op("rem", launches.LID, self.across))
        self.y = k.declare("y", Prim.I64, op("quot", launches.LID, self.across))
        self.first = k.declare("first", Prim.I64,
                               op("mul", op("rem", launches.GROUP_ID, along), span))
        self.width = width
        rest = k.declare("rest", Prim.I64, op("quot", launches.GROUP_ID, along))
        if self._is_flat:
            self.begin = k.declare("begin", Prim.I64, op(
                "min", self.first, op("max", op("sub", width, span), lit(0))))
        else:
            height = outer.pop(self.axis)
            down = k.declare("down", Prim.I64, ceil_quot(height, self.points))
            self.top = k.declare("top", Prim.I64, op("mul", op("rem", rest, down), self.points))
            self.begin = k.declare("begin", Prim.I64, op(
                "min", self.top, op("sub", height, self.points)))
            rest = k.declare("batch", Prim.I64, op("quot", rest, down))
        self.outer = [k.declare("o", Prim.I64, i) for i in unflat_index(rest, outer)]

    def _segment(self, x: Exp, r: Exp) -> tuple[list[Exp], Exp]:
        """The indices of a segment, and the condition that it belongs to this group."""
        last = op("sub", self.width, lit(1))
        if self._is_flat:
            found = op("add", op("add", self.begin, x), op("mul", self.across, r))
            inside = op("add", op("min", op("add", self.begin, x), last), op("mul", self.across, r))
            return [*self.outer, inside], all_of(op("le", self.first, found),
                                                op("lt", found, self.width))
        column, row = op("add", self.first, x), op("add", self.begin, r)
        return ([*self.outer[: self.axis], row, *self.outer[self.axis:], op("min", column, last)],
                all_of(op("le", self.top, row), op("lt", column, self.width)))

    # Totals

    def _each_point(self, work: Callable[[Exp], None]) -> None:
        """Emit an unrolled loop over the segments of a work-item."""
        self.k.loop(self.points, work, base="r", unroll=True)

    def _start(self) -> list[list[VName]]:
        """Private arrays for the totals, set to the neutral elements."""
        k, totals = self.k, list[list[VName]]()
        for operator, prims in zip(self.exp.ops, self.prims, strict=True):
            totals.append([k.names.fresh("total") for _ in prims])
            k.emit(*(imp.DeclareArray(name, prim, self.sizes.points)
                     for name, prim in zip(totals[-1], prims, strict=True)))
            self._each_point(lambda r, o=operator, names=totals[-1], ps=prims: k.emit(*(  # type: ignore[misc]
                imp.Store(name, r, k.scalar(atom), prim)
                for name, atom, prim in zip(names, o.neutral, ps, strict=True))))
        return totals

    # Elements

    def _reduce(self, totals: Sequence[Sequence[VName]]) -> None:
        """Combine the work-item's elements.

        Elements of a work-item are contiguous, and so are its segments, unless segments have one
        dimension.  There the elements lie as far apart as the segments, if neighbouring segments
        overlap and the operators commute.
        """
        k = self.k
        length = k.scalar(self.exp.space[-1].width)
        if self.tiled:
            (self._reduce_tiles if self.of_elements else self._reduce_boxed)(totals, length)
            return
        if self.apart:
            def some(first: Exp) -> None:
                count = k.declare("count", Prim.I64, ceil_quot(op("sub", length, first),
                                                               self.across))
                self._elements(totals, first, self.across, count)

            k.loop(op("min", self.across, length), some, start=self.y, step=self.split,
                   base="first")
            return
        part = launches.even_part(k, length, self.y, self.split)
        count = k.declare("count", Prim.I64, op("max", op("sub", part.end, part.start), lit(0)))
        self._elements(totals, part.start, lit(1), count)

    @property
    def apart(self) -> bool:
        """True if the elements of a work-item lie as far apart as its segments."""
        return self._is_flat and self.sizes.slides and all(o.comm for o in self.exp.ops)

    def _reduce_tiles(self, totals: Sequence[Sequence[VName]], length: Exp) -> None:
        """Combine the elements, which the group copies to local memory tile by tile.

        The work-items of a segment divide each tile.  ``inner`` is the place of an element in it.
        """
        k, sizes, inner = self.k, self.sizes, self.k.names.fresh("inner")
        group = self._group_indices(k.declare("row", Prim.I64, lit(0)))
        stride = self.across if self.apart else lit(1)
        together = k.declare("together", Prim.I64, op("mul", self.steps, (
            stride if self.apart else self.split)))

        start, first = imp.Var(k.names.fresh("n")), imp.Var(k.names.fresh("first"))
        several, single = ((imp.Declare(inner, Prim.I64, place), *with_own_values(
            k, self._code(totals, op("add", start, imp.Var(inner)), self._places(group)),
            Segment(self.r, sizes.points), self.changed, (start.name, inner), length))
            for place in (op("add", first, op("mul", stride, imp.Var(self.u))), first))
        with k.block() as tile:
            count = k.declare("count", Prim.I64, op("min", imp.Var(sizes.tile),
                                                    op("sub", length, start)))
            whole = k.declare("whole", Prim.I64, op("sub", count, op("rem", count, together)))
            found = with_tiles(k, (several, single), self.changed, group, inner, count)
            self.boxes = found.boxes
            k.emit(*found.fetch)
            self._each_part(whole, first.name, found.codes[0], together)
            k.emit(self._loop(first.name, op("add", whole, self.y), count, self.split,
                              found.codes[1], self._single()))
        k.emit(imp.For(start.name, lit(0), length, imp.Var(sizes.tile), tuple(tile)))

    def _each_part(self, whole: Exp, first: VName, code: Sequence[imp.Stm], together: Exp) -> None:
        """Emit the loops over the parts of a tile that work-items go through at a time."""
        if not self.apart:
            self.k.emit(self._loop(first, op("mul", self.y, self.steps), whole, together, code,
                                   self._several()))
            return
        k = self.k

        def row(part: Exp, number: Exp) -> None:
            place = op("add", self.y, op("mul", self.split, number))
            k.emit(imp.Declare(first, Prim.I64, op("add", part, place)),
                   *coarsen(k.names, code, self._several(), self.unroll))

        k.loop(whole, lambda part: k.loop(op("quot", self.across, self.split), partial(row, part),
                                          base="row", unroll=self.unroll),
               step=together, base="part")

    def _loop(self, index: VName, start: Exp, bound: Exp, step: Exp, code: Sequence[imp.Stm],
              lanes: Lanes) -> imp.For:
        """A loop over code for lanes."""
        return imp.For(index, start, bound, step, tuple(
            coarsen(self.k.names, code, lanes, self.unroll)), unroll=self.unroll)

    def _places(self, group: GroupIndices) -> tuple[imp.Stm, ...]:
        """The place of a segment in the group, where the axis is the last dimension."""
        return (imp.Declare(group.place, Prim.I64, op("add", imp.Var(self.x.name), op(
            "mul", self.across, imp.Var(self.r)))),) if group.flat else ()

    def _group_indices(self, row: imp.Var) -> GroupIndices:
        """The indices that walk arrays in the group; ``row`` is a work-item's first element."""
        k, sizes = self.k, self.sizes
        flat, first = self._is_flat, self.begin if self._is_flat else self.first
        across = op("mul", self.across, self.points) if flat else self.across
        last = k.declare("last", Prim.I64, op("min", op("sub", across, lit(1)), op(
            "sub", op("sub", self.width, lit(1)), first)))
        return GroupIndices(
            self.r, sizes.points, self.u, sizes.steps, row.name, self.x.name,
            k.names.fresh("place") if flat else self.x.name, sizes.across, last, first,
            self._segment(self.x, imp.Var(self.r))[0][-1], self.y.name, sizes.split, sizes.tile,
            flat)

    def _reduce_boxed(self, totals: Sequence[Sequence[VName]], length: Exp) -> None:
        """Combine the work-item's elements, read from local memory.

        The work-items of a group go through the elements together.  The remainder is dealt out, and
        combined without local memory.
        """
        k = self.k
        if self._is_flat or not all(o.comm for o in self.exp.ops):
            raise CompilerLimitation("boxes need commuting operators and another axis")
        row = k.declare("row", Prim.I64, op("mul", self.y, self.steps))
        group = self._group_indices(row)
        together = k.declare("together", Prim.I64, op("mul", self.split, self.steps))
        whole = k.declare("whole", Prim.I64, op("sub", length, op("rem", length, together)))

        def some(number: Exp) -> None:
            code = self._code(totals, op("add", number, op("add", row, imp.Var(self.u))))
            found = with_boxes(k, code, self.changed, group, self.chosen)
            self.boxes = found.boxes
            self._emit(found, self._several())

        k.loop(whole, some, step=together, base="n")
        k.loop(length, lambda n: self._emit(self._code(totals, n), self._single()),
               start=op("add", whole, self.y), step=self.split, base="n")

    def _several(self) -> Lanes:
        """All steps of all segments of a work-item."""
        sizes, u, r = self.sizes, imp.Var(self.u), imp.Var(self.r)
        return Lanes(((self.u, sizes.steps), (self.r, sizes.points)), sizes.cells,
                     op("add", op("mul", u, self.points), r))

    def _single(self) -> Lanes:
        """The lanes that take one step of all segments."""
        return Lanes(((self.r, self.sizes.points),), self.sizes.points, imp.Var(self.r))

    def _code(self, totals: Sequence[Sequence[VName]], index: Exp, first: Sequence[imp.Stm] = ()
              ) -> tuple[imp.Stm, ...]:
        """The code for an element of a segment, after the statements ``first``."""
        k = self.k
        with k.block() as code:
            k.emit(*first)
            self._element(totals, imp.Var(self.r), k.declare("e", Prim.I64, index))
        found = with_roots(code)
        self.roots = any(map(is_by_root, found))
        self.loops_inside = _depth(code)
        self.loops = max(self.loops_inside, int(self.roots))
        return found

    def _emit(self, code: Sequence[imp.Stm] | BoxedCode, lanes: Lanes) -> None:
        """Emit code for lanes."""
        stms, before = (code.code, code.before) if isinstance(code, BoxedCode) else (code, {})
        self.k.emit(*coarsen(self.k.names, stms, lanes, self.unroll, before))

    def _elements(self, totals: Sequence[Sequence[VName]], start: Exp, stride: Exp,
                  count: Exp) -> None:
        """Combine ``count`` elements: blocks of steps, then the elements left over."""
        k, u = self.k, imp.Var(self.u)

        def element(number: Exp, lanes: Lanes) -> None:
            self._emit(self._code(totals, op("add", start, op("mul", number, stride))), lanes)

        whole = k.declare("whole", Prim.I64, op("sub", count, op("rem", count, self.steps)))
        k.loop(whole, lambda n: element(op("add", n, u), self._several()), step=self.steps,
               base="n", unroll=self.asked_unroll)
        k.loop(count, lambda n: element(n, self._single()), start=whole, base="n")

    def _element(self, totals: Sequence[Sequence[VName]], r: Exp, index: Exp) -> None:
        """Combine an element of segment ``r``."""
        k = self.k
        launches.bind_point(k, self.exp.space, [*self._segment(self.x, r)[0], index])
        values = k.body(self.exp.body)
        held = [launches.loaded(k, "total", names, r, prims)
                for names, prims in zip(totals, self.prims, strict=True)]
        k.accumulate_all(self.exp.ops, held, values)
        for names, prims, some in zip(totals, self.prims, held, strict=True):
            k.emit(*launches.stores(names, r, some, prims))

    # Results

    def _combine(self, totals: Sequence[Sequence[VName]], outs: Sequence[View]) -> None:
        """Combine the totals of the work-items that share a segment, in order."""
        k, sizes = self.k, self.sizes
        count = Size.var(sizes.points) * Size.var(sizes.group) * least(
            Size.of(1), Size.var(sizes.split) - Size.of(1))
        shared = launches.local_arrays(k, self.exp.ops, count)

        def cell(r: Exp, y: Exp, x: Exp) -> Exp:
            return op("add", op("mul", op("add", op("mul", r, self.split), y), self.across), x)

        self._each_point(lambda r: k.emit(*(
            imp.Store(mem, cell(r, self.y, self.x), imp.Load(name, r, prim), prim)
            for mems, names, prims in zip(shared, totals, self.prims, strict=True)
            for mem, name, prim in zip(mems, names, prims, strict=True))))
        k.emit(imp.Barrier(imp.Space.LOCAL))

        def point(number: Exp) -> None:
            x = k.declare("x", Prim.I64, op("rem", number, self.across))
            r = k.declare("r", Prim.I64, op("quot", number, self.across))

            def part(y: Exp) -> list[list[imp.Var]]:
                return [launches.loaded(k, "part", mems, cell(r, y, x), prims)
                        for mems, prims in zip(shared, self.prims, strict=True)]

            found = part(lit(0))
            k.loop(self.split, lambda y: k.accumulate_all(
                self.exp.ops, found, [v for some in part(y) for v in some]), start=lit(1), base="y")
            self._finish(outs, x, r, [v for some in found for v in some])

        k.loop(op("mul", self.points, self.across), point, start=launches.LID, step=launches.LSIZE,
               base="p")

    def _finish(self, outs: Sequence[View], x: Exp, r: Exp, totals: Sequence[Exp]) -> None:
        """Write the results of a segment if it belongs to this group."""
        k = self.k
        indices, own = self._segment(x, r)
        with k.when(own):
            launches.store_results(k, outs, indices, self.segments.finish(k, indices, totals))


def _depth(code: Sequence[imp.Stm]) -> int:
    """The depth of nested loops."""
    return max((isinstance(stm, imp.For | imp.While) + max(map(_depth, blocks(stm)), default=0)
                for stm in code), default=0)
