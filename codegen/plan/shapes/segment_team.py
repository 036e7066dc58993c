"""The launch shape of work-items that share a segment, where segments differ in length."""

from __future__ import annotations

from dataclasses import dataclass

from runelift.codegen.plan.shapes.shape import NO_WISH, Answer, Setting, Shape
from runelift.ir.sizes import Size


@dataclass(frozen=True, slots=True)
class SegmentTeamShape(Shape):
    """Choose the work-items of a ``group``, of which ``lanes`` neighbours share a segment.

    Both are powers of two.  There are ``segments`` with ``elements`` in all, and partial results of
    ``bytes`` bytes.  ``alone``: a group has one segment, so it has as many work-items as lanes.
    """

    group: Answer
    lanes: Answer
    segments: Size
    elements: Size
    bytes: int
    alone: bool
    wanted_group: Setting = NO_WISH
    wanted_lanes: Setting = NO_WISH
