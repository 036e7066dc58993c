"""Pieces of products: a long reduction of few points is cut, so that all units have work.

Kernel ``segmap_pieces``: a group makes the partial totals of a block for a piece of the steps.

Kernel ``segmap_combined``: neighbouring work-items have neighbouring points, so they read the
partial totals of a piece together.  ``split`` work-items of a group share a point, where there are
few points.  Each of them folds some of the pieces.  The first one then folds what they found.
Pieces are combined in order.  So is what a group reduces.
"""

from __future__ import annotations

from collections.abc import Sequence

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.plan.shapes import ProductTileShape
from runelift.codegen.plan.views import all_of, ceil_quot, flat_index, lit, op, volume
from runelift.codegen.segops.product_operands import Side
from runelift.codegen.segops.product_results import ProductResults
from runelift.codegen.segops.product_tiles import ProductTile
from runelift.ir import imp
from runelift.ir.analysis.products import Product
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, ceil_div, least


class SplitProductTile(ProductTile):
    """The kernels of a product of few points, whose reduction is cut into pieces.

    A group reduces a piece of a block's elements.  Then the pieces of each point are combined.
    """

    def launch(self) -> None:
        """Write both kernels."""
        lowering, k, ops = self.lowering, self.k, self.product.redomap.ops
        pieces = Size.var(self.block.pieces)
        points = launches.total(lowering, self.product.exp.space)
        partials = [[lowering.temporary("partial", launches.require_scalar(t), points * pieces)
                     for t in o.lam.ret] for o in ops]
        count = k.scalar(self.block.pieces)
        piece = k.declare("piece", Prim.I64, op("rem", launches.GROUP_ID, count))
        self.place(op("quot", launches.GROUP_ID, count))
        part_length = op("mul", ceil_quot(ceil_quot(self.length, count), self.depth), self.depth)
        start = k.declare("start", Prim.I64, op("mul", piece, part_length))
        end = k.declare("end", Prim.I64, op("min", op("add", start, part_length), self.length))
        totals = self.reduce(start, end)
        sizes = [self.batch.size, self.down.size, self.along.size]

        def point(r: Exp, c: Exp) -> None:
            i, j, exists = self.numbers(r, c)
            place = op("add", op("mul", piece, volume(sizes)), flat_index(
                [self.number, i, j], sizes))
            k.emit(imp.If(exists, tuple(
                imp.Store(out, place, imp.Load(name, self.total_cell(r, c), self._atom_prim(atom)),
                          self._atom_prim(atom))
                for o, names, mems in zip(ops, totals, partials, strict=True)
                for atom, name, out in zip(o.neutral, names, mems, strict=True))))

        self.points(point)
        lowering.launch(k, "segmap_pieces", self.blocks() * pieces, Size.var(self.block.group),
                        fits=True)
        _combine_pieces(lowering, self.product, self.block, (self.batch, self.down, self.along),
                       self.results, partials)


def _combine_pieces(lowering: launches.Lowering, product: Product,
                   block: ProductTileShape, sides: tuple[Side, Side, Side],
                   results: ProductResults, partials: Sequence[Sequence[VName]]) -> None:
    """Launch the kernel.  ``partials`` have all points of a piece, then all of the next.

    The ``sides`` of points are the batch, the rows and the columns.
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
            each for some, kinds in zip(mems, prims, strict=True)
            for each in launches.loaded(k, "partial", some, place, kinds)])

    with k.when(exists):
        k.loop(part.end, lambda piece: fold(partials, op("add", op("mul", piece, size), number)),
               start=part.start, base="piece")
    for mems, found, kinds in zip(arrays, totals, prims, strict=True):
        k.emit(*launches.stores(mems, launches.LID, found, kinds))
    k.emit(imp.Barrier(imp.Space.LOCAL))
    with k.when(op("eq", y, lit(0))):
        k.loop(split, lambda n: fold(arrays, op("add", op("mul", n, across), x)),
               start=lit(1), base="n")
    with k.when(all_of(exists, op("eq", y, lit(0)))):
        batch, i, j = launches.unflat(k, number, [side.size for side in sides])
        results.write(k, results.ordered(
            launches.unflat(k, batch, sides[0].widths), results.split(k, sides[1], i),
            results.split(k, sides[2], j)), [t for found in totals for t in found])
    points = launches.total(lowering, product.exp.space)
    lowering.launch_groups(k, "segmap_combined", ceil_div(points * sharing, lowering.group))
