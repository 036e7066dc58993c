"""Equality of results up to rounding, as ``futhark test`` has it."""

from __future__ import annotations

import numpy as np

from runelift.runtime.data.text import Value, format_value, type_of

TOLERANCE = 0.002
"""The difference allowed between floats, relative to the expected, or absolute below 1."""

COMPARED_CHUNK = 1 << 14
"""The number of elements compared at a time, such that all results fit in a core's cache."""


def first_difference(expected: list[Value], actual: list[Value]) -> str | None:
    """The first difference between ``actual`` and ``expected`` in words; None if they are equal.

    Floats are compared with tolerance, NaN equals NaN, everything else is exact.
    """
    if len(expected) != len(actual):
        return f"{len(expected)} values are expected, but there are {len(actual)}"
    for number, (want, got) in enumerate(zip(expected, actual, strict=True)):
        what = f"value {number}" if len(expected) > 1 else "the value"
        if type_of(want) != type_of(got):
            return f"{what} should have type {type_of(want)}, but has type {type_of(got)}"
        wrong = _differing(np.asarray(want), np.asarray(got))
        if len(wrong):
            at = tuple(int(i) for i in np.unravel_index(wrong[0], np.shape(want)))
            index = "".join(f"[{i}]" for i in at)
            return (f"{what}{index} should be {format_value(np.asarray(want)[at])}, "
                    f"but is {format_value(np.asarray(got)[at])}"
                    + (f" ({len(wrong)} elements differ)" if len(wrong) > 1 else ""))
    return None


def _differing(want: Value, got: Value) -> Value:
    """The positions of the elements that are not equal, in order."""
    one, other = want.reshape(-1), got.reshape(-1)
    parts = [slice(first, first + COMPARED_CHUNK) for first in range(0, len(one), COMPARED_CHUNK)]
    found = [part.start + np.flatnonzero(~_equal(one[part], other[part])) for part in parts]
    return np.concatenate(found) if found else np.empty(0, np.int64)


def _equal(want: Value, got: Value) -> Value:
    if want.dtype.kind != "f":
        return want == got
    with np.errstate(all="ignore"):
        wide, other = want.astype(np.float64), got.astype(np.float64)
        tolerance = TOLERANCE * np.maximum(1.0, np.abs(wide))
        close = np.abs(wide - other) <= np.where(np.isfinite(tolerance), tolerance, 0.0)
    return close | (want == got) | (np.isnan(want) & np.isnan(got))
