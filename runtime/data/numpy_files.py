"""Arrays from NumPy's ``.npy`` and ``.npz``, read without trust in what their headers claim.

Source: NumPy Enhancement Proposal 1, for the format of ``.npy``.
"""

from __future__ import annotations

import ast
import io
import math
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, NoReturn, cast

import numpy as np

from runelift.ir.base.array_limits import impossible
from runelift.ir.base.errors import UserError
from runelift.ir.base.files import read_stream
from runelift.runtime.data.text import Value, prim_of

NPY = np.lib.format.MAGIC_PREFIX
"""The first bytes of the format."""
MOST_HEADER = 10_000
"""The most bytes of a header; that of a plain array has about 100."""
_LENGTH_BYTES = {1: 2, 2: 4, 3: 4}
"""The bytes of the header's length by version of the format."""
_MAGIC = len(NPY) + 2


def read_npy(data: bytes | bytearray | memoryview, name: str) -> Value:
    """The array in the bytes of a ``.npy`` file; ``name`` is for messages."""
    view = memoryview(data)
    if bytes(view[:len(NPY)]) != NPY or len(view) < _MAGIC:
        _fail(name, "it does not begin as one")
    version = view[len(NPY)]
    if version not in _LENGTH_BYTES:
        _fail(name, f"version {version} of the format is not known")
    start = _MAGIC + _LENGTH_BYTES[version]
    length = int.from_bytes(view[_MAGIC:start], "little")
    if length > MOST_HEADER or len(view) < start + length:
        _fail(name, "its header is cut short or too long")
    shape, fortran, dtype = _header(bytes(view[start:start + length]), version, name)
    prim = prim_of(np.empty(0, dtype))
    if reason := impossible(shape, dtype.itemsize):
        _fail(name, reason)
    content, needed = view[start + length:], math.prod(shape) * dtype.itemsize
    if len(content) < needed:
        _fail(name, f"an array of shape {list(shape)} needs {needed} bytes, but only "
                    f"{len(content)} are left")
    flat = np.frombuffer(content, dtype if dtype.kind != "b" else np.uint8, math.prod(shape))
    if dtype.kind == "b":
        flat = flat != 0
    array = flat.reshape(shape, order="F" if fortran else "C")
    return np.array(array, prim.dtype, order="C", copy=True)[()]


def _header(raw: bytes, version: int, name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """The shape, the order (True if Fortran's) and the type of elements."""
    try:
        found = ast.literal_eval(raw.decode("utf-8" if version == 3 else "latin-1").strip())
        descr, fortran, shape = found["descr"], found["fortran_order"], found["shape"]
    except (ValueError, SyntaxError, TypeError, KeyError, IndexError, RecursionError, MemoryError):
        _fail(name, "its header is not a dictionary of 'descr', 'fortran_order' and 'shape'")
    if not isinstance(shape, tuple) or not all(type(n) is int and n >= 0 for n in shape):
        _fail(name, "its shape is not a tuple of sizes")
    if not isinstance(fortran, bool):
        _fail(name, "'fortran_order' is neither True nor False")
    if not isinstance(descr, str):
        _fail(name, "its elements have fields; only plain numbers are supported")
    try:
        dtype = np.dtype(descr)
    except (TypeError, ValueError, SyntaxError):
        _fail(name, "the type of its elements is not known")
    if dtype.hasobject:
        _fail(name, "its elements are pickled Python objects, which are not read")
    return shape, fortran, dtype


def read_npz(data: bytes | bytearray, name: str, most: int) -> Iterator[Value]:
    """The arrays of a ``.npz`` file, in order; all together unpack to at most ``most`` bytes."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for member in archive.infolist():
                where = f"{name}: {member.filename[:80]}"
                if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    _fail(where, "NumPy does not compress in this way")  # few bytes unpack at once
                with archive.open(member) as file:
                    content = read_stream(cast("BinaryIO", file), where, max(most, 0))
                most -= len(content)
                yield read_npy(content, where)
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, KeyError, IndexError,
            NotImplementedError, RuntimeError, OverflowError, ImportError) as error:
        _fail(name, str(error) or "it is damaged")
    except Exception as error:  # struct.error, and those of other compressions
        if type(error).__name__ not in ("error", "LZMAError"):
            raise
        _fail(name, str(error))


def _fail(name: str, what: str) -> NoReturn:
    raise UserError(f"{name}: error[malformed-data]: not a NumPy file of plain arrays: {what}."
                    .replace("..", ".")) from None
