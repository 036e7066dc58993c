"""NVIDIA's driver gets ready in a thread while Python imports and compiles.

To find the GPU and to make a context take a quarter of a second, during which the OpenCL bindings
keep all other threads from running.  So the driver is called without them, through the table that
any OpenCL driver has for loaders (``cl_icd.h``), as soon as it is known that a device will be
needed.  Whatever fails here is left for the bindings to find.
"""

from __future__ import annotations

import atexit
import ctypes
import threading

DRIVER = "libnvidia-opencl.so.1"
GET_DEVICES, MAKE_CONTEXT = 2, 4
"""Where ``clGetDeviceIDs`` and ``clCreateContext`` are in the table."""
ALL_DEVICES = 0xFFFFFFFF

_Pointer = ctypes.c_void_p
_GetPlatforms = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint, _Pointer, _Pointer)
_GetDevices = ctypes.CFUNCTYPE(ctypes.c_int, _Pointer, ctypes.c_ulong, ctypes.c_uint, _Pointer,
                               _Pointer)
_MakeContext = ctypes.CFUNCTYPE(_Pointer, _Pointer, ctypes.c_uint, _Pointer, _Pointer, _Pointer,
                                _Pointer)

_thread: threading.Thread | None = None
_contexts: dict[int, int] = {}
"""The address of the context for the device at an address."""


def begin(driver: str = DRIVER) -> None:
    """Have the driver, if there is one, get ready in the background; once for a process."""
    global _thread
    if _thread is None:
        _thread = threading.Thread(target=_open, args=(driver,), daemon=True)
        _thread.start()
        atexit.register(_thread.join)  # it must not be under way when the driver is unloaded


def take_context(device: int) -> int | None:
    """The address of a context for the device at an address, if one was made; it is the caller's.

    Waits if the driver is getting ready.
    """
    if _thread is not None:
        _thread.join()
    return _contexts.pop(device, None)


def _open(driver: str) -> None:
    """Look for devices; of a single one make a context."""
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
    device = _Pointer()
    if _GetDevices(table[GET_DEVICES])(platform, ALL_DEVICES, 1, ctypes.addressof(device),
                                       ctypes.addressof(count)) or count.value != 1:
        return
    context = _MakeContext(table[MAKE_CONTEXT])(None, 1, ctypes.addressof(device), None, None, None)
    if context and device.value:
        _contexts[device.value] = context
