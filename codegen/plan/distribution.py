"""Steps that divide the work of a launch among groups and work-items.

They are steps of the host plan (:mod:`~runelift.codegen.plan.plan`).  Each names the sizes that it
sets and states what they depend on.  The runtime decides
(:mod:`runelift.runtime.geometry.work_groups`, :mod:`runelift.runtime.geometry.tiles`).  A size
``wanted`` is a parameter of the operation; 0 leaves the choice to the runtime.
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
    """The chunks of a group's work-items: ``size`` of ``points`` elements each, in private memory.

    ``whole`` is 1 if the chunks hold exactly the points, else 0.
    """

    size: VName
    whole: VName
    points: Size


@dataclass(frozen=True, slots=True)
class GroupShape:
    """Choose the size of a work-group (a power of two) and of the chunks of its work-items.

    ``group`` is 0 if the device cannot have chunks of that length.  ``staged`` is 1 if chunks of
    global memory are better reached through local memory.  ``subgroup`` neighbouring work-items can
    exchange values, unless it is 1.

    ``loops`` are numbers of points that the work-items divide in loops of any length.  ``rows`` are
    numbers and lengths of rows that they reduce; several work-items reduce a row if there are few.
    ``groups`` is the number of groups.  ``wanted`` are the sizes of group and chunks.  ``teams``:
    such groups can be smaller than the device likes (:class:`TeamCount`).  ``independent``: the
    number of indices that count groups whose work-items exchange nothing, else 0.  ``scanned``:
    some of the chunks are scanned.
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
    scanned: bool = False

    def names(self) -> tuple[VName, ...]:
        """The sizes that are set, in order."""
        return (self.group, self.staged, self.subgroup,
                *(n for c in self.chunks for n in (c.size, c.whole)))

    def sizes(self) -> tuple[Size, ...]:
        """The sizes that the choice depends on."""
        return (*(c.points for c in self.chunks), *self.loops, *chain(*self.rows), self.groups)


@dataclass(frozen=True, slots=True)
class TeamCount:
    """``teams`` := the number of ``groups`` that run side by side, as one group of the device.

    Each has ``group`` work-items and ``bytes`` of local memory.  ``even`` is 1 if every team has a
    group, else 0.  ``independent`` is as in :class:`GroupShape`.
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
    """``subgroup`` := the number of neighbouring work-items of a group that can exchange values.

    It is 1 if they cannot, or if groups of that size gain nothing by it.
    """

    subgroup: VName
    group: VName


@dataclass(frozen=True, slots=True)
class GroupSize:
    """``group`` := a size of groups with which all compute units have some of ``points``.

    It is at most ``most``.
    """

    group: VName
    most: VName
    points: Size


@dataclass(frozen=True, slots=True)
class MapWidth:
    """``width`` := the number of points of a map that a work-item has, at most ``most``.

    There are ``points`` in all.  In several dimensions the points of a work-item are neighbours
    among ``rows``, each of ``beside`` points.  ``flat`` := 1 if they had better lie as in one
    dimension, 2 if a work-item had better have a whole row, else 0.  A point loads and stores
    ``bytes`` bytes.  ``overlapping``: neighbouring points may load the same elements.
    """

    width: VName
    flat: VName
    points: Size
    rows: Size
    beside: Size
    bytes: int
    overlapping: bool
    most: int
    wanted: Atom


@dataclass(frozen=True, slots=True)
class ScanTileShape:
    """Choose the tiles of a scan of ``points`` elements of ``bytes`` bytes.

    A tile has ``chunk`` elements for each of ``group`` work-items; ``staged`` is as in GroupShape.
    Groups look back at ``window`` earlier tiles, and poll at most ``patience`` times for their
    totals.  ``patience`` is 0 if groups should not wait for each other.  ``wanted`` are group and
    chunk.
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
    """Choose the blocks in which groups compute the last two dimensions of a product.

    A group has ``side`` x ``across`` work-items (``group`` in all).  Each has ``rows`` x
    ``columns`` points (``cells`` in all).  The group goes through the reduction ``depth`` elements
    at a time.  Of these a work-item fetches ``down`` elements for rows and ``along`` for columns.
    ``rows`` is 0 if blocks do not pay.

    If there are few blocks, the reduction of ``length`` elements is cut into ``pieces``, with a
    group for each.  Then ``split`` work-items combine the pieces of a point.  There is local memory
    for ``slabs``.  With two of them, one is filled while the other is combined.  ``bytes`` are
    those of an element along the height and along the width.  ``wanted`` are side, rows, columns,
    across, depth and pieces.
    """

    group: VName
    side: VName
    across: VName
    rows: VName
    columns: VName
    depth: VName
    down: VName
    along: VName
    cells: VName
    slabs: VName
    pieces: VName
    split: VName
    height: Size
    width: Size
    batch: Size
    length: Size
    bytes: tuple[int, int]
    wanted: tuple[Atom, ...] = (i64(0),) * 6

    def constants(self) -> tuple[VName, ...]:
        """The sizes that kernels are built for."""
        return (self.group, self.side, self.across, self.rows, self.columns, self.depth, self.down,
                self.along, self.cells, self.slabs)

    def names(self) -> tuple[VName, ...]:
        """The sizes that are set, in order."""
        return (*self.constants(), self.pieces, self.split)


