"""The cache in which PoCL keeps kernels: whether it can be used, and another one in its place.

On a full disk PoCL aborts the process.  Without a folder to write to it has no devices.  A kernel
that was cut short, as by a full disk before, ends the process by a signal.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

VARIABLE = "POCL_CACHE_DIR"
LEAST_FREE = 16 << 20
"""Bytes that must be free on a disk: kernels of a program take fewer."""
MEMORY = "/dev/shm"
"""A folder in memory, if the disk with temporary files is full, too."""
DAMAGED = ".damaged"
"""The end of the name of a cache that was moved."""

_problem: list[str] = []
_moved: list[Path] = []


def folder() -> Path | None:
    """The folder of the cache; None if PoCL chooses one itself."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    home = os.environ.get("HOME")
    if not base and not home:
        return None
    return Path(base or Path(home or "") / ".cache") / "pocl" / "kcache"


def problem_of(place: Path) -> str | None:
    """The reason why kernels cannot be kept in a folder, which is made; None if they can."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        if not os.access(place, os.W_OK | os.X_OK):
            return "it cannot be written to"
        if hasattr(os, "statvfs"):
            status = os.statvfs(place)
            if status.f_bavail * status.f_frsize < LEAST_FREE:
                return "the disk is full"
    except (OSError, ValueError) as error:
        return str(getattr(error, "strerror", None) or error)
    return None


def provide() -> None:
    """Have PoCL use a temporary folder if its own cannot be used; call it before PoCL starts.

    Processes that are started later use that folder, too.
    """
    place = folder()
    if place is None or _problem or (why := problem_of(place)) is None:
        return
    _problem.append(f"PoCL's cache '{place}' is not used: {why}")
    for parent in (tempfile.gettempdir(), MEMORY):
        with suppress(OSError):
            other = tempfile.mkdtemp(prefix="runelift-pocl-", dir=parent)
            if problem_of(Path(other)) is None:
                os.environ[VARIABLE] = other
                atexit.register(_remove, other, os.getpid())
                return
            os.rmdir(other)


def _remove(place: str, maker: int) -> None:
    if os.getpid() == maker:
        shutil.rmtree(place, ignore_errors=True)


def problem() -> str | None:
    """The reason why PoCL's own cache is not used, as a sentence without an end."""
    return _problem[0] if _problem else None


def begin_anew() -> Path | None:
    """Have processes that start later use an empty cache, beside the one of now, if that has any.

    The value is the cache of now.
    """
    place = folder()
    try:
        if place is None or not any(place.iterdir()):
            return None
        os.environ[VARIABLE] = tempfile.mkdtemp(prefix=f"{place.name}-", dir=place.parent)
    except OSError:
        return None
    return place


def keep_new(before: Path) -> Path | None:
    """Move the cache of ``before`` away, and the new one to its place; where it is now."""
    new, away = Path(os.environ[VARIABLE]), before.with_name(f"{before.name}{DAMAGED}")
    try:
        shutil.rmtree(away, ignore_errors=True)
        before.rename(away)
        new.rename(before)
    except OSError:
        shutil.rmtree(new, ignore_errors=True)
        return None
    return away


def drop_new(before: Path) -> None:
    """Remove the new cache, which did not help, and go back to the one of ``before``."""
    shutil.rmtree(os.environ[VARIABLE], ignore_errors=True)
    os.environ[VARIABLE] = str(before)


def move_away(why: str, *, again: bool = True) -> bool:
    """Move the cache away after a crash, and say so; True if it was moved.

    The run is tried ``again`` then.  A process does it once.
    """
    place = folder()
    try:
        if _moved or place is None or not any(place.iterdir()):
            return False
        away = place.with_name(f"{place.name}{DAMAGED}")
        shutil.rmtree(away, ignore_errors=True)
        place.rename(away)
        place.mkdir()
    except OSError:
        return False
    _moved.append(away)
    print(f"runelift: {why}; PoCL's cache may be damaged, so it is now '{away}'"
          + (", and the run is tried once more." if again else "."), file=sys.stderr)
    return True
