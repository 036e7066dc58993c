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
    REWRITTEN = "rewritten"
    """Statements as a schedule rewrites them, flattened; they may hold more versions."""
    ORIGINAL = "original"
    """The statements as they are without a schedule, beside rewritten ones."""


class Rival(Enum):
    """An advantage of the versions that follow, where it matters.

    They give neighbouring work-items, which may run together, neighbouring elements.
    """

    MAPS = "maps"
    """They map all elements.  A device may merge small launches of such maps in a loop.  Only intra
    versions in loops have this rival."""
    LINES = "lines"
    """As MAPS, but groups know their row without a division, so they may be merged, too."""
    PRODUCT = "product"
    """They compute a product by tiles, which pays if there is much to compute.  For a reduction
    these are the elements that it reduces and stores."""
    POINTS = "points"
    """They give each point of a row a work-item too, in groups of any size.  The cost of a point is
    the same in all versions, or unknown."""
    COLUMNS = "columns"
    """They reduce columns of a matrix side by side, in pieces.  Only intra versions have this
    rival."""
    LADEN = "laden"
    """They spread the points of few rows, each of which takes long, over the device.  Only intra
    versions have this rival."""


@dataclass(frozen=True, slots=True)
class Guard:
    """The condition for running a version: ``threshold <= par``, if it fits the device at all.

    ``needs`` are tested before that.  Where one of them does not hold, the version would compute
    something else, so it never runs.

    ``key`` is stable under edits elsewhere in the program: function, source position of the SOAC,
    kind, depth.  ``name`` is Futhark's (``main.suff_outer_par_0``) and names the threshold in
    tuning files.  ``par`` is how many work-items the version can keep busy.

    ``group`` and ``groups`` belong to an intra version, and to the outer version beside it.
    ``group`` is the number of elements of one work-group, including those that its work-items run
    through alone.  ``groups`` is the number of work-groups.

    ``default`` is the threshold when nothing was tuned.  None means the device's; for an outer
    version it means the smaller of both, and a rewritten one then does not run.  ``rival`` is an
    advantage of the versions that follow.

    ``streams``, ``made`` and ``apart`` say that a group keeps nothing of its row, as it only
    reduces it.  ``streams``: neighbouring rows read neighbouring elements.  ``made``: they read no
    arrays at all.  ``apart``: rows lie apart from their neighbours, and a row reads so many bytes
    for each element; else 0.  A work-item then does ``steps`` operations for each element.  An
    intra version has them, and the outer version beside it.

    ``saves`` is the number of launches that an outer version, or a redomap, saves beside the last
    version.  Its work-items only go through rows of ``group`` elements.

    ``looped`` is the number of points of the largest operation that a group does in a loop.  It is
    set if the last version has launches in loops there.
    """

    name: str
    key: str
    kind: Kind
    par: Size
    group: Size | None = None
    default: int | None = None
    groups: Size | None = None
    rival: Rival | None = None
    streams: bool = False
    made: bool = False
    apart: int = 0
    steps: int = 0
    saves: int = 0
    looped: Size | None = None
    needs: tuple[Constraint, ...] = ()

    def sizes(self) -> tuple[Size, ...]:
        """All that it depends on."""
        own = (self.par, self.group, self.groups, self.looped)
        needed = (size for need in self.needs for size in (need.left, need.right))
        return (*(size for size in own if size is not None), *needed)

    def untuned(self, device: int) -> int:
        """The threshold when nothing was tuned; ``device`` is the device's own."""
        if self.default is None:
            return UNREACHED if self.kind is Kind.REWRITTEN else device
        return min(device, self.default) if self.kind is Kind.OUTER else self.default
