"""Launch shapes: what the host plan asks of the device about the division of work.

A launch shape is a step of the host plan (:mod:`~runelift.codegen.plan.plan`).  It asks how the
work of a launch is divided among groups and work-items, and the device answers
(:mod:`runelift.runtime.geometry`).  :class:`Shape` tells the parts of a shape by the types of its
fields; what walks over plans knows no other class.

>>> @dataclass(frozen=True, slots=True)
... class Halves(Shape):
...     half: Answer
...     points: Size
...     wanted_half: Setting = NO_WISH
>>> shape = Halves(VName("half", 1), Size.var(VName("n", 2)))
>>> list(map(str, shape.names())), list(shape.asked()), list(shape.settings())
(['half_1'], ['points'], ['wanted_half'])
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Any, ClassVar, NamedTuple, TypeAlias, get_type_hints

from runelift.ir.names import VName
from runelift.ir.sizes import Size
from runelift.ir.types import Atom, i64


class Chunk(NamedTuple):
    """The chunks in which work-items have some points: each of ``size`` elements.

    ``whole`` is 1 if the chunks hold exactly the points, else 0.
    """

    size: VName
    whole: VName


ANSWER, SETTING = "answer", "setting"
"""The marks of types."""
Answer: TypeAlias = Annotated[VName, ANSWER]
"""The name of a size that the device chooses."""
ChunkAnswers: TypeAlias = Annotated[tuple[Chunk, ...], ANSWER]
"""The names of the chunks that the device chooses."""
Setting: TypeAlias = Annotated[Atom, SETTING]
"""A size that a parameter asks for; the name of its field begins with ``wanted_``."""
NO_WISH = i64(0)
"""The setting that leaves a size to the device."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A request for a launch shape.

    A field is an :data:`Answer`, a :data:`Setting`, or a fact that the answers depend on.  Facts
    are sizes, names of scalars, and constants.
    """

    needs_subgroups: ClassVar[bool] = False
    """True if the answers depend on a probe of the device's sub-groups."""

    @classmethod
    @cache
    def fields_of(cls, part: str) -> tuple[str, ...]:
        """The fields whose types have a mark: :data:`ANSWER` or :data:`SETTING`."""
        hints = get_type_hints(cls, include_extras=True)
        return tuple(each.name for each in fields(cls)
                     if part in getattr(hints[each.name], "__metadata__", ()))

    def answers(self) -> tuple[Any, ...]:
        """The names of the answers in the order of fields; names of chunks are tuples of tuples."""
        return tuple(getattr(self, name) for name in self.fields_of(ANSWER))

    def names(self) -> tuple[VName, ...]:
        """The sizes that are set, in order."""
        return tuple(_names(self.answers()))

    def settings(self) -> dict[str, Atom]:
        """The settings by the names of their fields."""
        return {name: getattr(self, name) for name in self.fields_of(SETTING)}

    def inputs(self) -> frozenset[VName]:
        """The scalars that the answers depend on, but for parameters."""
        return frozenset(_names(tuple(value for name, value in self.asked().items()
                                      if name not in self.fields_of(SETTING))))

    def asked(self, changing: Set[VName] = frozenset()) -> dict[str, Any]:
        """The facts and settings that differ from their defaults, by the names of their fields.

        ``changing`` scalars differ between iterations of the loops around.
        """
        answers = self.fields_of(ANSWER)
        return {each.name: value for each in fields(self) if each.name not in answers
                and (value := getattr(self, each.name)) != each.default}


def _names(value: object) -> Iterator[VName]:
    """The names in a field of a shape."""
    if isinstance(value, VName):
        yield value
    elif isinstance(value, Size):
        yield from value.variables()
    elif isinstance(value, tuple):
        for each in value:
            yield from _names(each)


@dataclass(frozen=True, slots=True)
class GroupShape(Shape):
    """Choose the size of a work-group (a power of two) and of the chunks of its work-items.

    ``group`` is 0 if the device cannot have chunks of that length.  ``staged`` is 1 if chunks of
    global memory are better reached through local memory.  ``subgroup`` neighbouring work-items can
    exchange values, unless it is 1.  Each of ``chunks`` is in private memory, and has elements of
    a number of ``points``.

    ``loops`` are numbers of points that the work-items divide in loops of any length.  ``rows`` are
    numbers and lengths of rows that they reduce; several work-items reduce a row if there are few.
    ``groups`` is the number of groups.  ``teams``: such groups can be smaller than the device likes
    (:class:`~runelift.codegen.plan.shapes.TeamCount`).  ``independent``: the number of
    indices that count groups whose work-items exchange nothing, else 0.  ``scanned``: some of the
    chunks are scanned.
    """

    needs_subgroups: ClassVar[bool] = True
    group: Answer
    staged: Answer
    subgroup: Answer
    chunks: ChunkAnswers
    groups: Size
    points: tuple[Size, ...] = ()
    loops: tuple[Size, ...] = ()
    rows: tuple[tuple[Size, Size], ...] = ()
    wanted_lanes: Setting = NO_WISH
    wanted_chunk: Setting = NO_WISH
    teams: bool = False
    independent: int = 0
    scanned: bool = False

    def asked(self, changing: Set[VName] = frozenset()) -> dict[str, Any]:
        """The fields of the request by name, and as ``changing`` the places of changing points."""
        asked = Shape.asked(self, changing)
        if places := tuple(place for place, points in enumerate(self.points)
                           if not changing.isdisjoint(points.variables())):
            asked["changing"] = places
        return asked


