"""Tiles: the points of maps and neighbourhoods that a work-item has, and strips of columns.

A work-item with several points loads shared elements once, and has more loads under way.  But there
must be enough work-items for the device, and registers and local memory for all values they keep.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import NamedTuple, TypeAlias

from runelift.runtime.devices.limits import ShareLimits, ceil_div, power_of_two_above
from runelift.runtime.geometry.work_groups import MOST_REMEMBERED, power_of_two_below

Boxes: TypeAlias = tuple[tuple[int, tuple[tuple[int, int, int, int], ...]], ...]
"""The fields of each :class:`runelift.codegen.plan.distribution.Box`."""


# Maps

MOST_MAP_BYTES = 48
"""The most bytes that the points of a work-item of a map load and store.

There must still be as many work-items as the device holds at once.
"""
SHARING_MAP_POINTS = 8
"""The points of a work-item if neighbours load the same elements."""
SHARING_MAP_FACTOR = 8
"""Such work-items may be so many times fewer than the device holds at once."""


@lru_cache(MOST_REMEMBERED)
def width(limits: ShareLimits, points: int, rows: int, beside: int, size: int, shares: bool,
          most: int, items: int, wanted: int = 0) -> tuple[int, int]:
    """The values of :class:`~runelift.codegen.plan.distribution.MapWidth` on a device that holds
    ``items`` at once.

    Rows of few elements give neighbours nothing to access together, and few rows give a work-item
    few points.  So the points then lie as in one dimension.  On processors a work-item has a row.

    >>> gpu = ShareLimits(32, 256, 1024, 16, 32, True, 32, 132)
    >>> def some(points, rows, beside, size, shares=False, wanted=0):
    ...     return width(gpu, points, rows, beside, size, shares, 16, 270336, wanted)
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
    enough = SHARING_MAP_POINTS if shares else MOST_MAP_BYTES // size
    wished = power_of_two_below(max(1, min(wanted or enough, most)))
    flat = beside < limits.lanes or rows < wished
    if flat and shares and not wanted:
        wished = power_of_two_below(max(1, min(wished, MOST_MAP_BYTES // size)))
    found = min(wished, power_of_two_below(max(1, points if flat else rows)))
    if wanted:
        return found, int(flat)
    if not limits.staged:
        return 1, 2 if 1 < beside < points and points >= 2 * beside else 0
    needed = items // SHARING_MAP_FACTOR if shares and not flat else items
    while found > 1 and points < needed * found:
        found //= 2
    return found, int(flat)


# Segments that share elements

SMALL_TOTAL_BYTES = 8
"""Totals of so many bytes leave enough registers for the largest groups.

These are the best where segments have one dimension and no loops at their elements.
"""
SLIDING_SEGMENTS = 8
"""The segments of a work-item if they share elements with their neighbours, or divide by roots."""
VECTOR_SEGMENTS = 16
"""The segments of a work-item on processors: it combines an element for a vector of them."""
LEAST_VECTOR_LENGTH = 256
"""The least elements of such segments that slide, unless there are loops at each element."""
FEWEST_ROOT_SEGMENTS = 4
"""The fewest of them if they divide by roots and few work-items would have work otherwise."""
KEPT_ELEMENTS = 32
"""The elements that a work-item combines at a time, of all its segments."""
KEPT_ROOT_ELEMENTS = 16
"""The number of them if they are divided by roots."""
KEPT_BOXED_ELEMENTS = 64
"""The number of them if they are in local memory."""
STRAIGHT_ELEMENTS = 128
"""The number of them if there are no loops at an element, so that no values are kept for it."""
MOST_STEPS = 16
"""The most steps in which they are combined."""
MOST_TILE_ITERATIONS = 128
"""The most iterations of a loop whose elements local memory holds."""
LEAST_TILE_ITERATIONS = 8
"""The least iterations for which local memory is used."""
LEAST_ACROSS = 16
"""The least number of segments of a group that are beside each other."""
ITEMS_PER_UNIT = 1024
"""Work-items share a segment until each compute unit has so many."""
BOXED_ITEMS_PER_UNIT = 256
"""The number of them if elements are in local memory."""
MOST_SPLIT = 32
"""The most work-items that share a segment."""
LEAST_STEPS = 4
"""The least elements of each work-item that shares a segment."""
LEAST_FILLED = 4
"""Segments are reduced together if one in so many of the work-items that units need has some."""


class SegmentBatch(NamedTuple):
    """The numbers of segments of ``length`` elements: ``batch`` matrices of them.

    A work-item takes its segments from those of a column, or of a row if ``height`` is 0.
    """

    height: int
    width: int
    batch: int
    length: int


class Combining(NamedTuple):
    """The work on elements of segments: see
    :class:`~runelift.codegen.plan.distribution.SegmentBlockShape`.

    Totals have ``size`` bytes.
    """

    slides: bool
    roots: bool
    loops: int
    size: int
    boxes: Boxes = ()


@lru_cache(MOST_REMEMBERED)
def coarse(limits: ShareLimits, segments: SegmentBatch, combining: Combining, units: int,
           local_bytes: int, wanted: tuple[int, ...]) -> tuple[int, ...]:
    """The values of :class:`runelift.codegen.plan.distribution.SegmentBlockShape`.

    A work-item has no more segments than there are in the dimension that it takes them from.
    ``wanted`` are the sizes that parameters ask for, 0 for any.  A last one has a bit for each of
    the boxes that there are, 0 for all.  Otherwise a work-item takes as
    many steps as it can keep.  As many work-items share a segment as give the device enough work,
    or as would be beyond the last segment.  Their totals, and boxes, fit into local memory.  Few
    segments are not reduced like this: sharing elements gains less than idle units lose.

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
    >>> [coarse(gpu, SegmentBatch(0, n, 1, 10000), Combining(False, True, 1, 4), 132, 48 << 10,
    ...         (256, 0, 0, 0, 0))[3] for n in (25, 1000)]
    [0, 4]
    >>> cpu = ShareLimits(4, 64, 1024, 16, 32, False, 1, columns=32)
    >>> [coarse(cpu, SegmentBatch(0, 10000, 1, n), Combining(not roots, roots, 0, 4), 2, 1 << 20,
    ...         (64, 0, 0, 0, 0))[3] for roots, n in ((False, 5), (False, 1000), (True, 10000))]
    [0, 16, 16]
    >>> image, filter = (4, ((1, 1, 0, 0), (0, 0, 1, 1))), (4, ((0, 0, 0, 1), (0, 1, 0, 0)))
    >>> some(2048, 2048, 1, 256, True, 4, (256, 0, 0, 0, 0), (image, filter))
    (256, 256, 1, 8, 8, 64, 128)
    >>> some(512, 512, 1, 256, True, 4, (256, 0, 0, 0, 0), (image, filter))
    (256, 128, 2, 8, 8, 64, 128)
    """
    height, width, batch, length = segments
    slides, roots, loops, size, boxes = combining
    group, points, steps, split, tile, *chosen = wanted
    if any(chosen):
        boxes = tuple(box for n, box in enumerate(boxes) if chosen[0] >> n & 1)
    if not points and limits.columns and (roots or (
            slides and (loops > 1 or length >= LEAST_VECTOR_LENGTH))):
        points = VECTOR_SEGMENTS
    elif not points and limits.staged and (slides or roots):
        points = SLIDING_SEGMENTS
        while not slides and points > FEWEST_ROOT_SEGMENTS and (
                batch * max(height,
                            1) * width * MOST_SPLIT < 2 * points * BOXED_ITEMS_PER_UNIT * units):
            points //= 2
        flat = slides and not (loops or height
                               or split) and size <= SMALL_TOTAL_BYTES and group == limits.group
        if flat and batch * width * MOST_SPLIT < 2 * points * ITEMS_PER_UNIT * units and (
                length >= MOST_SPLIT * LEAST_STEPS):
            group = limits.max_group
            while points > 1 and 4 * batch * width * MOST_SPLIT < 3 * units * points * group:
                points //= 2
        most = split or min(group // LEAST_ACROSS, MOST_SPLIT, length // LEAST_STEPS)
        if LEAST_FILLED * batch * max(height, 1) * width * most < BOXED_ITEMS_PER_UNIT * units:
            points = 0
    if not points:
        return group, group, 1, 0, 1, 0, 0
    if not boxes or tile == 1:
        tile = 0
    elif not tile and slides and limits.staged:
        tile = MOST_TILE_ITERATIONS
    if not split:
        items, split = max(1, batch * max(height, 1) * width // points), 1
        enough = (BOXED_ITEMS_PER_UNIT if tile else ITEMS_PER_UNIT) * units
        while 2 * split <= min(group // LEAST_ACROSS, MOST_SPLIT, length // LEAST_STEPS) and (
                items * split < enough or group // split > power_of_two_above(max(1, width))):
            split *= 2
    split = min(split, group)
    across = group // split
    most = height if height else width // across
    while points > 1 and (points > most or (
            split > 1 and points * group * size >= local_bytes)):
        points //= 2
    kept = (STRAIGHT_ELEMENTS if not loops else KEPT_BOXED_ELEMENTS if tile
            else KEPT_ROOT_ELEMENTS if roots else KEPT_ELEMENTS)
    together = max(1, length // split) if tile else MOST_STEPS
    steps = steps or power_of_two_below(max(1, min(MOST_STEPS, kept // points, together)))
    room = local_bytes - (points * group * size if split > 1 else 0)
    while tile and _boxes_bytes(boxes, points, steps * split, across, tile) > room:
        tile = tile // 2 if tile > LEAST_TILE_ITERATIONS or wanted[4] else 0
    return group, across, split, points, steps, points * steps, tile


def _boxes_bytes(boxes: Boxes, points: int, elements: int, across: int, tile: int) -> int:
    """The local memory of boxes, whose sides are as long as their walks.

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


@lru_cache(MOST_REMEMBERED)
def strip(limits: ShareLimits, width: int, height: int, batch: int, length: int,
          units: int) -> tuple[int, ...]:
    """The values of :class:`runelift.codegen.plan.distribution.StripShape`.

    Work-items that run together have a column each, of pieces that are as many as keep the device
    busy.  Other strips are as broad as the device likes, unless the last would repeat much work of
    the one before it.  They have several rows of products.  Pieces are so short that the elements
    of the next strip are still in the cache.

    >>> cpu = ShareLimits(4, 64, 4096, 16, 32, False, 1024, columns=32)
    >>> [strip(cpu, n, 1, 1, m, 2) for n, m in [(1024, 4096), (16, 1 << 20), (1000000, 9)]]
    [(1, 32, 1, 32, 8), (1, 16, 1, 16, 16), (1, 32, 1, 32, 1)]
    >>> [strip(cpu, n, 9, 1, 100, 2) for n in (56, 33, 14, 3)]
    [(1, 32, 4, 128, 1), (1, 8, 4, 32, 1), (1, 8, 4, 32, 1), (1, 0, 1, 0, 1)]
    >>> gpu = ShareLimits(32, 256, 1024, 16, 32, True, 1, 132, crew=270336)
    >>> [strip(gpu, n, 1, 1, m, 132) for n, m in [(16777, 1000), (300000, 100), (5, 10**7)]]
    [(256, 1, 1, 1, 15), (256, 0, 1, 0, 1), (256, 0, 1, 0, 1)]
    """
    if limits.staged:
        points = batch * height * width
        pieces = min(length // LEAST_PIECE_ROWS, ceil_div(limits.crew, max(1, points)))
        pays = width >= limits.lanes and pieces > 1 and points * length >= limits.crew
        return limits.group, int(pays), 1, int(pays), pieces if pays else 1
    columns = limits.columns
    while columns >= NARROWEST_STRIP and (
            width < columns or 4 * columns * ceil_div(width, columns) > 5 * width):
        columns //= 2
    columns = columns if columns >= NARROWEST_STRIP else min(NARROWEST_STRIP, limits.columns)
    if not columns or width < columns:
        return 1, 0, 1, 0, 1
    rows = STRIP_ROWS if height >= STRIP_ROWS else 1
    strips = batch * ceil_div(height, rows) * ceil_div(width, columns)
    near = ceil_div(length, NEAR_STRIP_ROWS) if width > columns else 1
    pieces = min(length // LEAST_PIECE_ROWS, STRIP_PIECES_PER_UNIT * units // max(1, strips))
    return 1, columns, rows, rows * columns, max(1, near, pieces)


# Transposed copies

TILE_ELEMENTS = 1024
"""The least elements of a tile of a large array."""
TILE_BYTES = 4096
"""The least bytes of it, so that small elements keep as many bytes under way."""
EVEN_TILES = 4
"""Sides of up to so many tiles are divided evenly; kernels are built for few sizes of tiles."""
WORD_BYTES = 4
"""The bytes that a bank of local memory gives to one work-item at a time."""
LEAST_WORDS = 8
"""The least words of a row or column that is copied word by word, so that they fill a sector."""


@lru_cache(MOST_REMEMBERED)
def transposed(fast: int, last: int, size: int, group: int) -> tuple[int, int, int, int]:
    """The values of :class:`runelift.codegen.plan.distribution.TransposeTileShape`.

    A short side is in the tile as a whole.  So neighbours along it are read, or written, together.
    Small matrices need no tiles: what a group reads, it finds in the cache.

    >>> def some(fast, last, size=4):
    ...     return transposed(fast, last, size, 256)
    >>> some(4096, 4096), some(4095, 4096, 1), some(4095, 4096, 2)
    ((32, 32, 33, 0), (64, 64, 68, 0), (32, 64, 34, 0))
    >>> some(4, 1 << 20), some(1 << 20, 4), some(5, 1 << 20, 1)
    ((4, 256, 5, 0), (256, 4, 257, 0), (5, 1024, 12, 0))
    >>> some(100, 100), some(33, 1 << 20), some(16, 16), some(17, 17)
    ((25, 50, 25, 0), (17, 64, 17, 0), (0, 1, 1, 0), (17, 17, 17, 0))
    >>> some(4096, 4096, 1), some(1000, 16, 2), some(28, 1000, 1)
    ((64, 64, 68, 1), (128, 16, 130, 1), (28, 250, 28, 0))
    """
    if fast * last <= group:
        return 0, 1, 1, 0
    short, elements = min(fast, last), max(TILE_ELEMENTS, TILE_BYTES // size)
    one = _tile_side(short, 1 << (elements.bit_length() - 1) // 2)
    other = _tile_side(max(fast, last), power_of_two_above(ceil_div(elements, one)))
    height, width = (one, other) if fast == short else (other, one)
    unit = max(1, WORD_BYTES // size)
    words = unit > 1 and fast % unit == last % unit == 0 and short >= LEAST_WORDS * unit
    return height, width, unit * (ceil_div(height, unit) | 1), int(words)


def _tile_side(length: int, most: int) -> int:
    """The side of a tile along a side of an array."""
    parts = ceil_div(length, most)
    return ceil_div(length, parts) if parts <= EVEN_TILES else most
