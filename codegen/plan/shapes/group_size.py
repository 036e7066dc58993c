"""The launch shape of groups that give all compute units some work."""

from __future__ import annotations

from dataclasses import dataclass

from runelift.codegen.plan.shapes.shape import Answer, Shape
from runelift.ir.names import VName
from runelift.ir.sizes import Size


@dataclass(frozen=True, slots=True)
class GroupSize(Shape):
    """``group`` := a size of groups with which all compute units have some of ``points``.

    It is at most ``most``.
    """

    group: Answer
    most: VName
    points: Size
