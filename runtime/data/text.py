"""Futhark's text syntax for values: ``1i32``, ``[[1f32, 2.5f32]]``, ``empty([2][0]i32)``.

A sequence of values is separated by blanks; ``--`` starts a comment.  An array's elements all
have the type of the first suffix in it; without a suffix integers are i32 and other numbers
f64.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any, NoReturn, TypeAlias

import numpy as np

from runelift.ir.base.array_limits import MOST_DIMENSIONS, impossible
from runelift.ir.base.errors import Code, Diagnostic, ProgramError, UserError
from runelift.ir.base.numerals import numeral
from runelift.ir.base.source import Source, Span
from runelift.ir.prim import FLOATS, Prim
from runelift.runtime.data.bulk_text import read_array

MOST_VALUES = 10_000
"""The most values of a text; no entry point has so many parameters."""
MOST_QUOTED = 20
"""The most characters of data that a message quotes."""

Value: TypeAlias = Any
"""A NumPy scalar or array whose dtype is that of a :class:`~runelift.ir.prim.Prim`."""

_NAMES = "|".join(prim.value for prim in Prim)
_SUFFIXES = "|".join(prim.value for prim in Prim if prim is not Prim.BOOL)
_FLOATS = "|".join(prim.value for prim in FLOATS)
_TOKEN = re.compile(rf"""
    (?P<blank>  (?: \s+ | --[^\n]* )+ )
  | (?P<special> -?(?P<module>{_FLOATS})\.(?P<which>nan|inf)\b )
  | (?P<number>
      (?P<digits> [+-]? (?: 0[xX][0-9a-fA-F_]+ (?: \.[0-9a-fA-F_]* )? (?: [pP][+-]?[0-9]+ )?
                        | 0[bB][01_]+
                        | [0-9][0-9_]* (?: \.[0-9_]* )? (?: [eE][+-]?[0-9_]+ )?
                        | \.[0-9][0-9_]* (?: [eE][+-]?[0-9_]+ )? ))
      (?P<suffix> {_SUFFIXES} )? (?![\w.]) )
  | (?P<bool>   (?: true | false )\b )
  | (?P<string> "(?: [^"\\\n] | \\. )*" )
  | (?P<empty>  empty\b )
  | (?P<type>   (?:{_NAMES})\b )
  | (?P<mark>   [\[\](),] )
