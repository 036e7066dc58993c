"""Bounds checks as statements, for accesses that become operations which ignore bad indices."""

from __future__ import annotations

from runelift.ir import failures
from runelift.ir.names import Names
from runelift.ir.prim import Prim
from runelift.ir.source import Loc
from runelift.ir.syntax import Assert, Atom, Param, PrimOp, Stm, i64


def bounds_check(names: Names, index: Atom, size: Atom, loc: Loc | None) -> tuple[Stm, ...]:
    """Fail unless ``0 <= index < size``, with the message of a checked access."""
    above, below, inside = (Param(names.fresh("inside"), Prim.BOOL) for _ in range(3))
    return (
        Stm((above,), PrimOp("le", Prim.I64, (i64(0), index))),
        Stm((below,), PrimOp("lt", Prim.I64, (index, size))),
        Stm((inside,), PrimOp("and", Prim.BOOL, (above.name, below.name))),
        Stm((), Assert(inside.name, failures.INDEX, (index, size)), loc=loc),
    )
