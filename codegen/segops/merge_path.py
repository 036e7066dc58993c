"""Merge paths: elements and ends of segments in one order, cut into equal parts.

The path merges two sorted lists, the places of elements and the ends of segments.  A step takes an
element into a total, or ends a segment.  So an empty segment costs a step, and a part is as long as
any other, whatever the lengths are.  A part begins behind s segments and e elements if s + e steps
come before it.  A search in the offsets finds them.

- On devices with coalesced accesses a group has a *tile* of the path.  Its work-items search
  together, with a probe each.
- On other devices a work-item has a part of the path
  (:mod:`~runelift.codegen.segops.merge_parts`).

:mod:`~runelift.codegen.segops.segred_merge` reduces segments along a path,
:mod:`~runelift.codegen.segops.segscan_ragged` scans them.

Source: Merrill and Garland 2016, "Merge-based parallel sparse matrix-vector multiplication".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.collectives import truth
from runelift.codegen.kernel.launch_builder import LID, LSIZE
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.passes.accesses import IS_FIRST
from runelift.codegen.passes.barriers import insert_barriers
from runelift.codegen.plan.views import View, all_of, ceil_quot, lit, negated, op
from runelift.codegen.segops.ragged import RaggedSegment, offset, ragged_of, spread
from runelift.codegen.segops.scan_tiles import Scan
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.prim import Prim
from runelift.ir.ragged import Ragged
from runelift.ir.sizes import Size, least
from runelift.ir.syntax import SegRed, SegScan

SMALL = Prim.U16
"""The type of numbers of elements of a tile."""
FAILED = imp.WorkItem(imp.Id.FAILURE)
"""At least 0 if a kernel has failed; work-items of a group may see different values."""
Totals = Sequence[Sequence[imp.Var]]
"""Totals per operator and value."""


def steps_of(lowering: launches.Lowering, exp: SegRed | SegScan) -> Size:
    """The number of steps of a path."""
    return lowering.size(exp.space[0].width) + lowering.size(ragged_of(exp).total)


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

    @property
    def mean(self) -> Exp:
        """The mean length of segments, but at least 1."""
        return op("max", lit(1), op("quot", self.elements, op("max", lit(1), self.segments)))

    def offset(self, segment: Exp) -> Exp:
        """The place of the first element of a segment."""
        return offset(self.k, self.ragged, segment)

    def known(self, steps: Exp, failed: Exp = FAILED) -> Exp:
        """So many steps, or 0 if a kernel has failed, or lengths have not the total of the launch.

        Then nothing is written.  So the host may look for both after the launch.
        """
        fine = all_of(op("lt", failed, lit(0)), op("eq", self.offset(self.segments), self.elements))
        return imp.Select(fine, steps, lit(0), Prim.I64)

    def bounds(self, steps: Exp) -> tuple[Exp, Exp]:
        """The fewest and the most segments that can have ended after so many steps."""
        return op("max", lit(0), op("sub", steps, self.elements)), op("min", steps, self.segments)

    def ended(self, segment: Exp, steps: Exp) -> Exp:
        """True if a segment has ended after so many steps."""
        return op("le", self.offset(op("add", segment, lit(1))),
                  op("sub", op("sub", steps, segment), lit(1)))

    def segment(self, totals: Totals, number: Exp, start: Exp) -> RaggedSegment:
        """The segment with a number, whose first element is at ``start``."""
        return RaggedSegment(self.k, self.exp, totals, self.outs, [number], lit(0), start,
                             trips=spread(self.elements, self.segments))

    def search(self, steps: Exp) -> imp.Var:
        """The number of segments that have ended after so many steps, by a binary search."""
        k = self.k
        fewest, most = self.bounds(steps)
        low, high = k.declare("low", Prim.I64, fewest), k.declare("high", Prim.I64, most)
        halve(k, low, high, bits(self.segments), lambda middle: self.ended(middle, steps),
               Prim.I64)
        return low


class Tile:
    """A kernel whose groups have a tile of the path each.

    ``failed`` has what the first work-item saw of :data:`FAILED`, and ``found`` the bounds of two
    searches.
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
        self.failed = fresh("failed")
        self.k.locals = [imp.LocalArray(self.failed, Prim.I64, Size.of(1)),
                         *(imp.LocalArray(m, Prim.I64, Size.of(2)) for m in self.found)]

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
        self.k.emit(imp.Declare(self.number.name, Prim.I64, launches.GROUP_ID),
                    imp.If(IS_FIRST, (self.note_failure(),)))

    def note_failure(self) -> imp.Stm:
        """Store for the group if a kernel has failed, which the first work-item does."""
        return imp.Store(self.failed, lit(0), FAILED, Prim.I64)

    @contextmanager
    def ordered(self) -> Iterator[None]:
        """Emit code with the barriers that it needs."""
        with self.k.block() as code:
            yield
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
        steps = k.declare("steps", Prim.I64, self.path.known(
            imp.Var(self.shape.points), imp.Load(self.failed, lit(0), Prim.I64)))
        begin = k.declare("begin", Prim.I64, op("min", op("mul", self.number, full), steps))
        end = k.declare("end", Prim.I64, op("min", op("add", begin, full), steps))
        low, last = self._search([begin, end])
        self.first = imp.Var(k.names.fresh("first"))
        k.emit(imp.Declare(self.first.name, Prim.I64, low, expected=op(
            "quot", begin, op("add", self.path.mean, lit(1)))))
        self.element = k.declare("element", Prim.I64, op("sub", begin, self.first))
        self.rows = k.declare("rows", Prim.I64, op("sub", last, self.first))
        self.steps = k.declare("length", Prim.I64, op("sub", end, begin))
        self.count = k.declare("count", Prim.I64, op("sub", self.steps, self.rows))
        self.start = k.declare("start", Prim.I64, self.path.offset(self.first))

    @property
    def open(self) -> Exp:
        """True if the first segment of the tile has begun in an earlier one."""
        return all_of(op("lt", lit(0), self.number), op("lt", self.start, self.element))

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
        per = op("sub", lit(63), op("clz", op("add", LSIZE, lit(1))))
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
        step = k.declare("step", Prim.I64, op("max", lit(1), op(
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
        bound = imp.Select(op("lt", number, LSIZE), op(
            "min", high, op("sub", op("add", start, step), lit(1))), high, Prim.I64)
        finds = imp.Select(mine, negated(following), IS_FIRST, Prim.BOOL)
        return finds, start, bound

    def held(self, base: str, values: Sequence[Sequence[Exp]]) -> list[list[imp.Var]]:
        """New variables with these values."""
        return [[self.k.declare(base, p, v) for p, v in zip(ps, vs, strict=True)]
                for ps, vs in zip(self.scan.prims, values, strict=True)]


def halve(k: KernelBuilder, low: imp.Var, high: imp.Var, turns: Exp,
           before: Callable[[Exp], Exp], prim: Prim = Prim.I32) -> None:
    """Emit a binary search for the first number from ``low`` on that is not ``before``."""
    def turn(_: Exp) -> None:
        middle = k.declare("middle", prim, imp.Apply("shr", prim, (
            op("add", low, high, prim=prim), lit(1, prim))))
        k.emit(imp.If(imp.Apply("lt", prim, (low, high)), (imp.If(
            before(middle), (imp.Assign(low.name, op("add", middle, lit(1, prim), prim=prim)),),
            (imp.Assign(high.name, middle),)),)))

    k.loop(turns, turn, base="turn")


def short(number: Exp) -> Exp:
    """A number of elements of a tile as an i32, which is counted more quickly."""
    return imp.Convert(Prim.I64, Prim.I32, number)


def bits(count: Exp) -> Exp:
    """The turns of a binary search among so many numbers."""
    return op("sub", lit(64), op("clz", count))
