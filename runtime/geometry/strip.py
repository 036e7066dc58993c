"""Strips of neighbouring columns that a work-item reduces."""

from __future__ import annotations

from typing import NamedTuple

from runelift.codegen.plan.shapes import StripShape
from runelift.runtime.devices.limits import ShareLimits, ceil_div
from runelift.runtime.geometry.shape import Geometry, GeometryLimits

NARROWEST_STRIP = 4
"""The fewest neighbouring columns that a work-item reduces together."""
STRIP_ROWS = 4
"""The rows of a product in a strip: more totals do not fit into 32 vector registers."""
NEAR_STRIP_ROWS = 512
"""The rows whose pages a processor still knows when the next strip reads them."""
LEAST_PIECE_ROWS = 64
"""The least rows of a piece of a column; pieces keep more compute units busy."""
STRIP_PIECES_PER_UNIT = 8
"""The most pieces for each compute unit."""


class StripRequest(NamedTuple):
    """The fields of :class:`~runelift.codegen.plan.shapes.StripShape` as numbers."""

    width: int
    height: int
    batch: int
    length: int


class StripAnswer(NamedTuple):
    """The answers to :class:`~runelift.codegen.plan.shapes.StripShape`."""

    group: int
    columns: int
    rows: int
    cells: int
    pieces: int


def choose(asked: StripRequest, limits: GeometryLimits) -> StripAnswer:
    """Strips as broad as the device likes, in pieces that keep it busy.

    Work-items that run together have a column each.  Other strips are narrower if the last would
    repeat much work of the one before it.  They have several rows of products.  Pieces are so short
    that the elements of the next strip are still in the cache.

    >>> cpu = GeometryLimits(ShareLimits(4, 64, 4096, 16, 32, False, 1024, columns=32), units=2)
    >>> def strips(*sizes, limits=cpu):
    ...     found = choose(StripRequest(*sizes), limits)
    ...     return f"{found.columns} x {found.rows} in {found.pieces}"
    >>> [strips(n, 1, 1, m) for n, m in [(1024, 4096), (16, 1 << 20), (1000000, 9)]]
    ['32 x 1 in 8', '16 x 1 in 16', '32 x 1 in 1']
    >>> [strips(n, 9, 1, 100) for n in (56, 33, 14, 3)]
    ['32 x 4 in 1', '8 x 4 in 1', '8 x 4 in 1', '0 x 1 in 1']
    >>> gpu = GeometryLimits(ShareLimits(32, 256, 1024, 16, 32, True, 1, 132, crew=270336))
    >>> [strips(n, 1, 1, m, limits=gpu) for n, m in [(16777, 1000), (300000, 100), (5, 10**7)]]
    ['1 x 1 in 15', '0 x 1 in 1', '0 x 1 in 1']
    """
    shares, width, length = limits.shares, asked.width, asked.length
    if shares.staged:
        return _lone_columns(asked, shares)
    columns = shares.columns
    while columns >= NARROWEST_STRIP and (
            width < columns or 4 * columns * ceil_div(width, columns) > 5 * width):
        columns //= 2
    columns = columns if columns >= NARROWEST_STRIP else min(NARROWEST_STRIP, shares.columns)
    if not columns or width < columns:
        return StripAnswer(group=1, columns=0, rows=1, cells=0, pieces=1)
    rows = STRIP_ROWS if asked.height >= STRIP_ROWS else 1
    strips = asked.batch * ceil_div(asked.height, rows) * ceil_div(width, columns)
    near = ceil_div(length, NEAR_STRIP_ROWS) if width > columns else 1
    pieces = min(length // LEAST_PIECE_ROWS, STRIP_PIECES_PER_UNIT * limits.units // max(1, strips))
    return StripAnswer(1, columns, rows, rows * columns, max(1, near, pieces))


def _lone_columns(asked: StripRequest, shares: ShareLimits) -> StripAnswer:
    """Pieces of one column for each work-item."""
    points = asked.batch * asked.height * asked.width
    pieces = min(asked.length // LEAST_PIECE_ROWS, ceil_div(shares.crew, max(1, points)))
    pays = int(asked.width >= shares.lanes and pieces > 1 and points * asked.length >= shares.crew)
    return StripAnswer(shares.group, columns=pays, rows=1, cells=pays, pieces=pieces if pays else 1)


STRIP = Geometry(StripShape, StripRequest, choose)
