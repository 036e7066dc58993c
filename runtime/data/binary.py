"""Futhark's binary format: ``b``, version 2, rank, type name, sizes, elements.

The type name has four characters (`` i32``); sizes are u64; everything is little-endian.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from runelift.ir.base.array_limits import impossible
from runelift.ir.base.errors import UserError
from runelift.ir.prim import Prim
from runelift.runtime.data.text import Value, prim_of

VERSION = 2
_BLANKS = b" \t\r\n"
_START = re.compile(rb"[ \t\r\n]*b")


def is_binary(data: bytes | bytearray) -> bool:
    """Test whether the first value in ``data`` is in the binary format."""
    return _START.match(data) is not None


def read_binary(data: bytes | bytearray, name: str) -> Iterator[Value]:
    """The values in ``data``; ``name`` is for messages."""
    at = 0
    while True:
        while data[at : at + 1] and data[at] in _BLANKS:
            at += 1
        if at >= len(data):
            return
        value, at = _read_one(data, at, name)
        yield value


def _read_one(data: bytes | bytearray, at: int, name: str) -> tuple[Value, int]:
    def fail(what: str, offset: int) -> UserError:
        return UserError(f"{name}: byte {offset}: error[malformed-data]: {what}")

    if data[at : at + 1] != b"b":
        raise fail("Expected 'b', the start of a binary value.", at)
    if len(data) < at + 7:
        raise fail("The data ends within the header of a value.", len(data))
    version, rank = data[at + 1], data[at + 2]
    if version != VERSION:
        raise fail(f"Version {version} of the binary format; {VERSION} is supported.", at + 1)
    label = bytes(data[at + 3 : at + 7]).decode("latin-1").strip()
    if label not in {prim.value for prim in Prim}:
        raise fail(f"Unknown element type '{label}'.", at + 3)
    prim = Prim(label)
    start = at + 7 + 8 * rank
    if len(data) < start:
        raise fail("The data ends within the sizes of a value.", len(data))
    shape = struct.unpack_from(f"<{rank}Q", data, at + 7)
    count = math.prod(shape)
    end = start + count * prim.bytes
    if len(data) < end:
        raise fail(f"A value of {count} elements of type {prim} needs {end - start} bytes, but "
                   f"only {len(data) - start} are left.", start)
    if reason := impossible(shape, prim.bytes):
        raise fail(reason, at + 7)
    dtype = np.dtype(np.uint8) if prim is Prim.BOOL else prim.dtype.newbyteorder("<")
    flat = np.frombuffer(data, dtype, count, start)
    converted = flat != 0 if prim is Prim.BOOL else flat.astype(prim.dtype)
    return converted.reshape(shape)[()], end


def write_binary(value: Value, out: BinaryIO) -> None:
    """Write the value in the binary format."""
    array = np.asarray(value)
    prim = prim_of(array)
    out.write(struct.pack(f"<cBB4s{array.ndim}Q", b"b", VERSION, array.ndim,
                          prim.value.rjust(4).encode(), *array.shape))
    elements = np.ascontiguousarray(array, prim.dtype.newbyteorder("<"))
    out.write(elements.reshape(-1).view(np.uint8).data)
