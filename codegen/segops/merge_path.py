"""Reductions along a merge path: equal parts of elements and ends of segments, for every work-item.

The path merges two sorted lists, the places of elements and the ends of segments.  A step takes an
element into a total, or ends a segment and stores its total.  So empty segments cost a step each,
and a part is as long as any other, whatever the lengths are.  A part begins behind s segments and
e elements if s + e steps come before it.  A search in the offsets finds them.

- ``merge_tiles``, on devices with coalesced accesses: a group has a tile of the path.  Its
  work-items search together, with a probe each.  The ends of the tile's segments go to local
  memory.  Each work-item walks through its chunk and notes the segments of elements.  Neighbouring
  work-items read neighbouring elements, and put the operands to local memory.  Each work-item
  walks again, and folds.  A scan of the work-items' totals completes segments that began in earlier
  chunks.  If no segment ends in a tile and the operators commute, it is folded without a walk.
- ``merge_parts``, on other devices: a work-item has a part of the path, segment by segment.
- ``merge_joined``: the first segment that ends in a tile may have begun in an earlier one.  One
  group scans the totals behind the last ends of tiles, and completes these segments.

Source: Merrill and Garland 2016, "Merge-based parallel sparse matrix-vector multiplication".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.collectives import group_scan, group_total, truth
from runelift.codegen.kernel.kernel_builder import Value
from runelift.codegen.kernel.launch_builder import LID, LSIZE
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.passes.accesses import IS_FIRST, PADDING, padded
from runelift.codegen.passes.barriers import insert_barriers
from runelift.codegen.plan import plan
from runelift.codegen.plan.parameters import Quantity
from runelift.codegen.plan.shapes.merge_tile import MergeTileShape
from runelift.codegen.plan.shapes.subgroup_size import SubGroupSize
from runelift.codegen.plan.views import View, ceil_quot, lit, op
from runelift.codegen.segops.ragged import RaggedSegment, announce, expect, offset, ragged_of
from runelift.codegen.segops.scan_tiles import combine
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.ragged import Ragged
from runelift.ir.sizes import Size, ceil_div, least
from runelift.ir.syntax import SegRed
from runelift.ir.types import i64

LEAST_STEPS = 4096
"""The least steps of a part for which a processor gets a further work-item."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts of a path, and what each leaves for :func:`_join`.

    ``tails`` are the totals behind the last end of a segment in a part, per operator and value.
    ``firsts`` are the first segments that end in a part, or -1.
    """

    exp: SegRed
    steps: VName
    count: VName
    tails: list[list[VName]]
    firsts: VName

    @property
    def prims(self) -> list[list[Prim]]:
        """The types of a total."""
        return [[launches.require_scalar(t) for t in o.lam.ret] for o in self.exp.ops]

    def leave(self, k: KernelBuilder, part: Exp, first: Exp,
              totals: Sequence[Sequence[Exp]]) -> None:
        """Emit the stores of what a part leaves."""
        k.emit(imp.Store(self.firsts, part, first, Prim.I64))
        k.emit(*(imp.Store(m, part, t, p) for mems, ts, ps in zip(
            self.tails, totals, self.prims, strict=True) for m, t, p in zip(
                mems, ts, ps, strict=True)))


def merged(lowering: launches.Lowering, exp: SegRed) -> None:
    """Add the kernels of a reduction along a merge path."""
    steps = lowering.scalar("steps", lowering.size(exp.space[0].width)
                            + lowering.size(ragged_of(exp).total))
    if lowering.interleave:
        fresh = lowering.names.fresh
        shape = MergeTileShape(
            fresh("group"), fresh("chunk"), Size.var(steps), launches.item_bytes(exp.ops),
            lowering.group_size, lowering.setting(Quantity.CHUNK))
        lowering.steps.append(shape)
        parts = _parts(lowering, exp, steps, ceil_div(
            Size.var(steps), Size.var(shape.group) * Size.var(shape.chunk)))
        _Tile(lowering, parts, shape).launch()
    else:
        parts = _parts(lowering, exp, steps, least(lowering.groups, ceil_div(
            Size.var(steps), Size.of(LEAST_STEPS))))
        _fold_parts(lowering, parts)
    several = lowering.names.fresh("several")
    lowering.steps += [
        plan.Compute(several, "lt", Prim.I64, (i64(1), parts.count)),
        plan.Branch(several, launches.branch(lowering, lambda: _join(lowering, parts),
                                             "several parts"), ())]


def _parts(lowering: launches.Lowering, exp: SegRed, steps: VName, count: Size) -> _Parts:
    """So many parts of a path, and memory for what they leave."""
    number = lowering.scalar("parts", count)
    return _Parts(exp, steps, number, [
        [lowering.temporary("tail", launches.require_scalar(t), Size.var(number))
         for t in o.lam.ret] for o in exp.ops],
        lowering.temporary("first", Prim.I64, Size.var(number)))


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the elements of segments by their places among all elements."""

    k: KernelBuilder
    exp: SegRed
    outs: Sequence[View]
    """The further results of the map."""

    @property
    def ragged(self) -> Ragged:
        """The widths of segments."""
        return ragged_of(self.exp)

    def offset(self, segment: Exp) -> Exp:
        """The place of the first element of a segment."""
        return offset(self.k, self.ragged, segment)

    def bounds(self, diagonal: Exp) -> tuple[Exp, Exp]:
        """The fewest and the most segments that can have ended after so many steps."""
        segments, elements = self.k.scalar(self.exp.space[0].width), self.k.scalar(
            self.ragged.total)
        return (_most(lit(0), op("sub", diagonal, elements)), _least(diagonal, segments))

    def ended(self, segment: Exp, diagonal: Exp) -> Exp:
        """True if a segment has ended after so many steps."""
        return _at_most(self.offset(op("add", segment, lit(1))),
                        op("sub", op("sub", diagonal, segment), lit(1)))

    def segment(self, totals: Sequence[Sequence[imp.Var]], number: Exp, start: Exp
                ) -> RaggedSegment:
        """The segment with a number, whose first element is at ``start``."""
        return RaggedSegment(self.k, self.exp, totals, self.outs, [number], lit(0), start)


