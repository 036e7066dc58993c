"""Segments: elements that are reduced together, by a point of a map or a segmented reduction.

Elements that segments have in common decide if it pays that a work-item reduces several segments
(:mod:`~runelift.codegen.segops.segred_blocked`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runelift.codegen.kernel.kernel_builder import Value
from runelift.codegen.kernel.launch_builder import bind_point
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.ir.imp import Exp
from runelift.ir.names import Names, VName
from runelift.ir.patterns import Pattern, references
from runelift.ir.prim import Prim
from runelift.ir.products import reducing
from runelift.ir.syntax import Body, Index, SegDim, SegMap, SegRed, SliceDim, Stm
from runelift.ir.traverse import free_vars
from runelift.ir.types import Type, i64, shape_of


@dataclass(frozen=True, slots=True)
class Segments:
    """Segments to be reduced; ``finish`` makes the results of a segment from its totals."""

    exp: SegRed
    kind: str
    finish: Callable[[KernelBuilder, Sequence[Exp], Sequence[Exp]], Sequence[Value]]


def segments_of_map(exp: SegMap, names: Names) -> Segments | None:
    """A map whose points reduce elements, as segments; None if it is something else."""
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

    def finish(k: KernelBuilder, indices: Sequence[Exp], totals: Sequence[Exp]) -> Sequence[Value]:
        bind_point(k, exp.space, indices)
        return k.finish_reduction(parts, totals)

    space = (*exp.space, SegDim(index, redomap.width))
    return Segments(SegRed(exp.level, space, redomap.ops, body, redomap.lam.ret), "segmap_coarse",
                    finish)


def segments_of_reduction(exp: SegRed) -> Segments:
    """A segmented reduction, whose totals are its results."""
    return Segments(exp, "segred_coarse", lambda k, indices, totals: totals)


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
    found = [each for each in references(exp, type_of)
             if each.pattern is not Pattern.UNKNOWN]
    around = [each for each in found if each.pattern is Pattern.RADIUS]
    if not around and not any(each.points < set(points) for each in found):
        return None
    slid = {p for each in around for dim in each.dims if element in dim.counters
            for p in dim.points}
    axes = [place for place, p in enumerate(points) if p in slid]
    return Sharing(bool(around), axes[0] if axes else max(0, len(points) - 2))
