"""The launch shape of segments that groups reduce together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from runelift.codegen.plan.shapes.shape import NO_WISH, Answer, Setting, Shape
from runelift.ir.sizes import Size


class Box(NamedTuple):
    """The part of an array that a group copies to local memory; elements have ``bytes`` bytes.

    ``sides`` has four flags for each dimension.  They are 1 if it is walked by the segments of a
    work-item, by elements combined at a time, by neighbouring work-items, and by iterations.
    """

    bytes: int
    sides: tuple[tuple[int, int, int, int], ...]


@dataclass(frozen=True, slots=True)
class SegmentBlockShape(Shape):
    """Choose the blocks in which groups reduce segments together.

    A work-item has ``points`` segments and combines ``steps`` elements of each at a time (``cells``
    in all).  A ``group`` has ``across`` times ``split`` work-items: ``across`` for neighbouring
    segments, and ``split`` for each segment.  ``points`` is 0 if this does not pay.

    There are ``batch`` times ``height`` times ``width`` segments of ``length`` elements.
    ``height`` is 0 if the segments of a work-item lie in the last dimension.  ``slides``:
    neighbouring segments have most elements in common.  The totals of a segment have ``bytes``
    bytes.

    ``roots``: something is divided by roots, which several points make quicker
    (:mod:`~runelift.codegen.passes.rsqrt`).  ``loops``: the depth of nested loops at an element;
    for each of them a work-item keeps values for all cells.

    A group may copy the arrays in ``boxes`` to local memory, for ``tile`` iterations of such a loop
    at a time.  ``tile`` is 0 if it does not, and a wanted tile of 1 means that.  The wanted arrays
    are a bit for each box, 0 for all.  If ``of_elements``, a tile has elements of segments instead.

    A schedule wants ``across``.  Elements of a work-item may lie ``apart``, as far as the
    group is wide.  A tile of elements has a multiple of ``across`` times ``steps`` then.
    """

    group: Answer
    across: Answer
    split: Answer
    points: Answer
    steps: Answer
    cells: Answer
    tile: Answer
    height: Size
    width: Size
    batch: Size
    length: Size
    slides: bool
    bytes: int
    wanted_group: Setting
    wanted_points: Setting = NO_WISH
    wanted_steps: Setting = NO_WISH
    wanted_split: Setting = NO_WISH
    wanted_tile: Setting = NO_WISH
    wanted_arrays: Setting = NO_WISH
    wanted_across: Setting = NO_WISH
    roots: bool = False
    loops: int = 0
    boxes: tuple[Box, ...] = ()
    of_elements: bool = False
    apart: bool = False
