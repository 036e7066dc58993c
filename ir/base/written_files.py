"""Files that are written whole or not at all: a full disk or a kill leaves the old content.

All writing passes :class:`Written`, in which tests make any write fail.
"""

from __future__ import annotations

import io
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from runelift.ir.base.errors import UserError
from runelift.ir.base.files import kind_of

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

READABLE = 0o644
"""Files that users ask for are readable for all."""


class Written(io.FileIO):
    """A descriptor that is written to."""

    def write(self, content: ReadableBuffer, /) -> int:
        """Write the first bytes of a content; their number."""
        return super().write(content)


def buffered(descriptor: int) -> BinaryIO:
    """A file that writes to a descriptor, and closes it."""
    return io.BufferedWriter(Written(descriptor, "wb"))


@contextmanager
def replacing(path: Path, mode: int = READABLE) -> Iterator[BinaryIO]:
    """A new file, which replaces the file of this path in one step at the end.

    A link is replaced, not followed.  UserError if it cannot be written, or if the path is that of
    a device, a pipe or a folder.
    """
    try:
        refuse_special(path)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name[:64])
        try:
            with buffered(descriptor) as file:
                yield file
            os.chmod(temporary, mode)
            os.replace(temporary, path)
        except BaseException:  # Ctrl-C may come when the file has its new name already
            with suppress(OSError):
                os.unlink(temporary)
            raise
    except (OSError, ValueError) as error:
        raise unwritable(path, error) from None


def refuse_special(path: Path) -> None:
    """Raise UserError if the path is that of something else than a file."""
    with suppress(OSError, ValueError):
        if not stat.S_ISREG(mode := path.stat().st_mode):
            raise UserError(f"Cannot write '{path}': it is {kind_of(mode)}, not a file.")


def unwritable(path: Path, error: OSError | ValueError) -> UserError:
    """The error for a file that cannot be written; ValueError is that of a name with a NUL."""
    why = error.strerror if isinstance(error, OSError) else None
    return UserError(f"Cannot write '{path}': {why or error}.")


def write_atomically(path: Path, text: str, mode: int = READABLE) -> None:
    """Replace the content of a file in one step."""
    content = text.encode(errors="backslashreplace")  # names of files may have any bytes
    with replacing(path, mode) as file:
        file.write(content)


def open_to_append(path: Path) -> io.TextIOWrapper:
    """A file that is written at its end; OSError if it cannot be, UserError if it is no file.

    No link is followed.  Nothing waits for the reader of a pipe.
    """
    if path.is_symlink():
        raise UserError(f"Cannot write '{path}': it is a link, which is not followed.")
    refuse_special(path)
    flags = (os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
             | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    descriptor = os.open(path, flags, 0o666)
    if not stat.S_ISREG(mode := os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UserError(f"Cannot write '{path}': it is {kind_of(mode)}, not a file.")
    return io.TextIOWrapper(cast("io.BufferedWriter", buffered(descriptor)), "utf-8",
                            "backslashreplace")
