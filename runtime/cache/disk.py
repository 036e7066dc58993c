"""Files of the cache: programs, OpenCL binaries and more, safe with parallel processes.

The folder belongs to the user.  Anyone who can write there can make Runelift run any code, as with
Python's compiled files.
"""

from __future__ import annotations

import hashlib
import os
import platform
import tempfile
from collections.abc import Iterator
from pathlib import Path

import platformdirs

CHECKSUM_BYTES = 32
"""The length of the checksum, which precedes the content of a file."""


def cache_folder() -> Path:
    """The folder of the cache."""
    return Path(os.environ.get("RUNELIFT_CACHE") or platformdirs.user_cache_dir("runelift"))


def key(*parts: str) -> str:
    """A name for a file whose content depends on these parts."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode(errors="surrogateescape"))  # names of files may be any bytes
        digest.update(b"\0")
    return digest.hexdigest()


def load(kind: str, name: str) -> bytes | None:
    """The content of the file ``name`` in the folder ``kind``; None if missing or damaged."""
    try:
        data = (cache_folder() / kind / name).read_bytes()
    except OSError:
        return None
    checksum, content = data[:CHECKSUM_BYTES], data[CHECKSUM_BYTES:]
    return content if hashlib.sha256(content).digest() == checksum else None


def starts_with(kind: str, name: str, content: bytes) -> bool:
    """Test whether a file starts with this content, damaged or not."""
    try:
        with (cache_folder() / kind / name).open("rb") as file:
            file.seek(CHECKSUM_BYTES)
            return file.read(len(content)) == content
    except OSError:
        return False


def exists(kind: str, name: str) -> bool:
    """Test whether there is a file, damaged or not."""
    return (cache_folder() / kind / name).exists()


def has_any(kind: str) -> bool:
    """Test whether a folder has any file."""
    try:
        return any(os.scandir(cache_folder() / kind))
    except OSError:
        return False


def store(kind: str, name: str, content: bytes) -> None:
    """Write a file; its loss would only cost time, so a full disk is no error."""
    folder = cache_folder() / kind
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(hashlib.sha256(content).digest() + content)
        os.replace(file.name, folder / name)
    except OSError:
        return


_fingerprint: list[str] = []


def fingerprint() -> str:
    """A key that changes with any file of Runelift and with the version of Python.

    To look at all files takes long on a slow file system, so that a process passes it on to those
    that it starts (:func:`set_fingerprint`).
    """
    if not _fingerprint:
        _fingerprint.append(key(platform.python_version(), *_files(Path(__file__).parent.parent)))
    return _fingerprint[0]


def set_fingerprint(found: str) -> None:
    """Take over the fingerprint that another process of this Runelift has computed."""
    _fingerprint[:] = [found]


def _files(folder: Path) -> Iterator[str]:
    """The files of a package with their sizes and modification times."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.is_dir():
            if not entry.name.startswith((".", "__")):
                yield from _files(Path(entry.path))
        else:
            facts = entry.stat()
            yield f"{entry.path} {facts.st_size} {facts.st_mtime_ns}"
