"""Ragged widths: the last dimension of an index space may have another width at each point."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum

from runelift.ir.names import VName
from runelift.ir.types import Atom


class Sharing(Enum):
    """The executor of the elements of a segment."""

    ROW = "row"
    """A work-item for each segment."""
    LANES = "lanes"
    """A few neighbouring work-items for each segment."""
    GROUP = "group"
    """A work-group for each segment."""
    MERGE = "merge"
    """Work-items with equal numbers of elements and segments together."""
    FLAT = "flat"
    """Work-items with equal numbers of elements."""


@dataclass(frozen=True, slots=True)
class Ragged:
    """Segment i has ``lengths[i]`` elements; ``total`` is the sum of the lengths.

    ``lengths`` is an ``[n]i64``.  ``offsets`` is an ``[n+1]i64``: segment i begins at
    ``offsets[i]``, and ``offsets[n]`` is ``total``.  An operation that needs no offsets has none.
    Results for elements are flat in any case, ``[total]t``.  ``longest`` is the greatest length,
    ``squares`` the sum of the squares of lengths, if the host knows them.  A length below 0 is 0:
    something else fails there.
    """

    lengths: VName
    total: Atom
    offsets: VName | None = None
    sharing: Sharing = Sharing.ROW
    longest: Atom | None = None
    squares: Atom | None = None

    @property
    def facts(self) -> tuple[Atom, ...]:
        """The facts beside the total that the host knows."""
        return tuple(each for each in (self.longest, self.squares) if each is not None)


PARTS_OF_LONGEST = 4
"""A run of segments has room for this part of the longest beside another segment, at least."""


MOST_ELEMENTS = 1 << 62
"""The greatest sum of lengths.  Larger sums count as this number, so no sum wraps around."""


class Fact(IntEnum):
    """The places of facts about lengths in an array of them."""

    TOTAL = 0
    """The sum of the lengths, at most ``MOST_ELEMENTS``."""
    LONGEST = 1
    """The greatest length."""
    LIVE = 2
    """The number of segments that are not empty."""
    SQUARES = 3
    """The sum of the squares of lengths."""

