"""The values of literals."""

from __future__ import annotations

import re
import sys

from runelift.ir.base.errors import Diagnostic, ProgramError
from runelift.ir.base.numerals import numeral
from runelift.ir.base.source import Span
from runelift.ir.prim import Prim
from runelift.ir.types import Const

_SUFFIX = re.compile(r"([iu](?:8|16|32|64)|f16|f32|f64)$")
_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v",
            "\\": "\\", '"': '"', "'": "'", "&": "", "DEL": "\x7f"} | {
    name: chr(code) for code, name in enumerate((
        "NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL", "BS", "HT", "LF", "VT", "FF", "CR",
        "SO", "SI", "DLE", "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB",
        "ESC", "FS", "GS", "RS", "US", "SP"))}
"""Escapes for characters after a backslash, as in Haskell (2010 report, section 2.6)."""
_NAMES = "|".join(sorted((re.escape(name) for name in _ESCAPES), key=len, reverse=True))
_ESCAPE = re.compile(rf"\\(?:(\d+)|o([0-7]+)|x([0-9a-fA-F]+)|\^([@-_])|({_NAMES})|(\s+\\)|)")


def number(text: str, span: Span) -> tuple[int | float, Prim | None]:
    """The value of a number and the type that its suffix names, if it has one.

    With a suffix integers wrap and floats are rounded to that type, as in Futhark.
    """
    text = text.replace("_", "")
    suffix = None if re.match(r"0[xX]", text) and re.search(r"[fF]\d\d$", text) and (
        "p" not in text.lower()) else _SUFFIX.search(text)
    prim = Prim(suffix[1]) if suffix else None
    digits = text[: suffix.start()] if suffix else text
    value = _value(digits)
    if prim is None:
        return value, None
    return constant(value, prim).value, prim


def constant(value: int | float | bool, prim: Prim) -> Const:
    """A literal as a ``prim``: integers wrap, floats are rounded."""
    if prim is Prim.BOOL:
        return Const(bool(value), prim)
    if prim.is_float:
        return Const(prim.nearest(value), prim)
    wrapped = int(value) & ((1 << prim.bits) - 1)
    if prim.is_signed and wrapped > prim.greatest:
        wrapped -= 1 << prim.bits
    return Const(wrapped, prim)


def bounds_hint(prim: Prim) -> tuple[str, ...]:
    """A hint about the integers that a type has."""
    return (f"It has the numbers from {prim.least} to {prim.greatest}.",) if prim.is_int else ()


def beyond_suffix(span: Span, prim: Prim) -> Diagnostic | None:
    """The error that a decimal number does not fit the type of its suffix; None if it does."""
    written = re.fullmatch(r"([\d_]+)[iu]\d+", span.text)
    value = int(written[1].replace("_", "")) if written is not None else 0
    if not prim.is_int or value <= prim.greatest + prim.is_signed:  # -128i8 has a sign before it
        return None
    room = [str(each) for each in (Prim.U8, Prim.I16, Prim.U16, Prim.I32, Prim.U32, Prim.I64,
                                   Prim.U64) if value <= each.greatest and each.bits >= prim.bits]
    hints = (f"{' or '.join(room[:2])} has room.",) if room else bounds_hint(prim)
    return Diagnostic("literal-out-of-range", span, f"{value} does not fit {prim}.", hints=hints)


def _value(digits: str) -> int | float:
    lower = digits.lower()
    if lower.startswith("0r"):
        values = [_ROMAN[c] for c in digits[2:]]
        following = [*values[1:], 0]
        return sum(-v if v < n else v for v, n in zip(values, following, strict=True))
    return numeral(digits)


def character(text: str, span: Span) -> int:
    """The code point of ``'c'``."""
    return ord(_unescape(text[1:-1], span))


def string(text: str, span: Span) -> bytes:
    """The UTF-8 bytes of ``"text"``."""
    return _unescape(text[1:-1], span).encode()


def _unescape(text: str, span: Span) -> str:
    def replace(match: re.Match[str]) -> str:
        decimal, octal, hexadecimal, control, name, gap = match.groups()
        if gap:
            return ""
        if control:
            return chr(ord(control) - ord("@"))
        if name:
            return _ESCAPES[name]
        for digits, base in ((decimal, 10), (octal, 8), (hexadecimal, 16)):
            if digits and (code := int(digits, base)) <= sys.maxunicode:
                return chr(code)
        raise ProgramError(Diagnostic("syntax-error", span, "Unknown escape after a backslash.",
                                      hints=(r"There are \n, \t, \\, \", codes such as \65 and "
                                             r"\x41, and names such as \DEL.",)))

    return _ESCAPE.sub(replace, text)
