"""Blocks of a nest of two maps around a reduction: what a schedule says about the kernel.

A work-group computes a block of results, and a work-item some of them.  The reduction is done in
slabs.  The elements of a slab that a block needs may be copied to local memory.  The attribute
``blocks(...)`` of each of the maps says so.  It changes no results, and holds for all sizes: blocks
at the edges have fewer points.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from runelift.ir.syntax import Stm

ROWS, COLUMNS = "rows", "columns"
"""The operands that vary with the outer map, and with the inner one."""

_FORM = re.compile(r"blocks\((\d+) x (\d+) by (\d+) x (\d+), slabs of (\d+), "
                   r"copies of ([a-z, ]+)(?:, unrolled by (\d+))?\)")


@dataclass(frozen=True, slots=True)
class Blocks:
    """Blocks of ``rows`` x ``columns`` results, and of ``own_rows`` x ``own_columns`` in a
    work-item.

    A slab has ``depth`` elements of the reduction.  Operands whose side is in ``copies`` are copied
    to local memory.  The loop over a slab is unrolled by a factor, unless ``unroll`` is 0.

    >>> str(Blocks(64, 64, 4, 4, 16, frozenset({ROWS})))
    'blocks(64 x 64 by 4 x 4, slabs of 16, copies of rows)'
    """

    rows: int
    columns: int
    own_rows: int = 1
    own_columns: int = 1
    depth: int = 1
    copies: frozenset[str] = frozenset()
    unroll: int = 0

    def __str__(self) -> str:
        copies = ", ".join(side for side in (ROWS, COLUMNS) if side in self.copies) or "none"
        unrolled = f", unrolled by {self.unroll}" if self.unroll else ""
        return (f"blocks({self.rows} x {self.columns} by {self.own_rows} x {self.own_columns}, "
                f"slabs of {self.depth}, copies of {copies}{unrolled})")

    @property
    def words(self) -> str:
        """The blocks in words.

        >>> Blocks(64, 64, 4, 4, 16, frozenset({ROWS}), 4).words
        'blocks of 64 x 64, 4 x 4 for a work-item, slabs of 16, rows in local memory, unrolled by 4'
        """
        copies = [side for side in (ROWS, COLUMNS) if side in self.copies]
        return ", ".join([
            f"blocks of {self.rows} x {self.columns}",
            f"{self.own_rows} x {self.own_columns} for a work-item", f"slabs of {self.depth}",
            *([f"{' and '.join(copies)} in local memory"] if copies else []),
            *([f"unrolled by {self.unroll}"] if self.unroll else [])])

    @property
    def side(self) -> int:
        """The number of rows of work-items in a group."""
        return self.rows // self.own_rows

    @property
    def across(self) -> int:
        """The number of columns of work-items in a group."""
        return self.columns // self.own_columns

    @property
    def obstacle(self) -> str:
        """The reason why no kernel is made of these blocks; empty if there is none."""
        numbers = (self.rows, self.columns, self.own_rows, self.own_columns, self.depth)
        if any(n < 1 or n & n - 1 for n in numbers):
            return "blocks have powers of two"
        if self.own_rows > self.rows or self.own_columns > self.columns:
            return "a work-item has no more points than a block"
        return ""


def blocks_of(stm: Stm) -> Blocks | None:
    """The blocks that a statement's attribute asks for, if it does."""
    for attr in stm.attrs:
        if (match := _FORM.fullmatch(attr)) is not None:
            rows, columns, own_rows, own_columns, depth = map(int, match.groups()[:5])
            return Blocks(rows, columns, own_rows, own_columns, depth,
                          frozenset(match[6].split(", ")) - {"none"}, int(match[7] or 0))
    return None
