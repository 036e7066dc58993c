"""The launch shape of reductions down the columns of matrices."""

from __future__ import annotations

from dataclasses import dataclass

from runelift.codegen.plan.shapes.shape import Answer, Shape
from runelift.ir.names import VName
from runelift.ir.sizes import Size


@dataclass(frozen=True, slots=True)
class StripShape(Shape):
    """Choose the strips of reductions down the columns of matrices.

    A work-item has ``columns`` neighbouring columns, of ``width`` in each of ``batch`` matrices.
    It has one of ``pieces`` parts of the ``length`` rows.  ``columns`` is 0 if strips do not pay on
    the device.  ``group`` is 1, unless work-items run together.

    The columns of a product are combined with ``rows`` of its ``height`` rows at a time.  A
    work-item has ``cells`` totals.
    """

    group: Answer
    columns: Answer
    rows: Answer
    cells: Answer
    pieces: Answer
    width: Size
    height: Size
    batch: Size
    length: Size

    def constants(self) -> tuple[VName, ...]:
        """The sizes that kernels are built for."""
        return self.names()[:-1]
