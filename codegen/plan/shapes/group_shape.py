"""The launch shape of groups whose work-items keep rows in chunks."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Any, ClassVar

from runelift.codegen.plan.shapes.shape import NO_WISH, Answer, ChunkAnswers, Setting, Shape
from runelift.ir.names import VName
from runelift.ir.sizes import Size


@dataclass(frozen=True, slots=True)
class GroupShape(Shape):
    """Choose the size of a work-group (a power of two) and of the chunks of its work-items.

    ``group`` is 0 if the device cannot have chunks of that length.  ``staged`` is 1 if chunks of
    global memory are better reached through local memory.  ``subgroup`` neighbouring work-items can
    exchange values, unless it is 1.  Each of ``chunks`` is in private memory, and has elements of
    a number of ``points``.

    ``loops`` are numbers of points that the work-items divide in loops of any length.  ``rows`` are
    numbers and lengths of rows that they reduce; several work-items reduce a row if there are few.
    ``groups`` is the number of groups.  ``teams``: such groups can be smaller than the device likes
    (:class:`~runelift.codegen.plan.shapes.team_count.TeamCount`).  ``independent``: the number of
    indices that count groups whose work-items exchange nothing, else 0.  ``scanned``: some of the
    chunks are scanned.
    """

    needs_subgroups: ClassVar[bool] = True
    group: Answer
    staged: Answer
    subgroup: Answer
    chunks: ChunkAnswers
    groups: Size
    points: tuple[Size, ...] = ()
    loops: tuple[Size, ...] = ()
    rows: tuple[tuple[Size, Size], ...] = ()
    wanted_lanes: Setting = NO_WISH
    wanted_chunk: Setting = NO_WISH
    teams: bool = False
    independent: int = 0
    scanned: bool = False

    def asked(self, changing: Set[VName] = frozenset()) -> dict[str, Any]:
        """The fields of the request by name, and as ``changing`` the places of changing points."""
        asked = Shape.asked(self, changing)
        if places := tuple(place for place, points in enumerate(self.points)
                           if not changing.isdisjoint(points.variables())):
            asked["changing"] = places
        return asked
