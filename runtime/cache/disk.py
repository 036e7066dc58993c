"""What is compiled once, on disk, safe with parallel processes: programs and OpenCL binaries.

Whoever can write into the folder can make Runelift run what they like, as with Python's own
compiled files: it belongs to the user.
"""

from __future__ import annotations

import hashlib
import os
import platform
import tempfile
from collections.abc import Iterator
from pathlib import Path

import platformdirs

CHECKSUM = 32
"""How many bytes come before what is kept."""


def cache_folder() -> Path:
    """Where compiled programs are kept."""
    return Path(os.environ.get("RUNELIFT_CACHE") or platformdirs.user_cache_dir("runelift"))


def key(*parts: str) -> str:
    """A name for what the parts determine."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()


def load(kind: str, name: str) -> bytes | None:
    """What is kept of a kind under ``name``; None if there is nothing or it is damaged."""
    try:
        data = (cache_folder() / kind / name).read_bytes()
    except OSError:
        return None
    checksum, content = data[:CHECKSUM], data[CHECKSUM:]
    return content if hashlib.sha256(content).digest() == checksum else None


def begins(kind: str, name: str, content: bytes) -> bool:
    """Whether what is kept under ``name`` begins like this, damaged or not."""
    try:
        with (cache_folder() / kind / name).open("rb") as file:
            file.seek(CHECKSUM)
            return file.read(len(content)) == content
    except OSError:
        return False


def is_there(kind: str, name: str) -> bool:
    """Whether something is kept under ``name``, damaged or not."""
    return (cache_folder() / kind / name).exists()


def has_any(kind: str) -> bool:
    """Whether something of a kind is kept."""
    try:
        return any(os.scandir(cache_folder() / kind))
    except OSError:
        return False


def store(kind: str, name: str, content: bytes) -> None:
    """Keep something; losing it would only cost time, so a full disk is no error."""
    folder = cache_folder() / kind
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(hashlib.sha256(content).digest() + content)
        os.replace(file.name, folder / name)
    except OSError:
        return


_ourselves: list[str] = []


def ourselves() -> str:
    """What changes whenever a file of Runelift or the version of Python does.

    Who knows it tells the processes that it starts (:func:`known_as`): to look at all files takes
    a tenth of a second where the file system is slow.
    """
    if not _ourselves:
        _ourselves.append(key(platform.python_version(), *_files(Path(__file__).parent.parent)))
    return _ourselves[0]


def known_as(found: str) -> None:
    """Take what another process of the same Runelift has found for :func:`ourselves`."""
    _ourselves[:] = [found]


def _files(folder: Path) -> Iterator[str]:
    """The files of a package with their sizes and times of change."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.is_dir():
            if not entry.name.startswith((".", "__")):
                yield from _files(Path(entry.path))
        else:
            facts = entry.stat()
            yield f"{entry.path} {facts.st_size} {facts.st_mtime_ns}"
