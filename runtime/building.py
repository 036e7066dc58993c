"""OpenCL programs: from the cache, or built and put there."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any

import pyopencl as cl

from runelift.codegen.opencl import count_meetings
from runelift.runtime import cache as disk
from runelift.runtime.device import DeviceInfo
from runelift.runtime.opened import Device
from runelift.runtime.processes.bare import KERNELS, Bare, name_of

BUILT_ONCE = b""
"""What lies there in place of a binary that is kept when the program is built a second time."""


class Infeasible(Exception):
    """A version cannot run on this device; ``lasting`` if not at any size."""

    def __init__(self, reason: str, *, lasting: bool = False) -> None:
        super().__init__(reason)
        self.lasting = lasting


@contextmanager
def quietly() -> Iterator[None]:
    """Without the warnings of compilers; for one thread at a time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def build_program(device: Device, source: str, *options: str) -> Any:
    """A program from the cache, or built and put there; another process may have done so just now.

    NVIDIA's binaries are assembler's text, which the driver translates when it is loaded for the
    first time.  What was built from its source it has whole, in a cache of its own.
    """
    info, context = device.info, device.context
    name = cache_name(info, source, *options)
    kept = disk.load(KERNELS, name) if not info.is_simulator else None
    if kept and driver_keeps(info):
        with suppress(cl.Error):
            return cl.Program(context, source).build(options=_all_options(info, source, options))
    if kept:
        try:
            return cl.Program(context, [info.handle], [kept]).build()
        except cl.Error:
            pass  # made by another driver: build it again from the source
    try:
        program = cl.Program(context, source).build(options=_all_options(info, source, options))
    except cl.Error as error:
        raise Infeasible(f"the kernels do not build: {str(error).splitlines()[0]}\n"
                         f"{error}", lasting=True) from None
    if not info.is_simulator:
        once = info.slow_binaries and kept is None
        disk.store(KERNELS, name, BUILT_ONCE if once
                   else program.get_info(cl.program_info.BINARIES)[0])
    return program


def driver_keeps(info: DeviceInfo) -> bool:
    """Whether what a process builds from its source is there for all others at once."""
    return info.locked_compiler and os.environ.get("CUDA_CACHE_DISABLE", "0") == "0"


def _all_options(info: DeviceInfo, source: str, options: Sequence[str]) -> list[str]:
    """The options of a build, without optimisation where that would take minutes."""
    large = source.count("\n") * count_meetings(source) > info.optimised_size
    return [*options, *(["-cl-opt-disable"] if large else [])]


def cache_name(info: DeviceInfo, source: str, *options: str) -> str:
    """Under which name the binary of a program lies in the cache."""
    return name_of(info.label, source, " ".join(_all_options(info, source, options)))


def bare_of(info: DeviceInfo) -> Bare | None:
    """What others need to build for a device as the bindings do; None if they cannot."""
    if not info.locked_compiler or info.slow_binaries or info.optimised_size < math.inf:
        return None
    context: Any = SimpleNamespace(devices=[info.handle])
    with suppress(AttributeError, TypeError, ValueError):  # pyopencl does not promise to have it
        added, _ = cl.Program._process_build_options(context, [])
        return Bare(info.label, added.decode())
    return None
