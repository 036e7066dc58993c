"""The launch shape of groups that run side by side as one group of the device."""

from __future__ import annotations

from dataclasses import dataclass

from runelift.codegen.plan.shapes.shape import NO_WISH, Answer, Setting, Shape
from runelift.ir.names import VName
from runelift.ir.sizes import Size


@dataclass(frozen=True, slots=True)
class TeamCount(Shape):
    """``teams`` := the number of ``groups`` that run side by side, as one group of the device.

    Each has ``group`` work-items and ``bytes`` of local memory.  ``even`` is 1 if every team has a
    group, else 0.  ``independent`` is as in
    :class:`~runelift.codegen.plan.shapes.group_shape.GroupShape`.
    """

    teams: Answer
    even: Answer
    group: VName
    groups: Size
    bytes: Size
    wanted_teams: Setting = NO_WISH
    independent: int = 0
