"""Files that are read within limits.

A device without an end never fills the memory, and a pipe without a writer never hangs.
"""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from runelift.ir.base.errors import UserError
from runelift.ir.base.source import Source

CHUNK = 1 << 18
"""Bytes that are read at a time, and that show what the content is."""
MOST_TYPED = 16 << 20
"""The most bytes of a terminal or another character device, which may have no end."""
MOST_SOURCE = 256 << 20
"""The most bytes of a program or another text with a syntax."""
_MEMORY_IF_UNKNOWN = 8 << 30

OPEN_ALREADY = re.compile(r"/dev/(stdin|fd/\d+)|/proc/self/fd/\d+")
"""Names of what this process has open already, such as the output of another command."""
_NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_KINDS = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"),
          (stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a device"))

Check = Callable[[bytes], None]
"""A function that raises UserError for the first bytes of a content that is not wanted."""


def most_bytes() -> int:
    """The most bytes of any file: half of the memory of the machine."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, ValueError, OSError):
        return _MEMORY_IF_UNKNOWN // 2


def read_bytes(path: Path, most: int | None = None, check: Check | None = None
               ) -> bytes | bytearray:
    """The bytes of a file; UserError if it is none, cannot be read, or is above ``most``.

    A pipe or a terminal is read only if this process has it open already.  ``check`` sees the first
    bytes, before more are read.
    """
    try:
        with open(path, "rb", opener=_opened_at_once) as file:
            status = os.fstat(file.fileno())
            _require_regular(path, status.st_mode)
            os.set_blocking(file.fileno(), True)
            limit = most_bytes() if most is None else most
            if stat.S_ISCHR(status.st_mode):
                limit = min(limit, MOST_TYPED)
            if stat.S_ISREG(status.st_mode) and status.st_size > limit:
                raise _too_large(str(path), limit)
            return read_stream(file, str(path), limit, check)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None


def read_stream(file: BinaryIO, name: str, most: int, check: Check | None = None) -> bytearray:
    """The bytes of an open file up to its end; UserError if there are more than ``most``."""
    found = bytearray()
    try:
        while chunk := file.read(CHUNK):
            if check is not None and not found:
                check(chunk)
            found += chunk
            if len(found) > most:
                raise _too_large(name, most)
    except MemoryError:
        raise UserError(f"Cannot read '{name}': it does not fit in memory.") from None
    return found


def _opened_at_once(name: str, flags: int) -> int:
    """Open a file; a pipe does not wait for its writer."""
    return os.open(name, flags | _NO_WAIT)


def _require_regular(path: Path, mode: int) -> None:
    """Raise UserError for a folder, or for a pipe or device that is not open already."""
    if stat.S_ISDIR(mode):
        raise UserError(f"Cannot read '{path}': Is a directory.")
    if not stat.S_ISREG(mode) and not OPEN_ALREADY.fullmatch(str(path)):
        raise UserError(f"Cannot read '{path}': it is {kind_of(mode)}, not a file.")


def kind_of(mode: int) -> str:
    """The kind of a path that is no file, in words."""
    return next((name for test, name in _KINDS if test(mode)), "no plain file")


def _unreadable(path: Path, error: OSError | ValueError) -> UserError:
    """The error for a file that cannot be opened; ValueError is that of a name with a NUL."""
    why = error.strerror if isinstance(error, OSError) else None
    return UserError(f"Cannot read '{path}': {why or error}.")


def _too_large(name: str, most: int) -> UserError:
    return UserError(f"Cannot read '{name}': it has more than {most >> 20} MiB, the most that is "
                     "read.")


def require_file(path: Path) -> Path:
    """The path of a file that must exist; UserError if it does not, or is no file."""
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    _require_regular(path, status.st_mode)
    return path


def read_text(path: Path, most: int = MOST_SOURCE) -> str:
    """The text of a file in UTF-8; UserError if it cannot be read, UnicodeDecodeError if not text.

    Ends of lines become ``\\n``.
    """
    return io.TextIOWrapper(io.BytesIO(read_bytes(path, most)), encoding="utf-8").read()


def read_source(path: Path) -> Source:
    """The text of a source file; UserError if it cannot be read."""
    try:
        return Source(str(path), read_text(path))
    except UnicodeDecodeError:
        raise UserError(f"Cannot read '{path}': it is not a text file in UTF-8.") from None
