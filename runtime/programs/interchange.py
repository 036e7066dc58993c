"""Arrays of other libraries as arguments, and arrays on the device for other libraries.

On a processor, the memory of the device is memory of the host: DLPack passes it on without a copy.
Elsewhere elements are copied by way of the host.
"""

from __future__ import annotations

import math
from operator import index
from typing import Any, TypeAlias

import numpy as np
import pyopencl as cl
from pyopencl.array import Array as ClArray

from runelift.ir.base.errors import ArgumentError
from runelift.runtime.devices.context import Device
from runelift.runtime.devices.info import DeviceKind, select
from runelift.runtime.devices.memory import Buffer
from runelift.runtime.execution.device_array import DeviceArray, prim_of
from runelift.runtime.execution.probes.on_demand import open_device
from runelift.runtime.programs.takes import FLAG, TEXT, or_none, takes

Array: TypeAlias = np.ndarray[Any, Any]


class _View:
    """Mapped memory of a device: it stays mapped, and alive, while an array of NumPy shows it."""

    def __init__(self, array: DeviceArray) -> None:
        device: Device = array.device
        device.check()
        self._buffer = array.buffer
        self._buffer.share()
        self._queue = device.plain
        flags: Any = cl.map_flags.READ | cl.map_flags.WRITE
        self._mapped, _ = cl.enqueue_map_buffer(
            device.plain, array.buffer.handle, flags, 0, array.shape, array.dtype,
            is_blocking=True)
        self.__array_interface__ = self._mapped.__array_interface__

    def __del__(self) -> None:
        if hasattr(self, "_mapped"):
            self._mapped.base.release(self._queue)


def host_view(array: DeviceArray) -> Array | None:
    """The elements of an array on the device, in place; None if the host cannot see them."""
    if not sees_memory(array.device) or 0 in array.shape:
        return None
    return np.asarray(_View(array))


def sees_memory(device: Device) -> bool:
    """Test whether the host sees the memory of a device where it is."""
    return device.info.kind is DeviceKind.CPU and not device.info.is_simulator


class _Borrowed(Buffer):
    """Memory of the host that the device uses in place; it is not pooled.

    Commands may still use it when it is dropped, so that waits for them.
    """

    __slots__ = ("_owner", "_queue")

    def __init__(self, elements: Array, device: Device) -> None:
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
        super().__init__(cl.Buffer(device.context, flags, hostbuf=elements), elements.nbytes, None)
        self._owner, self._queue = elements, device.plain

    def __del__(self) -> None:
        if hasattr(self, "_queue"):
            self._queue.finish()


class _Part(Buffer):
    """A part of a buffer, which stays as long as the part."""

    __slots__ = ("_owner",)

    def __init__(self, owner: Buffer, start: int, size: int) -> None:
        super().__init__(owner.handle.get_sub_region(start, size), size, None)
        self._owner = owner

    def share(self) -> None:
        """Note that another library may write the whole buffer from now on."""
        self._owner.share()

    def leave_pool(self) -> None:
        """Make the driver free the memory of the whole buffer when all its users are gone."""
        self._owner.leave_pool()

    def whole(self) -> tuple[Buffer, int]:
        """The buffer, and the place in it where the part begins."""
        return self._owner, self.handle.offset


@takes(device=or_none(TEXT), copy=or_none(FLAG))
def from_dlpack(array: Any, /, *, device: str | None = None, copy: bool | None = None
                ) -> DeviceArray:
    """An array of another library on a device, which is that of programs if none is named.

    A processor uses the memory of ``array`` in place, if that is contiguous and may be written.
    Then changes are seen on both sides.  Otherwise elements are copied, or BufferError is raised if
    ``copy`` is False.
    """
    info = select(device)
    if info is None:
        raise ArgumentError("The interpreter has no device memory.", "device", "name a device")
    return adopted(host_array(array), open_device(info), copy)


def adopted(elements: Array, device: Device, copy: bool | None) -> DeviceArray:
    """An array on the device with these elements, in place if that is possible and allowed."""
    kind = prim_of(elements.dtype), elements.shape, device
    in_place = (sees_memory(device) and elements.size > 0 and elements.flags.c_contiguous
                and elements.flags.writeable and elements.flags.aligned)
    if in_place and not copy:
        return DeviceArray(_Borrowed(elements, device), kind)
    if copy is False:
        raise BufferError("Without a copy, the device must be a processor, and the array "
                          "contiguous, writeable and not empty.")
    buffer = device.pool.allocate(elements.nbytes)
    if elements.size:
        device.write(buffer, np.ascontiguousarray(elements))
    return DeviceArray(buffer, kind)


