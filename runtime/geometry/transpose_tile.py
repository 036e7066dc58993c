"""Tiles of transposed copies."""

from __future__ import annotations

from typing import NamedTuple

from runelift.codegen.plan.shapes import TransposeTileShape
from runelift.runtime.devices.limits import ceil_div, power_of_two_above
from runelift.runtime.geometry.shape import Geometry, GeometryLimits

TILE_ELEMENTS = 1024
"""The least elements of a tile of a large array."""
TILE_BYTES = 4096
"""The least bytes of it, so that small elements keep as many bytes under way."""
EVEN_TILES = 4
"""Sides of up to so many tiles are divided evenly; kernels are built for few sizes of tiles."""
WORD_BYTES = 4
"""The bytes that a bank of local memory gives to one work-item at a time."""
LEAST_WORDS = 8
"""The least words of a row or column that is copied word by word, so that they fill a sector."""


class TransposeTileRequest(NamedTuple):
    """The fields of :class:`~runelift.codegen.plan.shapes.TransposeTileShape`."""

    fast: int
    last: int
    bytes: int
    group: int


class TransposeTileAnswer(NamedTuple):
    """The answers to :class:`~runelift.codegen.plan.shapes.TransposeTileShape`."""

    height: int
    width: int
    pitch: int
    words: int


def choose(asked: TransposeTileRequest, limits: GeometryLimits | None = None
           ) -> TransposeTileAnswer:
    """Tiles that include the whole of a short side, so that accesses along it are coalesced.

    Small matrices need no tiles: what a group reads, it finds in the cache.

    >>> def some(fast, last, bytes=4):
    ...     found = choose(TransposeTileRequest(fast, last, bytes, 256))
    ...     return f"{found.height} x {found.width}, {found.pitch}" + ", words" * found.words
    >>> [some(4096, 4096), some(4095, 4096, 1), some(4095, 4096, 2)]
    ['32 x 32, 33', '64 x 64, 68', '32 x 64, 34']
    >>> [some(4, 1 << 20), some(1 << 20, 4), some(5, 1 << 20, 1)]
    ['4 x 256, 5', '256 x 4, 257', '5 x 1024, 12']
    >>> [some(100, 100), some(33, 1 << 20), some(16, 16), some(17, 17)]
    ['25 x 50, 25', '17 x 64, 17', '0 x 1, 1', '17 x 17, 17']
    >>> [some(4096, 4096, 1), some(1000, 16, 2), some(28, 1000, 1)]
    ['64 x 64, 68, words', '128 x 16, 130, words', '28 x 250, 28']
    """
    fast, last = asked.fast, asked.last
    if fast * last <= asked.group:
        return TransposeTileAnswer(height=0, width=1, pitch=1, words=0)
    short, elements = min(fast, last), max(TILE_ELEMENTS, TILE_BYTES // asked.bytes)
    one = _side(short, 1 << (elements.bit_length() - 1) // 2)
    other = _side(max(fast, last), power_of_two_above(ceil_div(elements, one)))
    height, width = (one, other) if fast == short else (other, one)
    unit = max(1, WORD_BYTES // asked.bytes)
    words = unit > 1 and fast % unit == last % unit == 0 and short >= LEAST_WORDS * unit
    return TransposeTileAnswer(height, width, unit * (ceil_div(height, unit) | 1), int(words))


def _side(length: int, most: int) -> int:
    parts = ceil_div(length, most)
    return ceil_div(length, parts) if parts <= EVEN_TILES else most


TRANSPOSE_TILE = Geometry(TransposeTileShape, TransposeTileRequest, choose)
