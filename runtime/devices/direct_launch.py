"""Direct calls of OpenCL's functions, without the events and questions of PyOpenCL.

An event with every command costs both the host and the device time.  So runs call OpenCL by
themselves, through the library that PyOpenCL is linked with.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pyopencl as cl

MOST_READS = 256
"""The most reads whose arguments are kept."""


class DirectCall(partial[int]):
    """A call of OpenCL's function, with no code of Python in between; 0 if it succeeds.

    ``again`` does it once more by way of PyOpenCL, and says what is wrong.
    """

    again: Callable[[], object]


def launcher(queue: Any, kernel: Any, items: int, group: int) -> Callable[[], object]:
    """A call that launches so many work-items, in groups, without an event if possible.

    :func:`make` makes it.
    """
    again = partial(cl.enqueue_nd_range_kernel, queue, kernel, (items,), (group,))
    enqueue = _function("clEnqueueNDRangeKernel")
    if enqueue is None:
        return again
    size = ctypes.c_size_t * 1
    launch = DirectCall(enqueue, *_arguments(queue, kernel, size(items), size(group)))
    launch.again = again
    return launch


def local_setter(kernel: Any, number: int, size: int) -> Callable[[], object]:
    """A call that gives a kernel ``size`` bytes of local memory as argument ``number``.

    :func:`make` makes it.
    """
    again = partial(kernel.set_arg, number, cl.LocalMemory(size))
    set_arg = _function("clSetKernelArg")
    if set_arg is None:
        return again
    setter = DirectCall(set_arg, ctypes.c_void_p(kernel.int_ptr), ctypes.c_uint(number),
                        ctypes.c_size_t(size), ctypes.c_void_p())
    setter.again = again
    return setter


def _arguments(queue: Any, kernel: Any, items: Any, group: Any) -> tuple[Any, ...]:
    """The arguments of clEnqueueNDRangeKernel in one dimension; sizes are given by address."""
    nothing = ctypes.c_void_p()
    return (ctypes.c_void_p(queue.int_ptr), ctypes.c_void_p(kernel.int_ptr), ctypes.c_uint(1),
            nothing, items, group, ctypes.c_uint(), nothing, nothing)


def make(call: Callable[[], object]) -> None:
    """Make a call, perhaps a :class:`DirectCall`; pyopencl.Error if that fails."""
    if call() and isinstance(call, DirectCall):
        call.again()


def launcher_of_any_size(queue: Any, kernel: Any) -> Callable[[int, int], object]:
    """A function that launches a kernel, given the work-items in all and in a group."""
    enqueue = _function("clEnqueueNDRangeKernel")
    if enqueue is None:
        return lambda items, group: cl.enqueue_nd_range_kernel(queue, kernel, (items,), (group,))
    sizes = (ctypes.c_size_t * 2)()
    first, word = ctypes.addressof(sizes), ctypes.sizeof(ctypes.c_size_t)
    given = _arguments(queue, kernel, ctypes.c_void_p(first), ctypes.c_void_p(first + word))

    def launch(items: int, group: int) -> None:
        sizes[0], sizes[1] = items, group
        if enqueue(*given):
            cl.enqueue_nd_range_kernel(queue, kernel, (items,), (group,))  # it says what is wrong

    return launch


class DirectReads:
    """Reads from buffers into memory that is pinned and stays, by a queue; nothing waits."""

    def __init__(self, queue: Any) -> None:
        self._queue = queue
        self._enqueue = _function("clEnqueueReadBuffer")
        self._known: dict[tuple[int, int, int], tuple[Any, ...]] = {}

    def read(self, handle: Any, out: np.ndarray[Any, Any], offset: int = 0) -> None:
        """Begin to copy from ``offset`` bytes on in a buffer."""
        key = id(handle), id(out), offset
        known = self._known.get(key)
        if known is None:
            known = self._prepared(key, handle, out, offset)
        if self._enqueue is None or self._enqueue(*known[0]):  # or it says what is wrong
            cl.enqueue_copy(self._queue, out, handle, src_offset=offset, is_blocking=True)

    def _prepared(self, key: tuple[int, int, int], handle: Any, out: np.ndarray[Any, Any],
                  offset: int) -> tuple[Any, ...]:
        """The arguments of a read, beside the objects that are known by their identity."""
        nothing, address = ctypes.c_void_p(), ctypes.c_void_p
        if len(self._known) >= MOST_READS:
            self._known.clear()
        known = self._known[key] = (
            address(self._queue.int_ptr), address(handle.int_ptr), ctypes.c_uint(0),
            ctypes.c_size_t(offset), ctypes.c_size_t(out.nbytes), address(out.ctypes.data),
            ctypes.c_uint(), nothing, nothing), handle, out
        return known


@cache
def _function(name: str) -> Callable[..., int] | None:
    """A function of OpenCL; None if it cannot be found."""
    try:
        found: Callable[..., int] = getattr(ctypes.CDLL(cl._cl.__file__), name)
    except (OSError, AttributeError):
        return None
    return found