def host_array(array: Any) -> Array:
    """An array of any library as one of NumPy: in place by DLPack, else copied to the host."""
    if isinstance(array, np.ndarray):
        return array
    if hasattr(array, "__dlpack__"):
        try:
            return np.from_dlpack(array)
        except (BufferError, RuntimeError, TypeError):
            pass  # it is on a device that NumPy does not know, or may not be written
    if isinstance(array, ClArray) and array.size and not array.flags.forc:
        return _strided(array)
    for name in ("get", "cpu"):  # CuPy's and PyOpenCL's, PyTorch's
        if callable(found := getattr(array, name, None)):
            return np.asarray(found())
    return np.asarray(array)


def _strided(array: ClArray) -> Array:
    """The elements of a view of PyOpenCL that leaves out some of its memory, or reverses it."""
    data: Any = array.base_data
    context: Any = array.context
    memory = np.empty(data.size, np.uint8)
    cl.enqueue_copy(array.queue or cl.CommandQueue(context), memory, data)
    return np.ndarray(array.shape, array.dtype, memory.data, array.offset,
                      array.strides).copy()


def taken(arg: Any, device: Device | None) -> Any:
    """A foreign array as an argument: in place if possible, else by way of the host.

    An array of PyOpenCL stays in place if it has the context of the device, and begins at the start
    of its memory.  A tensor that asks for gradients would lose them: ArgumentError says so.
    """
    if getattr(arg, "requires_grad", False) is True:
        raise ArgumentError("A tensor that asks for gradients is an argument of a plain call, "
                            "through which no gradients flow.", "",
                            "call `.torch()` of the entry point, such as `program.main.torch()(xs)`"
                            ", or pass `xs.detach()`")
    if isinstance(arg, ClArray) and device is not None and _is_there(arg, device):
        if arg.queue is not None:
            arg.queue.finish()
        data: Any = arg.base_data
        return DeviceArray(Buffer(data, data.size, None),
                           (prim_of(arg.dtype), arg.shape, device))
    return host_array(arg)


def _is_there(array: ClArray, device: Device) -> bool:
    data = array.base_data
    return bool(isinstance(data, cl.Buffer) and data.context == device.context and array.size
                and not array.offset and array.flags.c_contiguous)


def to_pyopencl(array: DeviceArray, queue: Any = None) -> ClArray:
    """An array of PyOpenCL in the memory of another, which leaves the pool of the device."""
    array.buffer.leave_pool()
    return ClArray(queue or array.device.plain, array.shape, array.dtype,
                   data=array.buffer.handle)


def duplicate(array: DeviceArray) -> DeviceArray:
    """A copy on the device."""
    device: Device = array.device
    device.check()
    buffer = device.pool.allocate(array.nbytes)
    if array.nbytes:
        cl.enqueue_copy(device.plain, buffer.handle, array.buffer.handle, byte_count=array.nbytes)
    return DeviceArray(buffer, array.kind)


def rows(array: DeviceArray, key: Any) -> Any:
    """Rows of an array on the device, in its memory if they begin where parts may begin."""
    count = len(array)
    if isinstance(key, slice) and key.step in (None, 1):
        start, end, _ = key.indices(count)
        return _rows(array, start, (max(end - start, 0), *array.shape[1:]))
    if isinstance(key, slice | bool) or not hasattr(key, "__index__"):
        raise ArgumentError("An array on the device gives single rows and rows that follow each "
                            "other only.", "", "take the others of `array.get()`, or in a program")
    place = index(key)
    if not -count <= place < count:
        raise IndexError(f"row {place} of an array with {count} rows")
    row = _rows(array, place % count, array.shape[1:])
    return row if row.shape else row.get()[()]


def _rows(array: DeviceArray, first: int, shape: tuple[int, ...]) -> DeviceArray:
    """So many rows from the ``first`` on, or one row."""
    device: Device = array.device
    device.check()
    start = first * math.prod(array.shape[1:]) * array.prim.bytes
    size = math.prod(shape) * array.prim.bytes
    owner = array.buffer
    if isinstance(owner, _Part):
        owner, before = owner.whole()
        start += before
    if size and start % (device.info.handle.mem_base_addr_align // 8) == 0:
        return DeviceArray(_Part(owner, start, size), (array.prim, shape, device))
    buffer = device.pool.allocate(size)
    if size:
        cl.enqueue_copy(device.plain, buffer.handle, owner.handle, byte_count=size,
                        src_offset=start)
    return DeviceArray(buffer, (array.prim, shape, device))
