"""How the work-items of a group share the elements of a row: group size and chunks.

Contiguous chunks in private memory are worth a lot where a row stays there over several
operations, as long as a chunk fits in registers; so the group is as small as the preferred chunk
allows, and chunks grow only where the group cannot.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import isqrt, prod
from typing import TypeAlias

from runelift.runtime.decisions import REMEMBERED

MOST_POINTS = 8
"""How many rows and columns of a block a work-item has at most."""

ALONE = 4
"""How many elements of a row a work-item of many groups takes in a loop before the group grows: to
put results of a larger group together takes as long."""

IDLE = 4
"""Products with fewer blocks than one for so many compute units are done in pieces,"""
PIECES = 4
"""of which there are so many for each compute unit,"""
SLABS = 8
"""if each goes through so many slabs at least."""
SPARE = 4
"""Rows of a slab have so many spare elements (:mod:`runelift.codegen.tiling`)."""

BUSY = 3
"""Groups run side by side if so many are left for each compute unit."""


NARROWEST = 4
"""A work-item reduces so many neighbouring columns at least, or each by itself."""
NEAR_ROWS = 512
"""Of so many rows a processor knows the pages, so that neighbouring strips find them."""
LEAST_ROWS = 64
"""Pieces of a column that are made to keep more compute units busy have so many rows,"""
SHARES = 8
"""and no more are made than this for each compute unit."""


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


ON_THEIR_WAY = 48
"""A work-item of a map has points that load and store up to so many bytes, if there are still as
many work-items as the device holds at once,"""
NEAR_POINTS = 8
"""or so many points, if neighbours load the same,"""
FEWER_ITEMS = 8
"""and there are so many times fewer at least."""


NEVER = 1 << 62
"""More work-items than any device has."""
Boxes: TypeAlias = tuple[tuple[int, tuple[tuple[int, int, int, int], ...]], ...]
"""The fields of each :class:`runelift.codegen.plan.Box`."""


@dataclass(frozen=True, slots=True)
class ShareLimits:
    """What a device likes: all numbers are powers of two.

    ``lanes`` work-items at least are in a group, ``group`` where they loop over long rows, and
    ``max_group`` at most; chunks have ``chunk`` elements where that leaves enough work-items, and
    ``max_chunk`` at most.  ``staged``: neighbouring work-items better touch neighbouring elements
    of global memory, so chunks go through local memory.  In long scans a work-item has ``tile``
    elements at a time.  Fewer than ``crowd`` groups should be large.  Scans look back at
    ``window`` large tiles, whose totals they ask for ``patience`` times at most; 0 on CPUs, where a
    group that waits may keep the one it waits for from running.  A work-item reduces up to
    ``columns`` neighbouring columns of a matrix at a time, 0 where neighbouring work-items had
    better have one each.  Small groups run side by side, ``together`` work-items in all; if there
    are many, they have long chunks, so that just ``crew`` work-items are busy.  Of a group,
    ``subgroup`` in a row can hand each other values, if that is not 1.
    """

    lanes: int
    group: int
    max_group: int
    chunk: int
    max_chunk: int
    staged: bool
    tile: int
    crowd: int = 0
    window: int = 1
    patience: int = 0
    columns: int = 0
    together: int = 1
    subgroup: int = 1
    crew: int = NEVER

    def preferring(self, chunk: int, lanes: int = 0) -> ShareLimits:
        """The same with at least ``lanes`` work-items and, in long rows, chunks of ``chunk``."""
        size = min(_power(chunk), self.max_chunk) if chunk else self.chunk
        least = min(_power(lanes), self.max_group) if lanes else (
            1 if size > self.chunk else self.lanes)
        return replace(self, chunk=size, lanes=least, crew=NEVER if lanes else self.crew)

    def narrowed(self, groups: int) -> ShareLimits:
        """The same for so many groups of which several can run side by side."""
        return replace(self, lanes=min(self.lanes, _power(_over(self.crew, max(1, groups)))))


@lru_cache(REMEMBERED)
def share_out(limits: ShareLimits, points: tuple[int, ...], loops: tuple[int, ...],
              groups: int, *, teams: bool = False) -> tuple[int, ...]:
    """The values of :meth:`runelift.codegen.plan.ShareOut.names` for ``groups`` groups.

    Of several that run side by side (``teams``), none has more work-items than it needs, and fewer
    if the others keep the device busy.

    >>> gpu = ShareLimits(32, 256, 1024, 16, 32, True, 1, 132)
    >>> share_out(gpu, (4096, 256), (), 4096)
    (256, 1, 1, 16, 1, 1, 1)
    >>> share_out(gpu, (100,), (), 1000)
    (32, 1, 1, 4, 0)
    >>> share_out(gpu, (), (100,), 1000), share_out(gpu, (), (100,), 1)
    ((32, 1, 1), (128, 1, 1))
    >>> share_out(gpu, (1000000,), (), 1000)
    (0, 1, 1, 1024, 0)
    >>> share_out(gpu, (5,), (), 1000), share_out(gpu, (5,), (), 1000, teams=True)
    ((32, 1, 1, 1, 0), (8, 1, 1, 1, 0))
    """
    longest, chunk = max(points, default=1), 1
    if teams:
        limits = limits.narrowed(groups)
    while chunk < limits.chunk and _over(longest, chunk) > limits.lanes:
        chunk *= 2
    while chunk < limits.max_chunk and _over(longest, chunk) > limits.max_group:
        chunk *= 2
    alone = ALONE if groups >= limits.crowd else 1
    looping = min(_over(max(loops, default=1), alone), limits.group)
    least = 1 if teams and groups >= limits.crowd else limits.lanes
    group = min(max(least, _power(_over(longest, chunk)), _power(looping)),
                limits.max_group)
    sizes = [_power(_over(count, group)) for count in points]
    possible = max(sizes, default=1) <= limits.max_chunk
    chunks = (n for size, count in zip(sizes, points, strict=True)
              for n in (size, int(size * group == count)))
    return (group if possible else 0, int(limits.staged), subgroup_of(limits, group), *chunks)


def subgroup_of(limits: ShareLimits, group: int) -> int:
    """How many work-items of a group can hand each other values; 1 if that is of no use to it."""
    return min(group, limits.subgroup) if group <= limits.subgroup ** 2 else 1


def teams(limits: ShareLimits, group: int, groups: int, size: int, local_bytes: int,
          wanted: int = 0) -> int:
    """The value of :class:`runelift.codegen.plan.Teams`, if possible as it is ``wanted``.

    >>> gpu = ShareLimits(32, 256, 1024, 16, 32, True, 1, 132, together=128)
    >>> [teams(gpu, 8, groups, 64, 48 << 10) for groups in (10, 1000, 1000000)]
    [1, 2, 16]
    >>> teams(gpu, 8, 1000000, 9000, 48 << 10), teams(gpu, 8, 1000000, 64, 48 << 10, 4)
    (4, 4)
    """
    most = wanted or min(limits.together // max(1, group), groups // max(1, BUSY * limits.crowd))
    return _power_below(max(1, min(most, limits.max_group // max(1, group),
                                   local_bytes // max(1, size))))


def spread(group: int, points: int, groups: int) -> int:
    """How many work-items a group has, ``group`` at most, so that there are ``groups`` groups.

    Compilers make code for each size, so there are few of them.

    >>> [spread(64, points, 8) for points in (2700, 100, 27, 1)]
    [64, 4, 1, 1]
    """
    while group > 1 and points < group * groups:
        group = max(group // 4, 1)
    return group


@lru_cache(REMEMBERED)
def width(limits: ShareLimits, points: int, rows: int, beside: int, size: int, shares: bool,
          most: int, items: int, wanted: int = 0) -> int:
    """The value of :class:`runelift.codegen.plan.Width` on a device that holds ``items`` at once.

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
    found = _power_below(max(1, min(wanted or enough, most, rows)))
    if wanted:
        return found
    if not limits.staged or beside < limits.lanes:
        return 1
    needed = items // FEWER_ITEMS if shares else items
    while found > 1 and points < needed * found:
        found //= 2
    return found


