"""Direct launches: OpenCL's function, without the event that PyOpenCL asks for.

An event with every command costs both the host and the device time.  So runs of several launches
call OpenCL by themselves, through the library that PyOpenCL is linked with.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import pyopencl as cl


def launcher(queue: Any, kernel: Any, items: int, group: int) -> Callable[[], object]:
    """A call that launches so many work-items, in groups, without an event if possible."""
    enqueue = _enqueue()
    if enqueue is None:
        return lambda: cl.enqueue_nd_range_kernel(queue, kernel, (items,), (group,))
    sizes = (ctypes.c_size_t * 2)(items, group)
    nothing, word = ctypes.c_void_p(), ctypes.sizeof(ctypes.c_size_t)
    given = (ctypes.c_void_p(queue.int_ptr), ctypes.c_void_p(kernel.int_ptr), ctypes.c_uint(1),
             nothing, ctypes.c_void_p(ctypes.addressof(sizes)),
             ctypes.c_void_p(ctypes.addressof(sizes) + word), ctypes.c_uint(), nothing, nothing)

    def launch(sizes: Any = sizes) -> None:  # which are kept with it
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
