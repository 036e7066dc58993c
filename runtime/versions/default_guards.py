"""Default guards: the versions that run without tuned thresholds, by the needs of the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from runelift.ir.guards import Guard, Kind, Rival

ANY = 1 << 62
"""More bytes than any row has."""
STEP_CYCLES, READ_CYCLES = 4, 64
"""The cycles from one step of a work-item to the next; those of an element that it reads."""
SHARE_STEPS = 256
"""The steps that each work-item of a group spends on a row besides, to share and to combine it."""
ISSUED = 16
"""The work-items of a full device for each that it can have do a step in a cycle (NVIDIA)."""
MOST_WAVES = 8
"""Launches with so much more work than fits on the device at once gain nothing by merging."""

Occupancy: TypeAlias = tuple[int, int] | tuple[int, int, int]
"""The work-groups of an intra version, the work-items that each can use, and those in loops.

The last number is there if the last version has launches in loops.
"""


@dataclass(frozen=True, slots=True)
class Defaults:
    """The sizes at which versions use a device well.

    * ``threshold`` work-items keep all of the device busy: an outer version pays from there on.
    * ``groups`` work-groups of up to ``long`` elements each do so, too.  Work-items can hold no
      more elements.
    * Fewer groups are well used only if they have up to ``short`` elements each.  Then the number
      of launches counts most.
    * Where groups would not be used well, or could not use ``least`` work-items each, an outer
      version pays from a ``part`` of the threshold on.
    * Rows that are only reduced may have any length if there are ``busy`` groups.
    * Where a work-item keeps nothing of its row either, two times are compared.  P work-items with
      E elements each take the cycles of E elements, as long as the device has room for more.
      Groups take the steps of P rows: those of E elements, and ``SHARE_STEPS`` for each work-item.
      The outer version pays from the P on for which both are equal.  In a group, a work-item
      reduces ``alone`` elements before others help it.
    * Work-items whose rows lie apart do not pay if a row has more than ``cached`` bytes.  Fewer
      stay in the cache until all are used, of each work-item that a compute unit runs.
    * Rows of fewer elements than ``least`` take a work-item less time than a launch that it saves.
      All of them have no more elements than the threshold.
    * Launches in a loop with up to ``merged`` work-items become one, if they are flat.  So groups
      that only map have no part in them, unless they map lines.
    * ``together`` says that neighbouring work-items run together.  Then groups do not pay that only
      map rows shorter than ``even``, or longer than ``short``, or a few lines.  Not several of the
      long ones have room side by side.  Groups with a loop, which otherwise is one of launches, pay
      if its largest operation has work for half of ``least``.
    * Fewer rows than ``shared``, which units do not share evenly, are left to versions that share
      their points.  So are rows that are too few for groups, if they have more than ``even`` slow
      points each.

    >>> h200 = Defaults(threshold=270336, groups=132, short=4096, long=32768, merged=1081344,
    ...               part=16, least=32, together=True, busy=1056, even=256, cached=128,
    ...               alone=4)
    >>> from runelift.ir.sizes import Size
    >>> from runelift.ir.guards import Kind, Rival
    >>> scan = Guard("t", "t", Kind.INTRA, Size.of(1))
    >>> [h200.fills(scan, occupancy) for occupancy in [(65536, 256), (34, 494019), (16, 4096)]]
    [True, False, True]
    >>> h200.fills(scan, (1024, 1024 * 1024))  # the rows of a product of matrices
    False
    >>> stencil = Guard("t", "t", Kind.INTRA, Size.of(1), rival=Rival.MAPS)
    >>> [h200.fills(stencil, occupancy)
    ...  for occupancy in [(1024, 1024), (2048, 1024), (65536, 64), (512, 16384)]]
    [False, True, False, False]
    >>> lines = Guard("t", "t", Kind.INTRA, Size.of(1), rival=Rival.LINES)
    >>> [h200.fills(lines, occupancy) for occupancy in [(256, 256), (1024, 64), (64, 1024)]]
    [True, False, False]
    >>> rows = Guard("t", "t", Kind.OUTER, Size.of(1))
    >>> [h200.holds(rows, n, (n, m)) for n, m in [(65536, 16), (65536, 256), (65536, 1 << 20)]]
    [True, False, True]
    >>> cores, uneven = Defaults(10, 10, 64, 512, shared=3200), Guard(
    ...     "t", "t", Kind.OUTER, Size.of(1), rival=Rival.POINTS)
    >>> [cores.holds(uneven, n, (n, 2048)) for n in (2048, 4096)]
    [False, True]
    >>> solve = Guard("t", "t", Kind.INTRA, Size.of(1), default=32)
    >>> [h200.holds(solve, n, (20000, n * n, n * n)) for n in (3, 4, 16)]
    [False, True, True]
    >>> h200.holds(solve, 16, (20000, 256))
    False
    >>> paths = Guard("t", "t", Kind.INTRA, Size.of(1), rival=Rival.LADEN, streams=True)
    >>> [h200.fills(paths, occupancy) for occupancy in [(3, 2000), (27, 100), (256, 2000)]]
    [False, True, True]
    >>> made = Guard("t", "t", Kind.OUTER, Size.of(1), streams=True, made=True)
    >>> [h200.holds(made, n, (n, m)) for n, m in [(4096, 256), (50000, 1000), (5, 10**7)]]
    [True, True, False]
    >>> shorts = Guard("t", "t", Kind.OUTER, Size.of(1), apart=2)
    >>> [h200.holds(shorts, n, (n, m)) for n, m in [(500000, 100), (500000, 16), (900, 16)]]
    [False, True, False]
    >>> lone = Guard("t", "t", Kind.OUTER, Size.of(1), saves=1)
    >>> [h200.holds(lone, n, (n, m)) for n, m in [(1, 16), (1, 100), (5000, 64)]]
    [True, False, False]
    >>> bodies = Guard("t", "t", Kind.OUTER, Size.of(1), streams=True, steps=40)
    >>> [h200.holds(bodies, n, (n, m))
    ...  for n, m in [(12500, 100), (100000, 100), (20000, 2048), (50000, 100000)]]
    [False, True, False, False]
    """

    threshold: int
    groups: int
    short: int
    long: int
    merged: int = 0
    part: int = 1
    least: int = 1
    together: bool = False
    busy: int = 1
    even: int = 0
    shared: int = 0
    cached: int = ANY
    alone: int = 1

    def fills(self, guard: Guard, occupancy: Occupancy | None) -> bool:
        """True if the work-groups of an intra version, if it is one, are the best use."""
        if occupancy is None:
            return True
        groups, elements = occupancy[:2]
        many = groups >= self.groups
        if guard.rival is Rival.MAPS and groups * elements <= self.merged:
            return False
        if guard.rival in (Rival.MAPS, Rival.LINES) and self.together and not (
                self.even <= elements <= self.short and (many or guard.rival is Rival.MAPS)):
            return False
        if guard.rival is Rival.COLUMNS and self.together and groups * elements > self.merged:
            return False
        if guard.rival in (Rival.PRODUCT, Rival.POINTS) and many:
            return False
        if (guard.rival is Rival.LADEN or (guard.rival is Rival.POINTS and self.together)
                ) and not many and elements > self.even:
            return False
        return elements <= (self.long if many else self.short) or (
            guard.streams and groups >= self.busy)

    def holds(self, guard: Guard, par: int, occupancy: Occupancy | None) -> bool:
        """True if the version of the guard runs, provided those before it do not."""
        if guard.kind is Kind.REWRITTEN:
            return par >= guard.untuned(self.threshold)
        if guard.kind is Kind.REDOMAP:
            return guard.rival is not Rival.PRODUCT and (
                par >= guard.untuned(self.threshold) or self._saves(guard, par, occupancy))
        if guard.kind is not Kind.OUTER:
            return self._occupies(guard, par, occupancy) and self.fills(guard, occupancy)
        if guard.rival is Rival.PRODUCT or (guard.rival and self.together):
            return False
        if guard.rival is Rival.POINTS and par < self.shared:
            return False
        if self._saves(guard, par, occupancy):
            return True
        if self._wastes(guard, occupancy) and self.fills(guard, occupancy):
            return False
        return par >= guard.untuned(self.threshold) // self._part(guard, occupancy)

    def _saves(self, guard: Guard, par: int, occupancy: Occupancy | None) -> bool:
        """True if rows are so short, and all so few, that the number of launches counts."""
        return guard.saves > 0 and occupancy is not None and (
            occupancy[1] < self.least and par * occupancy[1] <= self.threshold)

    def _occupies(self, guard: Guard, par: int, occupancy: Occupancy | None) -> bool:
        """True if the work-items of a group have enough to do, and so those of other versions."""
        return par >= guard.untuned(self.threshold) or self._wastes(guard, occupancy) or (
            occupancy is not None and len(occupancy) > 2 and self.together
            and 2 * occupancy[2] >= self.least)

    def _wastes(self, guard: Guard, occupancy: Occupancy | None) -> bool:
        """True if work-items with a row each would move more memory than they use."""
        return self.together and occupancy is not None and (
            guard.apart * occupancy[1] > self.cached)

    def _part(self, guard: Guard, occupancy: Occupancy | None) -> int:
        """The divisor of the threshold of an outer version, for the groups beside it."""
        if occupancy is None:
            return 1
        part = 1
        if self.together and (guard.streams or guard.apart):
            part = self._even_part(guard, occupancy[1])
        if not guard.made and (not self.fills(guard, occupancy) or occupancy[1] < self.least):
            return max(part, self.part)
        return part

    def _even_part(self, guard: Guard, elements: int) -> int:
        """The part of the threshold from which on rows that are not kept want a work-item each."""
        steps = max(1, guard.steps)
        cycles = max(STEP_CYCLES * steps, 0 if guard.made else READ_CYCLES)
        useful = -(-elements // self.alone)  # a power of two, as groups have
        lanes = max(self.least, min(self.even, 1 << (max(1, useful) - 1).bit_length()))
        return max(1, ISSUED * (elements * steps + lanes * SHARE_STEPS) // max(
            1, elements * cycles))
