"""Building kernels through NVIDIA's driver alone, without PyOpenCL.

Ten processes that build start while the program is compiled, and imports would keep all cores busy.
So a process that builds begins with this module.  It imports the rest when it gets another request
(:mod:`~runelift.runtime.processes.child_main`).
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from runelift.runtime.cache import disk
from runelift.runtime.devices.driver.icd import DriverContext
from runelift.runtime.host.channel import receive, send

KERNELS = "kernels"
"""The folder of binaries in the cache."""
BUILD = "build"
"""The name of requests to build."""
CREATE_PROGRAM, RELEASE_PROGRAM, BUILD_PROGRAM, PROGRAM_INFO = 26, 29, 30, 32
"""Indices of ``clCreateProgramWithSource``, ``clReleaseProgram``, ``clBuildProgram`` and
``clGetProgramInfo`` in the driver's table."""
BINARY_SIZES, BINARIES = 0x1165, 0x1166

_Pointer = ctypes.c_void_p
_CreateProgram = ctypes.PYFUNCTYPE(_Pointer, _Pointer, ctypes.c_uint,
                                   ctypes.POINTER(ctypes.c_char_p), _Pointer, _Pointer)
"""This function only copies the text, so it keeps Python's lock: to get that again takes longer."""
_ReleaseProgram = ctypes.CFUNCTYPE(ctypes.c_int, _Pointer)
_BuildProgram = ctypes.CFUNCTYPE(ctypes.c_int, _Pointer, ctypes.c_uint, _Pointer, ctypes.c_char_p,
                                 _Pointer, _Pointer)
_GetInfo = ctypes.CFUNCTYPE(ctypes.c_int, _Pointer, ctypes.c_uint, ctypes.c_size_t, _Pointer,
                            _Pointer)


class BuildTarget(NamedTuple):
    """A device to build for.

    ``label`` is the device in keys of the cache.  PyOpenCL adds ``added_options``: the driver's own
    cache depends on them.
    """

    label: str
    added_options: str

    def all_options(self, options: str) -> str:
        """All options that the driver gets."""
        return f"{options} {self.added_options}".strip()


class BuildRequest(NamedTuple):
    """The message that lets a process open the device.

    ``program`` is the path and the policy of the program that it will run.  ``target`` is for
    building through the driver alone.  ``fingerprint`` is that of Runelift
    (:func:`~runelift.runtime.cache.disk.fingerprint`).
    """

    device: str | None
    program: tuple[str, str] | None
    target: BuildTarget | None
    fingerprint: str


def driver_has_cache() -> bool:
    """Test whether the driver shares programs built from source with all processes."""
    return os.environ.get("CUDA_CACHE_DISABLE", "0") == "0"


def binary_key(label: str, text: str, options: str) -> str:
    """The key of the binary of a program for a device in the cache."""
    return disk.key(text, options, label)


def serve(connection: Connection, target: BuildTarget,
          driver: DriverContext) -> Any:
    """Answer requests to build; the result is the first other request, None at the end."""
    while True:
        try:
            request = receive(connection)
        except EOFError:
            return None
        if not isinstance(request, tuple) or request[0] != BUILD:
            return request
        build(request[1], target, driver)
        send(connection, ("result", None))


def build(source: Sequence[str], target: BuildTarget, driver: DriverContext) -> None:
    """Build a program, given by its text and options, for the cache.

    A program that does not build is left for the run that needs it, which reports why.
    """
    text, *further = source
    options = " ".join(further)
    if (program := built_program(text, target.all_options(options), driver)) is not None:
        if binary := binary_of(program, driver.table):
            disk.store(KERNELS, binary_key(target.label, text, options), binary)
        _release(program, driver)


def built_program(text: str, options: str, driver: DriverContext) -> int | None:
    """The address of a program that the driver has built; None if it could not."""
    encoded = ctypes.c_char_p(text.encode())
    program: int | None = _CreateProgram(driver.table[CREATE_PROGRAM])(
        driver.context, 1, ctypes.byref(encoded), None, None)
    if program and _BuildProgram(driver.table[BUILD_PROGRAM])(
            program, 0, None, options.encode(), None, None):
        _release(program, driver)
        return None
    return program


def _release(program: int, driver: DriverContext) -> None:
    _ReleaseProgram(driver.table[RELEASE_PROGRAM])(program)


def table_of(program: int) -> Any:
    """The table of functions of a program's driver: each object of OpenCL begins with it."""
    return ctypes.cast(program, ctypes.POINTER(ctypes.POINTER(_Pointer)))[0]


def binary_of(program: int, table: Any) -> bytes:
    """The binary of a program for one device; empty if the driver does not give it.

    Some drivers compile only now, which may take minutes: other threads run meanwhile.
    """
    info, size = _GetInfo(table[PROGRAM_INFO]), ctypes.c_size_t()
    if info(program, BINARY_SIZES, ctypes.sizeof(size), ctypes.addressof(size), None):
        return b""
    binary = ctypes.create_string_buffer(size.value)
    place = _Pointer(ctypes.addressof(binary))
    if info(program, BINARIES, ctypes.sizeof(place), ctypes.addressof(place), None):
        return b""
    return binary.raw