""", re.VERBOSE)
_HEX_FLOAT_SUFFIX = re.compile(rf"(?<=[0-9a-fA-F])({_FLOATS})$")


EXACT_HALVES = 512
"""From this number on, an f16 is a multiple of a half, and is written with all its digits."""


@dataclass(frozen=True, slots=True)
class Spec:
    """The type of an array or (with no shape) scalar: ``[2][3]f32``."""

    shape: tuple[int, ...]
    prim: Prim

    def __str__(self) -> str:
        return "".join(f"[{n}]" for n in self.shape) + self.prim.value


@dataclass(frozen=True, slots=True)
class _Number:
    """A number before its type is known."""

    value: int | float | bool
    prim: Prim | None
    at: int


class Reader:
    """Reads values from ``source`` between ``position`` and ``end``.

    ``text`` may be given when it differs from the text of ``source``, position by position (a
    test block, whose comment marks are blanked out).
    """

    def __init__(self, source: Source, position: int = 0, end: int | None = None,
                 text: str | None = None) -> None:
        self.source = source
        self.position = position
        self._text = source.text if text is None else text
        self._end = len(self._text) if end is None else end

    def fail(self, message: str, at: int | None = None, hint: str = "",
             code: Code = "malformed-data") -> NoReturn:
        """Raise an error at ``at``, or at the current position."""
        start = self.position if at is None else at
        span = Span(self.source, start, min(start + 1, self._end))
        raise ProgramError(Diagnostic(code, span, message, hints=(hint,) if hint else ()))

    def skip_blanks(self) -> None:
        """Go to the next character that is neither blank nor in a comment."""
        match = _TOKEN.match(self._text, self.position, self._end)
        if match and match.lastgroup == "blank":
            self.position = match.end()

    def at_end(self) -> bool:
        """Test whether only blanks are left."""
        self.skip_blanks()
        return self.position >= self._end

    def looking_at(self, text: str) -> bool:
        """Test whether ``text`` comes next after blanks."""
        self.skip_blanks()
        return self._text.startswith(text, self.position, self._end)

    def accept(self, text: str) -> bool:
        """Skip ``text`` if it comes next."""
        found = self.looking_at(text)
        if found:
            self.position += len(text)
        return found

    def expect(self, text: str) -> None:
        """Skip ``text``, which must come next."""
        if not self.accept(text):
            self.fail(f"Expected '{text}'{self._found()}.")

    def values(self, stop: str = "", preferred: Sequence[Prim] = ()) -> Iterator[Value]:
        """All values up to ``stop`` (which is not skipped) or the end.

        ``preferred`` are the types of the first values where the text leaves them open.
        """
        for number, each in enumerate(chain(preferred, repeat(None))):
            if number > MOST_VALUES:
                self.fail(f"There are more than {MOST_VALUES} values.",
                          hint="The elements of an array stand in brackets: [1, 2].")
            if self.at_end() or (stop and self.looking_at(stop)):
                return
            yield self.value(each)

    def value(self, preferred: Prim | None = None) -> Value:
        """One value; numbers without a suffix are ``preferred`` if they can be."""
        token = self._peek()
        start = self.position
        match token and token["mark"], token and token.lastgroup:
            case "[", _:
                return self._array(preferred)
            case _, "empty":
                self.position += len("empty")
                self.expect("(")
                spec = self.spec()
                self.expect(")")
                if reason := impossible(spec.shape, spec.prim.bytes):
                    self.fail(reason, start)
                if 0 not in spec.shape:
                    self.fail(f"An empty array needs a size that is 0, but its type is {spec}.",
                              start)
                return np.zeros(spec.shape, spec.prim.dtype)
            case _, "string":
                assert token
                self.position = token.end()
                return np.frombuffer(_unescape(token["string"][1:-1]), np.uint8).copy()
        number = self._number()
        return self._convert(number, number.prim or _natural([number.value], preferred))[()]

    def spec(self) -> Spec:
        """A type with known sizes, such as ``[2][3]f32``."""
        shape = []
        while self.accept("["):
            self.skip_blanks()
            match = re.compile(r"\d[\d_]*(i64)?").match(self._text, self.position, self._end)
            if not match:
                self.fail(f"Expected a size{self._found()}.")
            shape.append(int(numeral(match[0].removesuffix("i64").replace("_", ""))))
            self.position = match.end()
            self.expect("]")
        token = self._peek()
        if not token or token.lastgroup != "type":
            self.fail(f"Expected a primitive type{self._found()}.",
                      hint="The types are " + ", ".join(prim.value for prim in Prim) + ".")
        self.position = token.end()
        return Spec(tuple(shape), Prim(token["type"]))

    def spec_or_value(self) -> Spec | Value:
        """A type, which stands for a random value, or a value."""
        start = self.position
        self.skip_blanks()
        if re.compile(rf"(?:\[\s*\d[\d_]*(?:i64)?\s*\]\s*)*(?:{_NAMES})(?![\w.])").match(
                self._text, self.position, self._end):
            return self.spec()
        self.position = start
        return self.value()

    def _peek(self) -> re.Match[str] | None:
        self.skip_blanks()
        return _TOKEN.match(self._text, self.position, self._end)

    def _found(self) -> str:
        self.skip_blanks()
        until = min(self._end, self.position + MOST_QUOTED)
        rest = self._text[self.position:until].split(maxsplit=1)
        return f", but found '{rest[0]}'" if rest else ", but the data ends here"

    def _number(self) -> _Number:
        token = self._peek()
        if token is None:
            self.fail(f"Expected a value{self._found()}.")
        at, self.position = self.position, token.end()
        if token["bool"]:
            return _Number(token["bool"] == "true", Prim.BOOL, at)
        if token["special"]:
            sign = -1.0 if token["special"][0] == "-" else 1.0
            return _Number(sign * float(token["which"]), Prim(token["module"]), at)
        if not token["number"]:
            self.position = at
            self.fail(f"Expected a value{self._found()}.")
        digits, suffix = token["digits"].replace("_", ""), token["suffix"]
        if not suffix and digits.lower().lstrip("+-").startswith("0x") and "p" in digits.lower():
            digits, suffix = _split_hex_float(digits)
        try:
            return _Number(numeral(digits), Prim(suffix) if suffix else None, at)
        except ValueError:
            self.fail(f"'{token['number'][:MOST_QUOTED]}' is not a number.", at)

    def _array(self, preferred: Prim | None) -> Value:
        """A nested array literal, read into one flat list of numbers and a shape."""
        start = self.position
        if found := read_array(self._text, start, self._end, preferred):
            array, self.position = found
            return array
        shape, numbers = self._elements()
        prim = next((n.prim for n in numbers if n.prim), None) or _natural(
            [n.value for n in numbers], preferred)
        if not numbers and preferred is None:
            self.fail("The type of an empty array is unknown.", start,
                      hint="Write it as 'empty([0]i32)'; random data have sizes, as in [100]i32.")
        with np.errstate(over="ignore"):
            flat = np.array([self._fitting(number, prim) for number in numbers], prim.dtype)
        return flat.reshape(shape)

    def _elements(self, depth: int = 1) -> tuple[tuple[int, ...], list[_Number]]:
        if depth > MOST_DIMENSIONS:
            self.fail(f"An array has at most {MOST_DIMENSIONS} dimensions.")
        self.expect("[")
        rows: tuple[int, ...] | None = None
        count, numbers = 0, list[_Number]()
        while not self.accept("]"):
            if count:
                self.expect(",")
                if self.accept("]"):
                    break
            start = self.position
            if self.looking_at("["):
                inner, inside = self._elements(depth + 1)
                numbers += inside
            else:
                inner = ()
                numbers.append(self._number())
            if rows is not None and inner != rows:
                self.fail(f"Element {count} has shape {_shape_text(inner)}, but the elements "
                          f"before it have shape {_shape_text(rows)}.", start,
                          hint="Arrays are regular: all rows have the same length.")
            rows = inner
            count += 1
        return (count, *(rows or ())), numbers

    def _fitting(self, number: _Number, prim: Prim) -> int | float | bool:
        """The value of ``number`` as an element of type ``prim``, if it can be one.

        A number with a suffix is taken modulo the range of its type, as in Futhark: ``255i8`` is
        -1.  So is a negative number of an unsigned type, whose suffix may be another element's.
        """
        if number.prim is not None and number.prim is not prim:
            self.fail(f"An element of type {number.prim} in an array of {prim}.", number.at)
        if isinstance(number.value, bool) != (prim is Prim.BOOL):
            self.fail(f"This element is not of type {prim}, as those before it.", number.at)
        if prim.is_int:
            if isinstance(number.value, float):
                self.fail(f"This number is not a whole number, as {prim} needs.", number.at)
            wraps = abs(number.value) < 1 << 64 if number.prim is not None else (
                prim.is_unsigned and -prim.greatest <= number.value < 0)
            if wraps:
                return (number.value - int(prim.least)) % (1 << prim.bits) + int(prim.least)
            if not prim.least <= number.value <= prim.greatest:
                self.fail(f"The number does not fit in {prim}.", number.at)
        if prim.is_int or prim is Prim.BOOL:
            return number.value
        negative = self._text.startswith("-", number.at)
        return _rounded(-0.0 if negative and not number.value else number.value, prim)

    def _convert(self, number: _Number, prim: Prim) -> Value:
        with np.errstate(over="ignore"):
            return np.array(self._fitting(number, prim), prim.dtype)


def _natural(values: Sequence[int | float | bool], preferred: Prim | None) -> Prim:
    """The type of numbers without a suffix: ``preferred`` if they can have it."""
    if values and isinstance(values[0], bool):
        return Prim.BOOL
    whole = not any(isinstance(value, float) for value in values)
    if preferred is not None and (preferred.is_float or (whole and preferred.is_int)):
        return preferred
    return Prim.I32 if whole else Prim.F64


def _split_hex_float(digits: str) -> tuple[str, str | None]:
    match = _HEX_FLOAT_SUFFIX.search(digits)
    return (digits[: match.start()], match[1]) if match else (digits, None)


def _rounded(value: int | float, prim: Prim) -> float:
    """The nearest number of a floating-point type; infinity above all of them."""
    try:
        return prim.nearest(float(value))
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _unescape(text: str) -> bytes:
    escapes = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
    return re.sub(r"\\(.)", lambda m: escapes.get(m[1], m[1]), text).encode()


def _shape_text(shape: tuple[int, ...]) -> str:
    return "".join(f"[{n}]" for n in shape) or "[] (a scalar)"


# Writing


def format_value(value: Value) -> str:
    """The value in text syntax, such that reading it gives the same value.

    >>> format_value(np.array([[1.0, float("inf")]], np.float32))
    '[[1.0f32, f32.inf]]'
    """
    array = np.asarray(value)
    prim = prim_of(array)
    if array.ndim and array.size == 0:
        return f"empty({Spec(array.shape, prim)})"
    return _render(array, prim)


def _render(array: Value, prim: Prim) -> str:
    if array.ndim == 0:
        return _scalar(array[()], prim)
    if array.ndim > 1:
        return "[" + ", ".join(_render(row, prim) for row in array) + "]"
    if prim.is_int:
        return "[" + ", ".join(f"{x}{prim.value}" for x in array.tolist()) + "]"
    return "[" + ", ".join(_scalar(x, prim) for x in array) + "]"


def _scalar(value: Value, prim: Prim) -> str:
    if prim is Prim.BOOL:
        return "true" if value else "false"
    if prim.is_float and not math.isfinite(value):
        text = "nan" if math.isnan(value) else "inf"
        return ("-" if value < 0 else "") + f"{prim.value}.{text}"
    # NumPy writes an f16 from 1000 on with an exponent, and with fewer digits than it has
    exact = prim is Prim.F16 and abs(value) >= EXACT_HALVES
    return f"{float(value) if exact else value!s}{prim.value}"


def as_lists(value: Value) -> Any:
    """A value as JSON has it: lists of numbers; ``nan``, ``inf`` and ``-inf`` are strings there."""
    array = np.asarray(value)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        array = np.where(np.isfinite(array), array.astype(object), array.astype(str))
    return array.tolist()


def prim_of(value: Value) -> Prim:
    """The primitive type of a value's elements; UserError if there is none for its dtype."""
    dtype = np.asarray(value).dtype
    for prim in Prim:
        if dtype.newbyteorder("=") == prim.dtype:
            return prim
    raise UserError(f"Arrays of NumPy type '{dtype}' are not supported.  The types are "
                    + ", ".join(prim.value for prim in Prim) + ".")


def type_of(value: Value) -> Spec:
    """The type of a value with its sizes."""
    return Spec(np.shape(value), prim_of(value))
