"""Pinned host memory for scalars and small arrays read back from the device.

Without it a driver copies by way of other memory, and each read waits for that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyopencl as cl

from runelift.ir.prim import Prim

CELL = 8
"""The bytes of the widest value."""
CELLS = 64
"""The number of values that have a place at a time."""
STAGED = 1 << 16
"""The bytes of arrays that have a place; copying larger arrays once more would save no time."""
Elements: TypeAlias = Sequence[tuple[Any, str, int]]
"""Elements of buffers: the handle of the buffer, the type, the index."""
MOST_PLACES = 256
"""The most choices of arrays whose places are remembered."""
APART = 64
"""Arrays begin at multiples of so many bytes."""


def neighbours(elements: Elements) -> Iterator[tuple[int, int]]:
    """The runs of elements that lie side by side in one buffer and in cells: first, and count.

    >>> list(neighbours([("a", "i64", 3), ("a", "i64", 4), ("b", "i64", 5), ("b", "i32", 6)]))
    [(0, 2), (2, 1), (3, 1)]
    """
    first = 0
    for number in range(1, len(elements) + 1):
        handle, prim, index = elements[number - 1]
        if (number < len(elements) and number + 1 < CELLS and Prim(prim).bytes == CELL
                and elements[number][0] is handle and elements[number][1:] == (prim, index + 1)):
            continue
        yield first, number - first
        first = number


class PinnedCells:
    """A mapped buffer, a cell for each value that is under way."""

    def __init__(self, context: Any, queue: Any) -> None:
        self._buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR,
                                 CELL * CELLS + STAGED)
        mapped: Any = cl.enqueue_map_buffer(queue, self._buffer, cl.map_flags.READ, 0,
                                            (CELL * CELLS + STAGED,), np.uint8)
        self._cells = mapped[0]
        self._known: dict[tuple[int, Prim], np.ndarray[Any, Any]] = {}
        self._places: dict[tuple[Any, ...], Sequence[np.ndarray[Any, Any]] | None] = {}

    def cell(self, number: int, prim: Prim) -> np.ndarray[Any, Any]:
        """The place for the value with this number: always the same array, of one element."""
        found = self._known.get((number, prim))
        if found is None:
            first = CELL * number
            found = self._known[number, prim] = self._cells[
                first:first + prim.bytes].view(prim.dtype) if (
                    number < CELLS) else np.empty(1, prim.dtype)
        return found

    def cells(self, number: int, prim: Prim, count: int) -> np.ndarray[Any, Any]:
        """The places of ``count`` values from a number on, as one array; they lie side by side."""
        first = CELL * number
        found: np.ndarray[Any, Any] = self._cells[first:first + CELL * count].view(prim.dtype)
        return found

    def arrays(self, wanted: Sequence[tuple[Prim, tuple[int, ...]]]
               ) -> Sequence[np.ndarray[Any, Any]] | None:
        """Places for arrays of these types and shapes; None if they are too large together.

        Places that were asked for before are given again.
        """
        key = tuple(wanted)
        if key not in self._places:
            if len(self._places) >= MOST_PLACES:
                self._places.clear()
            self._places[key] = self._placed(wanted)
        return self._places[key]

    def _placed(self, wanted: Sequence[tuple[Prim, tuple[int, ...]]]
                ) -> Sequence[np.ndarray[Any, Any]] | None:
        found, end = [], CELL * CELLS
        for prim, shape in wanted:
            count = prim.bytes * math.prod(shape)
            if end + count > CELL * CELLS + STAGED:
                return None
            found.append(self._cells[end:end + count].view(prim.dtype).reshape(shape))
            end += -(-count // APART) * APART
        return found