@dataclass(frozen=True, slots=True)
class Box:
    """The part of an array that a group copies to local memory; elements have ``bytes`` bytes.

    ``sides`` has four flags for each dimension.  They are 1 if it is walked by the segments of a
    work-item, by elements combined at a time, by neighbouring work-items, and by iterations.
    """

    bytes: int
    sides: tuple[tuple[int, int, int, int], ...]


@dataclass(frozen=True, slots=True)
class SegmentBlockShape:
    """Choose the blocks in which groups reduce segments together.

    A work-item has ``points`` segments and combines ``steps`` elements of each at a time (``cells``
    in all).  A ``group`` has ``across`` work-items for neighbouring segments, and ``split`` for
    each of those.  ``points`` is 0 if this does not pay.

    There are ``batch`` times ``height`` times ``width`` segments of ``length`` elements.
    ``height`` is 0 if the segments of a work-item lie in the last dimension.  ``slides``:
    neighbouring segments have most elements in common.  The totals of a segment have ``bytes``
    bytes.

    ``roots``: something is divided by roots, which several points make quicker
    (:mod:`~runelift.codegen.passes.rsqrt`).  ``loops``: the depth of nested loops at an element;
    for each of them a work-item keeps values for all cells.

    A group may copy the arrays in ``boxes`` to local memory, for ``tile`` iterations of such a loop
    at a time.  ``tile`` is 0 if it does not.  ``wanted`` are group, points, steps, split and tile,
    and which boxes there are, a bit each, if that can be chosen.
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
    wanted: tuple[Atom, ...]
    roots: bool = False
    loops: int = 0
    boxes: tuple[Box, ...] = ()

    def names(self) -> tuple[VName, ...]:
        """The sizes that are set, and that kernels are built for, in order."""
        return (self.group, self.across, self.split, self.points, self.steps, self.cells,
                self.tile)


@dataclass(frozen=True, slots=True)
class StripShape:
    """Choose the strips of reductions down the columns of matrices.

    A work-item has ``columns`` neighbouring columns, of ``width`` in each of ``batch`` matrices.
    It has one of ``pieces`` parts of the ``length`` rows.  ``columns`` is 0 if strips do not pay on
    the device.  ``group`` is 1, unless work-items run together.

    The columns of a product are combined with ``rows`` of ``height`` others at a time.  A work-item
    has ``cells`` totals.
    """

    group: VName
    columns: VName
    rows: VName
    cells: VName
    pieces: VName
    width: Size
    height: Size
    batch: Size
    length: Size

    def constants(self) -> tuple[VName, ...]:
        """The sizes that kernels are built for."""
        return (self.group, self.columns, self.rows, self.cells)

    def names(self) -> tuple[VName, ...]:
        """The sizes that are set, in order."""
        return (*self.constants(), self.pieces)


@dataclass(frozen=True, slots=True)
class TransposeTileShape:
    """Choose the tiles of a transposed copy of elements of ``bytes`` bytes.

    ``fast`` elements side by side in the source come to lie apart, and ``last`` elements that lie
    apart come to lie side by side.  A tile has ``height`` times ``width`` of them, and its columns
    are ``pitch`` elements apart in local memory.  ``height`` is 0 if tiles do not pay.  ``words``
    is 1 if rows and columns are whole words.  Groups have ``group`` work-items.
    """

    height: VName
    width: VName
    pitch: VName
    words: VName
    fast: Size
    last: Size
    bytes: int
    group: Size

    def names(self) -> tuple[VName, ...]:
        """The sizes that are set, in order."""
        return (*self.constants(), self.words)

    def constants(self) -> tuple[VName, ...]:
        """The sizes that kernels are built for."""
        return (self.height, self.width, self.pitch)


Distribution: TypeAlias = (
    GroupShape | TeamCount | SubGroupSize | GroupSize | MapWidth | ScanTileShape
    | ProductTileShape | StripShape | SegmentBlockShape | TransposeTileShape)
"""A decision about how the work of a launch is divided."""
