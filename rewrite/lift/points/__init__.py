"""The rewrite points, a file each; a docstring begins with the law."""

from __future__ import annotations

from collections.abc import Mapping

from runelift.rewrite.lift.point import Point
from runelift.rewrite.lift.points.ab_tile import ab_tile
from runelift.rewrite.lift.points.interchange import interchange
from runelift.rewrite.lift.points.interchange_reduce import interchange_reduce
from runelift.rewrite.lift.points.join_split import join_split
from runelift.rewrite.lift.points.kernel_fission import kernel_fission
from runelift.rewrite.lift.points.layout import layout
from runelift.rewrite.lift.points.materialise import materialise
from runelift.rewrite.lift.points.pad_extra import pad_extra
from runelift.rewrite.lift.points.privatise import privatise
from runelift.rewrite.lift.points.split_join import split_join
from runelift.rewrite.lift.points.tile_map_reduce import tile_map_reduce

BOOK: Mapping[str, Point] = {each.name: each for each in (
    split_join, join_split, ab_tile, tile_map_reduce, kernel_fission, materialise, layout,
    interchange, interchange_reduce, privatise, pad_extra,
)}
"""The points that can be applied, by name."""

LATE = frozenset(each.name for each in BOOK.values() if each.needs_reductions)
"""The points that are applied after fusion."""
