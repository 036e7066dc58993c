"""Building OpenCL programs, with a cache of binaries on disk."""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any

import pyopencl as cl

from runelift.codegen.emit.signatures import count_barrier_calls
from runelift.runtime.cache import disk
from runelift.runtime.devices.context import Device
from runelift.runtime.devices.driver import preload
from runelift.runtime.devices.driver.build import (
    KERNELS,
    BuildTarget,
    binary_key,
    binary_of,
    driver_has_cache,
    table_of,
)
from runelift.runtime.devices.info import DeviceInfo

BUILT_ONCE = b""
"""The content of the cache after a build whose binary is not worth storing, or not yet."""


class Infeasible(Exception):
    """A version cannot run on this device; ``at_any_size``: not for any sizes."""

    def __init__(self, reason: str, *, at_any_size: bool = False) -> None:
        super().__init__(reason)
        self.at_any_size = at_any_size


@contextmanager
def quietly() -> Iterator[None]:
    """Suppress the warnings of compilers; for one thread at a time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def build_program(device: Device, source: str, *options: str) -> Any:
    """A program from the cache of binaries, or a new build that is stored there.

    NVIDIA's binaries are assembly text, which the driver translates when it first loads them.  The
    driver's cache has the translated results of builds from source.  So such a build is faster if
    the driver has a cache.
    """
    info, context = device.info, device.context
    name = cache_name(info, source, *options)
    binary = disk.load(KERNELS, name) if not info.is_simulator else None
    if binary and info.locked_compiler and driver_has_cache():
        request = build_request(info, source, *options)
        if request and (loaded := preload.take(context.int_ptr, *request)) is not None:
            return cl.Program.from_int_ptr(loaded, retain=False)
        with suppress(cl.Error):
            return cl.Program(context, source).build(options=_all_options(info, source, options))
    if binary:
        try:
            return cl.Program(context, [info.handle], [binary]).build()
        except cl.Error:
            pass  # made by another driver: build it again from the source
    try:
        program = cl.Program(context, source).build(options=_all_options(info, source, options))
    except cl.Error as error:
        raise Infeasible(f"the kernels do not build: {str(error).splitlines()[0]}\n"
                         f"{error}", at_any_size=True) from None
    if not info.is_simulator:
        once = info.slow_binaries and (binary is None or driver_keeps_kernels())
        disk.store(KERNELS, name, BUILT_ONCE if once else _binary(program))
    return program


def driver_keeps_kernels() -> bool:
    """Test whether PoCL keeps kernels itself: these load as fast as binaries, which take long."""
    return os.environ.get("POCL_KERNEL_CACHE", "1") != "0"


def _binary(program: Any) -> bytes:
    """The binary of a program; PyOpenCL would keep Python's lock while a driver compiles it."""
    if sys.platform == "darwin":  # its objects need not begin with a table
        binary: bytes = program.get_info(cl.program_info.BINARIES)[0]
        return binary
    return binary_of(program.int_ptr, table_of(program.int_ptr))


def _all_options(info: DeviceInfo, source: str, options: Sequence[str]) -> list[str]:
    """The options of a build, without optimisation where that would take minutes."""
    large = source.count("\n") * count_barrier_calls(source) > info.optimised_size
    return [*options, *(["-cl-opt-disable"] if large else [])]


def cache_name(info: DeviceInfo, source: str, *options: str) -> str:
    """The name of a program's binary in the cache."""
    return binary_key(info.label, source, " ".join(_all_options(info, source, options)))


def build_request(info: DeviceInfo, source: str, *options: str) -> tuple[str, str] | None:
    """The text and the options of a driver's build; None if the options are not known."""
    target = build_target(info)
    return None if target is None else (source, target.all_options(" ".join(
        _all_options(info, source, options))))


def build_target(info: DeviceInfo) -> BuildTarget | None:
    """The target of builds without PyOpenCL that give its results; None if that is impossible."""
    if not info.locked_compiler or info.slow_binaries or info.optimised_size < math.inf:
        return None
    context: Any = SimpleNamespace(devices=[info.handle])
    with suppress(AttributeError, TypeError, ValueError):  # pyopencl does not promise to have it
        added, _ = cl.Program._process_build_options(context, [])
        return BuildTarget(info.label, added.decode())
    return None
