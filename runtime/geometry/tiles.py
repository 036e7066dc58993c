"""How many points of maps, products and neighbourhoods a work-item has, and columns of a matrix.

A work-item that has several shares what they load, and has more on its way at a time; but there
must be enough work-items for the device, and registers and local memory for all that they keep.
"""

from __future__ import annotations

from functools import lru_cache
from math import isqrt, prod
from typing import NamedTuple, TypeAlias

from runelift.runtime.devices.limits import ShareLimits, ceil_div, power_of_two_above
from runelift.runtime.geometry.work_groups import (
    REMEMBERED,
    power_of_two_below,
)

Boxes: TypeAlias = tuple[tuple[int, tuple[tuple[int, int, int, int], ...]], ...]
"""The fields of each :class:`runelift.codegen.plan.distribution.Box`."""


# Maps

ON_THEIR_WAY = 48
"""A work-item of a map has points that load and store up to so many bytes, if there are still as
many work-items as the device holds at once,"""
NEAR_POINTS = 8
"""or so many points, if neighbours load the same,"""
FEWER_ITEMS = 8
"""and there are so many times fewer at least."""


@lru_cache(REMEMBERED)
def width(limits: ShareLimits, points: int, rows: int, beside: int, size: int, shares: bool,
          most: int, items: int, wanted: int = 0) -> int:
    """The value of :class:`.distribution.Width` on a device that holds ``items`` at once.

    >>> gpu = ShareLimits(32, 256, 1024, 16, 32, True, 32, 132)
    >>> def some(points, rows, beside, size, shares=False, wanted=0):
    ...     return width(gpu, points, rows, beside, size, shares, 16, 270336, wanted)
    >>> [some(points, points, points, 8) for points in (1 << 19, 1 << 20, 1 << 28)]
    [1, 2, 4]
    >>> [some(1 << 28, 1 << 28, 1 << 28, size) for size in (2, 16, 28)]
    [16, 2, 1]
    >>> some(1 << 28, 1 << 27, 2, 8), some(1 << 28, 3, 1 << 26, 8)
    (1, 2)
    >>> [some(side * side, side, side, 28, shares=True) for side in (64, 512, 1024)]
    [1, 4, 8]
    >>> some(1000, 1000, 1000, 8, wanted=8), some(6, 2, 3, 8, wanted=8)
    (8, 2)
    """
    enough = NEAR_POINTS if shares else ON_THEIR_WAY // size
    found = power_of_two_below(max(1, min(wanted or enough, most, rows)))
    if wanted:
        return found
    if not limits.staged or beside < limits.lanes:
        return 1
    needed = items // FEWER_ITEMS if shares else items
    while found > 1 and points < needed * found:
        found //= 2
    return found


# Products

MOST_POINTS = 8
"""How many rows and columns of a block a work-item has at most."""
COMBINE, BRING = 8, 5
"""Of the time of a work-item, to combine an element for a point takes so much, and so much to bring
it from memory for a row or column of points."""
FILLED = 4
"""Until its first elements are there, a block takes one of so many parts of its time."""

IDLE = 4
"""Products with fewer blocks than one for so many compute units are done in pieces,"""
PIECES = 4
"""of which there are so many for each compute unit,"""
SLABS = 8
"""if each goes through so many slabs at least."""
SPARE = 4
"""Rows of a slab have so many spare elements (:mod:`runelift.codegen.segops.product_tiles`)."""


