"""Sharing: elements that segments which are reduced have in common.

They decide if it pays that a work-item reduces several segments
(:mod:`runelift.codegen.segops.segred_blocked`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from runelift.ir.analysis.patterns import Pattern, references
from runelift.ir.analysis.products import Reducing, reducing
from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.syntax import Body, Index, SegDim, SegMap, SegRed, SliceDim, Stm
from runelift.ir.traverse import free_vars
from runelift.ir.types import Type, i64, shape_of


def reduction_of(exp: SegMap, names: Names) -> tuple[Reducing, SegRed] | None:
    """The parts of a map whose points reduce elements, with the points as segments; else None."""
    parts = reducing(exp.body, exp.ret, rows=True)
    if parts is None:
        return None
    redomap, index = parts.redomap, names.fresh("k")
    of_a_point = {*(d.index for d in exp.space), *(p.name for s in parts.before for p in s.pat)}
    of_all = {redomap.width, *(a for o in redomap.ops for a in o.neutral),
              *(v for o in redomap.ops for v in free_vars(o.lam))}
    if of_a_point & of_all:
        return None
    taken = tuple(Stm((param,), Index(array, (index, *(SliceDim(i64(0), size, i64(1))
                                                       for size in shape_of(param.type)))))
                  for param, array in zip(redomap.lam.params, redomap.arrays, strict=True))
    body = Body((*parts.before, *taken, *redomap.lam.body.stms), redomap.lam.body.result)

    space = (*exp.space, SegDim(index, redomap.width))
    return parts, SegRed(exp.level, space, redomap.ops, body, redomap.lam.ret)


@dataclass(frozen=True, slots=True)
class Sharing:
    """The reuse of elements between segments.

    ``slides``: neighbours have most elements in common.  ``axis``: the dimension in which a
    work-item's segments are neighbours.
    """

    slides: bool
    axis: int


def sharing(type_of: Callable[[VName], Type], exp: SegRed) -> Sharing | None:
    """The reuse between segments; None without any, or if results other than scalars are made."""
    *points, element = (dim.index for dim in exp.space)
    scalars_only = len(exp.body.result) == sum(len(o.neutral) for o in exp.ops) and all(
        isinstance(t, Prim) for o in exp.ops for t in o.lam.ret)
    if not points or not scalars_only:
        return None
    found = [each for each in references(exp, type_of) if each.pattern is not Pattern.UNKNOWN]
    around = [each for each in found if each.pattern is Pattern.RADIUS]
    if not around and not any(each.points < set(points) for each in found):
        return None
    slid = {p for each in around for dim in each.dims if element in dim.counters
            for p in dim.points}
    axes = [place for place, p in enumerate(points) if p in slid]
    return Sharing(bool(around), axes[0] if axes else max(0, len(points) - 2))
