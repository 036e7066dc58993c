"""Packed scans: what each element of a scan does with the counts that it gets.

It computes its place and value as the scatter says, and writes the value
(:mod:`~runelift.codegen.hostplan.packing`).  Other results of the scan's map are computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.plan.views import Indices, View, lit, op
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.prim import Prim
from runelift.ir.syntax import Param, SegScan, SegScatter
from runelift.ir.types import elem_of


@dataclass(frozen=True, slots=True)
class PackedScan:
    """A scatter that reads the results ``scanned`` of a scan, each at its own point only."""

    scanned: Sequence[Param]
    scatter: SegScatter

    def element(self, k: KernelBuilder, scan: SegScan, outs: Sequence[View], place: imp.Var,
                counts: Sequence[Exp]) -> None:
        """Emit the code for the element at ``place``, whose scanned values are ``counts``.

        The last element stores its counts in the first of ``outs``.  The further ``outs`` are the
        destinations.
        """
        width, several = k.scalar(scan.space[0].width), len(counts)
        totals = [k.declare("total", Prim.I64, count) for count in counts]
        launches.bind_point(k, scan.space, [place])
        mapped = [v for v in k.body(scan.body)[several:] if not isinstance(v, View)]
        for param, value in zip(self.scanned, [*totals, *mapped], strict=True):
            k.bind(param, View(elem_of(param.type), (width,), None, _constant(value)))
        launches.bind_point(k, self.scatter.space, [place])
        k.write_inside(outs[several:], [dest.rank for dest in self.scatter.dests],
                       k.body(self.scatter.body))
        k.emit(imp.If(op("eq", place, op("sub", width, lit(1))),
                      tuple(last.write([lit(0)], total)
                            for last, total in zip(outs, totals, strict=False))))


def _constant(value: Exp) -> Callable[[Indices], Exp]:
    return lambda _: value
