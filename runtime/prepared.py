"""Kernels that are ready to be launched, and their arguments.

A loop of small kernels is as fast as the host issues them.  PyOpenCL sets a buffer in 0.1 us, and
scalars whose types are known no slower; but it takes 3 us to find out that an argument is local
memory, after all else that it might be.  The sizes of local memory seldom change from one launch
to the next, so they are set when they do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pyopencl as cl

LEAST_LOCAL = 16
"""Local memory may not be empty."""


class Prepared:
    """A kernel, and what its last launch was given.

    Its first arguments are the buffers ``fixed``, the same at every launch.  ``types`` are the
    NumPy types of those that follow, None for a buffer.  Pieces of local memory are the last.
    """

    __slots__ = ("_first_local", "_lengths", "_set", "handle")

    def __init__(self, handle: Any, fixed: Sequence[Any],
                 types: Sequence[type[np.generic] | None]) -> None:
        self.handle = handle
        self._first_local = len(fixed) + len(types)
        self._lengths: tuple[int, ...] = ()
        self._set = _setter(len(fixed), tuple(types))
        for number, buffer in enumerate(fixed):
            handle.set_arg(number, buffer)

    def give(self, args: Sequence[Any], lengths: tuple[int, ...]) -> None:
        """Set the arguments for the next launch; ``lengths`` of local memory are in bytes."""
        self._set(self.handle, *args)
        if lengths != self._lengths:
            for number, length in enumerate(lengths, self._first_local):
                self.handle.set_arg(number, cl.LocalMemory(max(length, LEAST_LOCAL)))
            self._lengths = lengths


@cache
def _setter(first: int, types: tuple[type[np.generic] | None, ...]) -> Callable[..., None]:
    """A function that sets buffers and scalars of these types, from argument ``first`` on.

    It is the code that PyOpenCL generates for kernels that know their types, which however wants
    to be given all arguments at once.
    """
    names = [f"arg{n}" for n in range(len(types))]
    buffers = scalars = ""
    for number, (name, type_) in enumerate(zip(names, types, strict=True), first):
        if type_ is None:
            buffers += f"{number}, {name}, "
        else:
            scalars += f"{number}, {np.dtype(type_).char.encode()!r}, {name}, "
    lines = [f"def set_arguments(kernel, {', '.join(names)}):",
             f"    kernel._set_arg_multi(({buffers}))" if buffers else "    pass",
             f"    kernel._set_arg_buf_pack_multi(({scalars}))" if scalars else "    pass"]
    namespace: dict[str, Callable[..., None]] = {}
    exec("\n".join(lines), namespace)
    return namespace["set_arguments"]
