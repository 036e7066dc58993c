"""Numbers as text, of any length: Python refuses whole numbers with thousands of digits."""

from __future__ import annotations

import math
import re

MOST_DIGITS = 400
"""Whole numbers with more digits are above the greatest number of every type."""
BEYOND = 10**MOST_DIGITS
"""A number above the range of every type.  It stands for all larger numbers, too."""
_WHOLE = re.compile(r"[0-9]{1,18}")


def numeral(digits: str) -> int | float:
    """The value of a decimal, hexadecimal or binary numeral with a sign and no underscores.

    Numbers beyond all types become :data:`BEYOND` or infinity.  ValueError if it is no numeral.
    """
    lower = digits.lower()
    lower = lower[1:] if lower.startswith(("+", "-")) else lower
    sign = -1 if digits.startswith("-") else 1
    if lower.startswith(("0x", "0b")):
        if set(lower[2:]) & set("p.") and lower.startswith("0x"):
            return sign * _hex_float(lower)
        value = int(lower, 16 if lower.startswith("0x") else 2)
        return sign * (value if value < BEYOND else BEYOND)
    if set(lower) & set(".e"):
        return float(digits)
    if not lower.isdigit():
        raise ValueError(f"'{digits[:40]}' is not a number")
    shown = lower.lstrip("0") or "0"
    return sign * (int(shown) if len(shown) <= MOST_DIGITS else BEYOND)


def _hex_float(digits: str) -> float:
    try:
        return float.fromhex(digits)
    except OverflowError:
        return math.inf


def whole_number(text: str) -> int | None:
    """The number that ASCII digits say, if it is below 2^59; None for other text.

    >>> whole_number("12"), whole_number("-1"), whole_number("9" * 5000)
    (12, None, None)
    """
    return int(text) if _WHOLE.fullmatch(text) else None


def counted(count: int, noun: str) -> str:
    """A number and a noun, in singular or plural.

    >>> counted(1, "dataset"), counted(0, "dataset")
    ('1 dataset', '0 datasets')
    """
    return f"{count} {noun}" + ("" if count == 1 else "s")
