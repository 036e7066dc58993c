"""OpenCL devices of this machine, and why some of them cannot be used."""

from __future__ import annotations

import atexit
import ctypes
import math
import os
import shutil
import struct
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import platformdirs

from runelift.codegen.emit.prelude import C_FUNCTIONS
from runelift.ir.base.errors import UserError
from runelift.runtime.cache import disk, private
from runelift.runtime.devices import forked, pyopencl_quirks
from runelift.runtime.devices.advice import advice
from runelift.runtime.devices.bindings import bindings_problem
from runelift.runtime.devices.driver import pocl_cache
from runelift.runtime.devices.driver.device_spec import (
    INTERPRETER,
    matches,
    requested,
    split_number,
)
from runelift.runtime.devices.limits import DeviceLimits, ShareLimits
from runelift.runtime.devices.registrations import (
    SYSTEM,
    VARIABLE,
    library_problem,
    registered,
)
from runelift.runtime.devices.subgroup_support import ShuffleMethod, offered

ICD = "icd"
"""The folder of the cache with files that name OpenCL drivers, a folder for each set of them."""
KEPT_BYTES = 256
"""Local memory that NVIDIA's driver keeps from arguments of kernels.

It takes a little for each argument.  Of 48 KiB, one array can have 16 bytes less, and two together
at most 64 less.  Otherwise the kernel does not launch (out of resources; measured on an H200).
"""
POCL, NVIDIA = "Portable Computing Language", "NVIDIA"
"""Parts of the names of platforms."""
MOST_GROUPS = 4
"""The most groups of kernels whose work-items loop, as a multiple of the preferred number."""


class DeviceKind(StrEnum):
    """The kind of a device; preferred kinds come first."""

    GPU = "GPU"
    ACCELERATOR = "accelerator"
    CPU = "CPU"
    SIMULATOR = "simulator"
    """A processor's simulation of a device, for finding errors in kernels."""


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """A device, its limits, and the ``problem`` that keeps it from being used, if any.

    * ``coherent``: work-groups see each other's writes within a launch, after a fence.  OpenCL 1.2
      does not promise it; NVIDIA's memory model does.
    * ``interleaves``: one instruction does the accesses of neighbouring work-items.  These should
      go to neighbouring elements.
    * ``units`` are its compute units; so many ``full_items`` keep all of them busy.
    * ``resident_items``, ``resident_groups``: the work-items, and groups, of a kernel that a
      compute unit surely runs at the same time.  The kernel is built with ``occupancy_options``,
      and its local memory fits.  Kernels whose work-items keep arrays in scratch memory are built
      with these, too.
    * ``optimised_size``: the compiler takes minutes to optimise kernels whose lines times barriers
      are more.
    * ``builders``: programs that the compiler builds at the same time.  With a ``locked_compiler``
      there are more of them if each has a process.
    * ``slow_binaries``: asking for a program's binary compiles it again.  That pays only if the
      program is built in further processes, and the driver keeps no kernels itself.
    * ``shuffles``: the ways in which work-items may hand each other values, if a probe succeeds.
      Processors do not gain by it.
    * ``build_options``: the options of all programs.  There are no warnings, since users cannot
      help loops that are not unrolled as a setting says.
    """

    name: str
    platform: str
    kind: DeviceKind
    units: int
    group_size: int
    num_groups: int
    sequential_segment: int
    max_group: int
    local_bytes: int
    global_bytes: int
    max_alloc: int
    full_items: int
    driver: str
    coherent: bool
    interleaves: bool
    resident_items: int
    resident_groups: int
    build_options: tuple[str, ...]
    occupancy_options: tuple[str, ...]
    optimised_size: float
    slow_binaries: bool
    builders: int
    locked_compiler: bool
    shares: ShareLimits
    shuffles: tuple[ShuffleMethod, ...] = ()
    problem: str | None = None
    hint: str | None = None
    handle: Any = field(default=None, compare=False, repr=False)

    @property
    def label(self) -> str:
        """The device as results name it."""
        return f"{self.name} ({self.platform}, {self.driver})"

    @property
    def is_host(self) -> bool:
        """True if it is the processor that also runs this process."""
        return self.kind is DeviceKind.CPU or self.is_simulator

    @property
    def is_pocl(self) -> bool:
        """True if the driver is PoCL, which compiles a kernel when it is first launched."""
        return POCL in self.platform

    @property
    def is_simulator(self) -> bool:
        """True if users must name it, and no build for it is cached."""
        return self.kind is DeviceKind.SIMULATOR

    def matches(self, name: str) -> bool:
        """True if users mean this device, maybe among other devices, by a name."""
        return matches(name, self.name, self.platform)

    def plain(self) -> DeviceInfo:
        """The device without preferences, so that its kernels are naive.

        Work-items share nothing, arrays lie as the program has them, and loops are left to the
        compiler.  Other kernels are measured beside such kernels.
        """
        return replace(self, interleaves=False, build_options=(*self.build_options, "-DPLAIN"),
                       shares=replace(self.shares, staged=False, columns=0))


