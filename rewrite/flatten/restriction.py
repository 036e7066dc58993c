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
from runelift.ir.operators import one_operation
from runelift.ir.prim import Prim
from runelift.ir.types import Atom, array_of, i64
from runelift.rewrite.flatten.nest import Nest
from runelift.rewrite.flatten.segments import (
    by_number,
    computed,
    define_number,
    emitted,
    number_of_points,
    part_of,
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
    ``ends``, an ``[count]i64``, counts such points up to each point.
    """

    cond: Atom
    order: VName
    count: Atom
    chosen: VName
    ends: VName


def restricted(walk: Walk, points: VName, count: Atom) -> Restricted:
    """Σ restricted to the points whose flat numbers are in ``points : [count]i64``.

    Statements of the walk that wait must not bind names that the restricted nest is to know.
    """
    number, nest = by_number(walk)
    index = walk.flattener.names.fresh("q")
    walk.flattener.learn_params([ir.Param(index, Prim.I64)])
    return Restricted(Nest((ir.SegDim(index, count),), nest.defs).define([
        ir.Stm((ir.Param(number, Prim.I64),), ir.Index(points, (index,)))]), number)


def partition(walk: Walk, cond: Atom) -> Partition:
    """The partition of the points of Σ by ``cond``, a name that Σ knows."""
    names, count = walk.flattener.names, number_of_points(walk)
    number, nest = by_number(walk)
    over = Nest((ir.SegDim(number, count),), nest.defs)
    one = ir.Param(names.fresh("one"), Prim.I64)
    counted = over.kernel_body((ir.Stm((one,), ir.Convert(Prim.BOOL, Prim.I64, cond)),),
                               (one.name,))
    space, body = walk.flattener.fresh_kernel(over.space, counted)
    ends = emitted(walk, "ends", array_of((count,), Prim.I64), ir.SegScan(
        walk.level, space, (one_operation(names, "add", i64(0)),), body, (Prim.I64,)))
    chosen = _last(walk, ends, count)
    stms, place = place_of(walk, Partition(cond, ends, count, chosen, ends), number)
    space, body = walk.flattener.fresh_kernel(
        over.space, over.kernel_body(stms, (place, number)))
    blank = emitted(walk, "blank", array_of((count,), Prim.I64),
                    ir.Replicate((count,), i64(0)), (SCRATCH,))
    order = emitted(walk, "order", array_of((count,), Prim.I64), ir.SegScatter(
        walk.level, space, (ir.Dest(blank, 1),), body))
    return Partition(cond, order, count, chosen, ends)


def place_of(walk: Walk, parts: Partition, number: VName) -> tuple[tuple[ir.Stm, ...], VName]:
    """The place of a point in the order of a partition, and the statements that compute it."""
    names = walk.flattener.names
    first, second = places_of(walk, parts, number)
    other, place = (ir.Param(names.fresh(base), Prim.I64) for base in ("other", "place"))
    walk.flattener.learn_params([other, place])
    read, before = first.stms
    return (
        read, before, second.stms[1],
        ir.Stm((other,), ir.PrimOp("add", Prim.I64, (parts.chosen, second.result[0]))),
        ir.Stm((place,), ir.If(parts.cond, ir.Body((), first.result),
                               ir.Body((), (other.name,)), (Prim.I64,)))), place.name


def places_of(walk: Walk, parts: Partition, number: VName) -> tuple[ir.Body, ir.Body]:
    """The place of a point among the points that the condition chooses, and among the rest."""
    end, before, behind = (ir.Param(walk.flattener.names.fresh(base), Prim.I64)
                           for base in ("end", "before", "behind"))
    walk.flattener.learn_params([end, before, behind])
    read = ir.Stm((end,), ir.Index(parts.ends, (number,)))
    return (ir.Body((read, ir.Stm((before,), ir.PrimOp("sub", Prim.I64, (end.name, i64(1))))),
                    (before.name,)),
            ir.Body((read, ir.Stm((behind,), ir.PrimOp("sub", Prim.I64, (number, end.name)))),
                    (behind.name,)))


def chosen_points(walk: Walk, parts: Partition) -> VName:
    """The flat numbers of the points where the condition holds."""
    return part_of(walk, parts.order, i64(0), array_of((parts.chosen,), Prim.I64))


def other_points(walk: Walk, parts: Partition) -> tuple[VName, VName]:
    """The flat numbers of the points where the condition does not hold, and how many they are."""
    count = computed(walk, "sub", parts.count, parts.chosen, base="others")
    return part_of(walk, parts.order, parts.chosen, array_of((count,), Prim.I64)), count


def define_place(walk: Walk, parts: Partition) -> VName:
    """The place of a point of Σ in the order of a partition, as a definition of Σ."""
    stms, place = place_of(walk, parts, define_number(walk))
    walk.nest = walk.nest.define(stms)
    return place


def _last(walk: Walk, ends: VName, count: Atom) -> VName:
    """The last element of a scan, 0 if there is none."""
    names = walk.flattener.names
    some = emitted(walk, "some", Prim.BOOL, ir.PrimOp("lt", Prim.I64, (i64(0), count)))
    at, last = (ir.Param(names.fresh(base), Prim.I64) for base in ("at", "last"))
    read = ir.Body((ir.Stm((at,), ir.PrimOp("sub", Prim.I64, (count, i64(1)))),
                    ir.Stm((last,), ir.Index(ends, (at.name,)))), (last.name,))
    return emitted(walk, "chosen", Prim.I64,
                   ir.If(some, read, ir.Body((), (i64(0),)), (Prim.I64,)))
