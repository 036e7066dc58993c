"""Blocks of products, and pieces of their reductions, chosen by a model of the device.

Large blocks load each element less often.  But few of them leave compute units idle, and their
groups hide less of how long they wait.  So the model adds what takes time.

Source of blocks: Volkov and Demmel 2008, "Benchmarking GPUs to tune dense linear algebra".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import isqrt
from operator import itemgetter
from typing import NamedTuple

from runelift.codegen.plan import plan
from runelift.codegen.plan.shapes import ProductTileShape
from runelift.ir.constraints import Constraint, at_least, equal
from runelift.ir.names import VName
from runelift.ir.sizes import Size, least
from runelift.runtime.devices.limits import ShareLimits, ceil_div
from runelift.runtime.geometry.shape import (
    MOST_REMEMBERED,
    MOST_SPLIT,
    ONE,
    PLENTY_OF_DATA,
    Geometry,
    GeometryLimits,
    Place,
    power_of_two_below,
    powers,
)

MOST_BLOCK_POINTS = 8
"""The most rows, and columns, of a block that a work-item has."""
SLAB_PADDING = 4
"""Rows of a slab have so many spare elements (:mod:`runelift.codegen.segops.product_tiles`)."""

POINT_TIME, EDGE_TIME, FETCH_TIME = 0.24, 0.18, 0.51
"""Nanoseconds of a compute unit for a step of 32 work-items.

They combine an element for a point, load one for a row or column of points, or fetch one.

These times and the times below were fitted to 2,000 measured settings of products and convolutions
on an NVIDIA H100.  There the chosen setting takes 2 % longer than the fastest one, on average.
"""
SLAB_TIME = 150
"""Nanoseconds that a slab's barrier takes of groups that run together."""
IDLE_WARPS = 1.25
"""Groups that run together wait for each other as long as so many more warps would take."""
FILL_TIME = 3340
"""Nanoseconds for the first slab, and for the results, of groups that run together."""
PIECES_TIME = 10000
"""Nanoseconds for the launch that combines pieces."""
PARTIAL_TIME = 0.0003
"""Nanoseconds for the partial total of a point, which is stored and loaded."""
PIECES_FACTOR = 1.03
"""Pieces must gain so much, since the times of groups differ."""
UNIT_REGISTERS, UNIT_ITEMS = 65536, 2048
"""The registers and work-items of a compute unit."""
OTHER_REGISTERS = 40
"""The registers of a work-item besides the registers for its points and their elements."""
FETCH_REGISTERS = 0.5
"""The registers for an element that is fetched for the next slab, and its place."""

LEAST_SLABS = 8
"""The least number of slabs in a piece."""
PIECES_PER_UNIT = 16
"""The most pieces of a product for each compute unit."""
PARTIAL_BYTES = 16 << 20
"""The most bytes of partial totals: they stay in the cache of the device."""
COMBINING_ITEMS_PER_UNIT = 256
"""Work-items share a point whose pieces they combine until each compute unit has so many."""
MOST_COMBINING = 32
"""The most work-items that share a point."""
MOST_CELLS = 64
"""Points of a product that a work-item keeps in registers."""


class ProductTileRequest(NamedTuple):
    """The fields of :class:`~runelift.codegen.plan.shapes.ProductTileShape`."""

    height: int
    width: int
    batch: int
    length: int
    bytes: tuple[int, int]
    wanted_side: int = 0
    wanted_rows: int = 0
    wanted_columns: int = 0
    wanted_across: int = 0
    wanted_depth: int = 0
    wanted_pieces: int = 0

    @property
    def points(self) -> int:
        """The number of results of the product."""
        return self.batch * self.height * self.width

    @property
    def wishes(self) -> bool:
        """True if a setting asks for a shape of the block."""
        return any(self[self._fields.index("wanted_side"):])


class ProductTileAnswer(NamedTuple):
    """The answers to :class:`~runelift.codegen.plan.shapes.ProductTileShape`."""

    group: int
    side: int
    across: int
    rows: int
    columns: int
    depth: int
    down: int
    along: int
    cells: int
    slabs: int
    pieces: int
    split: int


