"""Files of the cache: programs, OpenCL binaries and more, safe with parallel processes.

A user who can write to the folder can make Runelift run any code, as with Python's compiled files.
So the folder is used only if no other user can (:mod:`~runelift.runtime.cache.private`).
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import platformdirs

from runelift.ir.base import plugins
from runelift.runtime.cache import private

VARIABLE = "RUNELIFT_CACHE"
"""The variable that names the folder of the cache."""
CHECKSUM_BYTES = 32
"""The length of the checksum, which precedes the content of a file."""
_REFUSED = "RUNELIFT_CACHE_REFUSED"
"""The variable that tells processes which folder the user knows not to be used."""
_trusted = set[Path]()
"""Folders that may be used."""


def cache_folder() -> Path | None:
    """The folder of the cache, which may not exist; None if the user has no home."""
    if named := os.environ.get(VARIABLE):
        return Path(os.path.abspath(named))
    usual = Path(platformdirs.user_cache_dir("runelift"))
    return usual if usual.is_absolute() else None


def folder_of(kind: str, *, make: bool = False) -> Path | None:
    """The folder ``kind`` of the cache; None if there is none that may be used.

    OSError if it cannot be made.
    """
    folder = cache_folder()
    if folder is None:
        return None
    for part in ("", *kind.split("/")):
        folder = folder / part
        if make:
            private.make(folder)
        if folder not in _trusted:
            try:
                why = private.obstacle(folder)
            except OSError:
                return None
            if why is not None:
                _refuse(folder, why)
                return None
            _trusted.add(folder)
    return folder


def _refuse(folder: Path, why: str) -> None:
    """Say that a folder is not used, once for this process and the processes that it starts."""
    if os.environ.get(_REFUSED) != str(folder):
        os.environ[_REFUSED] = str(folder)
        print(f"runelift: the cache '{folder}' is not used: {why}.", file=sys.stderr)


def key(*parts: str) -> str:
    """A name for a file whose content depends on these parts."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode(errors="surrogateescape"))  # names of files may be any bytes
        digest.update(b"\0")
    return digest.hexdigest()


def load(kind: str, name: str) -> bytes | None:
    """The content of the file ``name`` in the folder ``kind``; None if missing or damaged."""
    data = _read(kind, name)
    checksum, content = data[:CHECKSUM_BYTES], data[CHECKSUM_BYTES:]
    return content if hashlib.sha256(content).digest() == checksum else None


def starts_with(kind: str, name: str, content: bytes) -> bool:
    """Test whether a file starts with this content, damaged or not."""
    return _read(kind, name, CHECKSUM_BYTES + len(content))[CHECKSUM_BYTES:] == content


def exists(kind: str, name: str) -> bool:
    """Test whether there is a file, damaged or not."""
    folder = folder_of(kind)
    return folder is not None and (folder / name).exists()


def has_any(kind: str) -> bool:
    """Test whether a folder has any file."""
    folder = folder_of(kind)
    try:
        return folder is not None and any(
            not each.name.startswith(private.TEMPORARY) for each in os.scandir(folder))
    except OSError:
        return False


def _read(kind: str, name: str, size: int = -1) -> bytes:
    """The first bytes of a file, or all; empty if it cannot be read."""
    folder = folder_of(kind)
    try:
        return b"" if folder is None else private.read(folder / name, size)
    except OSError:
        return b""


def store(kind: str, name: str, content: bytes) -> None:
    """Write a file; its loss would only cost time, so a full disk is no error."""
    with suppress(OSError):
        if (folder := folder_of(kind, make=True)) is not None:
            try:
                private.write(folder / name, hashlib.sha256(content).digest() + content)
            except OSError:
                folder.rmdir()  # if it is empty
                raise


ROOMS = ("codegen", "frontend", "ir", "rewrite", "runtime")
"""The packages of Runelift below its root, which may lie in different folders."""
_fingerprint: list[str] = []


def fingerprint() -> str:
    """A key that changes with any file of Runelift, the version of Python, and with plug-ins.

    To look at all files takes long on a slow file system.  So a process passes the key on to the
    processes that it starts (:func:`set_fingerprint`).
    """
    if not _fingerprint:
        facts = (fact for folder in folders() for fact in _files(folder))
        _fingerprint.append(key(platform.python_version(), *facts, *_of_plugins()))
    return _fingerprint[0]


def _of_plugins() -> Iterator[str]:
    """The plug-ins that may change what programs are compiled to, and their files."""
    for group in (plugins.RULES, plugins.POLICIES):
        for each in plugins.declared(group):
            yield f"{group} {each.name} {each.package} {each.place}"
    for name in plugins.modules():
        with suppress(ImportError, ValueError):
            spec = find_spec(name)
            for folder in () if spec is None else spec.submodule_search_locations or ():
                yield from _files(Path(folder))
            if spec is not None and spec.origin is not None and os.path.isfile(spec.origin):
                facts = os.stat(spec.origin)
                yield f"{spec.origin} {facts.st_size} {facts.st_mtime_ns}"


def set_fingerprint(found: str) -> None:
    """Take over the fingerprint that another process of this Runelift has computed."""
    _fingerprint[:] = [found]


def folders() -> list[Path]:
    """The folders of the packages that compile and run programs."""
    root = __name__.partition(".")[0]  # another one in exported modules
    specs = [find_spec(f"{root}.{room}") for room in ROOMS]
    return [Path(place) for spec in specs if spec is not None
            for place in spec.submodule_search_locations or ()]


def _files(folder: Path) -> Iterator[str]:
    """The files of a package with their sizes and modification times."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.is_dir():
            if not entry.name.startswith((".", "__")):
                yield from _files(Path(entry.path))
        else:
            facts = entry.stat()
            yield f"{entry.path} {facts.st_size} {facts.st_mtime_ns}"
