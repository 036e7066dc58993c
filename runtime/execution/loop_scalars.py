"""Scalars of the host that change from one iteration of a loop to the next.

See :mod:`runelift.codegen.hostplan.loop_scalars`.  Where one kernel runs the iterations, it finds
them in a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from runelift.codegen.emit.prelude import TYPES
from runelift.ir.base.errors import ProgramFailure
from runelift.ir.prim import Prim

CELL = 8
"""The bytes of a value in a table, whatever its type."""

Row: TypeAlias = tuple[Any, ...]
"""The scalar arguments of the kernels of an iteration."""


@dataclass(frozen=True, slots=True)
class ScalarColumn:
    """Stands for scalar ``number`` in an iteration's row of a table."""

    number: int


class LoopScalars:
    """The scalars of a loop while it runs; the next iteration reads ``carried``.

    ``step`` maps an index and the carried scalars to a row for kernels, of types ``prims``, and to
    the scalars that are carried on.
    """

    def __init__(self, step: Callable[..., tuple[Row, Row]], prims: Sequence[str],
                 carried: Row) -> None:
        self.carried = carried
        self.prims = tuple(map(Prim, prims))
        self._step = step

    def row(self, index: int) -> Row:
        """The row of the next iteration."""
        row, self.carried = self._step(index, *self.carried)
        return row

    def rows(self, first: int, bound: int) -> list[Row] | None:
        """The rows of all further iterations; None if one of these fails."""
        carried = self.carried
        try:
            return [self.row(index) for index in range(first, bound)]
        except ProgramFailure:
            self.carried = carried
            return None

    @property
    def columns(self) -> tuple[ScalarColumn, ...]:
        """The placeholders of the scalars in a traced iteration."""
        return tuple(map(ScalarColumn, range(len(self.prims))))


@dataclass(frozen=True, slots=True)
class ScalarTable:
    """A buffer that holds a row of scalars for each iteration that a kernel runs."""

    handle: Any
    rows: Sequence[Row]

    def column(self, column: ScalarColumn) -> list[int]:
        """The values that a column has in all iterations."""
        return [row[column.number] for row in self.rows]

    def element(self, column: ScalarColumn, prim: Prim, buffer: str) -> str:
        """The C expression for a value in the row of this ``round``; ``buffer`` is that for it."""
        place = f"(round * {len(self.rows[0])} + {column.number}) * {CELL}"
        return f"*(__global const {TYPES[prim]} *)({buffer} + {place})"


def scalar_type(prim: Prim) -> type[np.generic]:
    """The NumPy type of a scalar argument; kernels take an f16 as a float."""
    if prim is Prim.F16:
        return np.float32
    return np.uint8 if prim is Prim.BOOL else prim.dtype.type


def packed(rows: Sequence[Row], prims: Iterable[Prim]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The bytes of a table with these rows."""
    prims = tuple(prims)
    table = np.zeros((len(rows), len(prims), CELL), np.uint8)
    for number, prim in enumerate(prims):
        values = np.array([row[number] for row in rows], scalar_type(prim))
        table[:, number, :values.itemsize] = values.view(np.uint8).reshape(len(rows), -1)
    return table
