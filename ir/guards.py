"""Guards: which code versions there can be, and when one of them runs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from runelift.ir.constraints import Constraint
from runelift.ir.sizes import Size

UNREACHED = 1 << 62
"""A threshold that no parallelism reaches."""


class Kind(Enum):
    """The kind of parallelism that a code version exploits."""

    OUTER = "outer"
    """The nest around, with everything inside sequential in a work-item."""
    INTRA = "intra"
    """The nest around over work-groups, what is inside over the work-items of each."""
    REDOMAP = "redomap"
    """A reduction or scan whose map part is sequential inside."""
    FLAT = "flat"
    """Everything: the body is flattened further, and may hold more versions."""
    ROW = "row"
    """A work-item for each segment, where inner widths differ between points."""
    LANES = "lanes"
    """A few neighbouring work-items for each segment."""
    GROUP = "group"
    """A work-group for each segment."""
    MERGE = "merge"
    """Work-items with parts of bounded size, whatever the lengths of segments are."""
    SLABS = "slabs"
    """Runs of segments, one after the other, each by work-items with equal numbers: for memory."""
    REWRITTEN = "rewritten"
    """Statements as a schedule rewrites them, flattened; they may hold more versions."""
    ORIGINAL = "original"
    """The statements as they are without a schedule, beside rewritten statements."""


KIND_IN_WORDS = {
    Kind.OUTER: "a work-item computes an outer element alone",
    Kind.INTRA: "a work-group computes an outer element",
    Kind.REDOMAP: "a work-item computes an element of the map part alone",
    Kind.FLAT: "inner elements are spread over all work-items",
    Kind.ROW: "a work-item computes a row alone",
    Kind.LANES: "a few neighbouring work-items compute a row",
    Kind.GROUP: "a work-group computes a row",
    Kind.MERGE: "work-items have parts of bounded size, whatever the lengths are",
    Kind.SLABS: "as the last version, in runs of rows that fit into memory",
    Kind.REWRITTEN: "statements as a schedule rewrites them",
    Kind.ORIGINAL: "statements without a schedule"}
"""The meaning of the kinds of versions, for people."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """Facts about the segments of a nest whose inner widths differ, known when it runs.

    There are ``count`` segments.  ``total`` is the sum of their lengths, ``longest`` the greatest.
    ``live`` segments are not empty.  ``squares`` is the sum of the squares of the lengths.
    """

    count: Size
    total: Size
    longest: Size
    live: Size
    squares: Size

    def sizes(self) -> tuple[Size, ...]:
        """All facts, in the order of the fields."""
        return self.count, self.total, self.longest, self.live, self.squares


@dataclass(frozen=True, slots=True)
class Guard:
    """The condition for running a version: ``threshold <= par``, if it fits the device at all.

    ``needs`` are tested before that.  Where one of them does not hold, the version would compute
    something else, so it never runs.

    ``key`` is stable under edits elsewhere in the program: function, source position of the SOAC,
    kind, depth.  ``name`` is Futhark's (``main.suff_outer_par_0``) and names the threshold in
    tuning files.  ``par`` is how many work-items the version can keep busy.

    A guard without a threshold holds where its version is predicted to take no longer than all
    that follow (:mod:`runelift.runtime.cost`).  That of a rewritten version then holds only if it
    has a ``default`` threshold.  That of slabs has a ``par`` of 0, so no threshold lets it hold:
    slabs run where versions that follow have too little memory.

    ``lengths`` are facts about segments, if the version is for segments of different lengths.
    """

    name: str
    key: str
    kind: Kind
    par: Size
    default: int | None = None
    needs: tuple[Constraint, ...] = ()
    lengths: Lengths | None = None

    @property
    def predicted(self) -> bool:
        """True if predicted times decide where no threshold does."""
        return self.kind not in (Kind.REWRITTEN, Kind.SLABS)

    @property
    def untuned(self) -> int:
        """The threshold when nothing was tuned; 0 if predicted times decide."""
        if self.predicted:
            return 0
        return UNREACHED if self.default is None else self.default

    def sizes(self) -> tuple[Size, ...]:
        """The sizes that the guard depends on."""
        return (self.par, *(size for need in self.needs for size in (need.left, need.right)),
                *(() if self.lengths is None else self.lengths.sizes()))
