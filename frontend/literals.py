"""The values of literals."""

from __future__ import annotations

import re

from runelift.ir.errors import Diagnostic, ProgramError
from runelift.ir.prim import Prim
from runelift.ir.source import Span

_SUFFIX = re.compile(r"([iu](?:8|16|32|64)|f16|f32|f64)$")
_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "f": "\f",
            "v": "\v", "\\": "\\", '"': '"', "'": "'"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]+|x[0-9a-fA-F]+|\d+|.)")


def number(text: str, span: Span) -> tuple[int | float, Prim | None]:
    """The value of a number and the type that its suffix names, if it has one."""
    text = text.replace("_", "")
    suffix = None if re.match(r"0[xX]", text) and re.search(r"[fF]\d\d$", text) and (
        "p" not in text.lower()) else _SUFFIX.search(text)
    if suffix and suffix[1] == "f16":
        raise ProgramError(Diagnostic("unsupported-feature", span,
                                      "Runelift has no 16-bit floats (f16).",
                                      hints=("Use f32.",)))
    prim = Prim(suffix[1]) if suffix else None
    digits = text[: suffix.start()] if suffix else text
    value = _value(digits)
    if prim is not None and prim.is_float:
        value = float(value)
    if prim is not None and prim.is_int and not int(prim.least) <= value <= 2 ** prim.bits - 1:
        raise ProgramError(Diagnostic("literal-out-of-range", span,
                                      f"{digits} is out of bounds for type {prim}.",
                                      hints=bounds_hint(prim)))
    if prim is not None and prim.is_signed and value > prim.greatest:
        value = int(value) - 2 ** prim.bits
    return value, prim


def bounds_hint(prim: Prim) -> tuple[str, ...]:
    """Which integers a type has."""
    return (f"It has the numbers from {prim.least} to {prim.greatest}.",) if prim.is_int else ()


def _value(digits: str) -> int | float:
    lower = digits.lower()
    if lower.startswith("0x"):
        return float.fromhex(digits) if "p" in lower else int(digits, 16)
    if lower.startswith("0b"):
        return int(digits, 2)
    if lower.startswith("0r"):
        values = [_ROMAN[c] for c in digits[2:].upper()]
        following = [*values[1:], 0]
        return sum(-v if v < n else v for v, n in zip(values, following, strict=True))
    return float(digits) if re.search(r"[.e]", lower) else int(digits)


def character(text: str) -> int:
    """The code point of ``'c'``."""
    return ord(_unescape(text[1:-1]))


def string(text: str) -> bytes:
    """The UTF-8 bytes of ``"text"``."""
    return _unescape(text[1:-1]).encode()


def _unescape(text: str) -> str:
    def replace(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] in "ux" and len(code) > 1:
            return chr(int(code[1:], 16))
        if code.isdigit() and code != "0":
            return chr(int(code))
        return _ESCAPES.get(code, code)

    return _ESCAPE.sub(replace, text)
