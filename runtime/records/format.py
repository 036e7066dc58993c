"""Durations, counts, labels and tables as text, and the version of the JSON files beside them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

FORMAT = 1
"""The version of the JSON file."""
_WIDTH: ContextVar[int | None] = ContextVar("width", default=None)


@contextmanager
def tables_within(columns: int | None) -> Iterator[None]:
    """Limit the width of tables while the context lasts; None sets no limit."""
    token = _WIDTH.set(columns)
    try:
        yield
    finally:
        _WIDTH.reset(token)


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


def dataset_label(entry: str, dataset: str) -> str:
    """The name of a dataset in a list with datasets of other entry points.

    >>> dataset_label("main", "small"), dataset_label("scaled", "small")
    ('small', 'scaled: small')
    """
    return dataset if entry == "main" else f"{entry}: {dataset}"


def table(rows: list[list[str]], indent: str = "", *, whole: bool = False) -> str:
    """Rows in columns: the first column to the left, all further columns to the right.

    The first row is the head.

    Columns that do not fit (:func:`tables_within`) follow below, each time beside the first one,
    unless the table must stay ``whole``.

    >>> print(table([["name", "time"], ["main", "1.5 s"]]))
    name   time
    main  1.5 s
    >>> with tables_within(12):
    ...     print(table([["name", "time", "gain"], ["main", "1.5 s", "2.0×"]]))
    name   time
    main  1.5 s
    <BLANKLINE>
    name  gain
    main  2.0×
    """
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    limit = None if whole else _WIDTH.get()
    return "\n\n".join("\n".join(indent + "  ".join(
        row[k].rjust(widths[k]) if k else row[k].ljust(widths[k]) for k in columns).rstrip()
        for row in rows) for columns in _fitting(widths, limit, len(indent)))


def _fitting(widths: list[int], limit: int | None, indent: int) -> Iterator[list[int]]:
    """The columns of each part of a table: the first one, and as many more as fit, at least one."""
    columns, used = [0], indent + widths[0]
    for column, width in enumerate(widths[1:], 1):
        if limit is not None and len(columns) > 1 and used + 2 + width > limit:
            yield columns
            columns, used = [0], indent + widths[0]
        columns.append(column)
        used += 2 + width
    yield columns
