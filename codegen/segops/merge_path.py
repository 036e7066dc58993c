"""Merge paths: elements and ends of segments in one order, cut into equal parts.

The path merges two sorted lists, the places of elements and the ends of segments.  A step takes an
element into a total, or ends a segment.  So an empty segment costs a step, and a part is as long as
any other, whatever the lengths are.  A part begins behind s segments and e elements if s + e steps
come before it.  A search in the offsets finds them.

- On devices with coalesced accesses a group has a *tile* of the path.  Its work-items search
  together, with a probe each.  The ends of the tile's segments go to local memory.  Each work-item
  walks through its chunk and notes the segments of elements.  Then neighbouring work-items read
  neighbouring elements, and put the operands to local memory.
- On other devices a work-item has a part of the path.

:mod:`~runelift.codegen.segops.segred_merge` reduces segments along a path,
:mod:`~runelift.codegen.segops.segscan_merge` scans them.

Source: Merrill and Garland 2016, "Merge-based parallel sparse matrix-vector multiplication".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.collectives import group_scan, truth
from runelift.codegen.kernel.launch_builder import LID, LSIZE
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.passes.accesses import IS_FIRST, PADDING, padded
from runelift.codegen.passes.barriers import insert_barriers
from runelift.codegen.plan import plan
from runelift.codegen.plan.parameters import Quantity
from runelift.codegen.plan.shapes.scan_tile import ScanTileShape
from runelift.codegen.plan.shapes.subgroup_size import SubGroupSize
from runelift.codegen.plan.views import View, ceil_quot, lit, op
from runelift.codegen.segops.ragged import RaggedSegment, announce, offset, ragged_of
from runelift.codegen.segops.scan_tiles import Scan, combine
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.ragged import Ragged
from runelift.ir.sizes import Size, ceil_div, least
from runelift.ir.syntax import SegRed, SegScan
from runelift.ir.types import i64

LEAST_STEPS = 4096
"""The least steps of a part for which a processor gets a further work-item."""
STEP_BYTES = 4
"""The bytes of local memory for a step: where a segment ends, and the segment of an element."""
SMALL = Prim.U16
"""The type of numbers of elements of a tile."""
Totals = Sequence[Sequence[imp.Var]]
"""Totals per operator and value."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The ``count`` parts of a path of ``steps``, and what each leaves for later parts.

    ``tails`` are the totals behind the last end of a segment in a part, per operator and value.
    ``firsts`` are the first segments that end in a part, or -1.
    """

    exp: SegRed | SegScan
    prims: list[list[Prim]]
    steps: VName
    count: VName
    tails: list[list[VName]]
    firsts: VName

    def leave(self, k: KernelBuilder, part: Exp, first: Exp, totals: Totals) -> None:
        """Emit the stores of what a part leaves."""
        k.emit(imp.Store(self.firsts, part, first, Prim.I64), *self.put(part, totals))

    def put(self, part: Exp, totals: Totals) -> list[imp.Stm]:
        """The stores of totals at a part."""
        return [imp.Store(m, part, t, p) for mems, ts, ps in zip(
            self.tails, totals, self.prims, strict=True) for m, t, p in zip(
                mems, ts, ps, strict=True)]

    def tail(self, k: KernelBuilder, part: Exp) -> list[list[imp.Var]]:
        """The totals that a part has left, or got."""
        return [[k.declare("tail", p, imp.Load(m, part, p)) for m, p in zip(mems, ps, strict=True)]
                for mems, ps in zip(self.tails, self.prims, strict=True)]


def steps_of(lowering: launches.Lowering, exp: SegRed | SegScan) -> VName:
    """The number of steps of a path."""
    return lowering.scalar("steps", lowering.size(exp.space[0].width)
                           + lowering.size(ragged_of(exp).total))


def parts_of(lowering: launches.Lowering, exp: SegRed | SegScan, steps: VName,
             count: Size) -> Parts:
    """So many parts of a path, and memory for what they leave."""
    number, prims = lowering.scalar("parts", count), _prims(exp)
    return Parts(exp, prims, steps, number,
                 [[lowering.temporary("tail", p, Size.var(number)) for p in ps] for ps in prims],
                 lowering.temporary("first", Prim.I64, Size.var(number)))


def parts_of_items(lowering: launches.Lowering, exp: SegRed | SegScan) -> Parts:
    """The parts of single work-items: enough for all cores."""
    steps = steps_of(lowering, exp)
    return parts_of(lowering, exp, steps, least(lowering.groups, ceil_div(
        Size.var(steps), Size.of(LEAST_STEPS))))


def tiles_of(lowering: launches.Lowering, exp: SegRed | SegScan) -> Scan:
    """The tiles of a path, as in a scan of its steps; adds the step that chooses them."""
    fresh, prims = lowering.names.fresh, _prims(exp)
    shape = ScanTileShape(
        fresh("group"), fresh("staged"), fresh("chunk"), fresh("window"), fresh("patience"),
        steps_of(lowering, exp), sum(p.bytes for ps in prims for p in ps) + STEP_BYTES,
        lowering.group_size, lowering.setting(Quantity.CHUNK))
    subgroup = fresh("subgroup")
    lowering.steps += [shape, SubGroupSize(subgroup, shape.group)]
    lowering.env = launches.WithScalar(lowering.env, shape.patience)
    return Scan(exp, prims, shape, subgroup, lowering.scalar("tiles", ceil_div(
        Size.var(shape.points), Size.var(shape.group) * Size.var(shape.chunk))))


def by_patience(lowering: launches.Lowering, scan: Scan, once: Callable[[], None],
                twice: Callable[[], None]) -> None:
    """Add the kernels of ``once`` if groups may wait for each other, else of ``twice``."""
    first, second = (launches.branch(lowering, once, "one pass"),
                     launches.branch(lowering, twice, "two passes"))
    patient = lowering.names.fresh("patient")
    lowering.steps.append(
        plan.Compute(patient, "lt", Prim.I64, (i64(0), scan.tile_shape.patience)))
    launches.choose(lowering, patient, first, second)


def if_several(lowering: launches.Lowering, parts: Parts, make: Callable[[], None]) -> None:
    """Add what ``make`` adds, for several parts only."""
    several = lowering.names.fresh("several")
    lowering.steps += [plan.Compute(several, "lt", Prim.I64, (i64(1), parts.count)),
                       plan.Branch(several, launches.branch(lowering, make, "several parts"), ())]


def _prims(exp: SegRed | SegScan) -> list[list[Prim]]:
    return [[launches.require_scalar(t) for t in o.lam.ret] for o in exp.ops]


@dataclass(frozen=True, slots=True)
class Path:
    """The path of an operation in a kernel; ``outs`` are the further results of its map."""

    k: KernelBuilder
    exp: SegRed | SegScan
    outs: Sequence[View]

    @property
    def ragged(self) -> Ragged:
        """The widths of segments."""
        return ragged_of(self.exp)

    @property
    def segments(self) -> Exp:
        """The number of segments."""
        return self.k.scalar(self.exp.space[0].width)

    @property
    def elements(self) -> Exp:
        """The number of elements."""
        return self.k.scalar(self.ragged.total)

    def offset(self, segment: Exp) -> Exp:
        """The place of the first element of a segment."""
        return offset(self.k, self.ragged, segment)

    def bounds(self, steps: Exp) -> tuple[Exp, Exp]:
        """The fewest and the most segments that can have ended after so many steps."""
        return most_of(lit(0), op("sub", steps, self.elements)), least_of(steps, self.segments)

    def ended(self, segment: Exp, steps: Exp) -> Exp:
        """True if a segment has ended after so many steps."""
        return at_most(self.offset(op("add", segment, lit(1))),
                       op("sub", op("sub", steps, segment), lit(1)))

    def segment(self, totals: Totals, number: Exp, start: Exp) -> RaggedSegment:
        """The segment with a number, whose first element is at ``start``."""
        return RaggedSegment(self.k, self.exp, totals, self.outs, [number], lit(0), start)

    def search(self, steps: Exp) -> imp.Var:
        """The number of segments that have ended after so many steps, by a binary search."""
        k = self.k
        fewest, most = self.bounds(steps)
        low, high = k.declare("low", Prim.I64, fewest), k.declare("high", Prim.I64, most)
        _halve(k, low, high, bits(self.segments), lambda middle: self.ended(middle, steps))
        return low


class PartOfItem:
    """The part of the path that a work-item goes through, segment by segment."""

    def __init__(self, k: KernelBuilder, parts: Parts, outs: Sequence[View]) -> None:
        """Find the first segment and element of the part, and where it ends."""
        self.k, self.parts, self.path = k, parts, Path(k, parts.exp, outs)
        steps = imp.Var(parts.steps)
        self.number = k.declare("part", Prim.I64, launches.GID)
        length = k.declare("chunk", Prim.I64, ceil_quot(steps, imp.Var(parts.count)))
        begin = k.declare("begin", Prim.I64, least_of(op("mul", self.number, length), steps))
        end = k.declare("end", Prim.I64, least_of(op("add", begin, length), steps))
        self.first, self.last = self.path.search(begin), self.path.search(end)
        self.element = k.declare("element", Prim.I64, op("sub", begin, self.first))
        self.bound = op("sub", end, self.last)

    def each(self, fold: Callable[[Exp, Exp], None], finish: Callable[[Exp], None]) -> None:
        """Emit the loop over segments that end in the part, and what is left of another.

        ``fold`` takes the elements of a segment from ``element`` on up to a place.  ``finish`` is
        the work at the end of a segment.
        """
        k, path = self.k, self.path

        def segment(number: Exp) -> None:
            until = k.declare("stop", Prim.I64, path.offset(op("add", number, lit(1))))
            fold(number, until)
            finish(number)
            k.emit(imp.Assign(self.element.name, until))

        k.loop(self.last, segment, start=self.first, base="s")
        announce(k, path.segments, imp.Var(self.parts.count))
        with k.block() as rest:
            fold(self.last, k.declare("stop", Prim.I64, self.bound))
        k.emit(imp.If(op("lt", self.last, path.segments), tuple(rest)))

    def leave(self, totals: Totals) -> None:
        """Emit the stores of what the part leaves."""
        self.parts.leave(self.k, self.number, imp.Select(
            op("lt", self.first, self.last), self.first, lit(-1), Prim.I64), totals)

    def launch(self, lowering: launches.Lowering, kind: str) -> None:
        """Launch the kernel."""
        lowering.launch(self.k, kind, Size.var(self.parts.count), Size.of(1))


class Tile:
    """A kernel whose groups have a tile of the path each.

    ``ends`` has the ends of its segments, counted from its first element.  ``owners`` has the
    segments of its elements, counted from its first segment.  ``stages`` has their operands, and
    ``found`` the bounds of two searches.
    """

    def __init__(self, lowering: launches.Lowering, scan: Scan, outs: int) -> None:
        """Declare the memory of a tile; the first ``outs`` results are totals."""
        fresh, shape = lowering.names.fresh, scan.tile_shape
        self.lowering, self.scan, self.shape = lowering, scan, shape
        self.k = lowering.builder()
        self.k.constants = [shape.group, scan.subgroup, shape.chunk]
        self.path = Path(self.k, scan.exp, lowering.results[outs:])
        self.number = imp.Var(fresh("tile"))
        self.found = [fresh("found") for _ in range(2)]
        self.ends, self.owners = fresh("ends"), fresh("owners")
        self.stages = [fresh("stage") for _ in scan.values()]
        cells = Size.var(shape.group) * Size.var(shape.chunk)
        room = cells + ceil_div(cells, Size.of(PADDING))
        self.k.locals = [
            *(imp.LocalArray(found, Prim.I64, Size.of(2)) for found in self.found),
            imp.LocalArray(self.ends, SMALL, room), imp.LocalArray(self.owners, SMALL, room),
            *(imp.LocalArray(m, p, room)
              for m, p in zip(self.stages, scan.values(), strict=True))]

    @property
    def chunk(self) -> Exp:
        """The steps of a work-item."""
        return imp.Var(self.shape.chunk)

    @property
    def items(self) -> Exp:
        """The work-items of all groups."""
        return op("mul", imp.Var(self.scan.tiles), imp.Var(self.shape.group))

    def number_by_group(self) -> None:
        """Let the tile be that of the group's number."""
        self.k.emit(imp.Declare(self.number.name, Prim.I64, launches.GROUP_ID))

    def emit_ordered(self, code: Sequence[imp.Stm]) -> None:
        """Emit code with the barriers that it needs."""
        self.k.emit(*insert_barriers(code, [s.name for s in self.k.scratch],
                                     constants=self.k.constants))

    def launch(self, kind: str, code: Sequence[imp.Stm]) -> None:
        """Launch the kernel of this code for a tile; few groups if work-items keep arrays."""
        k, groups = self.k, Size.var(self.scan.tiles)
        if k.scratch:
            k.emit(imp.For(k.names.fresh("turn"), launches.GROUP_ID, imp.Var(self.scan.tiles),
                           launches.GROUP_COUNT, (*code, imp.Barrier(imp.Space.LOCAL))))
            groups = least(groups, self.lowering.groups)
        else:
            k.emit(*code)
        self.lowering.build_for_fixed(k)
        self.lowering.launch(k, kind, groups, Size.var(self.shape.group), fits=True)

    # Places

    def place(self) -> None:
        """Find the first segment and element of the tile, how many there are, and its steps."""
        k, full = self.k, op("mul", LSIZE, self.chunk)
        begin = k.declare("begin", Prim.I64, op("mul", self.number, full))
        end = k.declare("end", Prim.I64, least_of(
            op("add", begin, full), imp.Var(self.shape.points)))
        self.first, last = self._search([begin, end])
        self.element = k.declare("element", Prim.I64, op("sub", begin, self.first))
        self.rows = k.declare("rows", Prim.I64, op("sub", last, self.first))
        self.steps = k.declare("length", Prim.I64, op("sub", end, begin))
        self.count = k.declare("count", Prim.I64, op("sub", self.steps, self.rows))
        self.start = k.declare("start", Prim.I64, self.path.offset(self.first))

    @property
    def open(self) -> Exp:
        """True if the first segment of the tile has begun in an earlier one."""
        return imp.Apply("and", Prim.BOOL, (op("lt", lit(0), self.number),
                                            op("lt", self.start, self.element)))

    @property
    def first_end(self) -> Exp:
        """The first segment that ends in the tile, or -1."""
        return imp.Select(op("lt", lit(0), self.rows), self.first, lit(-1), Prim.I64)

    def _search(self, diagonals: Sequence[Exp]) -> list[imp.Var]:
        """The number of segments that have ended after so many steps, for each number of steps.

        Work-items divide the range into equal parts, and look at the end of one each.  The
        work-item whose end is the last one before the place writes the part behind it.
        """
        k = self.k
        ranges = [(k.declare("low", Prim.I64, low), k.declare("high", Prim.I64, high))
                  for low, high in map(self.path.bounds, diagonals)]
        per = op("sub", lit(63), imp.Apply("clz", Prim.I64, (op("add", LSIZE, lit(1)),)))
        turns = k.declare("turns", Prim.I64, ceil_quot(bits(self.path.segments), per))

        def divide(_: Exp) -> None:
            looks = [self._look(diagonal, *bounds)
                     for diagonal, bounds in zip(diagonals, ranges, strict=True)]
            for found, (ends, low, high) in zip(self.found, looks, strict=True):
                k.emit(imp.If(ends, (imp.Store(found, lit(0), low, Prim.I64),
                                     imp.Store(found, lit(1), high, Prim.I64))))
            for found, bounds in zip(self.found, ranges, strict=True):
                for place, bound in enumerate(bounds):
                    k.emit(imp.Assign(bound.name, imp.Load(found, lit(place), Prim.I64)))

        k.loop(turns, divide, base="turn")
        return [low for low, _ in ranges]

    def _look(self, diagonal: Exp, low: imp.Var, high: imp.Var) -> tuple[Exp, Exp, Exp]:
        """Emit a turn of a search.

        The result is true in the work-item that finds the next range, and that range.
        """
        k = self.k
        width = op("add", op("sub", high, low), LSIZE)
        step = k.declare("step", Prim.I64, most_of(lit(1), op(
            "quot", width, op("add", LSIZE, lit(1)))))

        def before(number: Exp) -> Exp:
            probe = op("sub", op("add", low, op("mul", op("add", number, lit(1)), step)), lit(1))
            return imp.Select(op("lt", probe, high), self.path.ended(probe, diagonal),
                              truth(False), Prim.BOOL)

        mine, after = k.declare("mine", Prim.BOOL, before(LID)), op("add", LID, lit(1))
        following = k.declare("following", Prim.BOOL, imp.Select(
            op("lt", after, LSIZE), before(after), truth(False), Prim.BOOL))
        number = k.declare("number", Prim.I64, imp.Select(mine, after, LID, Prim.I64))
        start = k.declare("from", Prim.I64, op("add", low, op("mul", number, step)))
        # no work-item has looked at the end of the last part
        bound = imp.Select(op("lt", number, LSIZE), least_of(
            high, op("sub", op("add", start, step), lit(1))), high, Prim.I64)
        finds = imp.Select(mine, negated(following), IS_FIRST, Prim.BOOL)
        return finds, start, bound

    # Elements

    def stage(self, totals: Totals, alone: Exp | None = None) -> None:
        """Bring the ends of segments and the operands of elements to local memory.

        In a tile that is ``alone`` nothing is left to do.
        """
        k = self.k
        staged = self.count if alone is None else k.declare("staged", Prim.I64, imp.Select(
            alone, lit(0), self.count, Prim.I64))
        k.loop(self.rows, lambda r: k.emit(imp.Store(
            self.ends, padded(r), small(op("sub", self.path.offset(
                op("add", self.first, op("add", r, lit(1)))), self.element)), SMALL)),
               start=LID, step=LSIZE, base="r")
        announce(k, self.path.segments, self.items)
        self._find_chunk()
        if alone is not None:
            k.emit(imp.If(alone, (imp.Assign(self.walked.name, lit(0)),)))
        self.walk(lambda row: [], lambda row, place: [
            imp.Store(self.owners, padded(place), small(row), SMALL)])
        k.loop(staged, lambda place: self._operands(totals, place), start=LID, step=LSIZE,
               base="x")
        announce(k, self.path.elements, self.items)

    def _end_of(self, row: Exp) -> Exp:
        """The end of a segment of the tile, counted from the first element."""
        return imp.Convert(SMALL, Prim.I64, imp.Load(self.ends, padded(row), SMALL))

    def _find_chunk(self) -> None:
        """Find the segment and the element where the work-item's chunk begins."""
        k = self.k
        at = k.declare("at", Prim.I64, least_of(op("mul", LID, self.chunk), self.steps))
        self.walked = k.declare("walked", Prim.I64, least_of(self.chunk, op("sub", self.steps, at)))
        self.row = k.declare("row", Prim.I64, most_of(lit(0), op("sub", at, self.count)))
        high = k.declare("high", Prim.I64, least_of(at, self.rows))
        _halve(k, self.row, high, bits(self.rows), lambda middle: at_most(
            self._end_of(middle), op("sub", op("sub", at, middle), lit(1))))
        self.begin = k.declare("place", Prim.I64, op("sub", at, self.row))

    def walk(self, at_end: Callable[[Exp], Sequence[imp.Stm]],
             at_element: Callable[[Exp, Exp], Sequence[imp.Stm]]) -> None:
        """Emit a walk through the work-item's chunk."""
        k = self.k
        row, place = k.declare("r", Prim.I64, self.row), k.declare("x", Prim.I64, self.begin)

        def step(_: Exp) -> None:
            ends = imp.Select(op("lt", row, self.rows), at_most(self._end_of(row), place),
                              truth(False), Prim.BOOL)
            k.emit(imp.If(ends, (
                *at_end(row), imp.Assign(row.name, op("add", row, lit(1)))), (
                *at_element(row, place), imp.Assign(place.name, op("add", place, lit(1))))))

        k.loop(self.walked, step, base="t")
        announce(k, imp.Var(self.shape.points), self.items)

    def _operands(self, totals: Totals, place: Exp) -> None:
        """Emit the code that brings the operands of an element to local memory."""
        k = self.k
        row = k.declare("owner", Prim.I64, imp.Convert(SMALL, Prim.I64, imp.Load(
            self.owners, padded(place), SMALL)))
        start = k.declare("begin", Prim.I64, imp.Select(
            op("lt", lit(0), row), op("add", self.element, self._end_of(op("sub", row, lit(1)))),
            self.start, Prim.I64))
        each = self.path.segment(totals, op("add", self.first, row), start)
        values = each.element(k.declare("j", Prim.I64, op(
            "sub", op("add", self.element, place), start)))
        k.emit(*(imp.Store(m, padded(place), v, p) for m, v, p in zip(
            self.stages, values, self.scan.values(), strict=True) if not isinstance(v, View)))

    def staged(self, place: Exp) -> list[imp.Var]:
        """The operands of an element, or what has been put in their place."""
        return [self.k.declare("value", p, imp.Load(m, padded(place), p))
                for m, p in zip(self.stages, self.scan.values(), strict=True)]

    def restage(self, place: Exp, values: Sequence[Exp]) -> list[imp.Stm]:
        """The stores of values in place of operands."""
        return [imp.Store(m, padded(place), v, p)
                for m, v, p in zip(self.stages, values, self.scan.values(), strict=True)]

    # Totals

    def exchange(self, totals: Totals, fresh: imp.Var) -> list[list[imp.Var]]:
        """The totals before each work-item's chunk, within the tile; not set for the first."""
        return [group_scan(self.k, o, t, Size.var(self.shape.group), fresh, self.scan.subgroup)
                for o, t in zip(self.scan.exp.ops, totals, strict=True)]

    def combine(self, left: Sequence[Sequence[imp.Var]], right: Totals) -> tuple[imp.Stm, ...]:
        """The code of ``right := op left right`` for each operator."""
        with self.k.block() as code:
            for op_, one, other in zip(self.scan.exp.ops, left, right, strict=True):
                combine(self.k, op_, one, other)
        return tuple(code)

    def held(self, base: str, values: Sequence[Sequence[Exp]]) -> list[list[imp.Var]]:
        """New variables with these values."""
        return [[self.k.declare(base, p, v) for p, v in zip(ps, vs, strict=True)]
                for ps, vs in zip(self.scan.prims, values, strict=True)]

    def complete(self, totals: Totals, carries: Totals, fresh: imp.Var) -> None:
        """Make the last work-item's totals the totals of the tile."""
        later = imp.Apply("and", Prim.BOOL, (op("lt", lit(0), LID), negated(fresh)))
        self.k.emit(imp.If(later, self.combine(carries, totals)))