@lru_cache(REMEMBERED)
def block(limits: ShareLimits, height: int, width: int, batch: int, length: int,
          units: int, sizes: tuple[int, int], local_bytes: int,
          wanted: tuple[int, ...] = (0, 0, 0)) -> tuple[int, ...]:
    """The values of :class:`runelift.codegen.plan.distribution.ProductTileShape` for elements of
    ``sizes`` bytes.

    Work-items have as many points as make the product quickest: many are combined in less time,
    but large blocks do not come out even with the compute units.  There are few shapes, since a
    kernel is built for each.  Where most units would have none even so, long reductions are done
    in pieces.  ``wanted`` are side, rows and columns, 0 for those that fit best; blocks are no
    larger than the product.

    >>> gpu = ShareLimits(32, 256, 1024, 16, 32, True, 1)
    >>> def some(height, width, length, sizes=(4, 4)):
    ...     return block(gpu, height, width, 1, length, 132, sizes, 48 << 10)
    >>> some(4096, 4096, 4096), some(4096, 4096, 4096, (8, 8))
    ((256, 16, 8, 8, 16, 64, 2, 1), (256, 16, 8, 8, 16, 64, 1, 1))
    >>> some(1024, 1056, 992)
    (256, 16, 4, 2, 16, 8, 2, 1)
    >>> some(1024, 1024, 1024), some(262144, 16, 64)
    ((256, 16, 4, 4, 16, 16, 2, 1), (256, 16, 8, 1, 16, 8, 2, 1))
    >>> some(16, 16, 1 << 20), some(8, 8, 1 << 20)
    ((256, 16, 1, 1, 16, 1, 2, 528), (256, 16, 0, 0, 16, 0, 1, 1))
    """
    side = wanted[0] or isqrt(limits.group)
    group = side * side
    alike = limits.staged or any(wanted)
    if not alike or min(height, width) < side or (not wanted[0] and group != limits.group):
        return limits.group, side, 0, 0, side, 0, 1, 1
    most = [min(most or MOST_POINTS, power_of_two_below(size // side))
            for most, size in zip(wanted[1:], (height, width), strict=True)]

    def blocks(rows: int, columns: int) -> int:
        return batch * ceil_div(height, side * rows) * ceil_div(width, side * columns)

    def time(shape: tuple[int, int]) -> int:
        rounds = FILLED * ceil_div(blocks(*shape), units) + 1
        return rounds * (COMBINE * prod(shape) + BRING * sum(shape))

    def slab(shape: tuple[int, int]) -> int:
        return side * sum(size * (side * count + SPARE)
                          for size, count in zip(sizes, shape, strict=True))

    shapes = [(most[0], most[1])]
    if not any(wanted[1:]):
        shapes = [(min(MOST_POINTS >> n // 2, most[0]), min(MOST_POINTS >> (n + 1) // 2, most[1]))
                  for n in range(2 * MOST_POINTS.bit_length() - 1)]
        shapes = [shape for shape in shapes if slab(shape) <= local_bytes] or shapes[-1:]
    rows, columns = min(shapes, key=time)
    pieces, useful = 1, length // (SLABS * side)
    if useful > 1 and IDLE * blocks(rows, columns) < units:
        rows, columns = shapes[0]
        pieces = max(1, min(useful, PIECES * units // max(1, blocks(rows, columns))))
    slabs = 2 if 2 * slab((rows, columns)) <= local_bytes else 1
    return group, side, rows, columns, side, rows * columns, slabs, pieces


# SegmentBatch that share elements

WORD = 8
"""Totals of so many bytes leave registers enough for groups as large as possible; these are the
best where segments have one dimension, and no loops at their elements."""
NEIGHBOURS = 8
"""Of segments that share elements with their neighbours, or divide by roots, a work-item reduces so
many,"""
FEW = 4
"""or so many of the latter where else few work-items would have something to do."""
KEPT = 32
"""A work-item that reduces several segments combines so many elements of all of them at a time,"""
KEPT_ROOTS = 16
"""so many where they are divided by roots,"""
KEPT_BOXED = 64
"""so many where it finds them in local memory,"""
STRAIGHT = 128
"""and so many if nothing is kept for each, as there are no loops at an element,"""
MOST_STEPS = 16
"""in so many steps at most."""
ITERATIONS = 128
"""Local memory holds what so many iterations of such a loop need,"""
LEAST_ITERATIONS = 8
"""or at least so many, or nothing."""
LEAST_ACROSS = 16
"""Each of a group's segments has its work-items; so many at least are beside each other,"""
CROWD = 1024
"""and as many share a segment as give so many to each compute unit,"""
CROWD_BOXED = 256
"""or to each that finds elements in local memory,"""
MOST_SPLIT = 32
"""but no more than this,"""
LEAST_STEPS = 4
"""if each has so many elements."""


class SegmentBatch(NamedTuple):
    """How many segments of ``length`` elements there are: ``batch`` matrices of them.

    A work-item takes its segments from those of a column, or of a row if ``height`` is 0.
    """

    height: int
    width: int
    batch: int
    length: int


class Combining(NamedTuple):
    """What is done with the elements of segments: see :class:`.distribution.Coarse`.

    Totals have ``size`` bytes.
    """

    slides: bool
    roots: bool
    loops: int
    size: int
    boxes: Boxes = ()


@lru_cache(REMEMBERED)
def coarse(limits: ShareLimits, segments: SegmentBatch, combining: Combining, units: int,
           local_bytes: int, wanted: tuple[int, ...]) -> tuple[int, ...]:
    """The values of :class:`runelift.codegen.plan.distribution.SegmentBlockShape`.

    A work-item has no more segments than there are in the dimension that it takes them from.  Of
    what is not ``wanted``, it takes as many steps as it can keep, and as many work-items share a
    segment as give the device enough to do, or as would else be beside the last segment.  Their
    totals, and boxes, fit into local memory.

    >>> gpu = ShareLimits(32, 256, 1024, 16, 32, True, 1)
    >>> def some(height, width, batch, length, slides, size, wanted, boxes=()):
    ...     return coarse(gpu, SegmentBatch(height, width, batch, length),
    ...                   Combining(slides, False, 1, size, boxes), 132, 48 << 10, wanted)
    >>> some(512, 512, 1, 256, False, 4, (256, 8, 4, 1, 0))
    (256, 256, 1, 8, 4, 32, 0)
    >>> some(0, 500, 1, 500, False, 4, (256, 8, 4, 16, 0))
    (256, 16, 16, 8, 4, 32, 0)
    >>> some(0, 100, 1, 500, False, 4, (256, 8, 4, 16, 0))
    (256, 16, 16, 4, 4, 16, 0)
    >>> some(3, 9, 1, 9, False, 4, (64, 4, 2, 1, 0))
    (64, 64, 1, 2, 2, 4, 0)
    >>> some(4096, 4096, 1, 256, False, 4, (256, 8, 0, 0, 0))
    (256, 256, 1, 8, 4, 32, 0)
    >>> some(0, 16384, 1, 16384, False, 4, (256, 8, 0, 0, 0))
    (256, 16, 16, 8, 4, 32, 0)
    >>> some(512, 512, 1, 256, False, 4, (256, 0, 0, 0, 0))
    (256, 256, 1, 0, 1, 0, 0)
    >>> some(64, 64, 64, 64, True, 4, (256, 0, 0, 0, 0))
    (256, 32, 8, 8, 4, 32, 0)
    >>> some(64, 64, 64, 64, True, 64, (256, 0, 0, 0, 0))
    (256, 32, 8, 2, 16, 32, 0)
    >>> [coarse(gpu, SegmentBatch(0, n, 1, n), Combining(False, True, 1, 12), 132, 48 << 10,
    ...         (256, 0, 0, 0, 0)) for n in (16384, 65536)]
    [(256, 16, 16, 4, 4, 16, 0), (256, 16, 16, 8, 2, 16, 0)]
    >>> [coarse(gpu, SegmentBatch(0, n, 1, n), Combining(True, False, 0, 4), 132, 48 << 10,
    ...         (256, 0, 0, 0, 0))
    ...  for n in (16384, 65536, 1 << 20)]  # doctest: +NORMALIZE_WHITESPACE
    [(1024, 32, 32, 4, 16, 64, 0), (1024, 32, 32, 8, 16, 128, 0), (256, 128, 2, 8, 16, 128, 0)]
    >>> image, filter = (4, ((1, 1, 0, 0), (0, 0, 1, 1))), (4, ((0, 0, 0, 1), (0, 1, 0, 0)))
    >>> some(2048, 2048, 1, 256, True, 4, (256, 0, 0, 0, 0), (image, filter))
    (256, 256, 1, 8, 8, 64, 128)
    >>> some(512, 512, 1, 256, True, 4, (256, 0, 0, 0, 0), (image, filter))
    (256, 128, 2, 8, 8, 64, 128)
    """
    height, width, batch, length = segments
    slides, roots, loops, size, boxes = combining
    group, points, steps, split, tile = wanted
    if not points and (slides or roots) and limits.staged:
        points = NEIGHBOURS
        while not slides and points > FEW and (
                batch * max(height, 1) * width * MOST_SPLIT < 2 * points * CROWD_BOXED * units):
            points //= 2
        flat = slides and not (loops or height or split) and size <= WORD and group == limits.group
        if flat and batch * width * MOST_SPLIT < 2 * points * CROWD * units and (
                length >= MOST_SPLIT * LEAST_STEPS):
            group = limits.max_group
            while points > 1 and 4 * batch * width * MOST_SPLIT < 3 * units * points * group:
                points //= 2
    if not points:
        return group, group, 1, 0, 1, 0, 0
    if not boxes or tile == 1:
        tile = 0
    elif not tile and slides and limits.staged:
        tile = ITERATIONS
    if not split:
        items, split = max(1, batch * max(height, 1) * width // points), 1
        crowd = (CROWD_BOXED if tile else CROWD) * units
        while 2 * split <= min(group // LEAST_ACROSS, MOST_SPLIT, length // LEAST_STEPS) and (
                items * split < crowd or group // split > power_of_two_above(max(1, width))):
            split *= 2
    split = min(split, group)
    across = group // split
    most = height if height else width // across
    while points > 1 and (points > most or (
            split > 1 and points * group * size >= local_bytes)):
        points //= 2
    kept = STRAIGHT if not loops else KEPT_BOXED if tile else KEPT_ROOTS if roots else KEPT
    together = max(1, length // split) if tile else MOST_STEPS
    steps = steps or power_of_two_below(max(1, min(MOST_STEPS, kept // points, together)))
    room = local_bytes - (points * group * size if split > 1 else 0)
    while tile and _boxes_bytes(boxes, points, steps * split, across, tile) > room:
        tile = tile // 2 if tile > LEAST_ITERATIONS or wanted[4] else 0
    return group, across, split, points, steps, points * steps, tile


def _boxes_bytes(boxes: Boxes, points: int, elements: int, across: int, tile: int) -> int:
    """How much local memory boxes take, each of its sides as long as all that walks it.

    Rows of elements that work-items have beside each other are padded to an odd multiple of four
    (:mod:`runelift.codegen.segops.local_tiles`).
    """
    counts = (points, elements, across, tile)
    total = 0
    for bytes_, sides in boxes:
        lengths = [1 + sum(walked * (count - 1) for walked, count in zip(side, counts, strict=True))
                   for side in sides]
        if sides[-1][1] and any(side[2] for side in sides[:-1]):
            lengths[-1] = 4 * (2 * ceil_div(ceil_div(lengths[-1], 4) + 1, 2) - 1)
        total += bytes_ * prod(lengths)
    return total


# Columns

NARROWEST = 4
"""A work-item reduces so many neighbouring columns at least, or each by itself."""
NEAR_ROWS = 512
"""Of so many rows a processor knows the pages, so that neighbouring strips find them."""
LEAST_ROWS = 64
"""Pieces of a column that are made to keep more compute units busy have so many rows,"""
SHARES = 8
"""and no more are made than this for each compute unit."""


@lru_cache(REMEMBERED)
def strip(limits: ShareLimits, width: int, batch: int, length: int,
          units: int) -> tuple[int, int, int]:
    """The values of :class:`runelift.codegen.plan.distribution.StripShape`.

    Strips are as broad as the device likes unless the last would do much again that the one
    before it does, and pieces so short that what the next strip reads is still near.

    >>> cpu = ShareLimits(4, 64, 4096, 16, 32, False, 1024, columns=32)
    >>> strip(cpu, 1024, 1, 4096, 2), strip(cpu, 16, 1, 1 << 20, 2), strip(cpu, 1000000, 1, 9, 2)
    ((1, 32, 8), (1, 16, 16), (1, 32, 1))
    >>> strip(cpu, 33, 1, 100, 2), strip(cpu, 3, 1, 100, 2)
    ((1, 8, 1), (1, 0, 1))
    """
    columns = limits.columns
    while columns >= NARROWEST and 4 * columns * ceil_div(width, columns) > 5 * width:
        columns //= 2
    columns = columns if columns >= NARROWEST else min(NARROWEST, limits.columns)
    if not columns or width < columns:
        return 1, 0, 1
    strips = batch * ceil_div(width, columns)
    near = ceil_div(length, NEAR_ROWS) if width > columns else 1
    return 1, columns, max(1, near, min(length // LEAST_ROWS, SHARES * units // max(1, strips)))