# Parts of work-items


def _fold_parts(lowering: launches.Lowering, parts: _Parts) -> None:
    """Add a kernel whose work-items fold a part of the path each, segment by segment."""
    exp, k, outs = parts.exp, lowering.builder(), lowering.results
    values = sum(len(ps) for ps in parts.prims)
    reader, ragged = _Reader(k, exp, outs[values:]), ragged_of(exp)
    steps, segments = imp.Var(parts.steps), k.scalar(exp.space[0].width)
    number = k.declare("part", Prim.I64, launches.GID)
    length = k.declare("chunk", Prim.I64, ceil_quot(steps, imp.Var(parts.count)))
    begin = k.declare("begin", Prim.I64, _least(op("mul", number, length), steps))
    end = k.declare("end", Prim.I64, _least(op("add", begin, length), steps))
    first, last = _search_alone(reader, begin), _search_alone(reader, end)
    element = k.declare("element", Prim.I64, op("sub", begin, first))
    totals = [launches.scalars(k.neutral(o)) for o in exp.ops]

    def fold(segment: Exp, until: Exp) -> None:
        """Fold the elements from ``element`` on up to a place, which may be in the segment."""
        start = k.declare("start", Prim.I64, reader.offset(segment))
        each = reader.segment(totals, segment, start)
        inside = k.declare("until", Prim.I64, op("sub", until, start))
        index = k.declare("index", Prim.I64, op("sub", element, start))
        each.fold(each.fold_lanes(index, inside, part=True), inside, lit(1))
        expect(k, ragged, k.scalar(exp.space[0].width))

    def row(segment: Exp) -> None:
        until = k.declare("stop", Prim.I64, reader.offset(op("add", segment, lit(1))))
        fold(segment, until)
        k.emit(*(out.write([segment], t) for out, t in zip(
            outs, [t for ts in totals for t in ts], strict=False)))
        launches.reset(k, exp.ops, totals)
        k.emit(imp.Assign(element.name, until))

    k.loop(last, row, start=first, base="s")
    announce(k, segments, imp.Var(parts.count))
    with k.block() as rest:
        fold(last, k.declare("stop", Prim.I64, op("sub", end, last)))
    k.emit(imp.If(op("lt", last, segments), tuple(rest)))
    parts.leave(k, number, imp.Select(op("lt", first, last), first, lit(-1), Prim.I64), totals)
    lowering.launch(k, "merge_parts", Size.var(parts.count), Size.of(1))