WATCHED = ("runelift.runtime.processes.child_main", "runelift.runtime.host.supervisor")
"""Modules of processes whose ends another process explains."""


def register_runtimes() -> list[str]:
    """Make installed but unregistered OpenCL runtimes known to the loader; what was done.

    Must run before pyopencl is imported.  Does nothing when the user set ``OCL_ICD_VENDORS``.
    """
    pocl_cache.provide()  # also if PyOpenCL is imported: PoCL looks when devices are asked for
    if "pyopencl" in sys.modules:
        return []
    if pyopencl_quirks.NO_CACHE not in os.environ and (
            pocl_cache.problem_of(platformdirs.user_cache_path("pytools")) is not None):
        pyopencl_quirks.disable_caches(unusable=True)
    if (place := pocl_cache.folder()) is not None and not any(
            module in sys.modules for module in WATCHED):
        # start-up: a command has no need of it
        import_module("runelift.runtime.devices.driver.crash_marks").watch(place)
    if VARIABLE in os.environ:
        return []
    files = {path.name: path.read_bytes() for path in registered(SYSTEM)}
    found: dict[str, str] = {}
    for vendor, library in (("nvidia", "libnvidia-opencl.so.1"),
                            ("intel", str(Path(sys.prefix) / "lib" / "libintelocl.so"))):
        if not _is_registered(vendor) and library_problem(library) is None:
            found[vendor] = library
    if not found:
        return []
    files |= {f"runelift-{name}.icd": f"{library}\n".encode() for name, library in found.items()}
    try:
        os.environ[VARIABLE] = str(_vendors(files))
    except OSError:
        return []
    return [f"registered the {name} runtime ({library})" for name, library in found.items()]


