"""Points of maps that a work-item has.

A work-item with several points loads shared elements once, and has more loads under way.  But there
must be enough work-items for the device, and registers for all values they keep.
"""

from __future__ import annotations

from typing import NamedTuple

from runelift.codegen.plan.shapes import MapWidth
from runelift.runtime.geometry.shape import Geometry, GeometryLimits, power_of_two_below, powers

MOST_MAP_BYTES = 48
"""The most bytes that the points of a work-item of a map load and store.

There must still be as many work-items as the device holds at once.
"""
SHARING_MAP_POINTS = 8
"""The points of a work-item if neighbours load the same elements."""
SHARING_MAP_FACTOR = 8
"""Such work-items may be so many times fewer than the device holds at once."""
LINE, ROW = 1, 2
"""The values of ``flat``: points that lie as in one dimension, and a row for a work-item."""


class MapWidthRequest(NamedTuple):
    """The fields of :class:`~runelift.codegen.plan.shapes.MapWidth` as numbers."""

    points: int
    rows: int
    beside: int
    bytes: int
    overlapping: bool
    most: int
    wanted_width: int = 0


class MapWidthAnswer(NamedTuple):
    """The answers to :class:`~runelift.codegen.plan.shapes.MapWidth`."""

    width: int
    flat: int


def choose(asked: MapWidthRequest, limits: GeometryLimits) -> MapWidthAnswer:
    """As many points as keep enough work-items and registers.

    Rows of few elements give neighbours nothing to access together, and few rows give a work-item
    few points.  So the points then lie as in one dimension.  On processors a work-item has a row.

    >>> from runelift.runtime.devices.limits import ShareLimits
    >>> gpu = GeometryLimits(ShareLimits(32, 256, 1024, 16, 32, True, 32, 132))
    >>> def some(points, rows, beside, bytes, shares=False, wanted=0):
    ...     return tuple(choose(
    ...         MapWidthRequest(points, rows, beside, bytes, shares, 16, wanted), gpu))
    >>> [some(points, points, points, 8) for points in (1 << 19, 1 << 20, 1 << 28)]
    [(1, 0), (2, 0), (4, 0)]
    >>> [some(1 << 28, 1 << 28, 1 << 28, size) for size in (2, 16, 28)]
    [(16, 0), (2, 0), (1, 0)]
    >>> some(1 << 28, 1 << 27, 2, 8), some(1 << 28, 1, 1 << 28, 2), some(1 << 28, 3, 1 << 26, 8)
    ((4, 1), (16, 1), (4, 1))
    >>> [some(side * side, side, side, 28, shares=True) for side in (64, 512, 1024)]
    [(1, 0), (4, 0), (8, 0)]
    >>> some(1000, 1000, 1000, 8, wanted=8), some(6, 2, 3, 8, wanted=8)
    ((8, 0), (4, 1))
    """
    wanted, points, shares = asked.wanted_width, asked.points, asked.overlapping
    few = MOST_MAP_BYTES // asked.bytes
    wished = power_of_two_below(max(1, min(
        wanted or (SHARING_MAP_POINTS if shares else few), asked.most)))
    flat = asked.beside < limits.shares.lanes or asked.rows < wished
    if flat and shares and not wanted:
        wished = power_of_two_below(max(1, min(wished, few)))
    width = min(wished, power_of_two_below(max(1, points if flat else asked.rows)))
    if wanted:
        return MapWidthAnswer(width, LINE * flat)
    if not limits.shares.staged:
        has_rows = 1 < asked.beside < points and points >= 2 * asked.beside
        return MapWidthAnswer(1, ROW * has_rows)
    items = limits.num_groups * limits.group_size
    needed = items // SHARING_MAP_FACTOR if shares and not flat else items
    while width > 1 and points < needed * width:
        width //= 2
    return MapWidthAnswer(width, LINE * flat)


MAP_WIDTH = Geometry(MapWidth, MapWidthRequest, choose, values=lambda step, shares: {
    "wanted_width": powers(1, step.most)})
