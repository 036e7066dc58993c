"""Marks of processes that a signal ended while they used PoCL's cache: the next process tells.

A user's own Python process has no other process that watches it.  If a damaged kernel ends it,
Python writes where it was into a file in the cache.  The next process finds that file, moves the
cache away and says so.  An end by 'kill' leaves an empty file, which says nothing.
"""

from __future__ import annotations

import atexit
import faulthandler
import os
from contextlib import suppress
from pathlib import Path

from runelift.runtime.devices.driver import pocl_cache

FOLDER = "runelift-crashes"
"""The folder of the marks, in the cache."""
HERE = str(Path(__file__).parents[2])
"""The code that has called the driver, if a crash may be the driver's."""
MOST_READ = 100_000
"""The most bytes of a mark that are read."""


def watch(place: Path) -> None:
    """Look for marks in PoCL's cache, and have this process leave one if a signal ends it."""
    if faulthandler.is_enabled():  # the user wants to know, and Python writes to one file
        return
    with suppress(OSError):
        if any([_is_mark(each) for each in _files(place / FOLDER)]):
            pocl_cache.move_away("a process before this one was ended by a signal while it used "
                                 "OpenCL", again=False)
        _begin(place / FOLDER)


def _files(folder: Path) -> list[Path]:
    try:
        return [folder / name for name in os.listdir(folder)]
    except FileNotFoundError:
        return []


def _is_mark(path: Path) -> bool:
    """True if a process has crashed in a call of ours; files of other ends are removed."""
    with path.open("rb") as file:
        said = file.read(MOST_READ)
    crashed = said.partition(b"Current thread")[2].partition(b"\n\n")[0]  # a driver's own: none
    if HERE in os.fsdecode(crashed or said):
        return True
    if said or not _is_running(path.name):
        path.unlink(missing_ok=True)
    return False


def _is_running(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError):
        return False
    except OSError:
        pass  # of another user
    return True


def _begin(folder: Path) -> None:
    """Have Python write into a file if a signal ends this process."""
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / str(os.getpid())
    path.unlink(missing_ok=True)
    file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    faulthandler.enable(file)
    atexit.register(_end, path, os.getpid())


def _end(path: Path, maker: int) -> None:
    if os.getpid() == maker:
        with suppress(OSError):
            path.unlink()
