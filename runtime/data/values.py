"""Files of values: text, binary, both compressed with gzip, and NumPy's ``.npy`` and ``.npz``."""

from __future__ import annotations

import codecs
import gzip
import io
import struct
import sys
import zlib
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from runelift.ir.base.errors import UserError
from runelift.ir.base.files import most_bytes, read_bytes, read_stream
from runelift.ir.base.source import Source
from runelift.ir.base.written_files import replacing, unwritable
from runelift.ir.prim import Prim
from runelift.runtime.data.binary import is_binary, read_binary, write_binary
from runelift.runtime.data.text import Reader, Value, format_value

_GZIP, NPY, ZIP = b"\x1f\x8b", np.lib.format.MAGIC_PREFIX, b"PK\x03\x04"
"""The first bytes of packed data, and of NumPy's two formats."""
MOST_UNPACKED = 256 << 20
"""The most bytes that a small file of compressed data unpacks to: few bytes can claim very many."""
MOST_TIMES = 8
"""Large files unpack to at most so many times their size."""


def load_values(path: Path, preferred: Sequence[Prim] = ()) -> list[Value]:
    """The values in a file, whatever its format; ``preferred`` as in :func:`read_values`."""
    return read_values(read_bytes(path, check=partial(_check_start, str(path))), str(path),
                       preferred)


def read_stdin(preferred: Sequence[Prim]) -> list[Value]:
    """The values on standard input; ``preferred`` as in :func:`read_values`."""
    name = "<standard input>"
    return read_values(read_stream(sys.stdin.buffer, name, most_bytes(),
                                   partial(_check_start, name)), name, preferred)


def _check_start(name: str, start: bytes) -> None:
    """UserError if the first bytes of data are of no format that there is."""
    if start.startswith((_GZIP, NPY, ZIP)) or is_binary(start):
        return
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
        at = start.find(0)
    except UnicodeDecodeError as error:
        at = error.start
    if at >= 0:
        raise UserError(f"{name}: byte {at}: error[malformed-data]: neither text in UTF-8 nor "
                        f"binary values.")


def read_values(data: bytes | bytearray, name: str, preferred: Sequence[Prim] = ()
                ) -> list[Value]:
    """The values in ``data``, whose format shows in its first bytes; ``name`` is for messages.

    ``preferred`` are the element types of the first values, for numbers in text without a suffix.
    """
    if data.startswith(_GZIP):
        data = _unpacked(data, name)
    if data.startswith((NPY, ZIP)):
        # late: most data are text, and archives need many modules
        from runelift.runtime.data.numpy_files import read_npy, read_npz

        return ([read_npy(data, name)] if data.startswith(NPY) else
                list(read_npz(data, name, _most_unpacked(data))))
    if is_binary(data):
        return list(read_binary(data, name))
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise UserError(f"{name}: byte {error.start}: error[malformed-data]: neither text in "
                        f"UTF-8 nor binary values.") from None
    return list(Reader(Source(name, text)).values(preferred=preferred))


def _most_unpacked(data: bytes | bytearray) -> int:
    """The most bytes that packed data may unpack to."""
    return min(max(MOST_UNPACKED, MOST_TIMES * len(data)), most_bytes())


def _unpacked(data: bytes | bytearray, name: str) -> bytearray:
    """The content of gzip data; UserError if it is damaged or too large.

    A user who trusts the content unpacks it before.
    """
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            return read_stream(cast("BinaryIO", file), f"{name} (unpacked; use gunzip before)",
                               _most_unpacked(data), partial(_check_start, name))
    except (OSError, EOFError, zlib.error, struct.error) as error:
        raise UserError(f"{name}: error[malformed-data]: not a valid gzip file: {error}"
                        ) from None


def write_values(values: Iterable[Value], out: BinaryIO, binary: bool = False) -> None:
    """Write the values in text or binary."""
    for value in values:
        if binary:
            write_binary(value, out)
        else:
            out.write(format_value(np.asarray(value)).encode() + b"\n")


def format_values(values: Iterable[Value], binary: bool = False) -> bytes:
    """The bytes that :func:`write_values` writes."""
    out = io.BytesIO()
    write_values(values, out, binary)
    return out.getvalue()


def save_values(path: Path, values: Iterable[Value]) -> None:
    """Write values in the format that the name asks for.

    ``.npy`` and ``.npz`` are NumPy's, ``.in``, ``.out`` and ``.txt`` text, everything else
    binary; ``.gz`` after that compresses.
    """
    kept = list(values)
    suffixes = path.suffixes[-2:]
    packed = suffixes[-1:] == [".gz"]
    kind = (suffixes[:-1] if packed else suffixes)[-1:]
    if kind == [".npy"] and len(kept) != 1:
        raise UserError(f"'{path}': a .npy file holds one value, not {len(kept)}.")
    try:
        with ExitStack() as files:
            special = path.exists() and not path.is_file()  # a pipe, or what is open already
            out: BinaryIO = files.enter_context(path.open("wb") if special else replacing(
                path.resolve()))
            if packed:
                out = files.enter_context(cast("BinaryIO", gzip.GzipFile("", "wb", fileobj=out,
                                                                         mtime=0)))
            if kind == [".npz"]:
                archive = io.BytesIO()  # its writer seeks back, which not all files can
                np.savez(archive, *kept)
                out.write(archive.getbuffer())
            elif kind == [".npy"]:
                np.save(out, np.asarray(kept[0]))
            else:
                write_values(kept, out, kind not in ([".in"], [".out"], [".txt"]))
    except OSError as error:
        raise unwritable(path, error) from None
