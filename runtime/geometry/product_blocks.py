"""Blocks of products, and pieces of their reductions, chosen by a model of the device.

Large blocks load each element less often.  But few of them leave compute units idle, and their
groups hide less of how long they wait.  So the model adds what takes time.

Source of blocks: Volkov and Demmel 2008, "Benchmarking GPUs to tune dense linear algebra".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import isqrt
from operator import itemgetter
from typing import NamedTuple

from runelift.runtime.devices.limits import ShareLimits, ceil_div
from runelift.runtime.geometry.work_groups import MOST_REMEMBERED, power_of_two_below

MOST_BLOCK_POINTS = 8
"""The most rows, and columns, of a block that a work-item has."""
SLAB_PADDING = 4
"""Rows of a slab have so many spare elements (:mod:`runelift.codegen.segops.product_tiles`)."""

POINT_TIME, EDGE_TIME, FETCH_TIME = 0.24, 0.18, 0.51
"""Nanoseconds of a compute unit for a step of 32 work-items.

They combine an element for a point, load one for a row or column of points, or fetch one.

These times and those below were fitted to 2,000 measured settings of products and convolutions on
an NVIDIA H100.  There the chosen setting takes 2 % longer than the fastest one, on average.
"""
SLAB_TIME = 150
"""Nanoseconds that a slab's barrier takes of groups that run together."""
IDLE_WARPS = 1.25
"""Groups that run together wait for each other as long as so many more warps would take."""
FILL_TIME = 3340
"""Nanoseconds for the first slab, and for the results, of groups that run together."""
PIECES_TIME = 10000
"""Nanoseconds for the launch that combines pieces."""
PARTIAL_TIME = 0.0003
"""Nanoseconds for the partial total of a point, which is stored and loaded."""
PIECES_FACTOR = 1.03
"""Pieces must gain so much, since the times of groups differ."""
UNIT_REGISTERS, UNIT_ITEMS = 65536, 2048
"""The registers and work-items of a compute unit."""
OTHER_REGISTERS = 40
"""The registers of a work-item besides those for its points and their elements."""
FETCH_REGISTERS = 0.5
"""The registers for an element that is fetched for the next slab, and its place."""

LEAST_SLABS = 8
"""The least number of slabs in a piece."""
PIECES_PER_UNIT = 16
"""The most pieces of a product for each compute unit."""
PARTIAL_BYTES = 16 << 20
"""The most bytes of partial totals: they stay in the cache of the device."""
COMBINING_ITEMS_PER_UNIT = 256
"""Work-items share a point whose pieces they combine until each compute unit has so many."""
MOST_COMBINING = 32
"""The most work-items that share a point."""


