"""Products: which kernels compute a product, by blocks.

Strategy: taken for products (:mod:`runelift.ir.analysis.products`) if blocks pay for the sizes and
the device.  If there are few blocks, the reduction is cut into pieces.  The host chooses by
:class:`~runelift.codegen.plan.shapes.ProductTileShape`, or a schedule does.
"""

from __future__ import annotations

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.plan import plan
from runelift.codegen.plan.parameters import Quantity
from runelift.codegen.plan.shapes import ProductTileShape
from runelift.codegen.segops.product_operands import most_elements, tests_margins
from runelift.codegen.segops.product_pieces import SplitProductTile
from runelift.codegen.segops.product_tiles import ProductTile
from runelift.ir.analysis.blocks import COLUMNS, ROWS, blocks_of
from runelift.ir.analysis.products import Product
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size
from runelift.ir.sizes import product as multiply
from runelift.ir.types import elem_of, i64


def lower_product(lowering: launches.Lowering, product: Product,
                  otherwise: tuple[plan.Step, ...]) -> None:
    """Add the tiled kernel if it pays for the device and the sizes, else other steps."""
    fresh = lowering.names.fresh
    space = product.exp.space
    height, width, batch = (multiply([lowering.size(space[n].width) for n in dims])
                            for dims in (product.rows, product.columns, product.batch))
    computed = {p.name for stm in product.before for p in stm.pat}
    lengths, asked = product.lengths, blocks_of(lowering.stm)
    sides = {ROWS: product.left, COLUMNS: product.right}
    copied = frozenset[VName]().union(*(names for side, names in sides.items()
                                        if asked is None or side in asked.copies))
    sizes = [sum(elem_of(o.param.type).bytes for o in product.operands
                 if o.param.name in some & copied) for some in sides.values()]
    wanted = tuple(map(lowering.setting, (Quantity.SIDE, Quantity.ROWS, Quantity.COLUMNS,
                                          Quantity.ACROSS, Quantity.DEPTH, Quantity.PIECES))
                   if asked is None else map(i64, (
                       asked.side, asked.own_rows, asked.own_columns, asked.across, asked.depth,
                       0)))
    block = ProductTileShape(
        fresh("group"), fresh("side"), fresh("across"), fresh("rows"), fresh("columns"),
        fresh("depth"), fresh("down"), fresh("along"), fresh("cells"), fresh("slabs"),
        fresh("pieces"), fresh("split"), height, width, batch,
        Size.of(0) if lengths[0] in computed else multiply(map(lowering.size, lengths)),
        (sizes[0], sizes[1]), *wanted)
    lowering.steps.append(block)
    lowering.scalars.add(block.pieces)
    several = max(map(len, (product.rows, product.columns, product.walks))) > 1
    most = most_elements(lowering, product) if several else None
    index = Prim.I64 if most is None else Prim.I32
    lowering.testing = several and tests_margins(lowering, product)
    unroll = lowering.unroll_factor()
    whole, split = (launches.branch(lowering, kind(
        lowering, product, block, index, copied, unroll).launch, name)
                    for kind, name in ((ProductTile, "blocks"), (SplitProductTile, "pieces")))
    lowering.testing = False
    apart, one = fresh("apart"), fresh("one")
    if most is not None:
        none, many, large = fresh("none"), fresh("many"), lowering.scalar("elements", most)
        lowering.steps += [
            plan.Compute(none, "eq", Prim.I64, (block.rows, i64(0))),
            plan.Compute(many, "le", Prim.I64, (i64(1 << 31), large)),
            plan.Compute(apart, "or", Prim.BOOL, (none, many))]
    else:
        lowering.steps.append(plan.Compute(apart, "eq", Prim.I64, (block.rows, i64(0))))
    lowering.steps.append(plan.Compute(one, "eq", Prim.I64, (block.pieces, i64(1))))
    launches.choose(lowering, apart, otherwise, launches.branch(
        lowering, lambda: launches.choose(lowering, one, whole, split)))
