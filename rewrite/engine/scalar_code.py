"""Code that computes scalars of scalars and elements, without loops or array operations."""

from __future__ import annotations

from collections.abc import Iterable

from runelift.ir.prim import Prim
from runelift.ir.syntax import Assert, AtomExp, Body, Convert, Exp, If, Index, PrimOp, SliceDim, Stm


def is_scalar_code(stms: Iterable[Stm]) -> bool:
    """True if statements compute scalars only."""
    return all(is_scalar(stm) for stm in stms)


def is_scalar(stm: Stm) -> bool:
    """True if a statement computes scalars only."""
    if not all(isinstance(p.type, Prim) for p in stm.pat):
        return False
    match stm.exp:
        case PrimOp() | Convert() | AtomExp() | Assert():
            return True
        case Index(_, dims):
            return not any(isinstance(d, SliceDim) for d in dims)
        case If(_, then_, else_):
            return is_scalar_code(then_.stms) and is_scalar_code(else_.stms)
    return False


def may_fail(exp: Exp) -> bool:
    """True if a scalar operation may fail."""
    match exp:
        case PrimOp():
            return exp.may_trap
        case If(_, then_, else_):
            return body_may_fail(then_) or body_may_fail(else_)
        case Index(checked=checked):
            return checked
    return isinstance(exp, Assert)


def body_may_fail(body: Body) -> bool:
    """True if scalar code may fail."""
    return any(may_fail(stm.exp) for stm in body.stms)
