"""Values in Futhark's text and binary formats, and in NumPy files."""

from __future__ import annotations

import gzip
import io
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from runelift.ir.errors import UserError
from runelift.ir.prim import Prim

_TOKEN = re.compile(
    r"\s+|--[^\n]*|(?P<punct>[\[\],()])|(?P<empty>empty)\b|(?P<bool>true|false)\b"
    r"|(?P<string>\"(?:\\.|[^\"\\])*\")"
    r"|(?P<special>-?f(?:32|64)\.(?:nan|inf))|(?P<type>(?:[iu](?:8|16|32|64)|f32|f64|bool)\b)"
    r"|(?P<number>-?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)"
    r"(?P<suffix>[iu](?:8|16|32|64)|f32|f64)?)")


def read_values(data: bytes, name: str) -> list[Any]:
    """The values in ``data``; UserError with line and column where it is malformed.

    ``name`` is for messages.  The format is recognised: gzip, NumPy, Futhark's binary or text.
    """
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError) as error:
            raise UserError(f"{name}: the compressed data is damaged: {error}.") from None
    if data[:6] == b"\x93NUMPY" or data[:4] == b"PK\x03\x04":
        return _read_numpy(data, name)
    if re.match(rb"\s*b[\x01\x02]", data):
        return _read_binary(data, name)
    try:
        return _Text(data.decode(), name).values()
    except UnicodeDecodeError:
        raise UserError(f"{name}: neither text nor binary values.") from None


def read_file(path: Path) -> list[Any]:
    """The values in a file."""
    try:
        return read_values(path.read_bytes(), str(path))
    except OSError as error:
        raise UserError(f"Cannot read '{path}': {error.strerror}.") from None


def _read_numpy(data: bytes, name: str) -> list[Any]:
    try:
        loaded = np.load(io.BytesIO(data), allow_pickle=False)
        arrays = [loaded[k] for k in loaded.files] if hasattr(loaded, "files") else [loaded]
    except (ValueError, OSError, EOFError) as error:
        raise UserError(f"{name}: damaged NumPy data: {error}.") from None
    for array in arrays:
        if not any(p.dtype == array.dtype for p in Prim):
            raise UserError(f"{name}: arrays of {array.dtype} are not supported.")
    return [a if a.ndim else a[()] for a in arrays]


def _read_binary(data: bytes, name: str) -> list[Any]:
    values: list[Any] = []
    place = 0
    while place < len(data):
        if data[place : place + 1].isspace():
            place += 1
            continue
        try:
            if data[place : place + 1] != b"b" or data[place + 1] not in (1, 2):
                raise UserError(f"{name}: byte {place}: not the start of a binary value.")
            rank = data[place + 2]
            prim = Prim(data[place + 3 : place + 7].decode().strip())
            shape = struct.unpack_from(f"<{rank}Q", data, place + 7)
            start = place + 7 + 8 * rank
            count = int(np.prod(shape, dtype=np.int64))
            array = np.frombuffer(data, prim.dtype.newbyteorder("<"), count, start)
        except (IndexError, struct.error, ValueError):
            raise UserError(f"{name}: byte {place}: the binary value is cut off "
                            "or malformed.") from None
        place = start + count * prim.bytes
        values.append(array.astype(prim.dtype).reshape(shape) if rank else array[0])
    return values