@dataclass(frozen=True, slots=True)
class TeamCount(Shape):
    """``teams`` := the number of ``groups`` that run side by side, as one group of the device.

    Each has ``group`` work-items and ``bytes`` of local memory.  ``even`` is 1 if every team has a
    group, else 0.  ``independent`` is as in
    :class:`~runelift.codegen.plan.shapes.GroupShape`.
    """

    teams: Answer
    even: Answer
    group: VName
    groups: Size
    bytes: Size
    wanted_teams: Setting = NO_WISH
    independent: int = 0


@dataclass(frozen=True, slots=True)
class SubGroupSize(Shape):
    """``subgroup`` := the number of neighbouring work-items of a group that can exchange values.

    It is 1 if they cannot, or if groups of ``group`` work-items gain nothing by it.
    """

    needs_subgroups: ClassVar[bool] = True
    subgroup: Answer
    group: VName


@dataclass(frozen=True, slots=True)
class GroupSize(Shape):
    """``group`` := a size of groups with which all compute units have some of ``points``.

    It is at most ``most``.
    """

    group: Answer
    most: VName
    points: Size


@dataclass(frozen=True, slots=True)
class MapWidth(Shape):
    """``width`` := the number of points of a map that a work-item has, at most ``most``.

    There are ``points`` in all.  In several dimensions the points of a work-item are neighbours
    among ``rows``, each of ``beside`` points.  ``flat`` := 1 if they had better lie as in one
    dimension, 2 if a work-item had better have a whole row, else 0.  A point loads and stores
    ``bytes`` bytes.  ``overlapping``: neighbouring points may load the same elements.
    """

    width: Answer
    flat: Answer
    points: Size
    rows: Size
    beside: Size
    bytes: int
    overlapping: bool
    most: int
    wanted_width: Setting = NO_WISH


@dataclass(frozen=True, slots=True)
class ScanTileShape(Shape):
    """Choose the tiles of a scan of ``points`` elements of ``bytes`` bytes.

    A tile has ``chunk`` elements for each of ``group`` work-items; ``staged`` is as in GroupShape.
    Groups look back at ``window`` earlier tiles, and poll at most ``patience`` times for their
    totals.  ``patience`` is 0 if groups should not wait for each other.
    """

    group: Answer
    staged: Answer
    chunk: Answer
    window: Answer
    patience: Answer
    points: VName
    bytes: int
    wanted_group: Setting = NO_WISH
    wanted_chunk: Setting = NO_WISH


@dataclass(frozen=True, slots=True)
class ProductTileShape(Shape):
    """Choose the blocks in which groups compute the last two dimensions of a product.

    A group has ``side`` x ``across`` work-items (``group`` in all).  Each has ``rows`` x
    ``columns`` points (``cells`` in all).  The group goes through the reduction ``depth`` elements
    at a time.  Of these a work-item fetches ``down`` elements for rows and ``along`` for columns.
    ``rows`` is 0 if blocks do not pay.

    If there are few blocks, the reduction of ``length`` elements is cut into ``pieces``, with a
    group for each.  Then ``split`` work-items combine the pieces of a point.  There is local memory
    for ``slabs``.  With two of them, one is filled while the other is combined.  ``bytes`` are the
    sizes of an element along the height and along the width.
    """

    group: Answer
    side: Answer
    across: Answer
    rows: Answer
    columns: Answer
    depth: Answer
    down: Answer
    along: Answer
    cells: Answer
    slabs: Answer
    pieces: Answer
    split: Answer
    height: Size
    width: Size
    batch: Size
    length: Size
    bytes: tuple[int, int]
    wanted_side: Setting = NO_WISH
    wanted_rows: Setting = NO_WISH
    wanted_columns: Setting = NO_WISH
    wanted_across: Setting = NO_WISH
    wanted_depth: Setting = NO_WISH
    wanted_pieces: Setting = NO_WISH

    def constants(self) -> tuple[VName, ...]:
        """The sizes that kernels are built for."""
        return self.names()[:-2]


