"""Copies of arrays in a memory: maps that return their elements, which no rule removes."""

from __future__ import annotations

from runelift.ir.analysis.placement import stored_in
from runelift.ir.base.source import Loc
from runelift.ir.names import VName
from runelift.ir.syntax import Body, Lambda, Map, Param, Stm
from runelift.ir.types import row_of, shape_of
from runelift.rewrite.engine.scope import Scope


def storage(space: str) -> tuple[str, ...]:
    """The attributes of an array operation that stores its results in a memory.

    Private memory is that of a work-item, which makes all elements.
    """
    return (stored_in(space), *(("sequential",) if space == "private" else ()))


def stored(scope: Scope, out: Param, array: VName, space: str, loc: Loc | None) -> Stm:
    """The statement that binds ``out`` to a copy of an array in a memory."""
    size, *inner = shape_of(out.type)
    x = scope.fresh("x", row_of(out.type))
    stms: tuple[Stm, ...] = ()
    result = x
    if inner:
        result = scope.fresh("copied", x.type)
        stms = (stored(scope, result, x.name, space, loc),)
    lam = Lambda((x,), Body(stms, (result.name,)), (x.type,))
    return Stm((out,), Map(size, lam, (array,)), storage(space), loc)
