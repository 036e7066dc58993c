"""The launch shape of tiles of elements and ends of segments."""

from __future__ import annotations

from dataclasses import dataclass

from runelift.codegen.plan.shapes.shape import NO_WISH, Answer, Setting, Shape
from runelift.ir.sizes import Size


@dataclass(frozen=True, slots=True)
class MergeTileShape(Shape):
    """Choose tiles of a path of ``steps``: the elements, and the ends of segments, in order.

    A tile has ``chunk`` steps for each of ``group`` work-items.  Partial results have ``bytes``
    bytes.
    """

    group: Answer
    chunk: Answer
    steps: Size
    bytes: int
    wanted_group: Setting = NO_WISH
    wanted_chunk: Setting = NO_WISH
