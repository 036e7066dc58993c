"""Device memory: a pool of buffers, freed when the last name for them is gone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pyopencl as cl

from runelift.ir.base import failures
from runelift.ir.base.errors import ProgramFailure
from runelift.runtime.devices.info import DeviceInfo

REMEMBERED = 10_000
"""For how many sizes the pool remembers what they are rounded to."""


MOST_OF_SLAB = 24
"""The binary logarithm of the most elements of a run of segments: larger runs save nothing."""


def elements_of_slab(room: int, bytes_each: int, longest: int) -> int:
    """The elements of a run of segments within ``room`` bytes, beside a segment of ``longest``.

    It is a power of two, so that it seldom differs between runs of the program.  A third of the
    memory is left to scratch arrays, and to the pool, which rounds sizes up.

    >>> elements_of_slab(1_000_000, 24, 1000)
    16384
    """
    fitting = room * 2 // (3 * bytes_each) - longest
    return 1 << min(MOST_OF_SLAB, max(1, fitting).bit_length() - 1)


class Buffer:
    """A pooled piece of device memory.  Dropping the last reference gives it back.

    The queue runs commands in order, so memory may be reused as soon as it is given back.
    ``constant``: an array here is as the run left it that made it; no other library can write it.
    """

    __slots__ = ("__weakref__", "_pool", "constant", "handle", "size")

    def __init__(self, handle: Any, size: int, pool: Pool | None) -> None:
        self.handle = handle
        self.size = size
        self._pool = pool
        self.constant = pool is not None

    def share(self) -> None:
        """Note that another library may write the memory from now on."""
        self.constant = False

    def leave_pool(self) -> None:
        """Make the driver free the memory when all its users are gone, who may not be ours."""
        pool = self._pool
        if pool is not None:
            self._pool = None
            self.share()
            pool.live -= self.size
            pool.allocated -= self.size

    def __del__(self) -> None:
        pool = self._pool
        if pool is not None:
            pool.live -= self.size
            pool.free[self.size].append(self.handle)


class OutOfMemory(Exception):
    """The device has no room: what was wanted, and what there is."""


class Pool:
    """Buffers by size class; allocation costs no call of the driver in a steady state."""

    def __init__(self, context: Any, device: DeviceInfo) -> None:
        self._context = context
        self._device = device
        self._rounded: dict[int, int] = {}
        self.free: defaultdict[int, list[Any]] = defaultdict(list)
        self.live = 0
        self.allocated = 0
        self.peak = 0
        self.limit: int | None = None
        """The most bytes in use; None if the device alone says."""

    def allocate(self, size: int) -> Buffer:
        """A buffer of at least ``size`` bytes, with room for one element at least."""
        rounded = self.rounded(size)
        live = self.live + rounded
        if live > self.peak and self.limit is not None and live > self.limit:
            raise self._beyond(rounded)
        free = self.free[rounded]
        handle = free.pop() if free else self._create(rounded)
        self.live = live
        if live > self.peak:
            self.peak = live
        return Buffer(handle, rounded, self)

    @property
    def most_in_one(self) -> int:
        """The most bytes of one buffer."""
        return self._device.max_alloc

    @property
    def room(self) -> int:
        """The bytes that calls in each other may still take: at most half of the host's memory."""
        most = self._device.global_bytes // (2 if self._device.is_host else 1)
        return (most if self.limit is None else self.limit) - self.live

    def rounded(self, size: int) -> int:
        """The size of the buffer that holds ``size`` bytes."""
        return self._rounded.get(size) or self._round(size)

    def take(self, size: int, count: int) -> list[Any]:
        """So many pieces of a size that the pool has, always the same pieces if they are there."""
        free = self.free[size]
        if count == 1 and free:
            self.live += size
            if self.live > self.peak:
                self.peak = self.live
            return [free.pop()]
        taken = free[-count:]
        del free[-count:]
        if len(taken) < count:
            try:
                taken += [self._create(size) for _ in range(count - len(taken))]
            except OutOfMemory:
                free += taken
                raise
        if count > 1:
            taken.sort(key=id)
        self.live += count * size
        if self.live > self.peak:
            self.peak = self.live
        return taken

    def give_back(self, size: int, handle: Any) -> None:
        """Give back a piece that was taken."""
        self.free[size].append(handle)
        self.live -= size

    def _round(self, size: int) -> int:
        """``size`` rounded up to an eighth of its power of two: at most 12.5 % is lost."""
        if size < 0:
            raise ProgramFailure(failures.UNKNOWN_SIZE)
        step = 1 << max(4, size.bit_length() - 4)
        rounded = -(-max(size, 16) // step) * step
        if len(self._rounded) >= REMEMBERED:
            self._rounded.clear()
        self._rounded[size] = rounded
        return rounded

    def _create(self, size: int) -> Any:
        if size > self._device.max_alloc:
            raise self._too_large(size)
        most = self._device.global_bytes
        if self.allocated + size > (most if self.limit is None else min(most, self.limit)):
            self.trim()
        if self.allocated + size > self._device.global_bytes:
            raise self._too_large(size)
        try:
            handle = cl.Buffer(self._context, cl.mem_flags.READ_WRITE, size)
        except cl.Error:
            self.trim()
            try:
                handle = cl.Buffer(self._context, cl.mem_flags.READ_WRITE, size)
            except cl.Error:
                raise self._too_large(size) from None
        self.allocated += size
        return handle

    def _too_large(self, size: int) -> OutOfMemory:
        device = self._device
        return OutOfMemory(
            f"a buffer of {size:,} bytes does not fit beside the {self.live:,} in use: "
            f"'{device.name}' allows {device.max_alloc:,} bytes in one buffer and has "
            f"{device.global_bytes:,} in all")

    def _beyond(self, size: int) -> OutOfMemory:
        return OutOfMemory(f"a buffer of {size:,} bytes does not fit beside the {self.live:,} in "
                           "use within the bound on device memory")

    def trim(self) -> None:
        """Return unused memory to the device."""
        for size, handles in self.free.items():
            self.allocated -= size * len(handles)
            for handle in handles:
                handle.release()
        self.free.clear()


class UnwrittenPool(Pool):
    """A pool whose memory counts as never written whenever it is given out.

    ``forget`` makes Oclgrind forget what it knows of a buffer.  Oclgrind 19.10 notes which bytes
    were written, for as many bytes as the host wrote last.  Freed memory keeps its notes.  So a
    larger array in such memory seems never written, and a smaller one seems written before it is.
    """

    def __init__(self, context: Any, device: DeviceInfo, forget: Callable[[Any], None]) -> None:
        super().__init__(context, device)
        self._forget = forget

    def allocate(self, size: int) -> Buffer:
        """A buffer of at least ``size`` bytes, never written."""
        buffer = super().allocate(size)
        self._forget(buffer.handle)
        return buffer

    def take(self, size: int, count: int) -> list[Any]:
        """So many pieces of a size, never written."""
        taken = super().take(size, count)
        for handle in taken:
            self._forget(handle)
        return taken
