"""Bounds checks as statements, for accesses that become operations which ignore bad indices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runelift.ir.base import failures
from runelift.ir.base.source import Loc
from runelift.ir.names import Names
from runelift.ir.prim import Prim
from runelift.ir.syntax import Assert, Param, PrimOp, Stm
from runelift.ir.types import Atom, i64


def bounds_checks(names: Names, indices: Sequence[Atom], shape: Sequence[Atom],
                  loc: Loc | None) -> Iterator[Stm]:
    """Fail unless all ``0 <= index < size``, with the message of a checked access."""
    message = failures.access([1] * len(indices))
    for index, size in zip(indices, shape, strict=True):
        above, below, inside = (Param(names.fresh("inside"), Prim.BOOL) for _ in range(3))
        yield Stm((above,), PrimOp("le", Prim.I64, (i64(0), index)))
        yield Stm((below,), PrimOp("lt", Prim.I64, (index, size)))
        yield Stm((inside,), PrimOp("and", Prim.BOOL, (above.name, below.name)))
        yield Stm((), Assert(inside.name, message, (*indices, *shape)), loc=loc)
