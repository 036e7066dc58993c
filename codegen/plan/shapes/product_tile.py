"""The launch shape of products that groups compute in blocks."""

from __future__ import annotations

from dataclasses import dataclass

from runelift.codegen.plan.shapes.shape import NO_WISH, Answer, Setting, Shape
from runelift.ir.names import VName
from runelift.ir.sizes import Size


@dataclass(frozen=True, slots=True)
class ProductTileShape(Shape):
    """Choose the blocks in which groups compute the last two dimensions of a product.

    A group has ``side`` x ``across`` work-items (``group`` in all).  Each has ``rows`` x
    ``columns`` points (``cells`` in all).  The group goes through the reduction ``depth`` elements
    at a time.  Of these a work-item fetches ``down`` elements for rows and ``along`` for columns.
    ``rows`` is 0 if blocks do not pay.

    If there are few blocks, the reduction of ``length`` elements is cut into ``pieces``, with a
    group for each.  Then ``split`` work-items combine the pieces of a point.  There is local memory
    for ``slabs``.  With two of them, one is filled while the other is combined.  ``bytes`` are the
    sizes of an element along the height and along the width.
    """

    group: Answer
    side: Answer
    across: Answer
    rows: Answer
    columns: Answer
    depth: Answer
    down: Answer
    along: Answer
    cells: Answer
    slabs: Answer
    pieces: Answer
    split: Answer
    height: Size
    width: Size
    batch: Size
    length: Size
    bytes: tuple[int, int]
    wanted_side: Setting = NO_WISH
    wanted_rows: Setting = NO_WISH
    wanted_columns: Setting = NO_WISH
    wanted_across: Setting = NO_WISH
    wanted_depth: Setting = NO_WISH
    wanted_pieces: Setting = NO_WISH

    def constants(self) -> tuple[VName, ...]:
        """The sizes that kernels are built for."""
        return self.names()[:-2]
