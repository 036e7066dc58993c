"""Building kernels through NVIDIA's driver alone, without the OpenCL bindings.

To import these, and what makes plans and runs them, takes a fifth of a second of a processor, in
each of ten processes that start while the program is compiled.  So a process that builds begins
with this, and imports the rest when it is asked for something else
(:mod:`~runelift.runtime.processes.child_main`).
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from runelift.runtime.cache import disk as cache
from runelift.runtime.devices.driver import icd as early
from runelift.runtime.host.channel import receive, send

KERNELS = "kernels"
"""Where binaries lie in the cache."""
BUILD = "build"
"""The request that is answered here."""
CREATE_PROGRAM, RELEASE_PROGRAM, BUILD_PROGRAM, PROGRAM_INFO = 26, 29, 30, 32
"""Where ``clCreateProgramWithSource``, ``clReleaseProgram``, ``clBuildProgram`` and
``clGetProgramInfo`` are in the driver's table."""
BINARY_SIZES, BINARIES = 0x1165, 0x1166

_Pointer = ctypes.c_void_p
_CreateProgram = ctypes.PYFUNCTYPE(_Pointer, _Pointer, ctypes.c_uint,
                                   ctypes.POINTER(ctypes.c_char_p), _Pointer, _Pointer)
"""It only copies the text: to have one's turn again takes longer, if others may go on meanwhile."""
_ReleaseProgram = ctypes.CFUNCTYPE(ctypes.c_int, _Pointer)
_BuildProgram = ctypes.CFUNCTYPE(ctypes.c_int, _Pointer, ctypes.c_uint, _Pointer, ctypes.c_char_p,
                                 _Pointer, _Pointer)
_GetInfo = ctypes.CFUNCTYPE(ctypes.c_int, _Pointer, ctypes.c_uint, ctypes.c_size_t, _Pointer,
                            _Pointer)


class BuildTarget(NamedTuple):
    """What building for a device takes to know.

    ``label`` is the device in names of the cache; ``further`` are the options that the bindings
    add: the driver knows by them what it has built before.
    """

    label: str
    further: str

    def told(self, options: str) -> str:
        """All options that the driver is told."""
        return f"{options} {self.further}".strip()


class BuildRequest(NamedTuple):
    """What a process is told when it may open the device.

    That is the name of the device, the path and the policy of the program that it will run, how to
    build through the driver alone, and :func:`~runelift.runtime.cache.disk.ourselves`.
    """

    device: str | None
    program: tuple[str, str] | None
    bare: BuildTarget | None
    ourselves: str


def driver_keeps() -> bool:
    """Whether the driver has what a process builds from its source for all others at once."""
    return os.environ.get("CUDA_CACHE_DISABLE", "0") == "0"


def name_of(label: str, text: str, options: str) -> str:
    """Under which name the binary of a program for a device lies in the cache."""
    return cache.key(text, options, label)


def serve(connection: Connection, bare: BuildTarget,
          made: early.DriverContext) -> Any:
    """Build what is asked for; the first request for something else, None at the end."""
    while True:
        try:
            request = receive(connection)
        except EOFError:
            return None
        if not isinstance(request, tuple) or request[0] != BUILD:
            return request
        build(request[1], bare, made)
        send(connection, ("result", None))


def build(source: Sequence[str], bare: BuildTarget, made: early.DriverContext) -> None:
    """Build a program, given by its text and options, for the cache.

    What does not build is left for the run that wants it, which says so.
    """
    text, *options = source
    asked = " ".join(options)
    if (program := built(text, bare.told(asked), made)) is not None:
        if binary := _binary(program, made):
            cache.store(KERNELS, name_of(bare.label, text, asked), binary)
        _release(program, made)


def built(text: str, options: str, made: early.DriverContext) -> int | None:
    """The address of a program that the driver has built; None if it could not."""
    encoded = ctypes.c_char_p(text.encode())
    program: int | None = _CreateProgram(made.table[CREATE_PROGRAM])(
        made.context, 1, ctypes.byref(encoded), None, None)
    if program and _BuildProgram(made.table[BUILD_PROGRAM])(
            program, 0, None, options.encode(), None, None):
        _release(program, made)
        return None
    return program


def _release(program: int, made: early.DriverContext) -> None:
    _ReleaseProgram(made.table[RELEASE_PROGRAM])(program)


def _binary(program: int, made: early.DriverContext) -> bytes:
    """The binary of a program, which is for one device; empty if the driver does not give it."""
    info, size = _GetInfo(made.table[PROGRAM_INFO]), ctypes.c_size_t()
    if info(program, BINARY_SIZES, ctypes.sizeof(size), ctypes.addressof(size), None):
        return b""
    binary = ctypes.create_string_buffer(size.value)
    place = _Pointer(ctypes.addressof(binary))
    if info(program, BINARIES, ctypes.sizeof(place), ctypes.addressof(place), None):
        return b""
    return binary.raw
