"""Limits and preferences of a device for the shapes of work-groups."""

from __future__ import annotations

from dataclasses import dataclass, replace

NEVER = 1 << 62
"""More work-items than any device has."""


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
    are many, they have long chunks, so that just ``crew`` work-items are busy.  Chunks have
    ``short`` elements where longer ones save nothing.  Of a group, ``subgroup`` in a row can hand
    each other values, if that is not 1.
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
    short: int = NEVER

    def preferring(self, chunk: int, lanes: int = 0) -> ShareLimits:
        """The same with at least ``lanes`` work-items and, in long rows, chunks of ``chunk``."""
        size = min(power_of_two_above(chunk), self.max_chunk) if chunk else self.chunk
        least = min(power_of_two_above(lanes), self.max_group) if lanes else (
            1 if size > self.chunk else self.lanes)
        return replace(self, chunk=size, lanes=least, crew=NEVER if lanes else self.crew,
                       short=NEVER if chunk else self.short)

    def lanes_of(self, groups: int) -> int:
        """How many work-items so many groups have at least, if several can run side by side."""
        return min(self.lanes, power_of_two_above(ceil_div(self.crew, max(1, groups))))

    def chunk_of(self, longest: int, groups: int, apart: int) -> int:
        """How long chunks are where so many groups share rows of at most ``longest`` elements.

        Long chunks save what a group computes for a row, and takes to put its work-items' results
        together.  Where a unit has only one group, that takes less time than the elements do.  If
        work-items are ``apart``, they need no others, and know their row at once if one index
        counts the rows; if several do, those of a group that has just one row know it.
        """
        if groups < self.crowd or apart == 1:
            many = groups >= self.crowd and groups * ceil_div(longest, self.short) > self.crew
            return min(self.chunk, 2 * self.short if many else self.short)
        alone = apart and power_of_two_above(ceil_div(longest, self.short)) >= self.together
        return min(self.chunk, self.short) if alone else self.chunk


def ceil_div(count: int, part: int) -> int:
    """How many parts there are of what is not nothing, the last maybe smaller."""
    return -(-max(count, 1) // part)


def power_of_two_above(least: int) -> int:
    """The first power of two that is not below ``least``."""
    return 1 << (least - 1).bit_length()
