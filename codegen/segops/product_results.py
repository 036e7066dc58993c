"""Results of products: their places, where rows or columns have several dimensions.

A work-item has several rows and columns, as numbers.  Dimensions of a side that follow each other
in results are one there, a *run*, so that most numbers need not be divided.  Where a side has
several runs, a work-item keeps the indices of its rows, or columns, in registers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.plan.views import volume
from runelift.codegen.segops.product_operands import Side
from runelift.ir import imp
from runelift.ir.analysis.products import Product
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim


class ProductResults:
    """The places of the results of a product, with the sides ``batch``, ``down`` and ``along``."""

    def __init__(self, lowering: launches.Lowering, product: Product, batch: Side, down: Side,
                 along: Side) -> None:
        self.lowering, self.product = lowering, product
        self.batch, self.down, self.along = batch, down, along
        self.places: dict[tuple[int, ...], list[VName]] = {}
        self.merges = (max(len(product.rows), len(product.columns)) > 1 and not product.after
                       and product.result == tuple(p.name for p in product.reduction.pat)
                       and all(out.dense for out in lowering.results))
        self.runs = _runs(product, merged=self.merges)

    def runs_of(self, side: Side) -> list[tuple[int, ...]]:
        """The runs of dimensions that results have for a side."""
        return [run for run in self.runs if run[0] in side.dims]

    def split(self, k: KernelBuilder, side: Side, number: Exp) -> list[Exp]:
        """The indices of a row or column in each of the runs of its side."""
        shape = launches.widths(k, self.product.exp.space)
        return launches.unflat(k, number, [
            volume([shape[n] for n in run]) for run in self.runs_of(side)])

    def hold(self, k: KernelBuilder, side: Side, count: VName, number: Callable[[Exp], Exp]
             ) -> None:
        """Keep the indices of ``count`` rows or columns in registers where they are quotients."""
        runs = self.runs_of(side)
        if len(runs) == 1:
            return
        held = self.places[side.dims] = [k.names.fresh("place") for _ in runs]
        k.emit(*(imp.DeclareArray(name, Prim.I64, count) for name in held))

        def place(n: Exp) -> None:
            own = k.declare("number", Prim.I64, number(n))
            k.emit(*(imp.Store(name, n, index, Prim.I64) for name, index in zip(
                held, self.split(k, side, own), strict=True)))

        k.loop(imp.Var(count), place, base="r", unroll=True)

    def held(self, side: Side, number: Exp, lane: Exp) -> list[Exp]:
        """The indices of a row or column of the work-item."""
        places = self.places.get(side.dims)
        return [number] if places is None else [imp.Load(name, lane, Prim.I64) for name in places]

    def ordered(self, outer: Sequence[Exp], down: Sequence[Exp], along: Sequence[Exp]
                ) -> list[Exp]:
        """The indices of a point as results have them."""
        found = {run: index for side, indices in (
            (self.batch, outer), (self.down, down), (self.along, along))
            for run, index in zip(self.runs_of(side), indices, strict=True)}
        return [found[run] for run in self.runs]

    def write(self, k: KernelBuilder, indices: Sequence[Exp], totals: Sequence[Exp]
                      ) -> None:
        """Write the results of a point from the totals of its reduction."""
        outs, product = self.lowering.results, self.product
        if self.merges:
            shape = launches.widths(k, product.exp.space)
            outs = [out.reshape(tuple(volume([shape[n] for n in run]) for run in self.runs))
                    for out in outs]
            launches.store_results(k, outs, indices, totals)
        else:
            launches.bind_point(k, product.exp.space, indices)
            launches.store_results(k, outs, indices, k.finish_reduction(product, totals))


def _runs(product: Product, *, merged: bool) -> tuple[tuple[int, ...], ...]:
    """The dimensions of a product, one by one, or ``merged`` where neighbours are of a side."""
    runs = list[tuple[int, ...]]()
    for n in range(len(product.exp.space)):
        if merged and runs and any({n - 1, n} <= {*side} for side in (
                product.rows, product.columns)):
            runs[-1] = (*runs[-1], n)
        else:
            runs.append((n,))
    return tuple(runs)
