"""The files of the cache by kind: how many, how large, and removing them.

Only files with names that the cache gives are counted and removed.  Links are neither followed nor
removed.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from runelift.runtime.cache import private

_KEY = r"[0-9a-f]{64}"
KINDS = {
    "entries": ("compiled programs", rf"entries/{_KEY}/(compiled|kernels|driver_texts|texts)"),
    "kernels": ("binaries of kernels", rf"kernels/{_KEY}"),
    "slow": ("kernels that take too long to build", rf"slow/{_KEY}"),
    "trials": ("results of probes of devices", rf"trials/{_KEY}"),
    "peaks": ("measured peaks of devices", rf"peaks/{_KEY}"),
    "costs": ("measured constants of devices", rf"costs/{_KEY}"),
    "rules": ("rules from outside that passed their tests", rf"rules/{_KEY}"),
    "icd": ("names of OpenCL drivers", rf"icd/({_KEY}/)?[\w.-]+\.icd"),
    "left": ("unfinished files", rf"([\w-]+/){{1,2}}{re.escape(private.TEMPORARY)}[0-9a-f]+"),
}
"""Kinds of files: a description, and the paths in the folder of the cache."""


@dataclass(slots=True)
class Inventory:
    """The files of a folder by kind, with their sizes in bytes, and the number of other files."""

    folder: Path
    files: dict[str, dict[Path, int]] = field(default_factory=dict)
    others: int = 0

    def count(self, kind: str) -> int:
        """The number of files of a kind."""
        return len(self.files.get(kind, ()))

    def size(self, kind: str) -> int:
        """The bytes of all files of a kind."""
        return sum(self.files.get(kind, {}).values())


def inventory(folder: Path) -> Inventory:
    """The files of a cache; none if there is no such folder."""
    found = Inventory(folder)
    for path, facts in files_in(folder):
        kind = _kind(path.relative_to(folder)) if stat.S_ISREG(facts.st_mode) else None
        if kind is None:
            found.others += 1
        else:
            found.files.setdefault(kind, {})[path] = facts.st_size
    return found


def remove(found: Inventory) -> Inventory:
    """Remove the files of an inventory, and folders that become empty; the files removed."""
    gone = Inventory(found.folder, others=found.others)
    for kind, files in found.files.items():
        for path, size in files.items():
            with suppress(OSError):
                path.unlink()
                gone.files.setdefault(kind, {})[path] = size
    for parent in sorted({folder for files in found.files.values() for path in files
                          for folder in path.parents if folder.is_relative_to(found.folder)},
                         key=lambda each: len(each.parts), reverse=True):
        with suppress(OSError):  # it is not empty
            parent.rmdir()
    return gone


def _kind(path: Path) -> str | None:
    """The kind of a file by its path in the folder; None if it is none of the cache's."""
    return next((kind for kind, (_, pattern) in KINDS.items()
                 if re.fullmatch(pattern, path.as_posix())), None)


def files_in(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """All that is no folder, with its facts."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        with suppress(OSError):  # it is gone
            if entry.is_dir(follow_symlinks=False):
                yield from files_in(Path(entry.path))
            else:
                yield Path(entry.path), entry.stat(follow_symlinks=False)
