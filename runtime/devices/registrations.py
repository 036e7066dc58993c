"""Registrations of OpenCL runtimes: files that name libraries, and why a library is of no use.

A loader reads all files ``*.icd`` of a folder: ``OCL_ICD_VENDORS`` or, without it, that of the
system.  The loader of PyOpenCL's packages also reads the folder beside itself.  Other packages put
their files into the environment of Python, where no loader looks.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from subprocess import TimeoutExpired

from runelift.runtime.host.children import finished

SYSTEM = Path("/etc/OpenCL/vendors")
"""The folder that loaders read."""
VARIABLE = "OCL_ICD_VENDORS"
"""The environment variable with a folder to read in place of that of the system."""
_PLATFORMS, _EXTENSION = "clIcdGetPlatformIDsKHR", "clGetExtensionFunctionAddress"
"""Functions of which a driver has one at least; the second leads to the first (cl_khr_icd)."""
_GetPlatforms = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p)


PATIENCE = 30.0
"""The seconds in which a driver says whether it has platforms."""
_CHECK = """
import os
from runelift.runtime.devices.registrations import library_problem, platforms_problem
(library,) = given
problem = library_problem(library) or platforms_problem(library) or ""
print(f"\\n{problem}", end="", flush=True)
os._exit(0)
"""
"""The code of a process that looks at a library; its last line is the problem, if there is one."""


@dataclass(frozen=True, slots=True)
class Registration:
    """A file that names a library, the ``problem`` with that, if any, and what to do about it.

    ``library`` is as the file has it, ``path`` is where it is.  A loader ``read``s the file or not.
    """

    file: str
    library: str
    path: str
    read: bool = True
    problem: str | None = None
    hint: str | None = None


def registrations() -> list[Registration]:
    """The registrations that the loader reads, and registrations in Python's environment."""
    found = [registration(file, read=read) for folder, read in _folders()
             for file in registered(folder)]
    return [_beside_others(each, found) for each in found]


def registered(folder: Path) -> list[Path]:
    """The files in a folder that name runtimes, in the order of their names."""
    return sorted(folder.glob("*.icd"))


def _folders() -> Iterator[tuple[Path, bool]]:
    """The folders with registrations, each with True if the loader reads it."""
    vendors, own = Path(os.environ.get(VARIABLE) or SYSTEM), environment_vendors()
    yield vendors, True
    spec = find_spec("pyopencl")
    if spec is not None and spec.origin is not None:
        yield Path(spec.origin).parent / ".libs", True
    if own != vendors:
        yield own, (Path(sys.prefix) / "conda-meta").is_dir()  # then its own loader looks there


def environment_vendors() -> Path:
    """The folder of Python's environment for registrations."""
    return Path(sys.prefix) / "etc" / "OpenCL" / "vendors"


def registration(file: Path, *, read: bool = True) -> Registration:
    """The registration in a file, whose library is loaded to see what it is."""
    try:
        library = file.read_text(errors="replace").partition("\n")[0].strip()
    except OSError as error:
        return Registration(str(file), "", "", read, f"the file cannot be read: {error.strerror}",
                            "make it readable, or delete it")
    if not library:
        return Registration(str(file), "", "", read, "the file names no library",
                            "delete it, or write the path of an OpenCL driver into it")
    beside = file.parent / library
    path = str(beside) if beside.exists() else library
    again = f"install the runtime that '{file.name}' belongs to again, or delete '{file}'"
    problem = driver_problem(path)
    moved = Path(sys.prefix) / "lib" / Path(library).name
    if not read and moved.exists() and (problem or str(moved) == path):
        wrong = driver_problem(str(moved))
        if wrong is None:
            problem = problem or "no loader reads this file"
            again = (f"Runelift takes '{moved}', unless {VARIABLE} is set; for other programs "
                     f"write this path into a file '{file.name}' in '{SYSTEM}'")
        else:
            problem = f"{problem}; {wrong}" if problem else wrong
    elif not read and problem is None:
        problem, again = "no loader reads this file", f"copy it to '{SYSTEM}'"
    return Registration(str(file), library, path, read, problem, again if problem else None)


def driver_problem(library: str) -> str | None:
    """The reason why a library gives no platforms; None if it does.

    It is loaded in another process, as it may crash.  Also, a process with a loaded library finds
    further libraries that a loader does not find.
    """
    try:
        done = finished(_CHECK, library, seconds=PATIENCE)
    except TimeoutExpired:
        return f"the driver '{library}' does not answer within {PATIENCE:.0f} s"
    if done.returncode < 0:
        return f"the driver '{library}' crashes ({signal.Signals(-done.returncode).name})"
    return done.stdout.rpartition("\n")[2] or None


def library_problem(library: str) -> str | None:
    """The reason why a library is no OpenCL driver; None if it is one."""
    if os.path.isabs(library) and not os.path.exists(library):
        return f"the library '{library}' does not exist"
    try:
        loaded = ctypes.CDLL(library)
    except OSError as error:
        return f"the library '{library}' cannot be loaded: {error}"
    if not any(hasattr(loaded, name) for name in (_PLATFORMS, _EXTENSION)):
        return f"the library '{library}' is no OpenCL driver: it lacks '{_EXTENSION}'"
    return None


def platforms_problem(library: str) -> str | None:
    """The reason why a driver has no platforms; None if it has some."""
    loaded = ctypes.CDLL(library)
    if hasattr(loaded, _EXTENSION):
        address_of = loaded[_EXTENSION]
        address_of.argtypes, address_of.restype = [ctypes.c_char_p], ctypes.c_void_p
        address = address_of(_PLATFORMS.encode())
    else:
        address = ctypes.cast(loaded[_PLATFORMS], ctypes.c_void_p).value
    if not address:
        return f"the driver '{library}' lacks '{_PLATFORMS}', so no loader can use it"
    count = ctypes.c_uint(0)
    status = _GetPlatforms(address)(0, None, ctypes.byref(count))
    if status or not count.value:
        return f"the driver '{library}' finds no device of its kind (status {status})"
    return None


def _beside_others(one: Registration, found: Sequence[Registration]) -> Registration:
    """A registration, with a hint if another registration names its library, too."""
    others = [each.file for each in found if each is not one and each.read and not each.problem
              and os.path.realpath(each.path) == os.path.realpath(one.path)]
    if one.problem or not others:
        return one
    return replace(one, hint=f"{' and '.join(map(repr, others))} "
                             f"{'name' if others[1:] else 'names'} this library, too; one file "
                             "is enough")


def described(one: Registration) -> str:
    """A registration in words: the file and the library, the problem, and what to do."""
    lines = [f"{one.file}: {one.library or 'nothing'}"]
    if one.problem:
        lines.append(f"  not usable: {one.problem}")
    if one.hint:
        lines.append(f"  hint: {one.hint}")
    return "\n".join(lines)
