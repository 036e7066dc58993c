"""Ragged spaces in kernels: where segments begin, how long they are, and which one has an element.

Lengths and offsets are loads.  The segment of an element is found by a search in the offsets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from runelift.codegen.kernel.kernel_builder import CodeBuilder
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.plan.views import View, ceil_quot, lit, op
from runelift.codegen.segops.segred import Segment
from runelift.ir import imp
from runelift.ir.base.errors import CompilerBug
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.ragged import Ragged
from runelift.ir.syntax import Body, Index, Param, SegRed, SegScan, Stm
from runelift.ir.types import shape_of

Op = TypeVar("Op", bound=SegRed | SegScan)


def ragged_of(exp: SegRed | SegScan) -> Ragged:
    """The widths of the last dimension of an operation over a ragged space."""
    found = exp.space[-1].ragged
    if found is None:
        raise CompilerBug("an operation over a regular space is lowered as a ragged one")
    return found


def offset(k: CodeBuilder, ragged: Ragged, segment: Exp) -> Exp:
    """The place of the first element of a segment, or of the end of the last."""
    if ragged.offsets is None:
        raise CompilerBug(f"the segments of {ragged.lengths} have no offsets")
    return k.array(ragged.offsets).read([segment])


def length_of(k: CodeBuilder, lengths: VName, segment: Exp) -> Exp:
    """The length of a segment; a length below 0 is 0, as something else fails there."""
    return op("max", k.array(lengths).read([segment]), lit(0))


def begin_segment(k: KernelBuilder, exp: Op, number: Exp) -> Op:
    """Emit the statements that are alike for all elements of a segment; the operation without them.

    So a loop over elements waits for no such load.  Only reads of arrays with an element for each
    segment move, which are inside for every segment.
    """
    outer = exp.space[0]
    ahead, rest = list[Stm](), list[Stm]()
    for stm in exp.body.stms:
        match stm.exp:
            case Index(array, (index,), False) if index == outer.index and not any(
                    array == p.name for s in exp.body.stms for p in s.pat) and shape_of(
                    k.type_of(array)) == (outer.width,):
                ahead.append(stm)
            case _:
                rest.append(stm)
    k.bind_scalar(Param(outer.index, Prim.I64), number)
    k.body(Body(tuple(ahead), ()))
    return replace(exp, body=Body(tuple(rest), exp.body.result))


def announce(k: CodeBuilder, count: Exp, among: Exp, longest: Exp | None = None) -> None:
    """Announce ``count`` iterations of the loop just emitted, as :func:`spread` has them."""
    loop = k.code.pop()
    assert isinstance(loop, imp.For)
    k.emit(replace(loop, expected=spread(count, among, longest)))


def spread(count: Exp, among: Exp, longest: Exp | None = None) -> imp.Trips:
    """``count`` iterations among so many runs of a loop.

    They are spread evenly, unless the ``longest`` run is known.
    """
    if longest is None:
        longest = ceil_quot(count, op("max", among, lit(1)))
    return imp.Trips(count, among, longest)


def trips_of(k: CodeBuilder, ragged: Ragged, among: Exp, lanes: Exp | None = None) -> imp.Trips:
    """The iterations of a loop through segments, with ``lanes`` work-items for each."""
    longest = None if ragged.longest is None else k.scalar(ragged.longest)
    if longest is not None and lanes is not None:
        longest = ceil_quot(longest, lanes)
    return spread(k.scalar(ragged.total), among, longest)


@dataclass(frozen=True, slots=True)
class RaggedSegment(Segment):
    """A segment of ``length`` elements, whose further results begin at ``start``, if any."""

    length: Exp
    start: Exp | None

    @property
    def width(self) -> Exp:
        """The number of elements of the segment."""
        return self.length

    def place(self, index: Exp) -> list[Exp]:
        """The place of an element's further results, if there are any."""
        return [] if self.start is None else [op("add", self.start, index)]


def segment_of(k: KernelBuilder, exp: SegRed, totals: Sequence[Sequence[imp.Var]],
               outs: Sequence[View], number: Exp, exists: Exp | None = None,
               trips: imp.Trips | None = None) -> RaggedSegment:
    """The segment with a number; it has no elements unless it ``exists``."""
    ragged, count = ragged_of(exp), sum(len(t) for t in totals)

    def loaded(base: str, value: Exp) -> imp.Var:
        if exists is not None:
            value = imp.Select(exists, value, lit(0), Prim.I64)
        return k.declare(base, Prim.I64, value)

    length = loaded("length", length_of(k, ragged.lengths, number))
    start = loaded("start", offset(k, ragged, number)) if len(outs) > count else None
    return RaggedSegment(k, exp, totals, outs[count:], [number], length, start, trips=trips)