def join(lowering: launches.Lowering, parts: Parts, found: Callable[
        [KernelBuilder, Exp, Totals], None]) -> None:
    """Add a kernel in which a group finds the total before each part, behind the last end.

    Each work-item has a run of parts.  ``found`` gets the builder, a part, and the total before.
    """
    k, exp = lowering.builder_of_groups(), parts.exp
    part = launches.even_part(k, imp.Var(parts.count), LID, LSIZE)
    totals = [launches.scalars(k.neutral(o)) for o in exp.ops]
    fresh = k.declare("fresh", Prim.BOOL, truth(False))

    def take(number: Exp, into: Totals, after: Sequence[imp.Stm]) -> None:
        """Take in a part, whose tail counts alone if a segment ends there."""
        tail = parts.tail(k, number)
        with k.block() as begin:
            launches.reset(k, exp.ops, into)
            k.emit(*after)
        k.emit(imp.If(at_most(lit(0), imp.Load(parts.firsts, number, Prim.I64)), tuple(begin)))
        k.accumulate_all(exp.ops, into, [t for ts in tail for t in ts])

    k.loop(part.end, lambda p: take(p, totals, [imp.Assign(fresh.name, truth(True))]),
           start=part.start, base="p")
    carries = [group_scan(k, o, t, lowering.group, fresh, k.constants[1])
               for o, t in zip(exp.ops, totals, strict=True)]
    with k.block() as none:
        launches.reset(k, exp.ops, carries)
    k.emit(imp.If(imp.Apply("eq", Prim.I64, (LID, lit(0))), tuple(none)))

    def complete(number: Exp) -> None:
        before = [[k.declare("before", p, c) for p, c in zip(ps, cs, strict=True)]
                  for ps, cs in zip(parts.prims, carries, strict=True)]
        take(number, carries, [])
        found(k, number, before)

    k.loop(part.end, complete, start=part.start, base="p")
    k.code = list(insert_barriers(k.code, constants=k.constants))
    lowering.launch_groups(k, "merge_joined", Size.of(1))


