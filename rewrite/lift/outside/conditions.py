"""The conditions of rules from outside at a match: they hold, they fail, or a test decides."""

from __future__ import annotations

from runelift.ir import syntax as ir
from runelift.ir.prim import OPS, Prim
from runelift.ir.traverse import free_vars
from runelift.ir.types import FALSE, Const
from runelift.rewrite.engine.rule import Rewriting
from runelift.rewrite.lift.outside.instance import instance
from runelift.rewrite.lift.outside.matching import Match, Surroundings
from runelift.rewrite.lift.outside.pattern import OutsideRule, Promise
from runelift.rewrite.passes.simplify import simplify
from runelift.rewrite.rules.commutativity import commutes

ASSOCIATIVE = frozenset({"add", "mul", "min", "max", "and", "or", "xor"})
"""The primitive operations that are associative; sums and products of floats up to rounding."""


def broken_promise(rule: OutsideRule, match: Match) -> str:
    """In words, a condition about functions that is not known to hold; "" if all are."""
    for promise in rule.promises:
        op = match.functions[promise.op]
        if promise.law == "commutative" and not commutes(op):
            return f"'{promise.op.base}' is not known to be commutative"
        if promise.law == "associative" and not (
                (promise.op, promise.neutral) in rule.given  # the program says so itself
                or _is_associative(promise, op, match)):
            return (f"'{promise.op.base}' is not known to be associative with neutral element "
                    f"'{promise.neutral.base if promise.neutral else ''}'")
    return ""


def _is_associative(promise: Promise, op: ir.Lambda, match: Match) -> bool:
    """True if a lambda is a primitive operation that is associative, with its neutral element."""
    found = ir.Operator(op, ()).primitive
    if found is None or found[0] not in ASSOCIATIVE:
        return False
    if promise.neutral not in match.atoms:
        return True  # the sides do not need it
    (name, prim), neutral = found, match.atoms[promise.neutral]
    unit = OPS[name].neutral
    return unit is not None and neutral == Const(prim.dtype.type(unit(prim)).item(), prim)


def condition(rule: OutsideRule, match: Match, around: Surroundings) -> ir.Body | str:
    """The condition of a rule as statements and their result, true if it is known to hold.

    In words why not, if it is known not to hold.
    """
    assert rule.where is not None
    body = instance(rule.where, match, rule.before.params, around.names)
    params = tuple(ir.Param(name, around.types[name]) for name in sorted(free_vars(body)))
    fun = ir.Fun("where", params, (ir.Param(around.names.fresh("holds"), Prim.BOOL),), body)
    found = simplify(ir.Program((fun,)), around.names, Rewriting(around.names)).funs[0].body
    if found.result == (FALSE,):
        return f"its condition '{rule.condition}' does not hold there"
    return found