def _vendors(files: Mapping[str, bytes]) -> Path:
    """A folder of this user alone with these files and nothing else."""
    key = disk.key(*(f"{name} {content!r}" for name, content in sorted(files.items())))
    with suppress(OSError):  # a full disk, for example
        if (kept := disk.folder_of(f"{ICD}/{key}", make=True)) is not None:
            _fill(kept, files)
            return kept
    folder = Path(tempfile.mkdtemp(prefix="runelift-icd-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _fill(folder, files)
    return folder


def _fill(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files that a folder lacks; other processes may do so at the same time."""
    for name, content in files.items():
        if not (folder / name).exists() or private.read(folder / name) != content:
            private.write(folder / name, content)


def _is_registered(vendor: str) -> bool:
    """True if a file of the system names a driver of this vendor that can be loaded."""
    for file in registered(SYSTEM):
        library = file.read_text(errors="replace").strip()
        if vendor in library and library_problem(library) is None:
            return True
    return False


def find_devices() -> list[DeviceInfo]:
    """All OpenCL devices, the preferred first; empty where there is no OpenCL at all."""
    register_runtimes()
    forked.used()
    try:
        # late: start-up, and it may be missing or broken
        import pyopencl as cl

        platforms = cl.get_platforms()
    except (ImportError, RuntimeError, OSError):
        return []
    except Exception as error:  # pyopencl's own errors cannot be named before it is imported
        if type(error).__module__.startswith("pyopencl"):
            return []
        raise
    devices: list[DeviceInfo] = []
    for platform in dict.fromkeys(platforms):  # once, if several files name its library
        try:
            handles = platform.get_devices()
        except cl.Error:
            continue
        devices += [_describe(cl, platform, handle) for handle in handles]
    return sorted(devices, key=_preference)


def _preference(device: DeviceInfo) -> int:
    kinds = list(DeviceKind)
    return kinds.index(device.kind) + (len(kinds) if device.problem else 0)


def _describe(cl: Any, platform: Any, handle: Any) -> DeviceInfo:
    """A device by the bindings ``cl``, which are imported only where they are needed."""
    problem = hint = None
    pocl = POCL in platform.name
    if pocl and shutil.which("ld") is None:
        problem = "PoCL needs the linker 'ld', which is not on PATH"
        hint = "apt-get install binutils"
    elif pocl and not name_processor(handle):
        problem = "PoCL does not know this processor"
        hint = "install a newer PoCL or another OpenCL runtime for CPUs"
    elif not handle.double_fp_config:
        problem = "the device has no 64-bit floats"
    return replace(described(limits_of(cl, handle)), problem=problem, hint=hint, handle=handle)


def limits_of(cl: Any, handle: Any) -> DeviceLimits:
    """The limits of a device, as OpenCL tells them."""
    platform = handle.platform.name.strip()
    if "Oclgrind" in platform:
        kind = DeviceKind.SIMULATOR
    elif handle.type & cl.device_type.GPU:
        kind = DeviceKind.GPU
    else:
        kind = (DeviceKind.CPU if handle.type & cl.device_type.CPU else DeviceKind.ACCELERATOR)
    exact = handle.single_fp_config & cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT
    return DeviceLimits(
        name=handle.name.strip(), platform=platform, kind=kind,
        driver=handle.driver_version.strip(), version=handle.version,
        units=handle.max_compute_units, max_group=handle.max_work_group_size,
        local_bytes=handle.local_mem_size, global_bytes=handle.global_mem_size,
        max_alloc=handle.max_mem_alloc_size,
        warp=handle.warp_size_nv if NVIDIA in platform else 0, exact=bool(exact),
        extensions=tuple(handle.extensions.split()))


def described(limits: DeviceLimits) -> DeviceInfo:
    """The description of a device with these limits; further constants follow from its kind."""
    kind, units = DeviceKind(limits.kind), limits.units
    simulator, gpu = kind is DeviceKind.SIMULATOR, kind in (DeviceKind.GPU, DeviceKind.ACCELERATOR)
    pocl, nvidia = POCL in limits.platform, NVIDIA in limits.platform
    shares = _shares(kind, limits.max_group, units)
    resident = 1024 if nvidia else limits.max_group
    return DeviceInfo(
        name=limits.name, platform=limits.platform, kind=kind, units=units,
        group_size=min(256 if gpu else 16 if simulator else 64, limits.max_group),
        num_groups=units * 8 if gpu else 4 if simulator else units * 4,
        sequential_segment=32 if gpu else 8 if simulator else 1 << 16,
        max_group=limits.max_group,
        local_bytes=limits.local_bytes - (KEPT_BYTES if nvidia else 0),
        global_bytes=limits.global_bytes, max_alloc=limits.max_alloc,
        full_items=units * shares.group * OCCUPANCY if gpu else units,
        shares=shares, shuffles=offered(limits) if gpu else (),
        driver=limits.driver, coherent=nvidia,
        interleaves=kind is not DeviceKind.CPU,
        resident_items=resident,
        resident_groups=16,
        build_options=("-cl-std=CL1.2", "-w", *((EXACT,) if limits.exact else ()),
                       *((UNOPTIMISED,) if simulator else ()),
                       *((LIBM,) if pocl and kind is DeviceKind.CPU and _has_libm() else ())),
        occupancy_options=("-cl-nv-maxrregcount=64",) if nvidia else (),
        optimised_size=_optimised_by_pocl(limits.driver) if pocl else math.inf,
        slow_binaries=pocl,
        builders=1 if simulator or nvidia else min(8, os.cpu_count() or 1),
        locked_compiler=nvidia)


def _optimised_by_pocl(version: str) -> float:
    """Lines times barriers of what PoCL compiles at least as soon with optimisation as without.

    With LLVM 14, PoCL 3.0 takes minutes soon after; 5.0 only seconds, but minutes where there are
    more blocks of code, because nothing was optimised.

    >>> _optimised_by_pocl("5.0+debian"), _optimised_by_pocl("3.0-rc2")
    (30000, 22000)
    """
    major = version.partition(".")[0]
    return 30_000 if major.isdigit() and int(major) >= 5 else 22_000


def _has_libm() -> bool:
    """True if kernels that PoCL loads into this process find the functions of the C library."""
    try:
        library = ctypes.CDLL(None)
    except (OSError, TypeError):
        return False
    return all(hasattr(library, name + suffix) for names in C_FUNCTIONS.values() for name in names
               for suffix in ("", "f"))


LIBM = "-DLIBM"
"""With this, processors compute roots, logarithms and the like as C does (``prelude.cl``)."""
UNOPTIMISED = "-cl-opt-disable"
"""The option for Oclgrind, whose optimised code of choices between few values is wrong.

Its optimiser makes switches over integers of two bits of them, which its interpreter misreads.
"""
EXACT = "-cl-fp32-correctly-rounded-divide-sqrt"
"""Without this quotients of f32 may be off by 2.5 units in the last place, and roots by 3."""
OCCUPANCY = 8
"""The work-groups of the usual size with which a compute unit of a GPU hides latencies."""


def _shares(kind: DeviceKind, max_group: int, units: int) -> ShareLimits:
    most = 1 << (min(max_group, 1024).bit_length() - 1)
    if kind in (DeviceKind.GPU, DeviceKind.ACCELERATOR):
        return ShareLimits(lanes=min(32, most), group=min(256, most), max_group=most, chunk=16,
                           max_chunk=32, staged=True, tile=32, busy_groups=units,
                           window=128, patience=1 << 26, together=min(128, most),
                           crew=units * 256 * OCCUPANCY, short=4)
    if kind is DeviceKind.CPU:
        return ShareLimits(lanes=min(4, most), group=min(64, most), max_group=most, chunk=16,
                           max_chunk=32, staged=False, tile=1024, columns=32)
    return ShareLimits(lanes=4, group=16, max_group=min(64, most), chunk=4, max_chunk=32,
                       staged=True, tile=4, window=16, patience=1 << 16, together=16,
                       crew=64)


def name_processor(handle: Any) -> bool:
    """True if PoCL can compile for this processor; helps it where that is possible.

    PoCL asks its LLVM for the name of the processor.  For one that is newer than the LLVM the
    answer is ``generic``.  Clang rejects that name for x86, so that no kernel builds.  An example
    is PoCL 3.0 with LLVM 14, the version on pip, on AMD family 26.  No option of PoCL sets the
    name.  But the device structure holds it as a string.  So the name of an older processor with
    equal vector instructions is written over it, in place.  All names are as short as the word.
    """
    if not sys.platform.startswith("linux") or os.uname().machine != "x86_64":
        return True
    flags = Path("/proc/cpuinfo").read_text(errors="replace").partition("flags")[2].split("\n")[0]
    words = flags.split()
    older = "skx" if "avx512vl" in words else "haswell" if "avx2" in words else "nehalem"
    descriptor = os.open("/proc/self/mem", os.O_RDWR)
    try:
        for address in struct.unpack("<256Q", os.pread(descriptor, 2048, handle.int_ptr)):
            if _read_string(descriptor, address) == b"generic\0":
                os.pwrite(descriptor, older.encode() + b"\0", address)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _read_string(descriptor: int, address: int) -> bytes:
    """Eight bytes of this process's memory; none where there is no memory."""
    if not 4096 < address < 1 << 47:
        return b""
    try:
        return os.pread(descriptor, 8, address)
    except OSError:
        return b""


def select(spec: str | None = None, *, tells: bool = True) -> DeviceInfo | None:
    """The device that ``spec`` names, or the best; None stands for the interpreter.

    ``spec`` is a part of a device's or platform's name, with ``:k`` for the k-th of several,
    or ``interpreter``.  Without it, the environment variable ``RUNELIFT_DEVICE`` is asked.
    ``tells``: it is said if no device is usable; another process may do so.
    """
    spec = requested(spec)
    if spec == INTERPRETER:
        return None
    devices = find_devices()
    if spec is None:
        usable = [d for d in devices if d.problem is None and not d.is_simulator]
        if usable:
            return _told(usable[0]) if tells else usable[0]
        if tells:
            _tell_none_usable(tuple(devices))
        return None
    name, number = split_number(spec)
    matching = [d for d in devices if d.matches(name)]
    if number >= len(matching):
        known = ", ".join(f"'{d.name}' of '{d.platform}'" for d in devices) or "none"
        raise UserError(f"No device matches '{spec}'.  Devices: {known}; or 'interpreter'.")
    if matching[number].problem:
        raise UserError(f"Device '{matching[number].name}' cannot be used: "
                        f"{matching[number].problem}.")
    return _told(matching[number]) if tells else matching[number]


def _told(device: DeviceInfo) -> DeviceInfo:
    """The device; it is said if its driver cannot keep kernels where it should."""
    if device.is_pocl and (problem := pocl_cache.problem()):
        _tell(f"{problem}.")
    return device


@cache
def _tell(message: str) -> None:
    print(f"runelift: {message}", file=sys.stderr)


@cache
def _tell_none_usable(devices: tuple[DeviceInfo, ...]) -> None:
    """Say once that the interpreter runs, why, and what brings a device."""
    why = [f"{d.name}: {d.problem}" for d in devices if d.problem] or [
        bindings_problem() or pocl_cache.problem() or "none is installed"]
    print("\n".join([f"runelift: no usable OpenCL device ({'; '.join(why)}); the interpreter runs "
                     "instead.", *(f"  {line}" for line in advice(devices))]), file=sys.stderr)


def spec_of(info: DeviceInfo | None) -> str:
    """The text by which :func:`select` finds this device, or the interpreter."""
    if info is None:
        return INTERPRETER
    matching = [each for each in find_devices() if each.matches(info.name)]
    return f"{info.name}:{[each.handle for each in matching].index(info.handle)}"