def _search_alone(reader: _Reader, diagonal: Exp) -> imp.Var:
    """The number of segments that have ended after so many steps, by a binary search."""
    k = reader.k
    fewest, most = reader.bounds(diagonal)
    low, high = k.declare("low", Prim.I64, fewest), k.declare("high", Prim.I64, most)

    def halve(_: Exp) -> None:
        middle = k.declare("middle", Prim.I64, op("quot", op("add", low, high), lit(2)))
        k.emit(imp.If(op("lt", low, high), (imp.If(
            reader.ended(middle, diagonal),
            (imp.Assign(low.name, op("add", middle, lit(1))),),
            (imp.Assign(high.name, middle),)),)))

    k.loop(_bits(k.scalar(reader.exp.space[0].width)), halve, base="turn")
    return low


# Tiles of groups


class _Tile:
    """A kernel whose groups fold a tile of the path each.

    ``ends`` has the ends of its segments, counted from its first element.  ``owners`` has the
    segments of its elements, counted from its first segment.  ``stages`` has their operands, and
    ``found`` the bounds of two searches.
    """

    def __init__(self, lowering: launches.Lowering, parts: _Parts, shape: MergeTileShape) -> None:
        self.lowering, self.parts, self.shape = lowering, parts, shape
        fresh, prims = lowering.names.fresh, parts.prims
        self.k = lowering.builder()
        count = sum(len(ps) for ps in prims)
        self.reader = _Reader(self.k, parts.exp, lowering.results[count:])
        self.subgroup = fresh("subgroup")
        self.k.constants = [shape.group, self.subgroup, shape.chunk]
        self.found, self.ends, self.owners = fresh("found"), fresh("ends"), fresh("owners")
        self.stages = [fresh("stage") for ps in prims for _ in ps]
        cells = Size.var(shape.group) * Size.var(shape.chunk)
        room = cells + ceil_div(cells, Size.of(PADDING))
        self.k.locals = [
            imp.LocalArray(self.found, Prim.I64, Size.of(4)),
            imp.LocalArray(self.ends, Prim.I32, room), imp.LocalArray(self.owners, Prim.I32, room),
            *(imp.LocalArray(m, p, room) for m, p in zip(
                self.stages, [p for ps in prims for p in ps], strict=True))]

    def launch(self) -> None:
        """Build the kernel and launch it."""
        lowering, k, group = self.lowering, self.k, Size.var(self.shape.group)
        lowering.steps.append(SubGroupSize(self.subgroup, self.shape.group))
        self._place()
        totals = [launches.scalars(k.neutral(o)) for o in self.parts.exp.ops]
        if all(o.comm for o in self.parts.exp.ops):
            alone = k.declare("alone", Prim.BOOL, _equal(self.rows, lit(0)))
            with k.block() as together:
                self._fold_alone(totals)
            with k.block() as walked:
                self._fold_walked([launches.scalars(k.neutral(o)) for o in self.parts.exp.ops])
            k.emit(imp.If(alone, tuple(together), tuple(walked)))
        else:
            self._fold_walked(totals)
        k.code = list(insert_barriers(k.code, [s.name for s in k.scratch], constants=k.constants))
        lowering.build_for_fixed(k)
        lowering.launch(k, "merge_tiles", Size.var(self.parts.count), group, fits=True)

    @property
    def chunk(self) -> Exp:
        """The steps of a work-item."""
        return imp.Var(self.shape.chunk)

    @property
    def items(self) -> Exp:
        """The work-items of all groups."""
        return op("mul", imp.Var(self.parts.count), imp.Var(self.shape.group))

    # Places

    def _place(self) -> None:
        """Find the segments and the elements of the tile.

        The first of them, how many there are, and how many steps that makes.
        """
        k = self.k
        self.number = k.declare("tile", Prim.I64, launches.GROUP_ID)
        begin = k.declare("begin", Prim.I64, op("mul", self.number, op("mul", LSIZE, self.chunk)))
        end = k.declare("end", Prim.I64, _least(
            op("add", begin, op("mul", LSIZE, self.chunk)), imp.Var(self.parts.steps)))
        self.first, last = self._search([begin, end])
        self.element = k.declare("element", Prim.I64, op("sub", begin, self.first))
        self.rows = k.declare("rows", Prim.I64, op("sub", last, self.first))
        self.steps = k.declare("length", Prim.I64, op("sub", end, begin))
        self.count = k.declare("count", Prim.I64, op("sub", self.steps, self.rows))
        self.start = k.declare("start", Prim.I64, self.reader.offset(self.first))

    def _search(self, diagonals: Sequence[Exp]) -> list[imp.Var]:
        """The number of segments that have ended after so many steps, for each number of steps.

        Work-items divide the range into equal parts, and look at the end of one each.  The
        work-item whose end is the last one before the place writes the part behind it.
        """
        k = self.k
        ranges = [(k.declare("low", Prim.I64, low), k.declare("high", Prim.I64, high))
                  for low, high in map(self.reader.bounds, diagonals)]
        per = op("sub", lit(63), imp.Apply("clz", Prim.I64, (op("add", LSIZE, lit(1)),)))
        turns = k.declare("turns", Prim.I64, ceil_quot(
            _bits(k.scalar(self.parts.exp.space[0].width)), per))

        def divide(_: Exp) -> None:
            for place, (diagonal, (low, high)) in enumerate(zip(diagonals, ranges, strict=True)):
                self._look(diagonal, low, high, 2 * place)
            for place, bound in enumerate(bound for pair in ranges for bound in pair):
                k.emit(imp.Assign(bound.name, imp.Load(self.found, lit(place), Prim.I64)))

        k.loop(turns, divide, base="turn")
        return [low for low, _ in ranges]

    def _look(self, diagonal: Exp, low: imp.Var, high: imp.Var, place: int) -> None:
        """Emit a turn of a search, which leaves the new range at ``place``."""
        k = self.k
        width = op("add", op("sub", high, low), LSIZE)
        step = k.declare("step", Prim.I64, _most(lit(1), op(
            "quot", width, op("add", LSIZE, lit(1)))))

        def before(number: Exp) -> Exp:
            probe = op("sub", op("add", low, op("mul", op("add", number, lit(1)), step)), lit(1))
            return imp.Select(op("lt", probe, high), self.reader.ended(probe, diagonal),
                              truth(False), Prim.BOOL)

        def narrow(number: Exp) -> tuple[imp.Stm, ...]:
            """Store part ``number`` of a range.  No work-item has looked at the end of the last."""
            start = op("add", low, op("mul", number, step))
            bound = imp.Select(op("lt", number, LSIZE), _least(
                high, op("sub", op("add", start, step), lit(1))), high, Prim.I64)
            return (imp.Store(self.found, lit(place), start, Prim.I64),
                    imp.Store(self.found, lit(place + 1), bound, Prim.I64))

        mine = k.declare("mine", Prim.BOOL, before(LID))
        after = op("add", LID, lit(1))
        following = k.declare("following", Prim.BOOL, imp.Select(
            op("lt", after, LSIZE), before(after), truth(False), Prim.BOOL))
        k.emit(imp.If(imp.Apply("and", Prim.BOOL, (mine, _no(following))), narrow(after)))
        k.emit(imp.If(imp.Apply("and", Prim.BOOL, (IS_FIRST, _no(mine))), narrow(lit(0))))

    # One segment

    def _fold_alone(self, totals: Sequence[Sequence[imp.Var]]) -> None:
        """Emit the folding of a tile in which no segment ends."""
        k, exp = self.k, self.parts.exp
        each = self.reader.segment(totals, self.first, self.start)
        ahead = k.declare("ahead", Prim.I64, op("sub", self.element, self.start))
        each.fold(op("add", ahead, LID), op("add", ahead, self.count), LSIZE)
        announce(k, k.scalar(ragged_of(exp).total), self.items)
        arrays = launches.local_arrays(k, exp.ops, Size.var(self.shape.group))
        found = [group_total(k, o, t, mems, self.subgroup)
                 for o, t, mems in zip(exp.ops, totals, arrays, strict=True)]
        with k.block() as code:
            self.parts.leave(k, self.number, lit(-1), found)
        k.emit(imp.If(IS_FIRST, tuple(code)))

    # Several segments

    def _fold_walked(self, totals: Sequence[Sequence[imp.Var]]) -> None:
        """Emit the folding of a tile by walks of its work-items."""
        k = self.k
        k.loop(self.rows, lambda r: k.emit(imp.Store(
            self.ends, padded(r), _small(op("sub", self.reader.offset(
                op("add", self.first, op("add", r, lit(1)))), self.element)), Prim.I32)),
               start=LID, step=LSIZE, base="r")
        announce(k, k.scalar(self.parts.exp.space[0].width), self.items)
        self._find_chunk()
        self._walk(lambda row: [], lambda row, place: [
            imp.Store(self.owners, padded(place), _small(row), Prim.I32)])
        k.loop(self.count, lambda place: self._stage(totals, place), start=LID, step=LSIZE,
               base="x")
        announce(k, k.scalar(ragged_of(self.parts.exp).total), self.items)
        self._reduce(totals)

    def _end_of(self, row: Exp) -> Exp:
        """The end of a segment of the tile, counted from the first element."""
        return imp.Convert(Prim.I32, Prim.I64, imp.Load(self.ends, padded(row), Prim.I32))

    def _find_chunk(self) -> None:
        """Find the segment and the element where the work-item's chunk begins."""
        k = self.k
        at = k.declare("at", Prim.I64, _least(op("mul", LID, self.chunk), self.steps))
        self.walked = k.declare("walked", Prim.I64, _least(self.chunk, op("sub", self.steps, at)))
        self.row = k.declare("row", Prim.I64, _most(lit(0), op("sub", at, self.count)))
        high = k.declare("high", Prim.I64, _least(at, self.rows))

        def halve(_: Exp) -> None:
            middle = k.declare("middle", Prim.I64, op("quot", op("add", self.row, high), lit(2)))
            before = _at_most(self._end_of(middle), op("sub", op("sub", at, middle), lit(1)))
            k.emit(imp.If(op("lt", self.row, high), (imp.If(
                before, (imp.Assign(self.row.name, op("add", middle, lit(1))),),
                (imp.Assign(high.name, middle),)),)))

        k.loop(_bits(self.rows), halve, base="turn")
        self.place = k.declare("place", Prim.I64, op("sub", at, self.row))

    def _walk(self, at_end: Callable[[Exp], Sequence[imp.Stm]],
              at_element: Callable[[Exp, Exp], Sequence[imp.Stm]]) -> None:
        """Emit a walk through the work-item's chunk."""
        k = self.k
        row, place = k.declare("r", Prim.I64, self.row), k.declare("x", Prim.I64, self.place)

        def step(_: Exp) -> None:
            ends = imp.Select(op("lt", row, self.rows), _at_most(self._end_of(row), place),
                              truth(False), Prim.BOOL)
            k.emit(imp.If(ends, (
                *at_end(row), imp.Assign(row.name, op("add", row, lit(1)))), (
                *at_element(row, place), imp.Assign(place.name, op("add", place, lit(1))))))

        k.loop(self.walked, step, base="t")
        announce(k, imp.Var(self.parts.steps), self.items)

    def _stage(self, totals: Sequence[Sequence[imp.Var]], place: Exp) -> None:
        """Emit the code that brings the operands of an element to local memory."""
        k = self.k
        row = k.declare("owner", Prim.I64, imp.Convert(Prim.I32, Prim.I64, imp.Load(
            self.owners, padded(place), Prim.I32)))
        start = k.declare("begin", Prim.I64, imp.Select(
            op("lt", lit(0), row), op("add", self.element, self._end_of(op("sub", row, lit(1)))),
            self.start, Prim.I64))
        each = self.reader.segment(totals, op("add", self.first, row), start)
        values = self._operands(each, op("sub", op("add", self.element, place), start))
        k.emit(*(imp.Store(m, padded(place), v, p) for m, v, p in zip(
            self.stages, values, [p for ps in self.parts.prims for p in ps], strict=True)))

    def _operands(self, each: RaggedSegment, index: Exp) -> list[Exp]:
        """The operands from an element; other results of the map are stored."""
        found: list[Value] = each.element(self.k.declare("j", Prim.I64, index))
        return [v for v in found if not isinstance(v, View)]

    def _reduce(self, totals: Sequence[Sequence[imp.Var]]) -> None:
        """Emit the second walk, and the completion of segments that began in earlier chunks."""
        k, exp, prims = self.k, self.parts.exp, self.parts.prims
        flat = [p for ps in prims for p in ps]
        fresh = k.declare("fresh", Prim.BOOL, truth(False))
        heads = [[k.declare("head", p, t) for p, t in zip(ps, ts, strict=True)]
                 for ps, ts in zip(prims, totals, strict=True)]
        with k.block() as keep:
            _assign(k, heads, totals)
            k.emit(imp.Assign(fresh.name, truth(True)))
        with k.block() as renew:
            launches.reset(k, exp.ops, totals)

        def at_end(row: Exp) -> list[imp.Stm]:
            return [imp.If(fresh, self._written(row, totals), tuple(keep)), *renew]

        def at_element(_: Exp, place: Exp) -> list[imp.Stm]:
            with k.block() as code:
                k.accumulate_all(exp.ops, totals, [
                    k.declare("value", p, imp.Load(m, padded(place), p))
                    for m, p in zip(self.stages, flat, strict=True)])
            return code

        self._walk(at_end, at_element)
        carries = [group_scan(k, o, t, Size.var(self.shape.group), fresh, self.subgroup)
                   for o, t in zip(exp.ops, totals, strict=True)]
        later = op("lt", lit(0), LID)
        with k.block() as first:
            with k.block() as join:
                _combine(k, self.parts.exp, carries, heads)
            k.emit(imp.If(later, tuple(join)), *self._written(self.row, heads))
        k.emit(imp.If(fresh, tuple(first)))
        with k.block() as last:
            with k.block() as join:
                _combine(k, self.parts.exp, carries, totals)
            k.emit(imp.If(imp.Apply("and", Prim.BOOL, (later, _no(fresh))), tuple(join)))
            self.parts.leave(k, self.number, imp.Select(
                op("lt", lit(0), self.rows), self.first, lit(-1), Prim.I64), totals)
        k.emit(imp.If(_equal(LID, op("sub", LSIZE, lit(1))), tuple(last)))

    def _written(self, row: Exp, totals: Sequence[Sequence[Exp]]) -> tuple[imp.Stm, ...]:
        """The stores of the totals of a segment of the tile."""
        return tuple(out.write([op("add", self.first, row)], t) for out, t in zip(
            self.lowering.results, [t for ts in totals for t in ts], strict=False))


