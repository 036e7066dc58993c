"""Sums by loops: a loop of the host that adds up integers is a reduction."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.points import settings
from runelift.ir.prim import OPS, Prim
from runelift.ir.traverse import free_vars
from runelift.ir.types import ArrayType, Atom, Const, i64
from runelift.rewrite.engine.rule import Replacement, RuleBook, rule
from runelift.rewrite.engine.scalar_code import is_scalar_code
from runelift.rewrite.engine.scope import Scope

EXACT = ("add", "mul", "min", "max", "and", "or", "xor")
"""Operations that are associative on integers, which wrap around, and on bools."""


@rule(ir.Loop)
def loop_of_sums(scope: Scope, stm: ir.Stm) -> Replacement:
    """loop s = a for i < n do s + e ⇒ a + redomap (+) 0 (λi → e) (iota n)

    Provided: it stands outside of all lambdas.  The type is an integer type, e is scalar code
    without s, and n is not negative.  The rule also takes several values, products and extremes.
    Because: one work-item would run the loop alone.
    Does not handle: floats, whose sums depend on the order.
    """
    match stm.exp:
        case ir.Loop(params, ir.ForLoop(index, bound), body) if params and not (
                scope.depth or settings(stm)) and scope.natural(bound):
            pass
        case _:
            return None
    if isinstance(bound, Const) or not is_scalar_code(body.stms):
        return None
    made = {p.name: each for each in body.stms for p in each.pat}
    found = [_term(param.param, made.get(result) if isinstance(result, VName) else None)
             for param, result in zip(params, body.result, strict=True)]
    added = [each for each in found if each is not None]
    sums = {atom for atom in body.result if isinstance(atom, VName)}
    rest = tuple(each for each in body.stms if not sums & {p.name for p in each.pat})
    inner = ir.Body(rest, tuple(term for _, _, term in added))
    if len(added) < len(params) or len(sums) < len(params) or free_vars(inner) & (
            {p.param.name for p in params} | sums):
        return None
    counted = scope.fresh("is", ArrayType(Prim.I64, (bound,)))
    totals = [scope.fresh(p.name, p.type) for p in stm.pat]
    lam = ir.Lambda((ir.Param(index, Prim.I64),), inner, tuple(prim for _, prim, _ in added))
    ops = tuple(_operator(scope, op, prim) for op, prim, _ in added)
    ends = (ir.Stm((out,), ir.PrimOp(op, prim, (param.init, total.name)), loc=stm.loc)
            for out, param, total, (op, prim, _) in zip(stm.pat, params, totals, added,
                                                        strict=True))
    return (ir.Stm((counted,), ir.Iota(bound, i64(0), i64(1), Prim.I64)),
            ir.Stm(tuple(totals), ir.Redomap(bound, ops, lam, (counted.name,)), loc=stm.loc),
            *ends)


def _operator(scope: Scope, op: str, prim: Prim) -> ir.Operator:
    """The operator of a primitive operation, with its neutral element."""
    x, y, total = (scope.fresh("x", prim) for _ in range(3))
    stm = ir.Stm((total,), ir.PrimOp(op, prim, (x.name, y.name)))
    neutral = OPS[op].neutral
    assert neutral is not None
    return ir.Operator(ir.Lambda((x, y), ir.Body((stm,), (total.name,)), (prim,)),
                       (Const(neutral(prim), prim),), True)


def _term(param: ir.Param, stm: ir.Stm | None) -> tuple[str, Prim, Atom] | None:
    """The operation, its type and the term that a statement adds to a loop's value."""
    match stm:
        case ir.Stm(_, ir.PrimOp(op, prim, (x, y))) if (
                op in EXACT and not prim.is_float and param.type is prim):
            if x == param.name != y:
                return op, prim, y
            if y == param.name != x:
                return op, prim, x
    return None


LOOP_SUMS = RuleBook([loop_of_sums])
