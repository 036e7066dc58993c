"""Durations and tables as text, and the version of the JSON files beside them."""

from __future__ import annotations

import math

FORMAT = 1
"""The version of the JSON file."""


def show_seconds(seconds: float) -> str:
    """A duration with three significant digits and a fitting unit.

    >>> show_seconds(0.00123456), show_seconds(2e-05)
    ('1.23 ms', '20.0 µs')
    """
    if not math.isfinite(seconds):
        return "-"
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        value = seconds * scale
        if value >= 1 or unit == "µs":
            digits = 0 if value >= 100 else 1 if value >= 10 else 2
            return f"{value:.{digits}f} {unit}"
    raise AssertionError


def table(rows: list[list[str]], indent: str = "") -> str:
    """Rows in columns, the first to the left and the others to the right; the first is the head.

    >>> print(table([["name", "time"], ["main", "1.5 s"]]))
    name   time
    main  1.5 s
    """
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:],
                                                                      strict=True))]
        lines.append(indent + "  ".join(cells).rstrip())
    return "\n".join(lines)
