"""Segments: elements that are reduced together, by a point of a map or a segmented reduction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runelift.codegen.kernel.kernel_builder import Value
from runelift.codegen.kernel.launch_builder import bind_point
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.ir.analysis.sharing import reduction_of
from runelift.ir.imp import Exp
from runelift.ir.names import Names
from runelift.ir.syntax import SegMap, SegRed


@dataclass(frozen=True, slots=True)
class Segments:
    """Segments to reduce: ``finish`` computes the results of a segment from its totals.

    ``finish`` gets the builder, the indices of the segment, and the totals.
    """

    exp: SegRed
    kind: str
    finish: Callable[[KernelBuilder, Sequence[Exp], Sequence[Exp]], Sequence[Value]]


def segments_of_map(exp: SegMap, names: Names) -> Segments | None:
    """A map whose points reduce elements, as segments; None for other maps."""
    found = reduction_of(exp, names)
    if found is None:
        return None
    parts, reduction = found

    def finish(k: KernelBuilder, indices: Sequence[Exp], totals: Sequence[Exp]) -> Sequence[Value]:
        bind_point(k, exp.space, indices)
        return k.finish_reduction(parts, totals)

    return Segments(reduction, "segmap_coarse", finish)


def segments_of_reduction(exp: SegRed) -> Segments:
    """A segmented reduction, whose totals are its results."""
    return Segments(exp, "segred_coarse", lambda k, indices, totals: totals)