class Box(NamedTuple):
    """The part of an array that a group copies to local memory; elements have ``bytes`` bytes.

    ``sides`` has four flags for each dimension.  They are 1 if it is walked by the segments of a
    work-item, by elements combined at a time, by neighbouring work-items, and by iterations.
    """

    bytes: int
    sides: tuple[tuple[int, int, int, int], ...]


@dataclass(frozen=True, slots=True)
class SegmentBlockShape(Shape):
    """Choose the blocks in which groups reduce segments together.

    A work-item has ``points`` segments and combines ``steps`` elements of each at a time (``cells``
    in all).  A ``group`` has ``across`` times ``split`` work-items: ``across`` for neighbouring
    segments, and ``split`` for each segment.  ``points`` is 0 if this does not pay.

    There are ``batch`` times ``height`` times ``width`` segments of ``length`` elements.
    ``height`` is 0 if the segments of a work-item lie in the last dimension.  ``slides``:
    neighbouring segments have most elements in common.  The totals of a segment have ``bytes``
    bytes.

    ``roots``: something is divided by roots, which several points make quicker
    (:mod:`~runelift.codegen.passes.rsqrt`).  ``loops``: the depth of nested loops at an element;
    for each of them a work-item keeps values for all cells.

    A group may copy the arrays in ``boxes`` to local memory, for ``tile`` iterations of such a loop
    at a time.  ``tile`` is 0 if it does not, and a wanted tile of 1 means that.  The wanted arrays
    are a bit for each box, 0 for all.  If ``of_elements``, a tile has elements of segments instead.

    A schedule wants ``across``.  Elements of a work-item may lie ``apart``, as far as the
    group is wide.  A tile of elements has a multiple of ``across`` times ``steps`` then.
    """

    group: Answer
    across: Answer
    split: Answer
    points: Answer
    steps: Answer
    cells: Answer
    tile: Answer
    height: Size
    width: Size
    batch: Size
    length: Size
    slides: bool
    bytes: int
    wanted_group: Setting
    wanted_points: Setting = NO_WISH
    wanted_steps: Setting = NO_WISH
    wanted_split: Setting = NO_WISH
    wanted_tile: Setting = NO_WISH
    wanted_arrays: Setting = NO_WISH
    wanted_across: Setting = NO_WISH
    roots: bool = False
    loops: int = 0
    boxes: tuple[Box, ...] = ()
    of_elements: bool = False
    apart: bool = False


@dataclass(frozen=True, slots=True)
class SegmentTeamShape(Shape):
    """Choose the work-items of a ``group``, of which ``lanes`` neighbours share a segment.

    Both are powers of two.  There are ``segments`` with ``elements`` in all, and partial results of
    ``bytes`` bytes.  ``alone``: a group has one segment, so it has as many work-items as lanes.
    """

    group: Answer
    lanes: Answer
    segments: Size
    elements: Size
    bytes: int
    alone: bool
    wanted_group: Setting = NO_WISH
    wanted_lanes: Setting = NO_WISH


@dataclass(frozen=True, slots=True)
class StripShape(Shape):
    """Choose the strips of reductions down the columns of matrices.

    A work-item has ``columns`` neighbouring columns, of ``width`` in each of ``batch`` matrices.
    It has one of ``pieces`` parts of the ``length`` rows.  ``columns`` is 0 if strips do not pay on
    the device.  ``group`` is 1, unless work-items run together.

    The columns of a product are combined with ``rows`` of its ``height`` rows at a time.  A
    work-item has ``cells`` totals.
    """

    group: Answer
    columns: Answer
    rows: Answer
    cells: Answer
    pieces: Answer
    width: Size
    height: Size
    batch: Size
    length: Size

    def constants(self) -> tuple[VName, ...]:
        """The sizes that kernels are built for."""
        return self.names()[:-1]


@dataclass(frozen=True, slots=True)
class TransposeTileShape(Shape):
    """Choose the tiles of a transposed copy of elements of ``bytes`` bytes.

    ``fast`` elements side by side in the source come to lie apart, and ``last`` elements that lie
    apart come to lie side by side.  A tile has ``height`` times ``width`` of them, and its columns
    are ``pitch`` elements apart in local memory.  ``height`` is 0 if tiles do not pay.  ``words``
    is 1 if rows and columns are whole words.  Groups have ``group`` work-items.
    """

    height: Answer
    width: Answer
    pitch: Answer
    words: Answer
    fast: Size
    last: Size
    bytes: int
    group: Size

    def constants(self) -> tuple[VName, ...]:
        """The sizes that kernels are built for."""
        return self.names()[:-1]
