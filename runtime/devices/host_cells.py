"""Host cells: memory of the host for single values, which kernels write and the host reads.

A driver has a buffer that it allocates for the host in memory that is pinned, so a kernel's write
reaches the host without a command of its own.  No standard promises that while the buffer is
mapped.  So the first values are also read by a command, and compared.  Where they differ, and on
simulators, which complain, all values are read by commands.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl as cl

from runelift.ir.prim import Prim

CELL = 8
"""The bytes of a cell: those of the widest value."""
_UNWRITTEN = 0xA5
"""The bytes of a cell before a kernel has written into it."""


class HostCells:
    """The cells of a device."""

    def __init__(self, context: Any, queue: Any, *, usable: bool) -> None:
        self._context, self._queue = context, queue
        self._usable = usable
        self._mapped: dict[int, tuple[Any, Any]] = {}
        self._views: dict[tuple[int, Prim], np.ndarray[Any, Any]] = {}
        self.proven = False
        """True once a value was in its cell when it had been read by a command, too."""

    def make(self) -> Any:
        """The handle of a new buffer, which is a cell if cells may work."""
        if not self._usable:
            return cl.Buffer(self._context, cl.mem_flags.READ_WRITE, CELL)
        flags = cl.mem_flags
        handle = cl.Buffer(self._context,
                           flags.READ_WRITE | flags.ALLOC_HOST_PTR | flags.COPY_HOST_PTR,
                           hostbuf=np.full(CELL, _UNWRITTEN, np.uint8))
        mapped: Any = cl.enqueue_map_buffer(self._queue, handle, cl.map_flags.READ, 0, (CELL,),
                                            np.uint8)
        self._mapped[id(handle)] = handle, mapped[0]
        return handle

    def view(self, handle: Any, prim: Prim, index: int) -> np.ndarray[Any, Any] | None:
        """The value in the buffer ``handle``, an array of one element; None if it is no cell."""
        found = self._views.get((id(handle), prim))
        if found is None and not index and id(handle) in self._mapped:
            mapped = self._mapped[id(handle)][1]
            found = self._views[id(handle), prim] = mapped[:prim.bytes].view(prim.dtype)
        return found

    def compare(self, view: np.ndarray[Any, Any], read: np.ndarray[Any, Any]) -> None:
        """Learn from a value that was read by a command whether cells work."""
        seen = view.tobytes()
        if seen != read.tobytes():
            self._usable = False
            self._mapped.clear()
            self._views.clear()
        elif seen != bytes([_UNWRITTEN]) * len(seen):
            self.proven = True
