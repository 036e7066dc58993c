"""Files of values: text, binary, both compressed with gzip, and NumPy's ``.npy`` and ``.npz``."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, cast
from zipfile import BadZipFile

import numpy as np

from runelift.ir.errors import UserError
from runelift.ir.prim import Prim
from runelift.ir.source import Source
from runelift.runtime.data.binary import is_binary, read_binary, write_binary
from runelift.runtime.data.text import Reader, Value, format_value, prim_of

_GZIP, _NPY, _ZIP = b"\x1f\x8b", b"\x93NUMPY", b"PK\x03\x04"


def load_values(path: Path, preferred: Sequence[Prim] = ()) -> list[Value]:
    """The values in a file, whatever its format; ``preferred`` as in :func:`read_values`."""
    return read_values(read_bytes(path), str(path), preferred)


def read_bytes(path: Path) -> bytes:
    """The bytes of a file; UserError if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"Cannot read '{path}': {error.strerror}.") from None


def read_values(data: bytes, name: str, preferred: Sequence[Prim] = ()) -> list[Value]:
    """The values in ``data``, whose format shows in its first bytes; ``name`` is for messages.

    ``preferred`` are the element types of the first values, for numbers in text without a suffix.
    """
    if data.startswith(_GZIP):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise UserError(f"{name}: error[malformed-data]: not a valid gzip file: {error}"
                            ) from None
    if data.startswith((_NPY, _ZIP)):
        return _read_numpy(data, name)
    if is_binary(data):
        return list(read_binary(data, name))
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise UserError(f"{name}: byte {error.start}: error[malformed-data]: neither text in "
                        f"UTF-8 nor binary values.") from None
    return list(Reader(Source(name, text)).values(preferred=preferred))


def _read_numpy(data: bytes, name: str) -> list[Value]:
    try:
        loaded = np.load(io.BytesIO(data), allow_pickle=False)
        arrays = [loaded] if isinstance(loaded, np.ndarray) else [loaded[k] for k in loaded.files]
    except (ValueError, OSError, EOFError, KeyError, BadZipFile) as error:
        raise UserError(f"{name}: error[malformed-data]: not a NumPy file of plain arrays: "
                        f"{error}") from None
    return [np.ascontiguousarray(a, prim_of(a).dtype).reshape(a.shape)[()] for a in arrays]


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
            out: BinaryIO = files.enter_context(path.open("wb"))
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
        raise UserError(f"Cannot write '{path}': {error.strerror}.") from None
