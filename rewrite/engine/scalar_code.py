"""Code that computes scalars of scalars and elements, without loops or array operations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.base import failures
from runelift.ir.base.by_identity import by_identity
from runelift.ir.names import Names
from runelift.ir.prim import Prim
from runelift.ir.traverse import bodies_inside, free_vars, is_flat, needed_for
from runelift.ir.types import Atom, Const
from runelift.rewrite.engine.code import Code


def is_scalar_code(stms: Iterable[ir.Stm]) -> bool:
    """True if statements compute scalars only."""
    return all(is_scalar(stm) for stm in stms)


def is_scalar(stm: ir.Stm) -> bool:
    """True if a statement computes scalars only."""
    if not all(isinstance(p.type, Prim) for p in stm.pat):
        return False
    match stm.exp:
        case ir.PrimOp() | ir.Convert() | ir.AtomExp() | ir.Assert():
            return True
        case ir.Index(_, dims):
            return not any(isinstance(d, ir.SliceDim) for d in dims)
        case ir.If():
            return _is_scalar_branch(stm.exp)
    return False


@by_identity
def _is_scalar_branch(exp: ir.If) -> bool:
    return is_scalar_code(exp.then_.stms) and is_scalar_code(exp.else_.stms)


def may_fail(exp: ir.Exp) -> bool:
    """True if an access, an assertion, a call or a scalar operation in ``exp`` may fail."""
    match exp:
        case ir.PrimOp():
            return exp.may_trap
        case ir.Index(checked=checked) | ir.Update(checked=checked):
            return checked
    return isinstance(exp, ir.Assert | ir.Call | ir.Recursion) or (
        not is_flat(exp) and _may_fail_inside(exp))


@by_identity
def _may_fail_inside(exp: ir.Exp) -> bool:
    return any(map(body_may_fail, bodies_inside(exp)))


def body_may_fail(body: ir.Body) -> bool:
    """True if a statement of a body may fail so."""
    return any(may_fail(stm.exp) for stm in body.stms)


def total_division(stm: ir.Stm, names: Names) -> tuple[tuple[ir.Stm, ...], ir.Stm, ir.Stm]:
    """A division that cannot fail, as it divides by 1 instead of 0.

    They are the statements before it, the assertion that the divisor is not 0, and the division.
    """
    exp = ir.node_of(stm, ir.PrimOp)
    *args, divisor = exp.args
    code = Code(names)
    zero = code.holds("eq", divisor, Const(0, exp.prim), exp.prim, base="zero")
    fine = code.emitted("fine", Prim.BOOL, ir.PrimOp("not", Prim.BOOL, (zero,)))
    one = code.emitted("one", exp.prim, ir.Convert(Prim.BOOL, exp.prim, zero))
    safe = code.emitted("safe", exp.prim, ir.PrimOp("add", exp.prim, (divisor, one)))
    check = ir.Stm((), ir.Assert(fine, failures.DIVISION), (), stm.loc)
    return tuple(code.out), check, replace(stm, exp=replace(exp, args=(*args, safe)))


def needed_or_failing(stms: Sequence[ir.Stm], result: Iterable[Atom]) -> tuple[ir.Stm, ...]:
    """The statements that a result needs, and all statements that may fail, in order."""
    checks = [stm for stm in stms if may_fail(stm.exp)]
    wanted = [*result, *(p.name for stm in checks for p in stm.pat),
              *(name for stm in checks for name in free_vars(stm))]
    kept = {id(stm) for stm in (*needed_for(stms, wanted), *checks)}
    return tuple(stm for stm in stms if id(stm) in kept)
