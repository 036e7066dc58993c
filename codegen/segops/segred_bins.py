"""Reductions of segments of very different lengths: the short and the long apart.

- ``merge_rows``: a group has neighbouring segments.  A team of a few work-items folds each, but
  leaves a longer one to a sub-group.  Segments above :data:`LONG` are cut into pieces, which go to
  a list.
- ``merge_pieces``: groups fold the pieces of the list.  The last group to finish with a segment
  combines its pieces, in order, if the device shows it the writes of other groups.
- ``merge_joined``, otherwise: groups combine the pieces of segments.

So no work-item has more than a bounded number of elements at a time, whatever the lengths are.  No
offsets are needed, unless the map has further results.

Sources: Merrill, Garland and Grimshaw 2012, "Scalable GPU graph traversal", section 6: teams by
lengths.  Ashari et al. 2014, "Fast sparse matrix-vector multiplication on GPUs for graph
applications": bins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.collectives import team_total
from runelift.codegen.kernel.launch_builder import GROUP_COUNT, GROUP_ID, LID, LSIZE
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.passes.accesses import IS_FIRST
from runelift.codegen.passes.barriers import insert_barriers
from runelift.codegen.plan import plan
from runelift.codegen.plan.parameters import Quantity
from runelift.codegen.plan.shapes import SegmentTeamShape, SubGroupSize
from runelift.codegen.plan.views import View, all_of, ceil_quot, lit, negated, op
from runelift.codegen.segops.ragged import (
    begin_segment,
    length_of,
    offset,
    ragged_of,
    segment_of,
    spread,
    trips_of,
)
from runelift.codegen.segops.segred import (
    combine_partials,
    if_last_group,
    is_last_group,
    total_of_group,
)
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, ceil_div, least
from runelift.ir.syntax import SegRed

SHARE = 16
"""The most elements for each work-item of a team; a sub-group gets longer segments."""
LONG = 1024
"""The most elements of a sub-group; longer segments are cut into pieces."""
PIECE = 4096
"""The elements of a piece."""
MOST_LANES = 32
"""The work-items for longer segments, where the device has no sub-groups."""
SMALL = Prim.U16
"""The type of numbers of segments of a group."""


def segred_lanes(lowering: launches.Lowering, exp: SegRed) -> None:
    """Add a kernel with a team for each segment, whatever its length is (``ragged_lanes``)."""
    rows = _Rows(lowering, exp)
    rows.fold_own(None)
    rows.launch("ragged_lanes")


def segred_bins(lowering: launches.Lowering, exp: SegRed) -> None:
    """Add the kernels of a reduction over a ragged space by the lengths of its segments."""
    pieces = _pieces_of(lowering, exp)
    _fold_rows(lowering, exp, pieces)
    _fold_pieces(lowering, exp, pieces)
    if not lowering.coherent:
        _join(lowering, exp, pieces)


@dataclass(frozen=True, slots=True)
class _Pieces:
    """The list of pieces: piece ``number`` of a ``segment``, and its totals.

    There is ``room`` for all of them.  The device's first counter counts them, and is 0 again
    afterwards.  The pieces of a segment are next to each other.  So many groups as ``workers``
    share them out.  At the first piece of a segment, ``done`` counts the pieces that are folded.
    Where another kernel combines them, its first element keeps the number of all pieces.
    """

    room: VName
    workers: VName
    done: VName
    segments: VName
    numbers: VName
    totals: list[list[VName]]


def _pieces_of(lowering: launches.Lowering, exp: SegRed) -> _Pieces:
    """Memory for the pieces of an operation."""
    total = lowering.size(ragged_of(exp).total)
    room = lowering.scalar("room", Size.of(1) + ceil_div(total, Size.of(LONG)) + ceil_div(
        total, Size.of(PIECE)))
    workers = lowering.scalar("workers", least(lowering.groups, Size.var(room)))
    done = lowering.temporary("done", Prim.I32, Size.var(room))
    segments, numbers = (lowering.temporary(base, Prim.I64, Size.var(room))
                         for base in ("segment", "number"))
    return _Pieces(room, workers, done, segments, numbers, [
        [lowering.temporary("partial", p, Size.var(room)) for p in launches.prims_of(o)]
        for o in exp.ops])


# Rows


class _List:
    """Numbers of segments in local memory, at most ``room`` of them."""

    def __init__(self, k: KernelBuilder, room: Size) -> None:
        self.k, self._cells, self._count = k, k.names.fresh("list"), k.names.fresh("listed")
        k.locals += [imp.LocalArray(self._cells, SMALL, room),
                     imp.LocalArray(self._count, Prim.I32, Size.of(1))]
        k.emit(imp.If(IS_FIRST, (imp.Store(self._count, lit(0), lit(0, Prim.I32), Prim.I32),)))

    @property
    def length(self) -> Exp:
        """The number of elements."""
        return imp.Convert(Prim.I32, Prim.I64, imp.Load(self._count, lit(0), Prim.I32))

    def add(self, number: Exp) -> tuple[imp.Stm, ...]:
        """The code that adds a number."""
        place = self.k.names.fresh("listed")
        return (imp.Atomic("add", Prim.I32, self._count, lit(0), lit(1, Prim.I32),
                           imp.Space.LOCAL, place),
                imp.Store(self._cells, imp.Convert(Prim.I32, Prim.I64, imp.Var(place)),
                          imp.Convert(Prim.I64, SMALL, number), SMALL))

    def at(self, place: Exp) -> Exp:
        """The number at a place."""
        return imp.Convert(SMALL, Prim.I64, imp.Load(self._cells, place, SMALL))


class _Bin(NamedTuple):
    """Segments of at most ``most`` elements; the rest goes to the list ``longer``.

    So many ``elements`` are expected in them.
    """

    most: Exp
    longer: _List
    elements: Exp


class _Rows:
    """The kernel whose groups have neighbouring segments each, so many as they have teams."""

    def __init__(self, lowering: launches.Lowering, exp: SegRed) -> None:
        fresh, segments = lowering.names.fresh, lowering.size(exp.space[0].width)
        ragged = ragged_of(exp)
        usual = lowering.size(ragged.total)
        if ragged.longest is not None:  # one very long segment says nothing about the rest
            usual = usual - lowering.size(ragged.longest)
        self.lowering, self.exp, self.outs = lowering, exp, lowering.results
        self.k = k = lowering.builder()
        self.shape = SegmentTeamShape(
            fresh("group"), fresh("lanes"), segments, usual,
            launches.item_bytes(exp.ops), False, lowering.group_size,
            lowering.setting(Quantity.LANES))
        self.subgroup = fresh("subgroup")
        lowering.steps += [self.shape, SubGroupSize(self.subgroup, self.shape.group)]
        k.constants = [self.shape.group, self.subgroup, self.shape.lanes]
        self.arrays = launches.local_arrays(k, exp.ops, Size.var(self.shape.group))
        self.lanes = imp.Var(self.shape.lanes)
        self.teams = op("quot", LSIZE, self.lanes)
        self.first = k.declare("first", Prim.I64, op("mul", GROUP_ID, self.teams))
        self.fine = self._fine()

    def _fine(self) -> imp.Var:
        """True if no kernel has failed, and further results have as many elements as expected.

        The host may look for both after this launch.  Work-items may see different answers, as
        nothing of this launch is used then.
        """
        k, ragged = self.k, ragged_of(self.exp)
        fine = op("lt", imp.WorkItem(imp.Id.FAILURE), lit(0))
        if len(self.outs) > sum(map(len, self.arrays)):
            fine = all_of(fine, op("eq", offset(k, ragged, self.segments), k.scalar(ragged.total)))
        return k.declare("fine", Prim.BOOL, fine)

    @property
    def segments(self) -> Exp:
        """The number of segments."""
        return self.k.scalar(self.exp.space[0].width)

    def fold_own(self, bin_: _Bin | None) -> None:
        """Emit the folding of the segment of each team; see :meth:`fold`."""
        row = self.k.declare("row", Prim.I64, op("quot", LID, self.lanes))
        exists = self.k.declare("exists", Prim.BOOL, op(
            "lt", op("add", self.first, row), self.segments))
        self.fold(row, exists, self.lanes, bin_)

    def fold(self, row: Exp, exists: Exp, lanes: Exp, bin_: _Bin | None) -> None:
        """Emit the folding of a segment by ``lanes`` neighbours, if it belongs to a bin.

        ``row`` is the number of the segment in the group.
        """
        k = self.k
        lane = k.declare("lane", Prim.I64, op("and", LID, op("sub", lanes, lit(1))))
        number = k.declare("number", Prim.I64, imp.Select(
            exists, op("add", self.first, row), lit(0), Prim.I64))
        length = k.declare("length", Prim.I64, imp.Select(
            exists, length_of(k, ragged_of(self.exp).lengths, number), lit(0), Prim.I64))
        takes = exists = k.declare("runs", Prim.BOOL, all_of(exists, self.fine))
        leads = op("eq", lane, lit(0))
        if bin_ is not None:
            fits = k.declare("fits", Prim.BOOL, op("le", length, bin_.most))
            takes = k.declare("takes", Prim.BOOL, all_of(exists, fits))
            k.emit(imp.If(all_of(exists, leads, negated(fits)), bin_.longer.add(row)))
        totals = [launches.scalars(k.neutral(o)) for o in self.exp.ops]
        exp = begin_segment(k, self.exp, number)
        items = op("mul", self.segments, self.lanes)
        trips = trips_of(k, ragged_of(exp), items, lanes) if bin_ is None else spread(
            bin_.elements, items)
        segment_of(k, exp, totals, self.outs, number, takes, trips).fold_part(lane, lanes)
        found = [t for o, ts, ms in zip(exp.ops, totals, self.arrays, strict=True)
                 for t in team_total(k, o, ts, ms, lanes, self.subgroup)]
        k.emit(imp.If(all_of(takes, leads), launches.writes(self.outs, [number], [found])))

    def launch(self, kind: str) -> None:
        """Launch the kernel, with the barriers that it needs."""
        k, group = self.k, Size.var(self.shape.group)
        k.code = list(insert_barriers(k.code, [s.name for s in k.scratch], constants=k.constants))
        self.lowering.build_for_fixed(k)
        self.lowering.launch(k, kind, ceil_div(
            self.shape.segments * Size.var(self.shape.lanes), group), group, fits=True)


def _fold_rows(lowering: launches.Lowering, exp: SegRed, pieces: _Pieces) -> None:
    """Add the kernel that folds segments of at most :data:`LONG` elements, and cuts all longer."""
    rows = _Rows(lowering, exp)
    k, room = rows.k, Size.var(rows.shape.group)
    longer, longest = _List(k, room), _List(k, room)
    rows.fold_own(_Bin(op("mul", lit(SHARE), rows.lanes), longer, op(
        "sub", k.scalar(ragged_of(exp).total), _cut(k, exp))))
    subgroup = imp.Var(rows.subgroup)
    most = op("min", LSIZE, imp.Select(
        op("lt", lit(1), subgroup), subgroup, lit(MOST_LANES), Prim.I64))
    many = k.declare("many", Prim.I64, longer.length)

    def turn(begin: Exp) -> None:
        place = k.declare("place", Prim.I64, op("add", begin, op("quot", LID, most)))
        exists = k.declare("exists", Prim.BOOL, op("lt", place, many))
        row = imp.Select(exists, longer.at(place), lit(0), Prim.I64)
        rows.fold(k.declare("row", Prim.I64, row), exists, most,
                  _Bin(lit(LONG), longest, lit(0)))

    k.loop(many, turn, step=op("quot", LSIZE, most), base="begin")
    _list_pieces(rows, longest, pieces)
    rows.launch("merge_rows")


def _list_pieces(rows: _Rows, longest: _List, pieces: _Pieces) -> None:
    """Emit the cutting of the segments of a list into pieces, which the group does together."""
    k, told = rows.k, rows.k.names.fresh("told")
    k.locals.append(imp.LocalArray(told, Prim.I32, Size.of(1)))

    def segment(place: Exp) -> None:
        number = k.declare("number", Prim.I64, op("add", rows.first, longest.at(place)))
        count = k.declare("pieces", Prim.I64, ceil_quot(
            length_of(k, ragged_of(rows.exp).lengths, number), lit(PIECE)))
        before = k.names.fresh("before")
        k.emit(imp.If(IS_FIRST, (
            imp.Atomic("add", Prim.I32, plan.COUNTERS, lit(0), imp.Convert(
                Prim.I64, Prim.I32, count), imp.Space.GLOBAL, before),
            imp.Store(told, lit(0), imp.Var(before), Prim.I32))))
        base = k.declare("base", Prim.I64, imp.Convert(
            Prim.I32, Prim.I64, imp.Load(told, lit(0), Prim.I32)))
        # there are more than expected only if the host will notice other lengths
        bound = op("min", count, op("sub", imp.Var(pieces.room), base))
        k.loop(bound, lambda j: k.emit(
            imp.Store(pieces.segments, op("add", base, j), number, Prim.I64),
            imp.Store(pieces.numbers, op("add", base, j), j, Prim.I64),
            imp.Store(pieces.done, op("add", base, j), lit(0, Prim.I32), Prim.I32)),
               start=LID, step=LSIZE, base="j")

    k.loop(k.declare("many", Prim.I64, longest.length), segment, base="l")


# Pieces


def _each_piece(k: KernelBuilder, exp: SegRed, pieces: _Pieces, count: VName,
                piece: Callable[[Exp, Exp, Exp], None]) -> imp.Var:
    """Emit a loop of groups that run ``piece`` for pieces: place, segment and number in it.

    The result is the number of pieces, which the first element of ``count`` has.  It is 0 if a
    kernel has failed, for which the first work-item looks.
    """
    def run(place: Exp) -> None:
        piece(place, *(k.declare(base, Prim.I64, imp.Load(mem, place, Prim.I64)) for base, mem in (
            ("segment", pieces.segments), ("number", pieces.numbers))))

    told = k.names.fresh("told")
    k.locals.append(imp.LocalArray(told, Prim.I64, Size.of(1)))
    many = imp.Select(op("lt", imp.WorkItem(imp.Id.FAILURE), lit(0)), op(
        "min", imp.Var(pieces.room), imp.Convert(Prim.I32, Prim.I64, imp.Load(
            count, lit(0), Prim.I32))), lit(0), Prim.I64)
    k.emit(imp.If(IS_FIRST, (imp.Store(told, lit(0), many, Prim.I64),)))
    known = imp.Var(k.names.fresh("many"))
    k.emit(imp.Declare(known.name, Prim.I64, imp.Load(told, lit(0), Prim.I64),
                       expected=ceil_quot(_cut(k, exp), lit(PIECE))))
    k.loop(known, run, start=GROUP_ID, step=GROUP_COUNT, base="p")
    return known


def _launch(lowering: launches.Lowering, exp: SegRed, pieces: _Pieces, k: KernelBuilder,
            kind: str) -> None:
    """Launch a kernel for pieces, with the barriers that it needs."""
    k.code = list(insert_barriers(k.code, [s.name for s in k.scratch], constants=k.constants))
    lowering.launch_groups(k, kind, Size.var(pieces.workers), launches.roomy_group(
        lowering, exp.ops))


def _fold_pieces(lowering: launches.Lowering, exp: SegRed, pieces: _Pieces) -> None:
    """Add the kernel whose groups fold pieces.

    It combines the pieces of segments and resets the counter, or keeps the number of pieces.
    """
    k, group = lowering.builder_of_groups(), launches.roomy_group(lowering, exp.ops)
    arrays, outs = launches.local_arrays(k, exp.ops, group), lowering.results
    if not lowering.coherent:
        k.emit(imp.If(op("eq", launches.GID, lit(0)), (imp.Store(
            pieces.done, lit(0), imp.Load(plan.COUNTERS, lit(0), Prim.I32), Prim.I32),)))

    def fold(place: Exp, segment: Exp, number: Exp) -> None:
        totals = [launches.scalars(k.neutral(o)) for o in exp.ops]
        each = segment_of(k, begin_segment(k, exp, segment), totals, outs, segment)
        first = k.declare("first", Prim.I64, op("mul", number, lit(PIECE)))
        elements = imp.Var(k.names.fresh("elements"))
        k.emit(imp.Declare(elements.name, Prim.I64, op("min", lit(PIECE), op(
            "sub", each.width, first)), expected=lit(PIECE)))
        each.fold_part(LID, LSIZE, first, elements)
        for op_, mems, total, target in zip(exp.ops, arrays, totals, pieces.totals, strict=True):
            found = total_of_group(k, op_, mems, total)
            k.emit(imp.If(IS_FIRST, launches.stores(target, place, found, launches.prims_of(op_))))
        if lowering.coherent:
            begin = k.declare("begin", Prim.I64, op("sub", place, number))
            count = _count(k, exp, pieces, segment, begin)
            with if_last_group(k, begin, count, pieces.done):
                _combine(k, exp, arrays, pieces, (begin, count), outs, segment)

    known = _each_piece(k, exp, pieces, plan.COUNTERS, fold)
    if lowering.coherent:
        with k.block() as reset:
            last = is_last_group(k, lit(1), imp.Var(pieces.workers))
            k.emit(imp.If(all_of(last, IS_FIRST), (_reset(),)))
        k.emit(imp.If(op("lt", lit(0), known), tuple(reset)),
               imp.Barrier(imp.Space.LOCAL, imp.Placement.AFTER_BRANCH))
    _launch(lowering, exp, pieces, k, "merge_pieces")


def _join(lowering: launches.Lowering, exp: SegRed, pieces: _Pieces) -> None:
    """Add the kernel whose groups combine the pieces of segments; it resets the counter."""
    k, group = lowering.builder_of_groups(), launches.roomy_group(lowering, exp.ops)
    k.emit(imp.If(op("eq", launches.GID, lit(0)), (_reset(),)))
    arrays, outs = launches.local_arrays(k, exp.ops, group), lowering.results

    def join(place: Exp, segment: Exp, number: Exp) -> None:
        begins = k.declare("begins", Prim.BOOL, op("eq", number, lit(0)))
        count = imp.Select(begins, _count(k, exp, pieces, segment, place), lit(0), Prim.I64)
        _combine(k, exp, arrays, pieces, (place, k.declare("pieces", Prim.I64, count)), outs,
                 segment, all_of(begins, IS_FIRST))

    _each_piece(k, exp, pieces, pieces.done, join)
    _launch(lowering, exp, pieces, k, "merge_joined")


def _reset() -> imp.Stm:
    """Make the number of pieces 0, for the next operation."""
    return imp.Store(plan.COUNTERS, lit(0), lit(0, Prim.I32), Prim.I32)


def _count(k: KernelBuilder, exp: SegRed, pieces: _Pieces, segment: Exp, begin: Exp) -> Exp:
    """The pieces of a segment, from place ``begin`` on, as far as there is room."""
    length = length_of(k, ragged_of(exp).lengths, segment)
    return k.declare("count", Prim.I64, op(
        "min", ceil_quot(length, lit(PIECE)), op("sub", imp.Var(pieces.room), begin)))


def _combine(k: KernelBuilder, exp: SegRed, arrays: Sequence[Sequence[VName]], pieces: _Pieces,
             part: tuple[Exp, Exp], outs: Sequence[View], segment: Exp,
             wanted: Exp = IS_FIRST) -> None:
    """Emit the combination of the pieces of a segment, of which ``part`` has first and count.

    A work-item writes the result, if ``wanted``.
    """
    found = combine_partials(k, exp.ops, arrays, pieces.totals, *part)
    k.emit(imp.If(wanted, launches.writes(outs, [segment], [found])))


def _cut(k: KernelBuilder, exp: SegRed) -> Exp:
    """The elements that are known to be cut into pieces, for models of cost.

    Of m elements with sum of squares q, c are in segments above :data:`LONG`, whose longest has x.
    Then q is at most c x + (m - c) LONG.
    """
    ragged = ragged_of(exp)
    if ragged.longest is None or ragged.squares is None:
        return lit(0)
    long, total = lit(LONG), k.scalar(ragged.total)
    beyond = op("sub", k.scalar(ragged.squares), op("mul", total, long))
    share = op("max", lit(1), op("sub", k.scalar(ragged.longest), long))
    return op("max", lit(0), op("min", total, op("quot", beyond, share)))
