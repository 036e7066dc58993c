"""Code that computes scalars of scalars and elements, without loops or array operations."""

from __future__ import annotations

from collections.abc import Iterable

from runelift.ir.prim import Prim
from runelift.ir.syntax import (
    Assert,
    AtomExp,
    Body,
    Convert,
    Exp,
    If,
    Index,
    PrimOp,
    SliceDim,
    Stm,
    Update,
)
from runelift.ir.traverse import bodies_inside


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
    """True if an access, an assertion or a scalar operation in ``exp`` may fail."""
    match exp:
        case PrimOp():
            return exp.may_trap
        case Index(checked=checked) | Update(checked=checked):
            return checked
    return isinstance(exp, Assert) or any(map(body_may_fail, bodies_inside(exp)))


def body_may_fail(body: Body) -> bool:
    """True if a statement of a body may fail so."""
    return any(may_fail(stm.exp) for stm in body.stms)
