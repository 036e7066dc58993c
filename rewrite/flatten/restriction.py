"""Restriction of Σ to some of its points, and the partition of points by a condition.

A restricted nest has a point for each chosen point of Σ.  It defines the names of Σ by the flat
number of the point in Σ.  So views stay views, and no data is copied::

    Σ = ⟨i < n⟩, x := xs[i]      Σ | points = ⟨q < k⟩, i := points[q], x := xs[i]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from runelift.ir import syntax as ir
from runelift.ir.analysis.placement import SCRATCH
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.types import Atom, array_of, i64
from runelift.rewrite.flatten.code import Code
from runelift.rewrite.flatten.nest import Nest, Segments
from runelift.rewrite.flatten.segments import (
    by_number,
    ends_of,
    exclusive_scans,
    total_of,
)

if TYPE_CHECKING:
    from runelift.rewrite.flatten.walk import Walk


class Restricted(NamedTuple):
    """Σ restricted to some points; ``number`` is the flat number in Σ of a point."""

    nest: Nest
    number: VName


@dataclass(frozen=True, slots=True)
class Partition:
    """The points of Σ by a condition: first where it holds, then where it does not, in order.

    ``order``, an ``[count]i64``, has their flat numbers.  The condition holds at ``chosen`` points.
    ``before``, an ``[count+1]i64``, counts such points before each point.
    """

    cond: Atom
    order: VName
    count: Atom
    chosen: VName
    before: VName


def restricted(walk: Walk, points: VName, count: Atom) -> Restricted:
    """Σ restricted to the points whose flat numbers are in ``points : [count]i64``.

    Statements of the walk that wait must not bind names that the restricted nest is to know.
    """
    number, nest = by_number(walk)
    index = walk.fresh("q", Prim.I64).name
    return Restricted(Nest((ir.SegDim(index, count),), nest.defs).define([
        ir.Stm((ir.Param(number, Prim.I64),), ir.Index(points, (index,)))]), number)


def partition(walk: Walk, cond: Atom, lengths: VName | None = None) -> Partition:
    """The partition of the points of Σ by ``cond``, a name that Σ knows.

    The pass that counts points also finds the offsets of ``lengths``, which are stored in one
    dimension.
    """
    count, (number, nest) = walk.points_of(), by_number(walk)
    over, code = Nest((ir.SegDim(number, count),), nest.defs), Code(walk.flattener)
    one = code.emitted("one", Prim.I64, ir.Convert(Prim.BOOL, Prim.I64, cond))
    ends, beside = ends_of(walk, count), () if lengths is None else (lengths,)
    before, *offsets = exclusive_scans(walk, number, over.kernel_body(
        tuple(code.out), (one, *beside)), ends)
    chosen = total_of(walk, before, count, "chosen")
    if lengths is not None:
        array = walk.nest.expanded(lengths)
        assert array is not None
        walk.nest = walk.nest.with_segments(lengths, Segments(
            count, array, total_of(walk, offsets[0], count), offsets=offsets[0]))
    found = place_of(walk, Partition(cond, before, count, chosen, before), number)
    space, body = walk.kernel(over, found.stms, (*found.result, number))
    blank = walk.emitted("blank", array_of((count,), Prim.I64),
                         ir.Replicate((count,), i64(0)), (SCRATCH,))
    order = walk.emitted("order", array_of((count,), Prim.I64), ir.SegScatter(
        walk.level, space, (ir.Dest(blank, 1),), body))
    return Partition(cond, order, count, chosen, before)


def place_of(walk: Walk, parts: Partition, number: VName) -> ir.Body:
    """The place of a point in the order of a partition."""
    first, second = places_of(walk, parts, number)
    code = Code(walk.flattener)
    code.emit(*second.stms)
    other = code.computed("add", parts.chosen, *second.result, base="other")
    return code.as_body(*code.chosen(parts.cond, ir.Body((), first.result),
                                     ir.Body((), (other,)), (Prim.I64,), "place"))


def places_of(walk: Walk, parts: Partition, number: VName) -> tuple[ir.Body, ir.Body]:
    """The place of a point among points where the condition holds, and where it does not hold."""
    code = Code(walk.flattener)
    before = code.read(parts.before, number, base="before")
    first = code.as_body(before)
    return first, code.as_body(code.computed("sub", number, before, base="behind"))


def chosen_points(walk: Walk, parts: Partition) -> VName:
    """The flat numbers of the points where the condition holds."""
    return walk.part_of(parts.order, i64(0), array_of((parts.chosen,), Prim.I64))


def other_points(walk: Walk, parts: Partition) -> tuple[VName, VName]:
    """The flat numbers of the points where the condition does not hold, and how many they are."""
    count = walk.computed("sub", parts.count, parts.chosen, base="others")
    return walk.part_of(parts.order, parts.chosen, array_of((count,), Prim.I64)), count
