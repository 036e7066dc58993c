"""Which version runs when nothing was tuned: what a device needs to be busy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from runelift.ir.syntax import Guard

Crowd: TypeAlias = tuple[int, int]
"""How many work-groups an intra version has, and how many work-items each of them can use."""


@dataclass(frozen=True, slots=True)
class Choice:
    """When versions use a device well.

    ``threshold`` work-items keep all of it busy: an outer version pays from there on.  So do
    ``groups`` work-groups of up to ``long`` elements each, which is what work-items can hold; fewer
    are well used only if they have so little to do, up to ``short`` elements each, that what
    matters is the number of launches.

    >>> h200 = Choice(threshold=270336, groups=132, short=4096, long=32768)
    >>> h200.fills((65536, 256)), h200.fills((34, 494019)), h200.fills((16, 4096))
    (True, False, True)
    >>> h200.fills((1024, 1024 * 1024))  # the rows of a product of matrices
    False
    """

    threshold: int
    groups: int
    short: int
    long: int

    def fills(self, crowd: Crowd | None) -> bool:
        """Whether the work-groups of an intra version, if it is one, keep the device busy."""
        if crowd is None:
            return True
        groups, elements = crowd
        return elements <= (self.long if groups >= self.groups else self.short)

    def holds(self, guard: Guard, par: int, crowd: Crowd | None) -> bool:
        """Whether the guard's version runs, provided those before it do not."""
        return par >= guard.untuned(self.threshold) and self.fills(crowd)
