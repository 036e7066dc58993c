"""Pinned host memory for scalars and small arrays read back from the device.

Without it a driver copies by way of other memory, and each read waits for that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyopencl as cl

from runelift.ir.prim import Prim

CELL = 8
"""The bytes of the widest value."""
CELLS = 64
"""The number of values that have a place at a time."""
STAGED = 1 << 16
"""The bytes of arrays that have a place; copying larger ones once more would save no time."""
APART = 64
"""Arrays begin at multiples of so many bytes."""


class PinnedCells:
    """A mapped buffer, a cell for each value that is under way."""

    def __init__(self, context: Any, queue: Any) -> None:
        self._buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR,
                                 CELL * CELLS + STAGED)
        mapped: Any = cl.enqueue_map_buffer(queue, self._buffer, cl.map_flags.READ, 0,
                                            (CELL * CELLS + STAGED,), np.uint8)
        self._cells = mapped[0]

    def cell(self, number: int, prim: Prim) -> np.ndarray[Any, Any]:
        """A place for the value with this number, an array of one element."""
        if number >= CELLS:
            return np.empty(1, prim.dtype)
        first = CELL * number
        place: np.ndarray[Any, Any] = self._cells[first:first + prim.bytes].view(prim.dtype)
        return place

    def arrays(self, wanted: Sequence[tuple[Prim, tuple[int, ...]]]
               ) -> list[np.ndarray[Any, Any]] | None:
        """Places for arrays of these types and shapes; None if they are too large together."""
        found, end = [], CELL * CELLS
        for prim, shape in wanted:
            count = prim.bytes * math.prod(shape)
            if end + count > CELL * CELLS + STAGED:
                return None
            found.append(self._cells[end:end + count].view(prim.dtype).reshape(shape))
            end += -(-count // APART) * APART
        return found
