"""Pieces of products: combine the partial totals of points whose reductions were cut.

Kernel ``segmap_combined``: neighbouring work-items have neighbouring points, so they read the
partial totals of a piece together.  ``split`` work-items of a group share a point, where there are
few points.  Each of them folds some of the pieces.  The first one then folds what they found.
Pieces are combined in order.
"""

from __future__ import annotations

from collections.abc import Sequence

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.plan import distribution
from runelift.codegen.plan.views import lit, op, volume
from runelift.codegen.segops.product_operands import Side
from runelift.codegen.segops.product_results import ProductResults
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.products import Product
from runelift.ir.sizes import Size, ceil_div, least


def combine_pieces(lowering: launches.Lowering, product: Product,
                   block: distribution.ProductTileShape, sides: tuple[Side, Side, Side],
                   results: ProductResults, partials: Sequence[Sequence[VName]]) -> None:
    """Launch the kernel.  ``partials`` have all points of a piece, then all of the next.

    The ``sides`` of points are those of the batch, of rows and of columns.
    """
    ops = product.redomap.ops
    sharing = least(Size.var(block.split), lowering.group)
    split = imp.Var(lowering.scalar("split", sharing))
    k = lowering.builder_of_groups()
    arrays = launches.local_arrays(k, ops, lowering.group)
    prims = [[launches.require_scalar(t) for t in o.lam.ret] for o in ops]
    count = k.scalar(block.pieces)
    size = volume([side.size for side in sides])
    across = k.declare("across", Prim.I64, op("quot", launches.LSIZE, split))
    x = k.declare("x", Prim.I64, op("rem", launches.LID, across))
    y = k.declare("y", Prim.I64, op("quot", launches.LID, across))
    number = k.declare("point", Prim.I64, op("add", op("mul", launches.GROUP_ID, across), x))
    exists = k.declare("exists", Prim.BOOL, op("lt", number, size))
    totals = [launches.scalars(k.neutral(o)) for o in ops]
    part = launches.even_part(k, count, y, split)

    def fold(mems: Sequence[Sequence[VName]], place: Exp) -> None:
        k.accumulate_all(ops, totals, [
            k.declare("partial", p, imp.Load(m, place, p))
            for some, kinds in zip(mems, prims, strict=True)
            for m, p in zip(some, kinds, strict=True)])

    with k.block() as own:
        k.loop(part.end, lambda piece: fold(partials, op("add", op("mul", piece, size), number)),
               start=part.start, base="piece")
    k.emit(imp.If(exists, tuple(own)))
    with k.block() as shared:
        k.emit(*(imp.Store(m, launches.LID, total, p)
                 for mems, found, kinds in zip(arrays, totals, prims, strict=True)
                 for m, total, p in zip(mems, found, kinds, strict=True)),
               imp.Barrier(imp.Space.LOCAL))
        with k.block() as first:
            k.loop(split, lambda n: fold(arrays, op("add", op("mul", n, across), x)),
                   start=lit(1), base="n")
        k.emit(imp.If(op("eq", y, lit(0)), tuple(first)))
    k.emit(imp.If(op("lt", lit(1), split), tuple(shared)))
    with k.block() as write:
        batch, i, j = launches.unflat(k, number, [side.size for side in sides])
        results.write(k, results.ordered(
            launches.unflat(k, batch, sides[0].widths), results.split(k, sides[1], i),
            results.split(k, sides[2], j)), [t for found in totals for t in found])
    k.emit(imp.If(imp.Apply("and", Prim.BOOL, (exists, op("eq", y, lit(0)))), tuple(write)))
    points = launches.total(lowering, product.exp.space)
    lowering.launch_groups(k, "segmap_combined",
                           ceil_div(points * sharing, lowering.group))
