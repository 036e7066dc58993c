"""Arrays that stay on the device from one call of an entry point to the next."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from runelift.ir.array_limits import impossible
from runelift.ir.errors import UserError
from runelift.ir.prim import Prim
from runelift.runtime.displayed import Displayed

ArrayKind: TypeAlias = tuple[Prim, tuple[int, ...], Any]
"""The type of elements, the shape, and the device of an array."""


class DeviceArray(Displayed):
    """An array on the device: a result that was asked to stay there, or an argument.

    ``kind`` has all that calls with the array depend on, apart from its elements.
    """

    __slots__ = ("__weakref__", "buffer", "kind")
    _looks = "values"

    def __init__(self, buffer: Any, kind: ArrayKind) -> None:
        self.buffer = buffer
        self.kind = kind

    @property
    def prim(self) -> Prim:
        """The type of the elements in programs."""
        return self.kind[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions."""
        return self.kind[1]

    @property
    def device(self) -> Any:
        """The device that has the memory."""
        return self.kind[2]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of the elements."""
        return self.prim.dtype

    def get(self) -> np.ndarray[Any, Any]:
        """The elements as a NumPy array; UserError if NumPy has none of these sizes."""
        check_readable(self.prim, self.shape)
        out = np.empty(self.shape, self.prim.dtype)
        if out.size:
            self.device.read(self.buffer, out)
        return out

    def __reduce__(self) -> tuple[Any, ...]:
        """Nothing: its memory belongs to one process."""
        raise UserError("An array on a device cannot be sent to another process; send its "
                        "elements, array.get().")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return self.get().astype(dtype, copy=False) if dtype is not None else self.get()

    def __repr__(self) -> str:
        shape = "".join(f"[{n}]" for n in self.shape)
        return f"<DeviceArray {shape}{self.prim.value}>"


def true_shape(sizes: Iterable[int]) -> tuple[int, ...]:
    """The shape of a result, whose sizes may be below 0 for rows that never were."""
    return tuple([size if size > 0 else 0 for size in sizes])


def check_readable(prim: Prim, shape: tuple[int, ...]) -> None:
    """Nothing if NumPy has arrays of this type and shape, else UserError."""
    if reason := impossible(shape, prim.bytes):
        raise UserError(f"A result cannot be read: {reason}")
