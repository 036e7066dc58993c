"""Long arrays in text, read as a whole: numbers that are written alike need no look at each.

Comments, strings, several suffixes and numbers that do not fit are left to the reader of single
numbers.  That also finds the place of a mistake.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from runelift.ir.base.array_limits import MOST_DIMENSIONS
from runelift.ir.prim import Prim

LEAST = 256
"""The least characters of an array for which this is quicker."""
CHUNK = 1 << 20
"""The characters of numbers that are converted at a time, which takes much memory."""
_BRACKET = re.compile(r"[\[\]]")
_PLAIN = re.compile(r"[-+0-9.eE_iuf,\s\[\]]*")
_ROW = re.compile(r"\[([^\[\]]*)\]")
_ROWS = re.compile(r"\s*x(?:\s*,\s*x)*\s*")
_SPACE = re.compile(r"\s")
_BLANKS = re.compile(r"\s*,\s+")
_SUFFIX = re.compile(r"([iuf](?:8|16|32|64)),$")


def read_array(text: str, start: int, end: int, preferred: Prim | None
               ) -> tuple[np.ndarray[Any, Any], int] | None:
    """The array whose bracket is at ``start``, and the place after it; None if it is unusual."""
    after = _end(text, start, end)
    if after - start < LEAST:
        return None
    segment = text[start:after]
    if "--" in segment or _PLAIN.fullmatch(segment) is None:
        return None
    rows = _ROW.findall(segment)
    shape = _shape(segment, rows)
    if shape is None:
        return None
    flat = _numbers(",".join(rows), preferred)
    if flat is None or flat.size != shape[0]:
        return None
    return flat.reshape(shape[1:]), after


def _end(text: str, start: int, end: int) -> int:
    """The place after the bracket that closes the one at ``start``; ``start`` if none does."""
    depth = 0
    for found in _BRACKET.finditer(text, start, end):
        depth += 1 if found[0] == "[" else -1
        if depth == 0:
            return found.end()
        if depth > MOST_DIMENSIONS:
            break
    return start


def _shape(segment: str, rows: list[str]) -> tuple[int, ...] | None:
    """The number of elements and the sizes; None if rows differ or hold nothing."""
    sizes: list[int] = []
    inner = {row.count(",") + 1 for row in rows}
    while len(inner) == 1:
        sizes.insert(0, inner.pop())
        segment = _ROW.sub("x", segment)
        if segment == "x":
            return (len(rows) * sizes[-1], *sizes)
        groups = _ROW.findall(segment)
        if not all(map(_ROWS.fullmatch, groups)) or (
                sum(group.count("x") for group in groups) != segment.count("x")):
            return None
        inner = {group.count(",") + 1 for group in groups}
    return None


def _numbers(joined: str, preferred: Prim | None) -> np.ndarray[Any, Any] | None:
    """Numbers with commas between them; None if they have not one suffix or do not fit."""
    joined = _BLANKS.sub(",", joined.strip()) + ","
    if _SPACE.search(joined):
        return None
    suffix = _SUFFIX.search(joined)
    whole = not any(mark in joined for mark in ".eE")
    prim = Prim(suffix[1]) if suffix else preferred
    if prim is None or prim is Prim.BOOL or (prim.is_int and not whole):
        if suffix:
            return None
        prim = Prim.I32 if whole else Prim.F64
    end = (suffix[1] if suffix else "") + ","
    found, start = list[np.ndarray[Any, Any]](), 0
    while start < len(joined):
        after = joined.find(",", min(start + CHUNK, len(joined) - 1)) + 1
        numbers = _converted(joined[start:after], end, prim)
        if numbers is None:
            return None
        found.append(numbers)
        start = after
    return np.concatenate(found)


def _converted(text: str, end: str, prim: Prim) -> np.ndarray[Any, Any] | None:
    """Numbers that have all the same ``end``, a suffix and a comma."""
    parts = text.split(end)
    if parts.pop() != "":
        return None
    try:
        if prim.is_float:
            with np.errstate(over="ignore"):
                return np.array(list(map(float, parts))).astype(prim.dtype)
        numbers = list(map(int, parts))
    except ValueError:
        return None
    if not prim.least <= min(numbers) <= max(numbers) <= prim.greatest:
        return None
    return np.array(numbers, prim.dtype)
