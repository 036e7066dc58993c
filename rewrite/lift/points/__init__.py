"""The rewrite points, a file each; a docstring begins with the law."""

from __future__ import annotations

from collections.abc import Mapping

from runelift.rewrite.lift.point import Point
from runelift.rewrite.lift.points.split_join import split_join

BOOK: Mapping[str, Point] = {each.name: each for each in (
    split_join,
)}
"""The points that can be applied, by name."""

LATE = frozenset(each.name for each in BOOK.values() if each.needs_reductions)
"""The points that are applied after fusion."""