class _Block(NamedTuple):
    """A block of a group of ``side`` x ``across`` work-items, each with some points.

    Its slabs have ``steps`` if there are enough elements to fetch.
    """

    side: int
    across: int
    rows: int
    columns: int
    steps: int

    @property
    def items(self) -> int:
        return self.side * self.across

    def depth(self, wanted: int) -> int:
        """The steps of a slab: each work-item has an element to fetch."""
        found = min(wanted or self.steps, self.items)
        return max(found, self.across // self.rows, self.side // self.columns)

    def cover(self, height: int, width: int) -> int:
        return (ceil_div(height, self.side * self.rows)
                * ceil_div(width, self.across * self.columns))

    def slab_bytes(self, depth: int, sizes: tuple[int, int]) -> int:
        return depth * slab_width(sizes, (self.side, self.across), (self.rows, self.columns))

    def within(self, height: int, width: int) -> _Block:
        return self._replace(
            rows=power_of_two_below(min(self.rows, height // self.side)),
            columns=power_of_two_below(min(self.columns, width // self.across)))

    def step_time(self, words: int) -> float:
        """The nanoseconds of 32 work-items for a step, for values of ``words`` words."""
        points, edge = self.rows * self.columns, self.rows + self.columns
        return words * (POINT_TIME * points + EDGE_TIME * edge + FETCH_TIME * self.fetched)

    @property
    def fetched(self) -> float:
        """The elements that a work-item fetches for a step."""
        return (self.side * self.rows + self.across * self.columns) / self.items

    def together(self, words: int, depth: int) -> int:
        """The number of groups that a compute unit runs at once, for slabs of ``depth`` steps."""
        points, edge = self.rows * self.columns, self.rows + self.columns
        registers = OTHER_REGISTERS + words * (
            points + 2 * edge + FETCH_REGISTERS * self.fetched * depth)
        return max(1, min(int(UNIT_REGISTERS / (registers * self.items)),
                          UNIT_ITEMS // self.items))


@lru_cache(MOST_REMEMBERED)
def fastest(asked: ProductTileRequest, limits: GeometryLimits) -> ProductTileAnswer:
    """The blocks and pieces that make the product quickest, by a model of the device.

    Many points of a work-item are combined in less time.  But large blocks leave units idle, and
    their groups do not hide how long they wait.  There are few blocks to choose from, since a
    kernel is built for each.  Blocks are no larger than the product.

    >>> gpu = GeometryLimits(ShareLimits(32, 256, 1024, 16, 32, True, 1))
    >>> def some(height, width, length, bytes=(4, 4), **wanted):
    ...     found = fastest(ProductTileRequest(height, width, 1, length, bytes, **wanted), gpu)
    ...     assert (found.group, found.cells) == (
    ...         found.side * found.across, found.rows * found.columns)
    ...     print(f"{found.side} x {found.across} items of {found.rows} x {found.columns} points, "
    ...           f"{found.slabs} x {found.depth} steps"
    ...           + f", {found.pieces} pieces combined by {found.split}" * (found.pieces > 1))
    >>> some(4096, 4096, 4096); some(2048, 2048, 2048, (8, 8))
    16 x 16 items of 8 x 8 points, 2 x 16 steps
    16 x 16 items of 8 x 8 points, 1 x 16 steps
    >>> some(1024, 1056, 992)
    16 x 8 items of 8 x 4 points, 2 x 16 steps
    >>> some(1024, 1024, 1024); some(262144, 16, 64)
    16 x 16 items of 8 x 4 points, 2 x 16 steps
    16 x 8 items of 8 x 2 points, 2 x 16 steps
    >>> some(16, 16, 1 << 20); some(8, 8, 1 << 20)
    16 x 8 items of 1 x 2 points, 2 x 16 steps, 1024 pieces combined by 32
    16 x 16 items of 0 x 0 points, 1 x 16 steps
    >>> some(512, 784, 2304)
    16 x 8 items of 8 x 4 points, 2 x 16 steps, 8 pieces combined by 1
    >>> some(4096, 4096, 4096, wanted_side=8, wanted_rows=8, wanted_columns=8, wanted_across=32)
    8 x 32 items of 8 x 8 points, 2 x 8 steps
    >>> some(4096, 4096, 4096, wanted_side=16, wanted_rows=4, wanted_columns=4, wanted_depth=8)
    16 x 16 items of 4 x 4 points, 2 x 8 steps
    >>> some(64, 16, 64, wanted_side=16, wanted_rows=4, wanted_columns=4, wanted_depth=8,
    ...      wanted_pieces=2)
    16 x 16 items of 4 x 1 points, 2 x 16 steps, 2 pieces combined by 1
    """
    shares, height, width = limits.shares, asked.height, asked.width
    side = asked.wanted_side or isqrt(shares.group)
    across = asked.wanted_across or side
    if not (shares.staged or asked.wishes) or height < side or width < across or (
            not asked.wanted_side and side * across != shares.group):
        return _no_block(shares, side, across)
    blocks = list(dict.fromkeys(
        each.within(height, width) for each in _blocks(asked, side, across)))
    blocks = [each for each in blocks if each.slab_bytes(
        each.depth(asked.wanted_depth), asked.bytes) <= limits.local_bytes] or blocks[-1:]
    _, found, pieces = min(
        ((time, found, pieces) for found in blocks
         for time, pieces in _times(asked, found, limits.units)), key=itemgetter(0))
    depth = found.depth(asked.wanted_depth)
    room = found.slab_bytes(depth, asked.bytes)
    if depth > (asked.wanted_depth or found.steps) and room > limits.local_bytes:
        return _no_block(shares, side, across)
    return ProductTileAnswer(
        found.items, found.side, found.across, found.rows, found.columns, depth,
        down=depth * found.rows // found.across, along=depth * found.columns // found.side,
        cells=found.rows * found.columns, slabs=2 if 2 * room <= limits.local_bytes else 1,
        pieces=pieces, split=_combining(asked.points, pieces, limits.units))


def choose(asked: ProductTileRequest, limits: GeometryLimits) -> ProductTileAnswer:
    """The fastest blocks; none if a schedule asks for more than there is room for."""
    found = fastest(asked, limits)
    need = found.slabs * found.depth * slab_width(
        asked.bytes, (found.side, found.across), (found.rows, found.columns))
    fits = found.group <= limits.max_group and need <= limits.local_bytes
    return found if fits else found._replace(rows=0)


def _no_block(shares: ShareLimits, side: int, across: int) -> ProductTileAnswer:
    return ProductTileAnswer(shares.group, side, across, rows=0, columns=0, depth=side, down=0,
                             along=0, cells=0, slabs=1, pieces=1, split=1)


def _combining(points: int, pieces: int, units: int) -> int:
    """The work-items that combine the pieces of a point."""
    split = 1
    while 2 * split <= min(MOST_COMBINING, pieces // 2) and (
            points * split < COMBINING_ITEMS_PER_UNIT * units):
        split *= 2
    return split


def _blocks(asked: ProductTileRequest, side: int, across: int) -> list[_Block]:
    """The blocks to choose from; only one if its points are wanted."""
    rows, columns = asked.wanted_rows, asked.wanted_columns
    if rows or columns:
        return [_Block(side, across, rows or MOST_BLOCK_POINTS, columns or MOST_BLOCK_POINTS,
                       min(side, across))]
    return _shapes(side, across, free=not (asked.wanted_side or asked.wanted_across))


@lru_cache(MOST_REMEMBERED)
def _shapes(side: int, across: int, *, free: bool) -> list[_Block]:
    """The blocks to choose from, the best for large products first.

    If they are ``free``, groups may be of another form.
    """
    whole, half, steps = MOST_BLOCK_POINTS, MOST_BLOCK_POINTS // 2, min(side, across)
    found = [_Block(side, across, whole >> n // 2, whole >> (n + 1) // 2, steps)
             for n in range(2 * whole.bit_length() - 1)]
    if free:
        found.append(_Block(side, across, half, whole, steps))
    if free and min(side, across) > 1:
        found[:0] = [_Block(side // 2, across, whole, whole, steps // 2),
                     _Block(side, across // 2, whole, half, steps)]
    return found


def _times(asked: ProductTileRequest, found: _Block, units: int) -> Iterator[tuple[float, int]]:
    """The nanoseconds of a product with different numbers of pieces."""
    count, size = asked.batch * found.cover(asked.height, asked.width), max(asked.bytes) or 4
    depth, words = found.depth(asked.wanted_depth), max(1, size // 4)
    step, together = found.step_time(words), found.together(words, depth)
    slabs, warps = ceil_div(asked.length, depth), found.items / 32
    most = min(asked.length // (LEAST_SLABS * depth), PIECES_PER_UNIT * units // max(1, count),
               PARTIAL_BYTES // (size * max(1, asked.points)))
    choices = [1 << n for n in range(max(1, most.bit_length()))]
    if asked.wanted_pieces:
        choices = [max(1, min(asked.wanted_pieces, slabs))]
    for pieces in choices:
        groups = ceil_div(count * pieces, units)
        waves = ceil_div(groups, together)
        own = ceil_div(slabs, pieces)
        time = (own * (depth * step * (groups * warps + IDLE_WARPS * waves) + SLAB_TIME * waves)
                + FILL_TIME * waves)
        yield time if pieces == 1 else (
            time * PIECES_FACTOR + PIECES_TIME + PARTIAL_TIME * pieces * asked.points), pieces


def slab_width(sizes: tuple[int, int], items: tuple[int, int], shape: tuple[int, int]) -> int:
    """The bytes that a step of a slab takes; operands that are not copied have elements of none."""
    return sum(size * (many * count + SLAB_PADDING)
               for size, many, count in zip(sizes, items, shape, strict=True) if size)


def _constraints(step: ProductTileShape, shares: ShareLimits, place: Place
                 ) -> Iterator[Constraint]:
    """The settings that go together, and blocks and slabs as large as they ask for."""
    wanted = {name.removeprefix("wanted_"): Size.var(atom)
              for name, atom in step.settings().items() if isinstance(atom, VName)}
    for name in ("rows", "columns", "across", "depth"):
        if name in wanted:
            yield at_least(least(ONE, wanted["side"]), least(ONE, wanted[name]),
                           f"'{name}' needs 'side' to be set", place.operation, span=place.span)
    if wanted:
        side, across = wanted["side"], wanted["across"]
        square = side * (ONE - least(ONE, across))
        yield at_least(Size.var(plan.MAX_GROUP), side * (across + square),
                       "a group has work-items in rows and columns", place.operation,
                       span=place.span)
        yield at_least(Size.of(MOST_CELLS), wanted["rows"] * wanted["columns"],
                       "a work-item keeps its points in registers", place.operation,
                       span=place.span)
        yield at_least(Size.var(step.rows), least(ONE, across),
                       "slabs of a group that is not square fit into local memory", span=place.span)
        yield equal(least(ONE, wanted["depth"]) * Size.var(step.depth), wanted["depth"],
                    "each work-item copies an element of a slab", span=place.span)


def _values(step: ProductTileShape, shares: ShareLimits) -> Mapping[str, Sequence[int]]:
    sides, points = powers(4, 32), powers(1, 16)
    return {"wanted_side": sides, "wanted_across": sides, "wanted_depth": sides,
            "wanted_rows": points, "wanted_columns": points, "wanted_pieces": powers(1, MOST_SPLIT)}


PRODUCT_TILE = Geometry(
    ProductTileShape, ProductTileRequest, choose, derive=fastest, constraints=_constraints,
    plenty={"height": PLENTY_OF_DATA, "width": PLENTY_OF_DATA, "batch": 1, "length": 1},
    values=_values)
