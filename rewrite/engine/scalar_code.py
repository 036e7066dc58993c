"""Code that computes scalars of scalars and elements, without loops or array operations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from runelift.ir.base import failures
from runelift.ir.base.by_identity import by_identity
from runelift.ir.names import Names
from runelift.ir.prim import Prim
from runelift.ir.syntax import (
    Assert,
    AtomExp,
    Body,
    Call,
    Convert,
    Exp,
    If,
    Index,
    Param,
    PrimOp,
    Recursion,
    SliceDim,
    Stm,
    Update,
)
from runelift.ir.traverse import bodies_inside, is_flat
from runelift.ir.types import Const


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
        case If():
            return _is_scalar_branch(stm.exp)
    return False


@by_identity
def _is_scalar_branch(exp: If) -> bool:
    return is_scalar_code(exp.then_.stms) and is_scalar_code(exp.else_.stms)


def may_fail(exp: Exp) -> bool:
    """True if an access, an assertion, a call or a scalar operation in ``exp`` may fail."""
    match exp:
        case PrimOp():
            return exp.may_trap
        case Index(checked=checked) | Update(checked=checked):
            return checked
    return isinstance(exp, Assert | Call | Recursion) or (
        not is_flat(exp) and _may_fail_inside(exp))


@by_identity
def _may_fail_inside(exp: Exp) -> bool:
    return any(map(body_may_fail, bodies_inside(exp)))


def body_may_fail(body: Body) -> bool:
    """True if a statement of a body may fail so."""
    return any(may_fail(stm.exp) for stm in body.stms)


def total_division(stm: Stm, names: Names) -> tuple[tuple[Stm, ...], Stm, Stm]:
    """A division that cannot fail, as it divides by 1 instead of 0.

    They are the statements before it, the assertion that the divisor is not 0, and the division.
    """
    exp = stm.exp
    assert isinstance(exp, PrimOp)
    *args, divisor = exp.args
    fine, zero, one, safe = (names.fresh(name) for name in ("fine", "zero", "one", "safe"))
    before = (
        Stm((Param(zero, Prim.BOOL),), PrimOp("eq", exp.prim, (divisor, Const(0, exp.prim)))),
        Stm((Param(fine, Prim.BOOL),), PrimOp("not", Prim.BOOL, (zero,))),
        Stm((Param(one, exp.prim),), Convert(Prim.BOOL, exp.prim, zero)),
        Stm((Param(safe, exp.prim),), PrimOp("add", exp.prim, (divisor, one))))
    check = Stm((), Assert(fine, failures.DIVISION), (), stm.loc)
    return before, check, replace(stm, exp=replace(exp, args=(*args, safe)))
