"""NVIDIA's driver gets ready in a thread while Python imports and compiles.

To find the GPU and to make a context take a quarter of a second, during which the OpenCL bindings
keep all other threads from running.  So the driver is called without them, through the table that
any OpenCL driver has for loaders (``cl_icd.h``), as soon as it is known that a device will be
needed.  Whatever fails here is left for the bindings to find, and so is a device that is not the
one that is used in the end.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from typing import Any, NamedTuple

from runelift.runtime.devices.driver.device_spec import INTERPRETER, asked, fits, parted
from runelift.runtime.host import fast_start

DRIVER = "libnvidia-opencl.so.1"
CONTROL = "/dev/nvidiactl"
"""What the system's part of the driver makes."""
PLATFORM_INFO, GET_DEVICES, DEVICE_INFO, MAKE_CONTEXT = 1, 2, 3, 4
"""Where ``clGetPlatformInfo``, ``clGetDeviceIDs``, ``clGetDeviceInfo`` and ``clCreateContext`` are
in the table."""
PLATFORM_NAME, DEVICE_NAME, DRIVER_VERSION = 0x0902, 0x102B, 0x102D
ALL_DEVICES = 0xFFFFFFFF
MOST = 64
"""How many devices are looked at."""
LONGEST = 256
"""How many bytes a name may have."""

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
"""The address of the context for the device at an address."""


class DriverContext(NamedTuple):
    """A driver's functions, as a table of their addresses, and the address of a context.

    ``device`` is whose context it is (:func:`identity`), and ``word`` what came through the gate.
    """

    table: Any
    context: int
    device: str
    word: str


_made: DriverContext | None = None


def identity(name: str, driver: str) -> str:
    """What binaries depend on: the name of a device, and the version of its driver."""
    return f"{name.strip()} {driver.strip()}"


def begin(spec: str | None = None, driver: str = DRIVER, *, gate: int | None = None,
          runs: bool = True) -> None:
    """Have the driver, if there is one, get ready in the background; once for a process.

    ``spec`` is the device that will be asked for, None if the user has not named any.  Where this
    process ``runs`` programs, a context is made for it, but not before the other end of the pipe
    ``gate`` is closed, by who may have a word to say.
    """
    global _thread
    spec = asked(spec)
    if _thread is None and spec != INTERPRETER and fast_start.enabled():
        _thread = threading.Thread(target=_open, args=(spec, driver, gate, runs), daemon=True)
        _thread.start()
        atexit.register(_thread.join)  # it must not be under way when the driver is unloaded


def has_driver() -> bool:
    """Whether the system has NVIDIA's driver, as far as that can be said without loading it."""
    return os.path.exists(CONTROL)


def take_context(device: int) -> int | None:
    """The address of a context for the device at an address, if one was made; it is the caller's.

    Waits if the driver is getting ready.
    """
    if _thread is not None:
        _thread.join()
    return _contexts.pop(device, None)


def made() -> DriverContext | None:
    """The context that was made, if there is one, whoever has it by now.

    Waits if the driver is getting ready.
    """
    if _thread is not None:
        _thread.join()
    return _made


def _open(spec: str | None, driver: str, gate: int | None = None, runs: bool = True) -> None:
    """Look for devices; make a context for the one that is meant."""
    global _made
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
    devices = (_Pointer * MOST)()
    if _GetDevices(table[GET_DEVICES])(platform, ALL_DEVICES, MOST, ctypes.addressof(devices),
                                       ctypes.addressof(count)):
        return
    if not runs:
        return
    found = [_Pointer(device) for device in devices[:min(count.value, MOST)]]
    name, number = (None, 0) if spec is None else parted(spec)
    if name is not None:
        maker = _name(table[PLATFORM_INFO], platform, PLATFORM_NAME)
        found = [device for device in found
                 if fits(name, _name(table[DEVICE_INFO], device, DEVICE_NAME), maker)]
    word = "" if gate is None else _all_from(gate)
    for device in found[number:number + 1]:
        context = _MakeContext(table[MAKE_CONTEXT])(None, 1, ctypes.addressof(device), None, None,
                                                    None)
        if context and device.value:
            _contexts[device.value] = context
            _made = DriverContext(table, context, identity(*(
                _name(table[DEVICE_INFO], device, key) for key in (DEVICE_NAME, DRIVER_VERSION))),
                word)


def _all_from(pipe: int) -> str:
    """What comes through a pipe until its other end is closed."""
    found = b""
    while part := os.read(pipe, LONGEST):
        found += part
    return found.decode()


def _name(function: int | None, of: ctypes.c_void_p, key: int) -> str:
    """The name of a platform or device; empty if it does not say."""
    text = ctypes.create_string_buffer(LONGEST)
    if not function or _GetInfo(function)(of, key, LONGEST, ctypes.addressof(text), None):
        return ""
    return text.value.decode(errors="replace")
