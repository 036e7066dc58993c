"""Blocks of maps around a reduction: what a schedule says about the kernel.

A work-group computes a block of results, and a work-item some of them.  The reduction is done in
slabs.  The elements of a slab that a block needs may be copied to local memory.  The attribute
``blocks(...)`` of each of the maps says so.  It changes no results, and holds for all sizes: blocks
at the edges have fewer points.

There are kernels for products (:mod:`runelift.ir.analysis.products`), and for other points that
have elements in common (:mod:`runelift.ir.analysis.sharing`).  One map alone has blocks of one row.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from runelift.ir.syntax import Stm

ROWS, COLUMNS = "rows", "columns"
"""The operands that vary with the outer map, and with the inner one."""

_FORM = re.compile(r"blocks\((\d+) x (\d+) by (\d+) x (\d+), slabs of (\d+), "
                   r"copies of ([a-z, ]+?)(?:, tiles of (\d+))?(?:, unrolled by (\d+))?\)")


@dataclass(frozen=True, slots=True)
class Blocks:
    """Blocks of ``rows`` x ``columns`` results, and of ``own_rows`` x ``own_columns`` in a
    work-item.

    A slab has ``depth`` elements of the reduction.  Operands whose side is in ``copies`` are copied
    to local memory.  For a reduction at an element, ``tile`` iterations are copied at a time, or as
    many as there is room for.  The innermost loop is unrolled by a factor, unless ``unroll`` is 0.

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
    tile: int = 0

    def __str__(self) -> str:
        copies = ", ".join(side for side in (ROWS, COLUMNS) if side in self.copies) or "none"
        tiles = f", tiles of {self.tile}" if self.tile else ""
        unrolled = f", unrolled by {self.unroll}" if self.unroll else ""
        return (f"blocks({self.rows} x {self.columns} by {self.own_rows} x {self.own_columns}, "
                f"slabs of {self.depth}, copies of {copies}{tiles}{unrolled})")

    def words(self, copied: Sequence[str]) -> str:
        """The blocks in words, with the arrays that the kernel copies.

        >>> Blocks(64, 64, 4, 4, 16, frozenset({ROWS}), 4).words(["xs"])
        '64 x 64 points for 16 x 16 work-items, slabs of 16, xs in local memory, unrolled by 4'
        """
        first, last = ", ".join(copied[:-1]), "".join(copied[-1:])
        copies = f"{first} and {last}" if first else last
        return ", ".join([
            f"{self.rows} x {self.columns} points for {self.side} x {self.across} work-items",
            f"slabs of {self.depth}",
            *([f"{copies or 'nothing'} in local memory"] if self.copies else []),
            *([f"tiles of {self.tile}"] if self.tile else []),
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
    def is_possible(self) -> bool:
        """True if the numbers are powers of two, and points of a work-item are in its block."""
        numbers = (self.rows, self.columns, self.own_rows, self.own_columns, self.depth)
        return all(n > 0 and not n & n - 1 for n in numbers) and (
            self.own_rows <= self.rows and self.own_columns <= self.columns)

    @property
    def is_of_neighbours(self) -> bool:
        """True if neighbouring work-items of a group may each take a column or row."""
        own = self.own_rows, self.own_columns
        return own == (1, 1) or (self.side == 1 and 1 in own)


def blocks_of(stm: Stm) -> Blocks | None:
    """The blocks that a statement's attribute asks for, if it does."""
    for attr in stm.attrs:
        if (match := _FORM.fullmatch(attr)) is not None:
            rows, columns, own_rows, own_columns, depth = map(int, match.groups()[:5])
            return Blocks(rows, columns, own_rows, own_columns, depth,
                          frozenset(match[6].split(", ")) - {"none"}, int(match[8] or 0),
                          int(match[7] or 0))
    return None
