"""Parts of merge paths: what each leaves for later parts, and parts of single work-items.

A segment that ends in a part may have begun in an earlier one.  Each part leaves the total behind
its last end of a segment.  One group finds the total before each part (``merge_joined``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.collectives import group_scan, truth
from runelift.codegen.kernel.launch_builder import LID, LSIZE
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.passes.barriers import insert_barriers
from runelift.codegen.plan import plan
from runelift.codegen.plan.views import View, ceil_quot, lit, op
from runelift.codegen.segops.merge_path import Path, Totals, steps_of
from runelift.codegen.segops.ragged import announce
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, ceil_div, least
from runelift.ir.syntax import SegRed, SegScan
from runelift.ir.types import i64

LEAST_STEPS = 4096
"""The least steps of a part for which a processor gets a further work-item."""


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
        return [stm for mems, ts, ps in zip(self.tails, totals, self.prims, strict=True)
                for stm in launches.stores(mems, part, ts, ps)]

    def tail(self, k: KernelBuilder, part: Exp) -> list[list[imp.Var]]:
        """The totals that a part has left, or got."""
        return [launches.loaded(k, "tail", mems, part, ps)
                for mems, ps in zip(self.tails, self.prims, strict=True)]


def parts_of(lowering: launches.Lowering, exp: SegRed | SegScan, steps: VName,
             count: Size) -> Parts:
    """So many parts of a path, and memory for what they leave."""
    number, prims = lowering.scalar("parts", count), [launches.prims_of(o) for o in exp.ops]
    return Parts(exp, prims, steps, number,
                 [[lowering.temporary("tail", p, Size.var(number)) for p in ps] for ps in prims],
                 lowering.temporary("first", Prim.I64, Size.var(number)))


def parts_of_items(lowering: launches.Lowering, exp: SegRed | SegScan) -> Parts:
    """The parts of single work-items: enough for all cores."""
    steps = lowering.scalar("steps", steps_of(lowering, exp))
    return parts_of(lowering, exp, steps, least(lowering.groups, ceil_div(
        Size.var(steps), Size.of(LEAST_STEPS))))


def if_several(lowering: launches.Lowering, parts: Parts, make: Callable[[], None]) -> None:
    """Add what ``make`` adds, for several parts only."""
    several = lowering.names.fresh("several")
    lowering.steps += [plan.Compute(several, "lt", Prim.I64, (i64(1), parts.count)),
                       plan.Branch(several, launches.branch(lowering, make, "several parts"), ())]


class PartOfItem:
    """The part of the path that a work-item goes through, segment by segment."""

    def __init__(self, k: KernelBuilder, parts: Parts, outs: Sequence[View]) -> None:
        """Find the first segment and element of the part, and where it ends."""
        self.k, self.parts, self.path = k, parts, Path(k, parts.exp, outs)
        steps = k.declare("steps", Prim.I64, self.path.known(imp.Var(parts.steps)))
        self.number = k.declare("part", Prim.I64, launches.GID)
        length = k.declare("chunk", Prim.I64, ceil_quot(steps, imp.Var(parts.count)))
        begin = k.declare("begin", Prim.I64, op("min", op("mul", self.number, length), steps))
        end = k.declare("end", Prim.I64, op("min", op("add", begin, length), steps))
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
        with k.when(op("lt", self.last, path.segments)):
            fold(self.last, k.declare("stop", Prim.I64, self.bound))

    def leave(self, totals: Totals) -> None:
        """Emit the stores of what the part leaves."""
        self.parts.leave(self.k, self.number, imp.Select(
            op("lt", self.first, self.last), self.first, lit(-1), Prim.I64), totals)

    def launch(self, lowering: launches.Lowering, kind: str) -> None:
        """Launch the kernel."""
        lowering.launch(self.k, kind, Size.var(self.parts.count), Size.of(1))


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
        with k.when(op("le", lit(0), imp.Load(parts.firsts, number, Prim.I64))):
            launches.reset(k, exp.ops, into)
            k.emit(*after)
        k.accumulate_all(exp.ops, into, [t for ts in tail for t in ts])

    k.loop(part.end, lambda p: take(p, totals, [imp.Assign(fresh.name, truth(True))]),
           start=part.start, base="p")
    carries = [group_scan(k, o, t, lowering.group, fresh, k.constants[1])
               for o, t in zip(exp.ops, totals, strict=True)]
    with k.when(op("eq", LID, lit(0))):
        launches.reset(k, exp.ops, carries)

    def complete(number: Exp) -> None:
        before = [[k.declare("before", p, c) for p, c in zip(ps, cs, strict=True)]
                  for ps, cs in zip(parts.prims, carries, strict=True)]
        take(number, carries, [])
        found(k, number, before)

    k.loop(part.end, complete, start=part.start, base="p")
    k.code = list(insert_barriers(k.code, constants=k.constants))
    lowering.launch_groups(k, "merge_joined", Size.of(1))
