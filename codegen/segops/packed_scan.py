"""Packed scans: what each element of a scan does with the count that it gets.

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
                count: Exp) -> None:
        """The code for the element at ``place``, whose scanned value is ``count``.

        The last one stores its count in the first of ``outs``.  The others are the destinations.
        """
        last, width = outs[0], k.scalar(scan.space[0].width)
        total = k.declare("total", Prim.I64, count)
        launches.bind_point(k, scan.space, [place])
        mapped = [v for v in k.body(scan.body)[1:] if not isinstance(v, View)]
        for param, value in zip(self.scanned, [total, *mapped], strict=True):
            k.bind(param, View(elem_of(param.type), (width,), None, _constant(value)))
        launches.bind_point(k, self.scatter.space, [place])
        k.write_inside(outs[1:], [dest.rank for dest in self.scatter.dests],
                       k.body(self.scatter.body))
        k.emit(imp.If(imp.Apply("eq", Prim.I64, (place, op("sub", width, lit(1)))),
                      (last.write([lit(0)], total),)))


def _constant(value: Exp) -> Callable[[Indices], Exp]:
    return lambda _: value