@lru_cache(REMEMBERED)
def tile(limits: ShareLimits, points: int, size: int, groups: int,
         local_bytes: int, wanted: tuple[int, ...] = (0, 0)) -> tuple[int, int, int, int]:
    """The values of :class:`runelift.codegen.plan.Tile` but for the last.

    Chunks are so short that local memory suffices and that there is work for ``groups`` groups.
    Where there is no local memory to go through, one work-item has a tile.  Small tiles take less
    time than it takes to tell others about them, so groups look back at more of them.  ``wanted``
    are the size of a group and the length of chunks, 0 for what the device likes; a chunk that is
    wanted may leave groups without work.

    >>> gpu = ShareLimits(32, 256, 1024, 16, 32, True, 32, 132, 128)
    >>> tile(gpu, 1 << 24, 4, 1056, 48 << 10)
    (256, 1, 32, 128)
    >>> tile(gpu, 1 << 24, 16, 1056, 48 << 10), tile(gpu, 1 << 24, 128, 1056, 48 << 10)
    ((256, 1, 8, 128), (64, 1, 1, 64))
    >>> tile(gpu, 1 << 24, 12, 1056, 48 << 10)
    (256, 1, 8, 256)
    >>> tile(gpu, 1000, 4, 1056, 48 << 10)
    (256, 1, 1, 256)
    """
    group = 1
    if limits.staged:
        group = _power_below(wanted[0]) if wanted[0] else limits.group
    chunk = wanted[1] or limits.tile
    while chunk > 1 and points < (1 if wanted[1] else groups) * group * chunk:
        chunk //= 2
    while limits.staged and _tile_bytes(group, chunk, size) > local_bytes and group > 1:
        group, chunk = (group, chunk // 2) if chunk > 1 else (group // 2, chunk)
    large = 3 * group * chunk * size >= 2 * local_bytes
    return group, int(limits.staged), chunk, min(limits.window, group) if large else group


def _tile_bytes(group: int, chunk: int, size: int) -> int:
    """How much local memory a group needs at most for a tile of elements of ``size`` bytes.

    All of them, padded; one for each work-item in either of two rounds of a scan and in the
    window; and flags.
    """
    return size * (group * chunk * 33 // 32 + 3 * group) + 8 * group + 256


@lru_cache(REMEMBERED)
def block(limits: ShareLimits, height: int, width: int, batch: int, length: int,
          units: int, sizes: tuple[int, int], local_bytes: int,
          wanted: tuple[int, ...] = (0, 0, 0)) -> tuple[int, ...]:
    """The values of :class:`runelift.codegen.plan.Block` for elements of ``sizes`` bytes.

    Work-items have as many points as the sizes allow, as long as every compute unit has a block.
    Where most units would have none even so, long reductions are done in pieces.  ``wanted`` are
    side, rows and columns, 0 for those that fit best; blocks are no larger than the product.

    >>> gpu = ShareLimits(32, 256, 1024, 16, 32, True, 1)
    >>> def some(height, width, length, sizes=(4, 4)):
    ...     return block(gpu, height, width, 1, length, 132, sizes, 48 << 10)
    >>> some(4096, 4096, 4096), some(4096, 4096, 4096, (8, 8))
    ((256, 16, 8, 8, 16, 64, 2, 1), (256, 16, 8, 8, 16, 64, 1, 1))
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
    most = [min(most or MOST_POINTS, _power_below(size // side))
            for most, size in zip(wanted[1:], (height, width), strict=True)]
    rows, columns = most

    def blocks() -> int:
        return batch * _over(height, side * rows) * _over(width, side * columns)

    while max(rows, columns) > 1 and blocks() < units and not any(wanted[1:]):
        rows, columns = (rows // 2, columns) if rows >= columns else (rows, columns // 2)
    pieces, useful = 1, length // (SLABS * side)
    if useful > 1 and IDLE * blocks() < units:
        rows, columns = most
        pieces = max(1, min(useful, PIECES * units // max(1, blocks())))
    slab = side * sum(size * (side * count + SPARE)
                      for size, count in zip(sizes, (rows, columns), strict=True))
    slabs = 2 if 2 * slab <= local_bytes else 1
    return group, side, rows, columns, side, rows * columns, slabs, pieces


@lru_cache(REMEMBERED)
def coarse(limits: ShareLimits, height: int, width: int, batch: int, length: int, slides: bool,
           roots: bool, loops: int, size: int, boxes: Boxes, units: int, local_bytes: int,
           wanted: tuple[int, ...]) -> tuple[int, ...]:
    """The values of :class:`runelift.codegen.plan.Coarse`.

    A work-item has no more segments than there are in the dimension that it takes them from.  Of
    what is not ``wanted``, it takes as many steps as it can keep, and as many work-items share a
    segment as give the device enough to do, or as would else be beside the last segment.  Their
    totals of ``size`` bytes, and boxes, fit into local memory.

    >>> gpu = ShareLimits(32, 256, 1024, 16, 32, True, 1)
    >>> def some(height, width, batch, length, slides, size, wanted, boxes=()):
    ...     return coarse(gpu, height, width, batch, length, slides, False, 1, size, boxes, 132,
    ...                   48 << 10, wanted)
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
    >>> [coarse(gpu, 0, n, 1, n, False, True, 1, 12, (), 132, 48 << 10, (256, 0, 0, 0, 0))
    ...  for n in (16384, 65536)]
    [(256, 16, 16, 4, 4, 16, 0), (256, 16, 16, 8, 2, 16, 0)]
    >>> [coarse(gpu, 0, n, 1, n, True, False, 0, 4, (), 132, 48 << 10, (256, 0, 0, 0, 0))
    ...  for n in (16384, 65536, 1 << 20)]  # doctest: +NORMALIZE_WHITESPACE
    [(1024, 32, 32, 4, 16, 64, 0), (1024, 32, 32, 8, 16, 128, 0), (256, 128, 2, 8, 16, 128, 0)]
    >>> image, filter = (4, ((1, 1, 0, 0), (0, 0, 1, 1))), (4, ((0, 0, 0, 1), (0, 1, 0, 0)))
    >>> some(2048, 2048, 1, 256, True, 4, (256, 0, 0, 0, 0), (image, filter))
    (256, 256, 1, 8, 8, 64, 128)
    >>> some(512, 512, 1, 256, True, 4, (256, 0, 0, 0, 0), (image, filter))
    (256, 128, 2, 8, 8, 64, 128)
    """
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
                items * split < crowd or group // split > _power(max(1, width))):
            split *= 2
    split = min(split, group)
    across = group // split
    most = height if height else width // across
    while points > 1 and (points > most or (
            split > 1 and points * group * size >= local_bytes)):
        points //= 2
    kept = STRAIGHT if not loops else KEPT_BOXED if tile else KEPT_ROOTS if roots else KEPT
    together = max(1, length // split) if tile else MOST_STEPS
    steps = steps or _power_below(max(1, min(MOST_STEPS, kept // points, together)))
    room = local_bytes - (points * group * size if split > 1 else 0)
    while tile and _boxes_bytes(boxes, points, steps * split, across, tile) > room:
        tile = tile // 2 if tile > LEAST_ITERATIONS or wanted[4] else 0
    return group, across, split, points, steps, points * steps, tile


def _boxes_bytes(boxes: Boxes, points: int, elements: int, across: int, tile: int) -> int:
    """How much local memory boxes take, each of its sides as long as all that walks it.

    Rows of elements that work-items have beside each other are padded to an odd multiple of four
    (:mod:`runelift.codegen.boxes`).
    """
    counts = (points, elements, across, tile)
    total = 0
    for bytes_, sides in boxes:
        lengths = [1 + sum(walked * (count - 1) for walked, count in zip(side, counts, strict=True))
                   for side in sides]
        if sides[-1][1] and any(side[2] for side in sides[:-1]):
            lengths[-1] = 4 * (2 * _over(_over(lengths[-1], 4) + 1, 2) - 1)
        total += bytes_ * prod(lengths)
    return total


@lru_cache(REMEMBERED)
def strip(limits: ShareLimits, width: int, batch: int, length: int,
          units: int) -> tuple[int, int, int]:
    """The values of :class:`runelift.codegen.plan.Strip`.

    Strips are as broad as the device likes unless the last would do much again that the one
    before it does, and pieces so short that what the next strip reads is still near.

    >>> cpu = ShareLimits(4, 64, 4096, 16, 32, False, 1024, columns=32)
    >>> strip(cpu, 1024, 1, 4096, 2), strip(cpu, 16, 1, 1 << 20, 2), strip(cpu, 1000000, 1, 9, 2)
    ((1, 32, 8), (1, 16, 16), (1, 32, 1))
    >>> strip(cpu, 33, 1, 100, 2), strip(cpu, 3, 1, 100, 2)
    ((1, 8, 1), (1, 0, 1))
    """
    columns = limits.columns
    while columns >= NARROWEST and 4 * columns * _over(width, columns) > 5 * width:
        columns //= 2
    columns = columns if columns >= NARROWEST else min(NARROWEST, limits.columns)
    if not columns or width < columns:
        return 1, 0, 1
    strips = batch * _over(width, columns)
    near = _over(length, NEAR_ROWS) if width > columns else 1
    return 1, columns, max(1, near, min(length // LEAST_ROWS, SHARES * units // max(1, strips)))


def _power_below(most: int) -> int:
    """The last power of two that is not above ``most``."""
    return 1 << (most.bit_length() - 1)


def _over(count: int, part: int) -> int:
    return -(-max(count, 1) // part)


def _power(least: int) -> int:
    """The first power of two that is not below ``least``."""
    return 1 << (least - 1).bit_length()
