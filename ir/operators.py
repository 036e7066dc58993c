"""Operators of reductions and scans that are one operation."""

from __future__ import annotations

from runelift.ir.names import Names
from runelift.ir.prim import Prim
from runelift.ir.syntax import Body, Lambda, Operator, Param, PrimOp, Stm
from runelift.ir.types import Const


def one_operation(names: Names, op: str, neutral: Const, result: str = "c") -> Operator:
    """An operation that commutes, on values like its ``neutral`` element.

    ``result`` is the base of the name of its result.
    """
    prim: Prim = neutral.prim
    left, right, out = (Param(names.fresh(base), prim) for base in ("a", "b", result))
    body = Body((Stm((out,), PrimOp(op, prim, (left.name, right.name))),), (out.name,))
    return Operator(Lambda((left, right), body, (prim,)), (neutral,), comm=True)
