"""Scan status: the words in which the groups of a scan publish the totals of their tiles.

See :mod:`runelift.codegen.segops.segscan_single_pass`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl as cl

from runelift.runtime.devices.memory import Buffer

EPOCHS = 1 << 29
"""After so many scans the words are cleared: they count epochs modulo 2 to the 30."""
LEAST_WORDS = 1 << 10


class ScanStatus:
    """The buffer of a device in which groups publish the totals of their tiles."""

    def __init__(self, context: Any, queue: Any) -> None:
        self._context = context
        self._queue = queue
        self._buffer: Buffer | None = None
        self._epochs = 0

    def begin(self, words: int) -> Buffer:
        """The buffer, with room for ``words`` u64s, for one more scan."""
        buffer = self._buffer
        if buffer is None or buffer.size < 8 * words or self._epochs > EPOCHS:
            size = 8 * max(2 * words, LEAST_WORDS)
            buffer = Buffer(cl.Buffer(self._context, cl.mem_flags.READ_WRITE, size), size, None)
            cl.enqueue_copy(self._queue, buffer.handle, np.zeros(size, np.uint8))
            self._buffer, self._epochs = buffer, 0
        self._epochs += 1
        return buffer

    def repeat(self, count: int) -> None:
        """Count up to ``count`` more scans, which one kernel makes."""
        self._epochs += count

    def forget(self) -> None:
        """Forget the buffer: a kernel may have left it in disorder."""
        self._buffer = None
