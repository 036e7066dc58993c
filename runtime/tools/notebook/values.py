"""Arrays on the device, and opaque values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from runelift.runtime.execution.device_array import DeviceArray
from runelift.runtime.execution.opaques import Opaque
from runelift.runtime.memory.byte_sizes import show_bytes
from runelift.runtime.tools.notebook.fragments import fragment, note, title
from runelift.runtime.tools.pages.markup import Markup, element

MOST = 1 << 20
"""The most bytes of an array that are read to show some of them."""


def html(shown: DeviceArray | Opaque) -> Markup:
    """The type of a value, and some of its elements."""
    return fragment(*(_opaque(shown) if isinstance(shown, Opaque) else _array(shown)))


def _array(array: DeviceArray) -> Iterator[Markup]:
    shape = "".join(f"[{size}]" for size in array.shape)
    size = int(np.prod(array.shape, dtype=np.int64)) * array.dtype.itemsize
    yield title(f"DeviceArray {shape}{array.prim.value}",
                f"{show_bytes(size)} on {array.device.info.name}")
    if size <= MOST:
        yield element("pre", np.array2string(array.get(), threshold=60, edgeitems=3))
    else:
        yield note("array.get() reads its elements.")


def _opaque(value: Opaque) -> Iterator[Markup]:
    yield title(f"Opaque {value.type}", "a value that programs take and give")
    yield element("ul", [element("li", np.array2string(part, threshold=20, edgeitems=3)
                                 if isinstance(part, np.ndarray) else repr(part))
                         for part in value])
