"""Direct launches: OpenCL's function, without the event that PyOpenCL asks for.

An event with every command costs both the host and the device time.  So runs without a
record call OpenCL by themselves, through the library that PyOpenCL is linked with.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import pyopencl as cl


def launcher(queue: Any, kernel: Any, items: int, group: int) -> Callable[[], object]:
    """A call that launches so many work-items, in groups, without an event if possible."""
    return partial(launcher_of_any_size(queue, kernel), items, group)


def launcher_of_any_size(queue: Any, kernel: Any) -> Callable[[int, int], object]:
    """A function of the numbers of work-items and of those in a group: it launches a kernel."""
    enqueue = _enqueue()
    if enqueue is None:
        return lambda items, group: cl.enqueue_nd_range_kernel(queue, kernel, (items,), (group,))
    sizes = (ctypes.c_size_t * 2)()
    nothing, word = ctypes.c_void_p(), ctypes.sizeof(ctypes.c_size_t)
    given = (ctypes.c_void_p(queue.int_ptr), ctypes.c_void_p(kernel.int_ptr), ctypes.c_uint(1),
             nothing, ctypes.c_void_p(ctypes.addressof(sizes)),
             ctypes.c_void_p(ctypes.addressof(sizes) + word), ctypes.c_uint(), nothing, nothing)

    def launch(items: int, group: int) -> None:
        sizes[0], sizes[1] = items, group
        if enqueue(*given):
            cl.enqueue_nd_range_kernel(queue, kernel, (items,), (group,))  # it says what is wrong

    return launch


@cache
def _enqueue() -> Callable[..., int] | None:
    """OpenCL's function; None if it cannot be found."""
    try:
        return ctypes.CDLL(cl._cl.__file__).clEnqueueNDRangeKernel
    except (OSError, AttributeError):
        return None