# Segments that began in earlier parts


def _join(lowering: launches.Lowering, parts: _Parts) -> None:
    """Add a kernel in which a group completes the first segments that end in parts.

    Each work-item has a run of parts.  The carry of a run is the total behind the last end before.
    """
    k, exp, outs = lowering.builder_of_groups(), parts.exp, lowering.results
    part = launches.even_part(k, imp.Var(parts.count), LID, LSIZE)
    totals = [launches.scalars(k.neutral(o)) for o in exp.ops]
    fresh = k.declare("fresh", Prim.BOOL, truth(False))

    def first_of(number: Exp) -> imp.Var:
        return k.declare("first", Prim.I64, imp.Load(parts.firsts, number, Prim.I64))

    def take(number: Exp, into: Sequence[Sequence[imp.Var]]) -> None:
        k.accumulate_all(exp.ops, into, [
            k.declare("tail", p, imp.Load(m, number, p)) for mems, ps in zip(
                parts.tails, parts.prims, strict=True) for m, p in zip(mems, ps, strict=True)])

    def run(number: Exp) -> None:
        with k.block() as begin:
            launches.reset(k, exp.ops, totals)
            k.emit(imp.Assign(fresh.name, truth(True)))
        k.emit(imp.If(_at_most(lit(0), first_of(number)), tuple(begin)))
        take(number, totals)

    k.loop(part.end, run, start=part.start, base="p")
    carries = [group_scan(k, o, t, lowering.group, fresh, k.constants[1])
               for o, t in zip(exp.ops, totals, strict=True)]
    with k.block() as none:
        launches.reset(k, exp.ops, carries)
    k.emit(imp.If(_equal(LID, lit(0)), tuple(none)))

    def complete(number: Exp) -> None:
        first = first_of(number)
        with k.block() as join:
            place = iter(outs)
            held = [[k.declare("held", p, next(place).read([first])) for p in ps]
                    for ps in parts.prims]
            _combine(k, exp, carries, held)
            k.emit(*(out.write([first], h) for out, h in zip(
                outs, [h for hs in held for h in hs], strict=False)))
            launches.reset(k, exp.ops, carries)
        k.emit(imp.If(_at_most(lit(0), first), tuple(join)))
        take(number, carries)

    k.loop(part.end, complete, start=part.start, base="p")
    k.code = list(insert_barriers(k.code, constants=k.constants))
    lowering.launch_groups(k, "merge_joined", Size.of(1))