class _Text:
    """Reads the text format by recursive descent."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self.tokens = list(self._tokens())
        self.place = 0

    def _tokens(self) -> Iterator[tuple[str, re.Match[str]]]:
        at = 0
        while at < len(self.text):
            match = _TOKEN.match(self.text, at)
            if match is None:
                raise self._error(at, f"unexpected '{self.text[at]}'")
            at = match.end()
            kind = match.lastgroup
            if kind == "suffix":
                kind = "number"
            if kind is not None:
                yield kind, match

    def _error(self, at: int, why: str) -> UserError:
        line = self.text.count("\n", 0, at) + 1
        column = at - self.text.rfind("\n", 0, at)
        return UserError(f"{self.name}:{line}:{column}: {why}.")

    def values(self) -> list[Any]:
        found = []
        while self.place < len(self.tokens):
            found.append(self._value())
        return found

    def _peek(self) -> str:
        return self.tokens[self.place][1].group() if self.place < len(self.tokens) else ""

    def _next(self) -> tuple[str, re.Match[str]]:
        if self.place == len(self.tokens):
            raise self._error(len(self.text.rstrip()), "the value ends too early")
        self.place += 1
        return self.tokens[self.place - 1]

    def _expect(self, text: str) -> None:
        _, match = self._next()
        if match.group() != text:
            raise self._error(match.start(), f"expected '{text}', found '{match.group()}'")

    def _value(self) -> Any:
        at = self.tokens[self.place][1].start()
        item, prim = self._item()
        if isinstance(item, list):
            prim = prim or Prim.I32
            try:
                return np.array(item, prim.dtype)
            except (ValueError, OverflowError):
                raise self._error(at, "the rows of the array differ in length, or a number "
                                  f"does not fit in {prim}") from None
        if isinstance(item, np.ndarray):
            return item
        try:
            return np.array(item, (prim or Prim.I32).dtype)[()]
        except OverflowError:
            raise self._error(at, f"the number does not fit in {prim or Prim.I32}") from None

    def _item(self) -> tuple[Any, Prim | None]:
        kind, match = self._next()
        text = match.group()
        if text == "[":
            return self._array(match)
        if kind == "bool":
            return text == "true", Prim.BOOL
        if kind == "string":
            return np.frombuffer(text[1:-1].encode(), np.uint8), Prim.U8
        if kind == "empty":
            return self._empty(), None
        if kind == "special":
            number, _, what = text.lstrip("-").partition(".")
            value = float(what)
            return -value if text[0] == "-" else value, Prim(number)
        if kind == "number":
            return self._number(match)
        raise self._error(match.start(), f"expected a value, found '{text}'")

    def _number(self, match: re.Match[str]) -> tuple[int | float, Prim]:
        suffix = match["suffix"]
        digits = match.group()[: len(match.group()) - len(suffix or "")].replace("_", "")
        is_float = re.search(r"[.eE]", digits) and not digits.lower().lstrip("-").startswith("0x")
        prim = Prim(suffix) if suffix else Prim.F64 if is_float else Prim.I32
        if is_float and prim.is_int:
            raise self._error(match.start(), f"'{match.group()}' is no integer")
        value = float(digits) if prim.is_float else int(digits, 0) if (
            digits.lower().lstrip("-")[:2] in ("0x", "0b")) else int(digits)
        return value, prim

    def _array(self, start: re.Match[str]) -> tuple[Any, Prim | None]:
        items: list[Any] = []
        prim: Prim | None = None
        while self._peek() != "]":
            if items:
                self._expect(",")
                if self._peek() == "]":
                    break
            item, found = self._item()
            prim = prim or found
            if found is not None and found is not prim:
                raise self._error(start.start(), f"the array holds both {prim} and {found}")
            items.append(item)
        self._next()
        if items and isinstance(items[0], np.ndarray):
            return np.array(items), prim
        return items, prim

    def _empty(self) -> Any:
        self._expect("(")
        shape: list[int] = []
        while self._peek() == "[":
            self._next()
            shape.append(int(self._next()[1].group()))
            self._expect("]")
        kind, match = self._next()
        if kind != "type":
            raise self._error(match.start(), "expected an element type")
        self._expect(")")
        if 0 not in shape:
            raise self._error(match.start(), "an empty array needs a dimension of size 0")
        return np.zeros(shape, Prim(match.group()).dtype)


# Writing


def write_text(value: Any) -> str:
    """A value in the text format."""
    array = np.asarray(value)
    prim = next(p for p in Prim if p.dtype == array.dtype)
    if array.ndim and array.size == 0:
        shape = "".join(f"[{n}]" for n in array.shape)
        return f"empty({shape}{prim.value})"
    return _write(array, prim)


def _write(array: Any, prim: Prim) -> str:
    if array.ndim:
        return "[" + ", ".join(_write(row, prim) for row in array) + "]"
    if prim is Prim.BOOL:
        return "true" if array else "false"
    if prim.is_float:
        if np.isnan(array):
            return f"{prim.value}.nan"
        if np.isinf(array):
            return f"{'-' if array < 0 else ''}{prim.value}.inf"
        return f"{array[()]!s}{prim.value}"
    return f"{int(array)}{prim.value}"


def write_binary(value: Any) -> bytes:
    """A value in the binary format, version 2."""
    array = np.asarray(value)
    prim = next(p for p in Prim if p.dtype == array.dtype)
    header = b"b" + bytes([2, array.ndim]) + f"{prim.value:>4}".encode()
    shape = struct.pack(f"<{array.ndim}Q", *array.shape)
    return header + shape + array.astype(prim.dtype.newbyteorder("<")).tobytes()


# Comparison


def mismatch(found: Any, expected: Any) -> str | None:
    """How a result differs from the expected one; None if it is the same within tolerance.

    Integers must be equal; floats differ by at most 0.002 relative to the expected value (and
    that much absolutely near 0), as ``futhark test`` has it.
    """
    found, expected = np.asarray(found), np.asarray(expected)
    if found.dtype != expected.dtype:
        return f"expected elements of {expected.dtype}, found {found.dtype}"
    if found.shape != expected.shape:
        return f"expected shape {list(expected.shape)}, found {list(found.shape)}"
    if found.dtype.kind == "f":
        with np.errstate(all="ignore"):
            bound = 0.002 * np.maximum(1, np.abs(expected))
            close = np.abs(found - expected) <= bound
        same = close | (found == expected) | (np.isnan(found) & np.isnan(expected))
    else:
        same = found == expected
    if np.all(same):
        return None
    where = tuple(int(i) for i in np.argwhere(~np.atleast_1d(same))[0])
    place = f"at {list(where)} " if found.ndim else ""
    return (f"{place}expected {np.atleast_1d(expected)[where]}, "
            f"found {np.atleast_1d(found)[where]}")


# Generation


_SPEC = re.compile(r"((?:\[\d+\])*)(i8|i16|i32|i64|u8|u16|u32|u64|f32|f64|bool)")


def generate(spec: str, rng: np.random.Generator,
             bounds: dict[Prim, tuple[float, float]] | None = None) -> Any:
    """A random value of a type such as ``[10][20]f32``, or the literal that ``spec`` is.

    Integers are drawn from all of their range, floats from [0, 1), unless ``bounds`` says
    otherwise.
    """
    match = _SPEC.fullmatch(spec)
    if match is None:
        (value,) = read_values(spec.encode(), "<literal>")
        return value
    shape = tuple(int(n) for n in re.findall(r"\d+", match[1]))
    prim = Prim(match[2])
    if prim is Prim.BOOL:
        value = rng.integers(0, 2, shape).astype(bool)
    elif prim.is_float:
        low, high = (bounds or {}).get(prim, (0.0, 1.0))
        value = (low + (high - low) * rng.random(shape)).astype(prim.dtype)
    else:
        low, high = (bounds or {}).get(prim, (prim.least, prim.greatest))
        value = rng.integers(int(low), int(high), shape, prim.dtype, endpoint=True)
    return value if shape else prim.dtype.type(value)
