"""How the work of a launch is divided among groups and work-items: what the runtime decides.

These are steps of the host plan (:mod:`~runelift.codegen.plan.plan`).  Each names the sizes that
it sets and says what they depend on; :mod:`runelift.runtime.geometry.work_groups` and
:mod:`runelift.runtime.geometry.tiles` decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from runelift.ir.names import VName
from runelift.ir.sizes import Size
from runelift.ir.types import Atom, i64


@dataclass(frozen=True, slots=True)
class Chunk:
    """How the work-items of a group share ``points``: ``size`` elements each, in private memory.

    ``whole`` is 1 where the work-items have exactly the points, else 0.
    """

    size: VName
    whole: VName
    points: Size


@dataclass(frozen=True, slots=True)
class GroupShape:
    """Choose the size of a work-group (a power of two) and of the chunks of its work-items.

    ``group`` is 0 where the device cannot have chunks as long as that.
    ``staged`` is 1 where work-items better reach chunks of global memory by way of local memory.
    ``subgroup`` work-items in a row can hand each other values, if it is not 1.
    ``loops`` are numbers of points that the work-items share in loops of any length, ``rows`` the
    numbers and lengths of rows that they reduce, several to a row if there are few; ``groups`` is
    how many groups there are.  ``wanted`` says how large the group and how long chunks should be,
    0 for any.  ``teams``: such groups can be smaller than the device likes, see :class:`TeamCount`.
    ``independent``: how many indices count the rows of work-items that hand nothing to each other;
    0 for others.
    """

    group: VName
    staged: VName
    subgroup: VName
    chunks: tuple[Chunk, ...]
    loops: tuple[Size, ...]
    rows: tuple[tuple[Size, Size], ...]
    groups: Size
    wanted: tuple[Atom, Atom] = (i64(0), i64(0))
    teams: bool = False
    independent: int = 0

    def names(self) -> tuple[VName, ...]:
        """The sizes that are set, in order."""
        return (self.group, self.staged, self.subgroup,
                *(n for c in self.chunks for n in (c.size, c.whole)))

    def sizes(self) -> tuple[Size, ...]:
        """What the choice depends on."""
        return (*(c.points for c in self.chunks), *self.loops, *chain(*self.rows), self.groups)


@dataclass(frozen=True, slots=True)
class TeamCount:
    """``teams`` := how many of the ``groups`` run side by side, as one group of the device.

    They have ``group`` work-items and ``bytes`` of local memory each.  ``even`` is 1 where there is
    a group for each team, else 0.  ``wanted`` says how many there should be, 0 for any.
    ``independent`` as in :class:`GroupShape`.
    """

    teams: VName
    even: VName
    group: VName
    groups: Size
    bytes: Size
    wanted: Atom
    independent: int = 0


@dataclass(frozen=True, slots=True)
class SubGroupSize:
    """``subgroup`` := how many work-items in a row of a group can hand each other values.

    It is 1 where they cannot, or where groups of that size gain nothing by it.
    """

    subgroup: VName
    group: VName


@dataclass(frozen=True, slots=True)
class GroupSize:
    """``group`` := how large groups should be so that all compute units have some of ``points``.

    They have ``most`` work-items at most.
    """

    group: VName
    most: VName
    points: Size


@dataclass(frozen=True, slots=True)
class MapWidth:
    """``width`` := how many points of a map a work-item has, ``most`` at most.

    There are ``points`` in all; in several dimensions those of a work-item are neighbours among
    ``rows``, each of ``beside`` points.  A point loads and stores ``bytes`` bytes; if it
    ``overlapping``, its neighbours may load the same ones.  ``wanted`` says how many there should
    be, 0 for any.
    """

    width: VName
    points: Size
    rows: Size
    beside: Size
    bytes: int
    overlapping: bool
    most: int
    wanted: Atom


@dataclass(frozen=True, slots=True)
class ScanTileShape:
    """Choose how groups share ``points`` elements of ``bytes`` bytes in tiles.

    A tile has ``chunk`` elements for each of ``group`` work-items; ``staged`` as in GroupShape.
    Groups look back at ``window`` earlier tiles and ask no more than ``patience`` times for their
    totals; ``patience`` is 0 where they had better not wait for each other.  ``wanted`` says how
    large groups and how long chunks should be, 0 for any.
    """

    group: VName
    staged: VName
    chunk: VName
    window: VName
    patience: VName
    points: VName
    bytes: int
    wanted: tuple[Atom, Atom] = (i64(0), i64(0))

    def names(self) -> tuple[VName, ...]:
        """The sizes that are set, in order."""
        return (self.group, self.staged, self.chunk, self.window, self.patience)


@dataclass(frozen=True, slots=True)
class ProductTileShape:
    """Choose how groups share the last two dimensions of a product, in blocks.

    A group has ``side`` x ``side`` work-items (``group`` in all), each of them ``rows`` x
    ``columns`` points (``cells`` in all), and goes through the reduction ``depth`` elements at a
    time.  ``rows`` is 0 where blocks are not worth while.  Where there are few blocks, the
    reduction of ``length`` elements is done in ``pieces``, by a group for each.  There is local
    memory for ``slabs``: if for two, the next is put there while the last is combined.  ``bytes``
    are those of an element along the height and along the width.  ``wanted`` says what side, rows
    and columns should be, 0 for any.
    """

    group: VName
    side: VName
    rows: VName
    columns: VName
    depth: VName
    cells: VName
    slabs: VName
    pieces: VName
    height: Size
    width: Size
    batch: Size
    length: Size
    bytes: tuple[int, int]
    wanted: tuple[Atom, Atom, Atom] = (i64(0), i64(0), i64(0))

    def constants(self) -> tuple[VName, ...]:
        """The sizes that kernels are built for."""
        return (self.group, self.side, self.rows, self.columns, self.depth, self.cells, self.slabs)

    def names(self) -> tuple[VName, ...]:
        """The sizes that are set, in order."""
        return (*self.constants(), self.pieces)


@dataclass(frozen=True, slots=True)
class Box:
    """What a group brings to local memory of an array, of elements of so many ``bytes``.

    ``sides`` says for each dimension whether the segments of a work-item, the elements that are
    combined at a time, neighbouring work-items and the iterations of a tile walk it (1) or not.
    """

    bytes: int
    sides: tuple[tuple[int, int, int, int], ...]


@dataclass(frozen=True, slots=True)
class SegmentBlockShape:
    """Choose how groups share segments that are reduced together.

    A work-item has ``points`` segments and combines ``steps`` elements of each at a time
    (``cells`` together).  A ``group`` has ``across`` work-items for neighbouring segments, and
    ``split`` for each of those.  ``points`` is 0 where this is not worth while.  There are
    ``batch`` times ``height`` times ``width`` segments of ``length`` elements; ``height`` is 0
    where a work-item's segments lie in the last dimension.  ``slides`` is 1 if neighbouring
    segments share most elements, ``roots`` if something is divided by roots, which several points
    make quicker (:mod:`~runelift.codegen.passes.rsqrt`).  ``loops``: how many loops are around
    each other at an element, for each of which a work-item keeps values for all cells.  The totals
    of a segment have so many ``bytes``.  Of the arrays in ``boxes``, a group may bring what it
    needs for ``tile`` iterations of such a loop to local memory; ``tile`` is 0 where it does not.
    ``wanted`` says what group, points, steps, split and tile should be, 0 for any.
    """

    group: VName
    across: VName
    split: VName
    points: VName
    steps: VName
    cells: VName
    tile: VName
    height: Size
    width: Size
    batch: Size
    length: Size
    slides: bool
    bytes: int
    wanted: tuple[Atom, Atom, Atom, Atom, Atom]
    roots: bool = False
    loops: int = 0
    boxes: tuple[Box, ...] = ()

    def names(self) -> tuple[VName, ...]:
        """The sizes that are set, and that kernels are built for, in order."""
        return (self.group, self.across, self.split, self.points, self.steps, self.cells,
                self.tile)


@dataclass(frozen=True, slots=True)
class StripShape:
    """Choose how reductions down the columns of matrices are shared.

    A work-item (``group`` is 1) has ``columns`` neighbouring columns, of ``width`` in each of
    ``batch`` matrices, and one of ``pieces`` parts of the ``length`` rows.  ``columns`` is 0 where
    the device has nothing of it.
    """

    group: VName
    columns: VName
    pieces: VName
    width: Size
    batch: Size
    length: Size

    def constants(self) -> tuple[VName, ...]:
        """The sizes that kernels are built for."""
        return (self.group, self.columns)

    def names(self) -> tuple[VName, ...]:
        """The sizes that are set, in order."""
        return (*self.constants(), self.pieces)


Distribution: TypeAlias = (
    GroupShape | TeamCount | SubGroupSize | GroupSize | MapWidth | ScanTileShape
    | ProductTileShape | StripShape | SegmentBlockShape)
"""What decides about the work of a launch."""
