"""The launch shape of maps whose work-items have several points."""

from __future__ import annotations

from dataclasses import dataclass

from runelift.codegen.plan.shapes.shape import NO_WISH, Answer, Setting, Shape
from runelift.ir.sizes import Size


@dataclass(frozen=True, slots=True)
class MapWidth(Shape):
    """``width`` := the number of points of a map that a work-item has, at most ``most``.

    There are ``points`` in all.  In several dimensions the points of a work-item are neighbours
    among ``rows``, each of ``beside`` points.  ``flat`` := 1 if they had better lie as in one
    dimension, 2 if a work-item had better have a whole row, else 0.  A point loads and stores
    ``bytes`` bytes.  ``overlapping``: neighbouring points may load the same elements.
    """

    width: Answer
    flat: Answer
    points: Size
    rows: Size
    beside: Size
    bytes: int
    overlapping: bool
    most: int
    wanted_width: Setting = NO_WISH
