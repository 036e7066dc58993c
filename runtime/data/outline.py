"""Arguments without elements, where only the shapes matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class _Outline:
    """The shape and the type of an array; ``np.asarray`` makes zeros that take no memory.

    Sending such an array to another process would copy all zeros.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """The zeros."""
        return np.broadcast_to(np.zeros((), dtype or self.dtype), self.shape)


def outline(args: Sequence[Any]) -> list[Any]:
    """Arguments with the shapes and types of these, whose elements are not needed."""
    arrays = [arg if hasattr(arg, "ndim") else np.asarray(arg) for arg in args]
    return [_Outline(array.shape, array.dtype) if array.ndim else arg
            for array, arg in zip(arrays, args, strict=True)]
