"""Limits of a device, and its preferences for the shapes of work-groups."""

from __future__ import annotations

from dataclasses import dataclass, replace

NEVER = 1 << 62
"""More work-items than any device has."""

SECTOR_ITEMS = 8
"""The work-items whose neighbouring elements, of four bytes, are a sector of memory."""

LOOP_ELEMENTS = 4
"""The elements of a row that a work-item takes in a loop before the group grows, if groups are
many.

Combining the results of a larger group takes as long.
"""

LEAST_ITERATIONS = 8
"""Loops of fewer iterations are not worth a persistent kernel."""


@dataclass(frozen=True, slots=True)
class DeviceLimits:
    """The facts of a device that OpenCL tells, or a profile of the device.

    * ``kind``: GPU, accelerator, CPU or simulator.
    * ``driver``, ``version``: of the driver, and of OpenCL.
    * ``units``: the compute units; ``warp``: the size of NVIDIA's warps, 0 elsewhere.
    * ``max_group`` work-items form a group at most.
    * ``local_bytes`` of a group, ``global_bytes`` of the device, ``max_alloc`` bytes of a buffer.
    * ``exact``: quotients and roots of f32 can be rounded correctly.
    """

    name: str
    platform: str
    kind: str
    driver: str
    version: str
    units: int
    max_group: int
    local_bytes: int
    global_bytes: int
    max_alloc: int
    warp: int
    exact: bool
    extensions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShareLimits:
    """The preferences of a device for work-groups; all numbers are powers of two.

    * ``lanes``, ``group``, ``max_group``: the work-items of a group.  The first is the least
      number, the second that of loops over long rows, the third the most.
    * ``chunk``, ``max_chunk``: the elements of chunks where that leaves enough work-items, and at
      most.
    * ``staged``: neighbouring work-items better touch neighbouring elements of global memory.  So
      chunks go through local memory.
    * ``tile``: the elements that a work-item has at a time in long scans.
    * ``busy_groups``: fewer groups than this should be large.
    * ``window``: the large tiles at which scans look back.
    * ``patience``: the number of times that they ask for the total of a tile.  It is 0 on CPUs,
      where a waiting group may keep the one it waits for from running.
    * ``columns``: the most neighbouring columns of a matrix that a work-item reduces at a time.  It
      is 0 where neighbouring work-items had better have one each.
    * ``together``: the work-items of small groups that run side by side, in all.
    * ``crew``: of many such groups, so many work-items are busy, with long chunks.
    * ``short``: the elements of chunks where longer chunks save nothing.
    * ``subgroup``: the work-items in a row that can hand each other values, if that is not 1.
    """

    lanes: int
    group: int
    max_group: int
    chunk: int
    max_chunk: int
    staged: bool
    tile: int
    busy_groups: int = 0
    window: int = 1
    patience: int = 0
    columns: int = 0
    together: int = 1
    subgroup: int = 1
    crew: int = NEVER
    short: int = NEVER

    def preferring(self, chunk: int, lanes: int = 0) -> ShareLimits:
        """The limits with at least ``lanes`` work-items and, in long rows, chunks of ``chunk``."""
        size = min(power_of_two_above(chunk), self.max_chunk) if chunk else self.chunk
        least = min(power_of_two_above(lanes), self.max_group) if lanes else (
            1 if size > self.chunk else self.lanes)
        return replace(self, chunk=size, lanes=least, crew=NEVER if lanes else self.crew,
                       short=NEVER if chunk else self.short)

    def lanes_of(self, groups: int, longest: int) -> int:
        """The least work-items of so many groups with such rows, if several run side by side.

        The elements of all that access memory together fill its sectors, where rows have as many.
        """
        busy = power_of_two_above(ceil_div(self.crew, max(1, groups)))
        near = min(SECTOR_ITEMS, power_of_two_above(ceil_div(longest, 2))) if self.staged else 1
        return min(self.lanes, max(near, busy))

    def chunk_of(self, longest: int, groups: int, apart: int, *, scanned: bool) -> int:
        """The length of chunks where so many groups share rows of at most ``longest`` elements.

        Long chunks save work that a group does once for a row, and the combining of its work-items'
        results.  Where a unit has only one group, that takes less time than the elements do.
        Work-items that are ``apart`` need no other work-items.  They know their row at once if one
        index counts the rows.  If several indices do, the work-items of a group with just one row
        know it.  Rows that are not ``scanned`` have a work-item for each element while the device
        has room for all.
        """
        if not (scanned or apart) and self.short < NEVER and groups * longest <= self.crew:
            return min(self.chunk, power_of_two_above(ceil_div(longest, self.group)))
        if groups < self.busy_groups or apart == 1:
            many = groups >= self.busy_groups and groups * ceil_div(longest, self.short) > self.crew
            return min(self.chunk, 2 * self.short if many else self.short)
        alone = apart and power_of_two_above(ceil_div(longest, self.short)) >= self.together
        return min(self.chunk, self.short) if alone else self.chunk


def ceil_div(count: int, part: int) -> int:
    """The number of parts of at least one element, the last maybe smaller."""
    return -(-max(count, 1) // part)


def power_of_two_above(least: int) -> int:
    """The first power of two that is not below ``least``."""
    return 1 << (least - 1).bit_length()
