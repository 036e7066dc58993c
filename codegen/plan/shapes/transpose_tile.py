"""The launch shape of transposed copies."""

from __future__ import annotations

from dataclasses import dataclass

from runelift.codegen.plan.shapes.shape import Answer, Shape
from runelift.ir.names import VName
from runelift.ir.sizes import Size


@dataclass(frozen=True, slots=True)
class TransposeTileShape(Shape):
    """Choose the tiles of a transposed copy of elements of ``bytes`` bytes.

    ``fast`` elements side by side in the source come to lie apart, and ``last`` elements that lie
    apart come to lie side by side.  A tile has ``height`` times ``width`` of them, and its columns
    are ``pitch`` elements apart in local memory.  ``height`` is 0 if tiles do not pay.  ``words``
    is 1 if rows and columns are whole words.  Groups have ``group`` work-items.
    """

    height: Answer
    width: Answer
    pitch: Answer
    words: Answer
    fast: Size
    last: Size
    bytes: int
    group: Size

    def constants(self) -> tuple[VName, ...]:
        """The sizes that kernels are built for."""
        return self.names()[:-1]
