"""The launch shape of scans in tiles."""

from __future__ import annotations

from dataclasses import dataclass

from runelift.codegen.plan.shapes.shape import NO_WISH, Answer, Setting, Shape
from runelift.ir.names import VName


@dataclass(frozen=True, slots=True)
class ScanTileShape(Shape):
    """Choose the tiles of a scan of ``points`` elements of ``bytes`` bytes.

    A tile has ``chunk`` elements for each of ``group`` work-items; ``staged`` is as in GroupShape.
    Groups look back at ``window`` earlier tiles, and poll at most ``patience`` times for their
    totals.  ``patience`` is 0 if groups should not wait for each other.
    """

    group: Answer
    staged: Answer
    chunk: Answer
    window: Answer
    patience: Answer
    points: VName
    bytes: int
    wanted_group: Setting = NO_WISH
    wanted_chunk: Setting = NO_WISH