def _halve(k: KernelBuilder, low: imp.Var, high: imp.Var, turns: Exp,
           before: Callable[[Exp], Exp]) -> None:
    """Emit a binary search for the first number from ``low`` on that is not ``before``."""
    def halve(_: Exp) -> None:
        middle = k.declare("middle", Prim.I64, op("quot", op("add", low, high), lit(2)))
        k.emit(imp.If(op("lt", low, high), (imp.If(
            before(middle), (imp.Assign(low.name, op("add", middle, lit(1))),),
            (imp.Assign(high.name, middle),)),)))

    k.loop(turns, halve, base="turn")


def bits(count: Exp) -> Exp:
    """The turns of a binary search among so many numbers."""
    return op("sub", lit(64), imp.Apply("clz", Prim.I64, (count,)))


def small(count: Exp) -> Exp:
    """A number of elements of a tile."""
    return imp.Convert(Prim.I64, SMALL, count)


def least_of(left: Exp, right: Exp) -> Exp:
    """The lesser of two numbers."""
    return imp.Apply("min", Prim.I64, (left, right))


def most_of(left: Exp, right: Exp) -> Exp:
    """The greater of two numbers."""
    return imp.Apply("max", Prim.I64, (left, right))


def at_most(left: Exp, right: Exp) -> Exp:
    """True if a number is not above another."""
    return imp.Apply("le", Prim.I64, (left, right))


def negated(value: Exp) -> Exp:
    """True if a condition does not hold."""
    return imp.Apply("not", Prim.BOOL, (value,))
