"""Arguments of which only the shapes matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Outline:
    """The shape and the type of an array; NumPy makes zeros of it that take no memory.

    Such an array itself would be sent to another process with all of its zeros.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """The zeros."""
        return np.broadcast_to(np.zeros((), dtype or self.dtype), self.shape)


def outline(args: Sequence[Any]) -> list[Any]:
    """Arguments of the same shapes as these, which need not have been made."""
    arrays = [arg if hasattr(arg, "ndim") else np.asarray(arg) for arg in args]
    return [Outline(array.shape, array.dtype) if array.ndim else arg
            for array, arg in zip(arrays, args, strict=True)]