def _combine(k: KernelBuilder, exp: SegRed, left: Sequence[Sequence[imp.Var]],
             right: Sequence[Sequence[imp.Var]]) -> None:
    """Emit ``right := op left right`` for each operator."""
    for op_, one, other in zip(exp.ops, left, right, strict=True):
        combine(k, op_, one, other)


def _assign(k: KernelBuilder, targets: Sequence[Sequence[imp.Var]],
            values: Sequence[Sequence[imp.Var]]) -> None:
    k.emit(*(imp.Assign(t.name, v) for ts, vs in zip(targets, values, strict=True)
             for t, v in zip(ts, vs, strict=True)))


def _bits(count: Exp) -> Exp:
    """The turns of a binary search among so many and one more."""
    return op("sub", lit(64), imp.Apply("clz", Prim.I64, (count,)))


def _small(count: Exp) -> Exp:
    """A number of elements of a tile."""
    return imp.Convert(Prim.I64, Prim.I32, count)


def _least(left: Exp, right: Exp) -> Exp:
    return imp.Apply("min", Prim.I64, (left, right))


def _most(left: Exp, right: Exp) -> Exp:
    return imp.Apply("max", Prim.I64, (left, right))


def _at_most(left: Exp, right: Exp) -> Exp:
    return imp.Apply("le", Prim.I64, (left, right))


def _equal(left: Exp, right: Exp) -> Exp:
    return imp.Apply("eq", Prim.I64, (left, right))


def _no(value: Exp) -> Exp:
    return imp.Apply("not", Prim.BOOL, (value,))
