"""NVIDIA's driver starts in a thread while Python imports and compiles.

The driver takes long to find the GPU and to make a context, and PyOpenCL stops all other threads
meanwhile.  So the driver is called without PyOpenCL, as soon as a device will be needed.  The calls
go through the table that any OpenCL driver has for loaders (``cl_icd.h``).  A failure is left for
PyOpenCL to report.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from typing import Any, NamedTuple

from runelift.runtime.devices.driver.device_spec import (
    INTERPRETER,
    matches,
    requested,
    split_number,
)
from runelift.runtime.host import fast_start

DRIVER = "libnvidia-opencl.so.1"
CONTROL_DEVICE = "/dev/nvidiactl"
"""The file that the kernel module of the driver makes."""
PLATFORM_INFO, GET_DEVICES, DEVICE_INFO, MAKE_CONTEXT = 1, 2, 3, 4
"""Indices of ``clGetPlatformInfo``, ``clGetDeviceIDs``, ``clGetDeviceInfo`` and ``clCreateContext``
in the table."""
PLATFORM_NAME, DEVICE_NAME, DRIVER_VERSION = 0x0902, 0x102B, 0x102D
ALL_DEVICES = 0xFFFFFFFF
MAX_DEVICES = 64
MAX_NAME_BYTES = 256

_Pointer = ctypes.c_void_p
_GetPlatforms = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint, _Pointer, _Pointer)
_GetDevices = ctypes.CFUNCTYPE(ctypes.c_int, _Pointer, ctypes.c_ulong, ctypes.c_uint, _Pointer,
                               _Pointer)
_GetInfo = ctypes.CFUNCTYPE(ctypes.c_int, _Pointer, ctypes.c_uint, ctypes.c_size_t, _Pointer,
                            _Pointer)
_MakeContext = ctypes.CFUNCTYPE(_Pointer, _Pointer, ctypes.c_uint, _Pointer, _Pointer, _Pointer,
                                _Pointer)

_thread: threading.Thread | None = None
_contexts: dict[int, int] = {}
"""Addresses of contexts by the address of their device."""


class DriverContext(NamedTuple):
    """The addresses of a driver's functions (``table``) and of a context.

    ``device`` identifies its device (:func:`identity`).  ``message`` came through the gate
    (:func:`begin`).
    """

    table: Any
    context: int
    device: str
    message: str


_driver_context: DriverContext | None = None


def identity(name: str, driver: str) -> str:
    """Everything that binaries depend on: the name of a device and the version of its driver."""
    return f"{name.strip()} {driver.strip()}"


def begin(spec: str | None = None, driver: str = DRIVER, *, gate: int | None = None,
          runs: bool = True) -> None:
    """Start the driver, if there is one, in the background; once for a process.

    ``spec`` is the device that the user has named, if any.  If this process ``runs`` programs, it
    gets a context of the device.  A pipe ``gate`` delays that until its other end is closed; it may
    bring a message.
    """
    global _thread
    spec = requested(spec)
    if _thread is None and spec != INTERPRETER and fast_start.enabled():
        _thread = threading.Thread(target=_open, args=(spec, driver, gate, runs), daemon=True)
        _thread.start()
        atexit.register(_thread.join)  # it must not be under way when the driver is unloaded


def has_driver() -> bool:
    """Test whether the system has NVIDIA's driver, without loading it."""
    return os.path.exists(CONTROL_DEVICE)


def take_context(device: int) -> int | None:
    """The address of a context for the device at an address, if there is one; the caller owns it.

    Waits while the driver starts.
    """
    if _thread is not None:
        _thread.join()
    return _contexts.pop(device, None)


def driver_context() -> DriverContext | None:
    """The context that was made, if any, taken or not.

    Waits while the driver starts.
    """
    if _thread is not None:
        _thread.join()
    return _driver_context


def _open(spec: str | None, driver: str, gate: int | None = None, runs: bool = True) -> None:
    """Look for devices, and make a context for the requested one."""
    global _driver_context
    try:
        library = ctypes.CDLL(driver)
        find = library.clGetExtensionFunctionAddress
    except (OSError, AttributeError):
        return
    find.restype = _Pointer
    address = find(b"clIcdGetPlatformIDsKHR")
    count, platform = ctypes.c_uint(), _Pointer()
    if not address or _GetPlatforms(address)(1, ctypes.addressof(platform),
                                             ctypes.addressof(count)) or not platform.value:
        return
    table = ctypes.cast(ctypes.cast(platform, ctypes.POINTER(_Pointer))[0],
                        ctypes.POINTER(_Pointer))
    devices = (_Pointer * MAX_DEVICES)()
    if _GetDevices(table[GET_DEVICES])(platform, ALL_DEVICES, MAX_DEVICES,
                                       ctypes.addressof(devices), ctypes.addressof(count)):
        return
    if not runs:
        return
    found = [_Pointer(device) for device in devices[:min(count.value, MAX_DEVICES)]]
    name, number = (None, 0) if spec is None else split_number(spec)
    if name is not None:
        vendor = _name(table[PLATFORM_INFO], platform, PLATFORM_NAME)
        found = [device for device in found
                 if matches(name, _name(table[DEVICE_INFO], device, DEVICE_NAME), vendor)]
    message = "" if gate is None else _read_to_end(gate)
    for device in found[number:number + 1]:
        context = _MakeContext(table[MAKE_CONTEXT])(None, 1, ctypes.addressof(device), None, None,
                                                    None)
        if context and device.value:
            _contexts[device.value] = context
            names = (_name(table[DEVICE_INFO], device, key)
                     for key in (DEVICE_NAME, DRIVER_VERSION))
            _driver_context = DriverContext(table, context, identity(*names), message)


def _read_to_end(pipe: int) -> str:
    found = b""
    while part := os.read(pipe, MAX_NAME_BYTES):
        found += part
    return found.decode()


def _name(function: int | None, of: ctypes.c_void_p, key: int) -> str:
    """The name of a platform or device; empty if there is none."""
    text = ctypes.create_string_buffer(MAX_NAME_BYTES)
    if not function or _GetInfo(function)(of, key, MAX_NAME_BYTES, ctypes.addressof(text), None):
        return ""
    return text.value.decode(errors="replace")
