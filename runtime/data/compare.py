"""Equality of results up to rounding, as ``futhark test`` has it."""

from __future__ import annotations

import numpy as np

from runelift.runtime.data.text import Value, format_value, type_of

RELATIVE = 0.002
"""How much two floats may differ, relative to the larger, or absolutely below 1."""

CHUNK = 1 << 14
"""How many elements are compared at a time: what is computed of them stays in a core's cache."""


def first_difference(expected: list[Value], actual: list[Value]) -> str | None:
    """What distinguishes ``actual`` from ``expected``, or None if they are equal.

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
    """The places of the elements that are not equal, in the order in which they lie."""
    one, other = want.reshape(-1), got.reshape(-1)
    parts = [slice(first, first + CHUNK) for first in range(0, len(one), CHUNK)]
    found = [part.start + np.flatnonzero(~_equal(one[part], other[part])) for part in parts]
    return np.concatenate(found) if found else np.empty(0, np.int64)


def _equal(want: Value, got: Value) -> Value:
    """Elementwise equality."""
    if want.dtype.kind != "f":
        return want == got
    with np.errstate(all="ignore"):
        wide, other = want.astype(np.float64), got.astype(np.float64)
        tolerance = RELATIVE * np.maximum(1.0, np.abs(wide))
        close = np.abs(wide - other) <= np.where(np.isfinite(tolerance), tolerance, 0.0)
    return close | (want == got) | (np.isnan(want) & np.isnan(got))
