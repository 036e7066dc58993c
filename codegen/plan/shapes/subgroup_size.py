"""The launch shape of groups whose work-items exchange values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from runelift.codegen.plan.shapes.shape import Answer, Shape
from runelift.ir.names import VName


@dataclass(frozen=True, slots=True)
class SubGroupSize(Shape):
    """``subgroup`` := the number of neighbouring work-items of a group that can exchange values.

    It is 1 if they cannot, or if groups of ``group`` work-items gain nothing by it.
    """

    needs_subgroups: ClassVar[bool] = True
    subgroup: Answer
    group: VName
