"""Folders and files that no other user can change.

Files of the cache are executed, and drivers are loaded by files in it.  So a folder is used only if
it belongs to this user or the administrator, and no other user can write to it.  No symbolic link
to a file is followed.
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from runelift.ir.base.written_files import buffered

TEMPORARY = ".new-"
"""The beginning of names of files that are being written."""
FOREIGN = "it belongs to another user"
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
"""With this, a pipe in place of a file is opened at once."""


def obstacle(folder: Path) -> str | None:
    """The reason not to use a folder; None if there is none.  OSError if it cannot be found."""
    link, found = folder.lstat(), folder.stat()
    if not stat.S_ISDIR(found.st_mode):
        return "it is not a folder"
    if not (_is_trusted(link) and _is_trusted(found)):
        return FOREIGN
    if hasattr(os, "geteuid") and found.st_mode & OTHERS_WRITE:
        return (f"other users can write to it; empty it, and make it private with 'chmod go-w "
                f"{folder}'")
    return None


def _is_trusted(facts: os.stat_result) -> bool:
    """Test whether a file belongs to this user or the administrator."""
    return not hasattr(os, "geteuid") or facts.st_uid in (0, os.geteuid())


def make(folder: Path) -> None:
    """Make a folder for this user alone, unless it exists; OSError if that fails."""
    with suppress(FileExistsError):
        try:
            folder.mkdir(0o700)
        except FileNotFoundError:
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir(0o700)


def open_file(path: Path, flags: int) -> int:
    """The descriptor of a file of this user, made if ``flags`` say so; OSError for any other."""
    descriptor = os.open(path, flags | _NO_LINK | _NO_WAIT, 0o600)
    facts = os.fstat(descriptor)
    if stat.S_ISREG(facts.st_mode) and _is_trusted(facts) and not (
            hasattr(os, "geteuid") and facts.st_mode & OTHERS_WRITE):
        return descriptor
    os.close(descriptor)
    raise PermissionError(f"'{path}' is not a file of this user alone")


def read(path: Path, size: int = -1) -> bytes:
    """The first ``size`` bytes of a file, or all; OSError if it cannot be read or trusted."""
    with open(open_file(path, os.O_RDONLY), "rb") as file:
        return file.read(size)


def write(path: Path, content: bytes) -> None:
    """Replace a file in one step; OSError if that fails, and then nothing is left behind."""
    temporary = path.with_name(f"{TEMPORARY}{secrets.token_hex(8)}")
    try:
        with buffered(open_file(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)) as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