class _Block(NamedTuple):
    """A block of a group of ``side`` x ``across`` work-items, each with some points.

    Its slabs have ``steps`` if there are enough elements to fetch.
    """

    side: int
    across: int
    rows: int
    columns: int
    steps: int

    @property
    def items(self) -> int:
        """The work-items of the group."""
        return self.side * self.across

    def depth(self, wanted: int) -> int:
        """The steps of a slab: each work-item has an element to fetch."""
        found = min(wanted or self.steps, self.items)
        return max(found, self.across // self.rows, self.side // self.columns)

    def cover(self, height: int, width: int) -> int:
        """The number of blocks of a matrix."""
        return (ceil_div(height, self.side * self.rows)
                * ceil_div(width, self.across * self.columns))

    def slab_bytes(self, depth: int, sizes: tuple[int, int]) -> int:
        """The local memory of a slab for elements of ``sizes`` bytes."""
        return depth * slab_width(sizes, (self.side, self.across), (self.rows, self.columns))

    def within(self, height: int, width: int) -> _Block:
        """The block with no more points than a matrix has."""
        return self._replace(
            rows=power_of_two_below(min(self.rows, height // self.side)),
            columns=power_of_two_below(min(self.columns, width // self.across)))

    def step_time(self, words: int) -> float:
        """The nanoseconds of 32 work-items for a step, for values of so many ``words``."""
        points, edge = self.rows * self.columns, self.rows + self.columns
        return words * (POINT_TIME * points + EDGE_TIME * edge + FETCH_TIME * self.fetched)

    @property
    def fetched(self) -> float:
        """The elements that a work-item fetches for a step."""
        return (self.side * self.rows + self.across * self.columns) / self.items

    def together(self, words: int, depth: int) -> int:
        """The groups that a compute unit runs at the same time, for slabs of so many steps."""
        points, edge = self.rows * self.columns, self.rows + self.columns
        registers = OTHER_REGISTERS + words * (
            points + 2 * edge + FETCH_REGISTERS * self.fetched * depth)
        return max(1, min(int(UNIT_REGISTERS / (registers * self.items)),
                          UNIT_ITEMS // self.items))


@lru_cache(MOST_REMEMBERED)
def block(limits: ShareLimits, height: int, width: int, batch: int, length: int,
          units: int, sizes: tuple[int, int], local_bytes: int,
          wanted: tuple[int, ...] = (0,) * 6) -> tuple[int, ...]:
    """The values of :class:`runelift.codegen.plan.distribution.ProductTileShape` for elements of
    ``sizes`` bytes.

    A model of the device tells which blocks, and how many pieces, make the product quickest.  Many
    points of a work-item are combined in less time.  But large blocks leave units idle, and their
    groups do not hide how long they wait.  There are few blocks to choose from, since a kernel is
    built for each.  ``wanted`` are side, rows, columns, across, depth and pieces, 0 for those that
    fit best.  Blocks are no larger than the product.

    >>> gpu = ShareLimits(32, 256, 1024, 16, 32, True, 1)
    >>> def some(height, width, length, sizes=(4, 4), wanted=(0,) * 6):
    ...     return block(gpu, height, width, 1, length, 132, sizes, 48 << 10, wanted)
    >>> some(4096, 4096, 4096), some(2048, 2048, 2048, (8, 8))
    ((256, 16, 16, 8, 8, 16, 8, 8, 64, 2, 1, 1), (256, 16, 16, 8, 8, 16, 8, 8, 64, 1, 1, 1))
    >>> some(1024, 1056, 992)
    (128, 16, 8, 8, 4, 16, 16, 4, 32, 2, 1, 1)
    >>> some(1024, 1024, 1024), some(262144, 16, 64)
    ((256, 16, 16, 8, 4, 16, 8, 4, 32, 2, 1, 1), (128, 16, 8, 8, 2, 16, 16, 2, 16, 2, 1, 1))
    >>> some(16, 16, 1 << 20), some(8, 8, 1 << 20)
    ((128, 16, 8, 1, 2, 16, 2, 2, 2, 2, 1024, 32), (256, 16, 16, 0, 0, 16, 0, 0, 0, 1, 1, 1))
    >>> some(512, 784, 2304)
    (128, 16, 8, 8, 4, 16, 16, 4, 32, 2, 8, 1)
    >>> some(4096, 4096, 4096, wanted=(8, 8, 8, 32, 0, 0))
    (256, 8, 32, 8, 8, 8, 2, 8, 64, 2, 1, 1)
    >>> some(4096, 4096, 4096, wanted=(16, 4, 4, 0, 8, 0))
    (256, 16, 16, 4, 4, 8, 2, 2, 16, 2, 1, 1)
    >>> some(64, 16, 64, wanted=(16, 4, 4, 0, 8, 2))
    (256, 16, 16, 4, 1, 16, 4, 1, 4, 2, 2, 1)
    """
    side = wanted[0] or isqrt(limits.group)
    across = wanted[3] or side
    none = limits.group, side, across, 0, 0, side, 0, 0, 0, 1, 1, 1
    if not (limits.staged or any(wanted)) or height < side or width < across or (
            not wanted[0] and side * across != limits.group):
        return none

    if any(wanted[1:3]):
        rows, columns = (most or MOST_BLOCK_POINTS for most in wanted[1:3])
        shapes = [_Block(side, across, rows, columns, min(side, across))]
    else:
        shapes = _shapes(side, across, free=not (wanted[0] or wanted[3]))
    blocks = list(dict.fromkeys(each.within(height, width) for each in shapes))
    blocks = [each for each in blocks
              if each.slab_bytes(each.depth(wanted[4]), sizes) <= local_bytes] or blocks[-1:]
    points = batch * height * width
    _, found, pieces = min(
        ((time, found, pieces) for found in blocks for time, pieces in _times(
            found, points, batch * found.cover(height, width), length, units, max(sizes) or 4,
            wanted[4:])), key=itemgetter(0))
    deep = found.depth(wanted[4])
    room = found.slab_bytes(deep, sizes)
    if deep > (wanted[4] or found.steps) and room > local_bytes:
        return none
    slabs, split = 2 if 2 * room <= local_bytes else 1, 1
    while 2 * split <= min(MOST_COMBINING, pieces // 2) and (
            points * split < COMBINING_ITEMS_PER_UNIT * units):
        split *= 2
    return (found.items, *found[:4], deep, deep * found.rows // found.across,
            deep * found.columns // found.side, found.rows * found.columns, slabs, pieces, split)


@lru_cache(MOST_REMEMBERED)
def _shapes(side: int, across: int, *, free: bool) -> list[_Block]:
    """The blocks to choose from, the best for large products first.

    If they are ``free``, groups may be of another form.
    """
    whole, half, steps = MOST_BLOCK_POINTS, MOST_BLOCK_POINTS // 2, min(side, across)
    found = [_Block(side, across, whole >> n // 2, whole >> (n + 1) // 2, steps)
             for n in range(2 * whole.bit_length() - 1)]
    if free:
        found.append(_Block(side, across, half, whole, steps))
    if free and min(side, across) > 1:
        found[:0] = [_Block(side // 2, across, whole, whole, steps // 2),
                     _Block(side, across // 2, whole, half, steps)]
    return found


def _times(found: _Block, points: int, count: int, length: int, units: int, size: int,
           wanted: Sequence[int]) -> Iterator[tuple[float, int]]:
    """The nanoseconds of a product of ``count`` blocks with different numbers of pieces."""
    depth, words = found.depth(wanted[0]), max(1, size // 4)
    step, together = found.step_time(words), found.together(words, depth)
    slabs, warps = ceil_div(length, depth), found.items / 32
    most = min(length // (LEAST_SLABS * depth), PIECES_PER_UNIT * units // max(1, count),
               PARTIAL_BYTES // (size * max(1, points)))
    choices = [1 << n for n in range(max(1, most.bit_length()))]
    for pieces in [max(1, min(wanted[1], slabs))] if wanted[1] else choices:
        groups = ceil_div(count * pieces, units)
        waves = ceil_div(groups, together)
        own = ceil_div(slabs, pieces)
        time = (own * (depth * step * (groups * warps + IDLE_WARPS * waves) + SLAB_TIME * waves)
                + FILL_TIME * waves)
        yield time if pieces == 1 else (
            time * PIECES_FACTOR + PIECES_TIME + PARTIAL_TIME * pieces * points), pieces


def slab_width(sizes: tuple[int, int], items: tuple[int, int], shape: tuple[int, int]) -> int:
    """The bytes that a step of a slab takes; operands that are not copied have elements of none."""
    return sum(size * (many * count + SLAB_PADDING)
               for size, many, count in zip(sizes, items, shape, strict=True) if size)
