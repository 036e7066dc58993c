"""Operators of reductions and scans: single operations, or several side by side; identities."""

from __future__ import annotations

from collections.abc import Sequence

from runelift.ir.names import Names
from runelift.ir.prim import Prim
from runelift.ir.syntax import Body, Lambda, Operator, Param, PrimOp, Stm
from runelift.ir.types import Const, i64


def one_operation(names: Names, op: str, neutral: Const, result: str = "c") -> Operator:
    """An operation that commutes, on values like its ``neutral`` element.

    ``result`` is the base of the name of its result.
    """
    prim: Prim = neutral.prim
    left, right, out = (Param(names.fresh(base), prim) for base in ("a", "b", result))
    body = Body((Stm((out,), PrimOp(op, prim, (left.name, right.name))),), (out.name,))
    return Operator(Lambda((left, right), body, (prim,)), (neutral,), comm=True)


def limited_sum(names: Names, most: int) -> Operator:
    """The sum of two i64s from 0 to ``most``, which is at most ``most``: it never wraps around."""
    left, right, room, part, out = (Param(names.fresh(base), Prim.I64)
                                    for base in ("a", "b", "room", "part", "c"))
    body = Body((Stm((room,), PrimOp("sub", Prim.I64, (i64(most), left.name))),
                 Stm((part,), PrimOp("min", Prim.I64, (right.name, room.name))),
                 Stm((out,), PrimOp("add", Prim.I64, (left.name, part.name)))), (out.name,))
    return Operator(Lambda((left, right), body, (Prim.I64,)), (i64(0),), comm=True)


def identity(params: tuple[Param, ...]) -> Lambda:
    """The lambda that returns its parameters."""
    return Lambda(params, Body((), tuple(p.name for p in params)), tuple(p.type for p in params))


def is_identity(lam: Lambda) -> bool:
    """True if a lambda returns its parameters, in order."""
    return not lam.body.stms and lam.body.result == tuple(p.name for p in lam.params)


def side_by_side(operators: Sequence[Operator]) -> Operator:
    """The operator that applies each of these operators to its own components of tuples."""
    halves = [(op.lam.params[:len(op.neutral)], op.lam.params[len(op.neutral):])
              for op in operators]
    body = Body(tuple(stm for op in operators for stm in op.lam.body.stms),
                tuple(result for op in operators for result in op.lam.body.result))
    return Operator(Lambda(
        tuple(p for side in zip(*halves, strict=True) for params in side for p in params),
        body, tuple(t for op in operators for t in op.lam.ret)),
        tuple(value for op in operators for value in op.neutral),
        comm=all(op.comm for op in operators))
