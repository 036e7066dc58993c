"""Limits of arrays: sizes that data claim or programs ask for, compared with what can be."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from runelift.ir.base.errors import CompilerLimitation
from runelift.ir.base.files import most_bytes

MOST_DIMENSIONS = 64 if int(np.__version__.partition(".")[0]) >= 2 else 32
"""NumPy's limit of the dimensions of an array."""
MOST_ARRAY_BYTES = (1 << 63) - 1
"""NumPy's limit of the bytes of an array; sizes that are 0 do not count."""


def impossible(shape: Sequence[int], bytes_each: int) -> str:
    """The reason why no array has a shape; "" if one may have it."""
    if len(shape) > MOST_DIMENSIONS:
        return (f"An array of {len(shape)} dimensions is too large: the most is "
                f"{MOST_DIMENSIONS}.")
    if math.prod(size for size in shape if size) * bytes_each > MOST_ARRAY_BYTES:
        sizes = "".join(f"[{size}]" if size <= MOST_ARRAY_BYTES else "[...]" for size in shape)
        return f"An array of shape {sizes} is too large: its size in bytes is above 2^63."
    return ""


def check_room(shape: Sequence[int], bytes_each: int) -> None:
    """Raise MemoryError for an array that cannot have room here, or a limitation for its rank."""
    if len(shape) > MOST_DIMENSIONS:
        raise CompilerLimitation(f"the interpreter has arrays of at most {MOST_DIMENSIONS} "
                                 f"dimensions, but the program makes one of {len(shape)}.")
    needed = math.prod(shape) * bytes_each
    if reason := impossible(shape, bytes_each):
        raise MemoryError(reason.removesuffix("."))
    if needed > most_bytes():
        sizes = "".join(f"[{size}]" for size in shape)
        raise MemoryError(f"an array of shape {sizes} needs {needed} bytes, which is more than "
                          f"half of the memory of this machine")
