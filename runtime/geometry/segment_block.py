"""Blocks of segments that a group reduces together.

A work-item with several segments loads shared elements once, and has more loads under way.  But
there must be enough work-items for the device, and registers and local memory for all values they
keep.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import NamedTuple

from runelift.codegen.plan.shapes import Box, SegmentBlockShape
from runelift.ir.constraints import Constraint, at_least, divides
from runelift.ir.names import VName
from runelift.ir.sizes import Size, greatest, least
from runelift.runtime.devices.limits import ShareLimits, ceil_div, power_of_two_above
from runelift.runtime.geometry.shape import (
    MOST_REMEMBERED,
    MOST_SPLIT,
    NONE,
    ONE,
    PLENTY_OF_DATA,
    Geometry,
    GeometryLimits,
    Place,
    power_of_two_below,
    powers,
)

SMALL_TOTAL_BYTES = 8
"""Totals of so many bytes leave enough registers for the largest groups.

These are the best where segments have one dimension and no loops at their elements.
"""
SLIDING_SEGMENTS = 8
"""The segments of a work-item if they share elements with their neighbours, or divide by roots."""
VECTOR_SEGMENTS = 16
"""The segments of a work-item on processors: it combines an element for a vector of them."""
LEAST_VECTOR_LENGTH = 256
"""The least elements of such segments that slide, unless there are loops at each element."""
FEWEST_ROOT_SEGMENTS = 4
"""The fewest of them if they divide by roots and few work-items would have work otherwise."""
KEPT_ELEMENTS = 32
"""The elements that a work-item combines at a time, of all its segments."""
KEPT_ROOT_ELEMENTS = 16
"""The number of them if they are divided by roots."""
KEPT_BOXED_ELEMENTS = 64
"""The number of them if they are in local memory."""
STRAIGHT_ELEMENTS = 128
"""The number of them if there are no loops at an element, so that no values are kept for it."""
MOST_STEPS = 16
"""The most steps in which they are combined."""
MOST_TILE_ITERATIONS = 128
"""The most iterations of a loop whose elements local memory holds."""
LEAST_TILE_ITERATIONS = 8
"""The least iterations for which local memory is used."""
TILE_PARTS = 8
"""The parts in which a work-item goes through a tile of elements, if there is room for so many."""
LEAST_COPYING = 128
"""The least work-items of a group that copies elements of segments, if they can share these."""
LEAST_ACROSS = 16
"""The least number of segments of a group that are beside each other."""
ITEMS_PER_UNIT = 1024
"""Work-items share a segment until each compute unit has so many."""
BOXED_ITEMS_PER_UNIT = 256
"""The number of them if elements are in local memory."""
MOST_SHARING = 32
"""The most work-items that share a segment."""
LEAST_STEPS = 4
"""The least elements of each work-item that shares a segment."""
LEAST_FILLED = 4
"""Segments are reduced together if one in so many of the work-items that units need has some."""
MOST_CELLS, MOST_STRAIGHT = 64, 256
"""Steps times segments that a work-item combines at a time, with or without loops at an element."""
NO_TILE = 1
"""The wanted tile that means none."""


class SegmentBlockRequest(NamedTuple):
    """The fields of :class:`~runelift.codegen.plan.shapes.SegmentBlockShape`."""

    height: int
    width: int
    batch: int
    length: int
    slides: bool
    bytes: int
    wanted_group: int = 0
    wanted_points: int = 0
    wanted_steps: int = 0
    wanted_split: int = 0
    wanted_tile: int = 0
    wanted_arrays: int = 0
    wanted_across: int = 0
    roots: bool = False
    loops: int = 0
    boxes: tuple[Box, ...] = ()
    of_elements: bool = False
    apart: bool = False

    @property
    def segments(self) -> int:
        """The number of segments."""
        return self.batch * max(self.height, 1) * self.width

    @property
    def copied(self) -> tuple[Box, ...]:
        """The boxes that are copied to local memory."""
        wanted = self.wanted_arrays
        return tuple(box for n, box in enumerate(self.boxes) if not wanted or wanted >> n & 1)

    def sharing(self, group: int) -> int:
        """The most work-items of a group that can share a segment."""
        return min(group // LEAST_ACROSS, MOST_SHARING, self.length // LEAST_STEPS)


class SegmentBlockAnswer(NamedTuple):
    """The answers to :class:`~runelift.codegen.plan.shapes.SegmentBlockShape`."""

    group: int
    across: int
    split: int
    points: int
    steps: int
    cells: int
    tile: int


@lru_cache(MOST_REMEMBERED)
def block(asked: SegmentBlockRequest, limits: GeometryLimits) -> SegmentBlockAnswer:
    """The block of as many steps as a work-item can keep.

    A work-item has no more segments than there are in the dimension that it takes them from.  As
    many work-items share a segment as give the device enough work, or as would be beyond the last
    segment.  Their totals, and boxes, fit into local memory.  Few segments are not reduced like
    this: sharing elements gains less than idle units lose.

    >>> gpu = GeometryLimits(ShareLimits(32, 256, 1024, 16, 32, True, 1))
    >>> def some(height, width, length, limits=gpu, **asked):
    ...     found = block(SegmentBlockRequest(**{**dict(
    ...         height=height, width=width, batch=1, length=length, slides=False, bytes=4, loops=1,
    ...         wanted_group=limits.shares.group), **asked}), limits)
    ...     assert found.group == found.across * found.split
    ...     print(f"{found.across} x {found.split} items, {found.points} segments, "
    ...           f"{found.steps} steps" + f", tile of {found.tile}" * (found.tile > 0))

    Wanted sizes:

    >>> some(512, 512, 256, wanted_points=8, wanted_steps=4, wanted_split=1)
    256 x 1 items, 8 segments, 4 steps
    >>> some(0, 500, 500, wanted_points=8, wanted_steps=4, wanted_split=16)
    16 x 16 items, 8 segments, 4 steps
    >>> some(0, 100, 500, wanted_points=8, wanted_steps=4, wanted_split=16)
    16 x 16 items, 4 segments, 4 steps
    >>> some(4096, 4096, 256, wanted_points=8)
    256 x 1 items, 8 segments, 4 steps
    >>> some(0, 16384, 16384, wanted_points=8)
    16 x 16 items, 8 segments, 4 steps

    Segments that share nothing, that slide, and that divide by roots:

    >>> some(512, 512, 256)
    256 x 1 items, 0 segments, 1 steps
    >>> some(64, 64, 64, batch=64, slides=True)
    32 x 8 items, 8 segments, 4 steps
    >>> some(64, 64, 64, batch=64, slides=True, bytes=64)
    32 x 8 items, 2 segments, 16 steps
    >>> for n in (16384, 65536): some(0, n, n, roots=True, bytes=12)
    16 x 16 items, 4 segments, 4 steps
    16 x 16 items, 8 segments, 2 steps
    >>> for n in (25, 1000): some(0, n, 10000, roots=True)
    256 x 1 items, 0 segments, 1 steps
    16 x 16 items, 4 segments, 4 steps

    Lines of segments that slide, without loops:

    >>> for n in (16384, 65536, 1 << 20): some(0, n, n, slides=True, loops=0)
    32 x 32 items, 4 segments, 16 steps
    32 x 32 items, 8 segments, 16 steps
    128 x 2 items, 8 segments, 16 steps

    Boxes:

    >>> image, filter = Box(4, ((1, 1, 0, 0), (0, 0, 1, 1))), Box(4, ((0, 0, 0, 1), (0, 1, 0, 0)))
    >>> some(2048, 2048, 256, slides=True, boxes=(image, filter))
    256 x 1 items, 8 segments, 8 steps, tile of 128
    >>> some(512, 512, 256, slides=True, boxes=(image, filter))
    128 x 2 items, 8 segments, 8 steps, tile of 128

    Processors:

    >>> cpu = GeometryLimits(ShareLimits(4, 64, 1024, 16, 32, False, 1, columns=32), units=2)
    >>> some(0, 10000, 5, cpu, slides=True, loops=0)
    64 x 1 items, 0 segments, 1 steps
    >>> some(0, 10000, 10000, cpu, roots=True, loops=0)
    16 x 4 items, 16 segments, 8 steps
    """
    if asked.wanted_across:
        return _scheduled(asked, limits)
    group, points = _work(asked, limits)
    if not points:
        return SegmentBlockAnswer(group, group, split=1, points=0, steps=1, cells=0, tile=0)
    tile = _wished_tile(asked, limits.shares)
    split = min(asked.wanted_split or _split(asked, limits, group, points, tiled=tile > 0), group)
    points = _possible_points(asked, limits, points, group, split)
    steps = asked.wanted_steps or _steps(asked, points, split, tiled=tile > 0)
    partials = points * group * asked.bytes if split > 1 else 0
    wanted = SegmentBlockAnswer(group, group // split, split, points, steps, points * steps, tile)
    return wanted._replace(tile=_fitting_tile(asked, wanted, limits.local_bytes - partials))


def _scheduled(asked: SegmentBlockRequest, limits: GeometryLimits) -> SegmentBlockAnswer:
    """The block that a schedule asks for.

    Work-items share a segment where too few would have work otherwise, as long as there is room for
    their totals and for tiles.  Groups are not of the largest size if work-items keep many values.
    Tiles of elements become shorter, and then the steps fewer, until their boxes fit.
    """
    across = asked.wanted_across
    most = min(MOST_SHARING, asked.length // LEAST_STEPS, *((across,) if asked.apart else ()),
               limits.max_group // across // (2 if asked.loops else 1))
    points = _possible_points(asked, limits, asked.wanted_points, across, 1)
    items, found = asked.segments // points, _scheduled_block(asked, limits, points, 1)
    enough = limits.units * (BOXED_ITEMS_PER_UNIT if found.tile and not asked.of_elements
                             else ITEMS_PER_UNIT)
    while limits.shares.staged and not asked.wanted_split and 2 * found.split <= most and (
            items * found.split < enough or (
                asked.of_elements and found.tile and found.group < LEAST_COPYING)):
        more = _scheduled_block(asked, limits, points, 2 * found.split)
        if points * more.group * asked.bytes >= limits.local_bytes or more.steps < found.steps or (
                found.tile and more.tile < (1 if asked.of_elements else found.tile)):
            break
        found = more
    return found


def _scheduled_block(asked: SegmentBlockRequest, limits: GeometryLimits, points: int, split: int
                     ) -> SegmentBlockAnswer:
    """The block of a schedule if so many work-items share a segment, with a tile that fits."""
    wanted = SegmentBlockAnswer(
        asked.wanted_across * split, asked.wanted_across, split, points, asked.wanted_steps,
        points * asked.wanted_steps, _wished_tile(asked, limits.shares))
    room = limits.local_bytes - (points * wanted.group * asked.bytes if split > 1 else 0)
    if asked.of_elements:
        return _with_elements(asked, wanted, room)
    return wanted._replace(tile=_fitting_tile(asked, wanted, room))


def _with_elements(asked: SegmentBlockRequest, wanted: SegmentBlockAnswer, room: int
                   ) -> SegmentBlockAnswer:
    """The block with a tile of elements that fits into ``room`` bytes; without any if none does.

    A work-item goes through a tile in several parts, so that barriers are few.
    """
    kept = KEPT_ROOT_ELEMENTS if asked.roots else STRAIGHT_ELEMENTS
    steps = power_of_two_below(max(1, min(wanted.steps, kept // wanted.points, MOST_STEPS)))
    least_tile = wanted.across if asked.apart else wanted.split
    while steps:
        found = wanted._replace(steps=steps, cells=wanted.points * steps)
        parts = power_of_two_below(max(
            1, wanted.tile // (least_tile * steps), TILE_PARTS * wanted.split // least_tile))
        tile = parts * least_tile * steps
        while tile >= least_tile * steps:
            if _boxes_bytes(asked.copied, found._replace(tile=tile),
                            flat=not asked.height) <= room:
                return found._replace(tile=tile)
            tile //= 2
        steps //= 2
    return wanted._replace(tile=0)


def choose(asked: SegmentBlockRequest, limits: GeometryLimits) -> SegmentBlockAnswer:
    """The block; none if a schedule asks for too large a group."""
    asked = asked._replace(boxes=tuple(Box(*box) for box in asked.boxes))
    found = block(asked, limits)
    return found if found.group <= limits.max_group else found._replace(points=0)


class _Work(NamedTuple):
    """The work-items of a group, and the segments of each; 0 if blocks do not pay."""

    group: int
    points: int


def _work(asked: SegmentBlockRequest, limits: GeometryLimits) -> _Work:
    """The work that is wanted, or that pays."""
    shares, group, points = limits.shares, asked.wanted_group, asked.wanted_points
    if points:
        return _Work(group, points)
    if shares.columns and (asked.roots or (asked.slides and (
            asked.loops > 1 or asked.length >= LEAST_VECTOR_LENGTH))):
        return _Work(group, VECTOR_SEGMENTS)
    if not (shares.staged and (asked.slides or asked.roots)):
        return _Work(group, 0)
    found = _Work(group, SLIDING_SEGMENTS if asked.slides else _root_segments(asked, limits))
    if _is_short_line(asked, limits, found):
        found = _largest_groups(asked, limits, found)
    busy = asked.segments * (asked.wanted_split or asked.sharing(found.group))
    return found if LEAST_FILLED * busy >= BOXED_ITEMS_PER_UNIT * limits.units else (
        found._replace(points=0))


def _root_segments(asked: SegmentBlockRequest, limits: GeometryLimits) -> int:
    """The segments that divide by roots: fewer if few work-items would have work otherwise."""
    points, most = SLIDING_SEGMENTS, asked.segments * MOST_SHARING
    while points > FEWEST_ROOT_SEGMENTS and most < 2 * points * BOXED_ITEMS_PER_UNIT * limits.units:
        points //= 2
    return points


def _is_short_line(asked: SegmentBlockRequest, limits: GeometryLimits, found: _Work) -> bool:
    """True if the largest groups are best: a line of few sliding segments, without loops."""
    return (asked.slides and not (asked.loops or asked.height or asked.wanted_split)
            and asked.bytes <= SMALL_TOTAL_BYTES and found.group == limits.shares.group
            and asked.segments * MOST_SHARING < 2 * found.points * ITEMS_PER_UNIT * limits.units
            and asked.length >= MOST_SHARING * LEAST_STEPS)


def _largest_groups(asked: SegmentBlockRequest, limits: GeometryLimits, found: _Work) -> _Work:
    """Groups of the largest size, with so few segments that most units have some."""
    group, points = limits.shares.max_group, found.points
    while points > 1 and 4 * asked.segments * MOST_SHARING < 3 * limits.units * points * group:
        points //= 2
    return _Work(group, points)


def _wished_tile(asked: SegmentBlockRequest, shares: ShareLimits) -> int:
    """The iterations of a tile, if there is room for them."""
    if not asked.copied or asked.wanted_tile == NO_TILE:
        return 0
    return asked.wanted_tile or (MOST_TILE_ITERATIONS if asked.slides and shares.staged else 0)


def _split(asked: SegmentBlockRequest, limits: GeometryLimits, group: int, points: int, *,
           tiled: bool) -> int:
    """The work-items that share a segment: so many that the device has enough work."""
    items, split = max(1, asked.segments // points), 1
    enough = (BOXED_ITEMS_PER_UNIT if tiled else ITEMS_PER_UNIT) * limits.units
    while 2 * split <= asked.sharing(group) and (
            items * split < enough
            or group // split > power_of_two_above(max(1, asked.width))):
        split *= 2
    return split


def _possible_points(asked: SegmentBlockRequest, limits: GeometryLimits, points: int, group: int,
                     split: int) -> int:
    """No more segments than there are, nor than local memory has totals of."""
    most = asked.height or asked.width // (group // split)
    while points > 1 and (points > most or (
            split > 1 and points * group * asked.bytes >= limits.local_bytes)):
        points //= 2
    return points


def _steps(asked: SegmentBlockRequest, points: int, split: int, *, tiled: bool) -> int:
    kept = (STRAIGHT_ELEMENTS if not asked.loops else KEPT_BOXED_ELEMENTS if tiled
            else KEPT_ROOT_ELEMENTS if asked.roots else KEPT_ELEMENTS)
    together = max(1, asked.length // split) if tiled else MOST_STEPS
    return power_of_two_below(max(1, min(MOST_STEPS, kept // points, together)))


def _fitting_tile(asked: SegmentBlockRequest, wanted: SegmentBlockAnswer, room: int) -> int:
    """The tile of a block whose boxes fit into ``room`` bytes; 0 if that is too short."""
    tile = wanted.tile
    while tile and _boxes_bytes(asked.copied, wanted._replace(tile=tile)) > room:
        tile = tile // 2 if tile > LEAST_TILE_ITERATIONS or asked.wanted_tile else 0
    return tile


def _boxes_bytes(boxes: Sequence[Box], block: SegmentBlockAnswer, *, flat: bool = False) -> int:
    """The local memory of boxes, whose sides are as long as their walks.

    If segments are ``flat``, all segments of a group are beside each other.

    Rows of elements that work-items have beside each other are padded to an odd multiple of four
    (:mod:`runelift.codegen.segops.local_tiles`).
    """
    beside = block.across * (block.points if flat else 1)
    counts = (block.points, block.steps * block.split, beside, block.tile)
    total = 0
    for box in boxes:
        lengths = [1 + sum(walked * (count - 1) for walked, count in zip(side, counts, strict=True))
                   for side in box.sides]
        if box.sides[-1][1] and any(side[2] for side in box.sides[:-1]):
            lengths[-1] = 4 * (2 * ceil_div(ceil_div(lengths[-1], 4) + 1, 2) - 1)
        total += box.bytes * prod(lengths)
    return total


def _constraints(step: SegmentBlockShape, shares: ShareLimits, place: Place
                 ) -> Iterator[Constraint]:
    """Settings that go together, registers for all cells, and tiles as long as was asked for."""
    wanted = {name.removeprefix("wanted_"): Size.var(atom)
              for name, atom in step.settings().items() if isinstance(atom, VName)}
    for name in ("steps", "split", "tile", "arrays"):
        if name in wanted:
            yield at_least(least(ONE, wanted.get("points", NONE)), least(ONE, wanted[name]),
                           f"'{name}' needs 'points' to be set", place.operation, span=place.span)
    if "arrays" in wanted:
        copies = wanted["tile"] - ONE
        yield at_least(greatest(copies, NONE - copies), least(ONE, wanted["arrays"]),
                       "'arrays' makes no difference where nothing is copied", place.operation,
                       span=place.span)
    if {"split", "group"} <= wanted.keys():
        yield divides(greatest(ONE, wanted["split"]), wanted["group"], "a group is split evenly",
                      place.operation, span=place.span)
    yield at_least(Size.of(MOST_CELLS if step.loops else MOST_STRAIGHT), Size.var(step.cells),
                   "a work-item keeps its steps for all its points in registers", span=place.span)
    if "tile" in wanted:
        yield at_least(Size.var(step.tile) + 1, wanted["tile"],
                       "the iterations of a tile fit into local memory", span=place.span)


def _values(step: SegmentBlockShape, shares: ShareLimits) -> Mapping[str, Sequence[int]]:
    return {"wanted_points": powers(1, 16), "wanted_steps": powers(1, 16),
            "wanted_split": powers(1, MOST_SPLIT), "wanted_tile": [NO_TILE, *powers(16, 256)],
            "wanted_arrays": range(1, (1 << len(step.boxes)) - 1)}


SEGMENT_BLOCK = Geometry(
    SegmentBlockShape, SegmentBlockRequest, choose, derive=block, constraints=_constraints,
    plenty={"height": PLENTY_OF_DATA, "width": PLENTY_OF_DATA, "batch": 1,
            "length": PLENTY_OF_DATA},
    values=_values, optional=("tile",))
