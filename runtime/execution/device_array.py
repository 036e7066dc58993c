"""Arrays that stay on the device from one call of an entry point to the next."""

from __future__ import annotations

import math
from collections.abc import Iterable
from importlib import import_module
from types import ModuleType
from typing import Any, TypeAlias, overload

import numpy as np

from runelift.ir.base.array_limits import impossible
from runelift.ir.base.errors import ArgumentError, UserError
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
        """The elements as a NumPy array; UserError if NumPy has no arrays of this size."""
        check_readable(self.prim, self.shape)
        out = np.empty(self.shape, self.prim.dtype)
        if out.size:
            self.device.read(self.buffer, out)
        return out

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of the elements."""
        return self.size * self.prim.bytes

    def to_pyopencl(self, queue: Any = None) -> Any:
        """A ``pyopencl.array.Array`` in the memory of this array; both may be used from then on.

        Its queue is that of the device, unless another one of its context is given.
        """
        return _interchange().to_pyopencl(self, queue)

    def __dlpack_device__(self) -> tuple[int, int]:
        """The DLPack device type and number of the processor: other devices give copies there."""
        return 1, 0

    def __dlpack__(self, *, copy: bool | None = None, **asked: Any) -> Any:
        """The elements for other libraries: in place on a processor, else a copy on the host.

        BufferError if there is to be no ``copy``, but it takes one.
        """
        view = None if copy else _interchange().host_view(self)
        if view is None and copy is False:
            raise BufferError("The host does not see the memory of this device; allow a copy.")
        elements = self.get() if view is None else view
        return elements.__dlpack__(**{name: value for name, value in asked.items()
                                      if value is not None})

    def __copy__(self) -> DeviceArray:
        copied: DeviceArray = _interchange().duplicate(self)
        return copied

    def __deepcopy__(self, memo: object) -> DeviceArray:
        return self.__copy__()

    @overload
    def __getitem__(self, key: slice) -> DeviceArray: ...
    @overload
    def __getitem__(self, key: int) -> Any: ...

    def __getitem__(self, key: int | slice) -> Any:
        """Rows one after another, or one row; of an array with one dimension, an element.

        Rows share the memory of this array, unless the device wants another place for them: then
        they are copied.  ArgumentError for all else that NumPy has in brackets.
        """
        return _interchange().rows(self, key)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("An array without dimensions has no length.")
        return self.shape[0]

    def __reduce__(self) -> tuple[Any, ...]:
        """Nothing: its memory belongs to one process."""
        raise UserError("An array on a device cannot be sent to another process; send its "
                        "elements, array.get().")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """A copy on the host; in place with ``copy=False``, ValueError if that is impossible."""
        if copy is False:
            view: np.ndarray[Any, Any] | None = _interchange().host_view(self)
            if view is None or (dtype is not None and view.dtype != dtype):
                raise ValueError("A copy is needed: the host does not see these elements.")
            return view
        return self.get().astype(dtype, copy=False) if dtype is not None else self.get()

    def __repr__(self) -> str:
        shape = "".join(f"[{n}]" for n in self.shape)
        return f"<DeviceArray {shape}{self.prim.value}>"


def _interchange() -> ModuleType:
    """The exchange of arrays with other libraries, imported when first used."""
    return import_module("runelift.runtime.programs.interchange")


def is_foreign(arg: Any) -> bool:
    """Test whether an argument is an array of a library that is neither NumPy nor this one."""
    return not isinstance(arg, np.ndarray | np.generic | DeviceArray) and any(
        hasattr(arg, name) for name in ("__dlpack__", "__cuda_array_interface__", "base_data"))


def prim_of(dtype: np.dtype[Any]) -> Prim:
    """The element type in programs; ArgumentError if programs have no such type."""
    found = next((prim for prim in Prim if prim.dtype == dtype), None)
    if found is None:
        raise ArgumentError(f"Programs have no arrays of type {dtype}.", "",
                            "convert it with .astype, such as .astype(np.float32)")
    return found


def true_shape(sizes: Iterable[int]) -> tuple[int, ...]:
    """The shape of a result, whose sizes may be below 0 for rows that never were."""
    return tuple([size if size > 0 else 0 for size in sizes])


def check_readable(prim: Prim, shape: tuple[int, ...]) -> None:
    """Raise UserError unless NumPy has arrays of this type and shape."""
    if reason := impossible(shape, prim.bytes):
        raise UserError(f"A result cannot be read: {reason}")
