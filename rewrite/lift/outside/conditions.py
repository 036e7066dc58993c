"""The conditions of rules from outside at a match: they hold, they fail, or a test decides."""

from __future__ import annotations

from runelift.ir import syntax as ir
from runelift.ir.base.source import Loc
from runelift.ir.constraints import Constraint, at_least, divides, equal
from runelift.ir.names import VName
from runelift.ir.prim import OPS, Prim
from runelift.ir.sizes import Size
from runelift.ir.traverse import arithmetic, free_vars, size_of, statements_inside
from runelift.ir.types import FALSE, TRUE, Atom, Const, i64
from runelift.rewrite.engine.rule import Rewriting
from runelift.rewrite.lift.outside.goals import Match, Surroundings
from runelift.rewrite.lift.outside.instance import instance
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
    found = simplify(ir.Program((fun,)), Rewriting(around.names)).funs[0].body
    if found.result == (FALSE,):
        return f"its condition '{rule.condition}' does not hold there"
    return found


def as_constraints(found: ir.Body, *origin: str, span: Loc | None = None
                   ) -> tuple[Constraint, ...] | None:
    """A condition as constraints on sizes that must all hold; None if it is another condition."""
    defs = {p.name: stm.exp for stm in statements_inside((found,)) for p in stm.pat}

    def size(atom: Atom) -> Size:
        made = defs.get(atom) if isinstance(atom, VName) else None
        if made is None:
            return size_of(atom)
        found = arithmetic(made, size)
        if found is None:
            raise _Another
        return found

    def divided(atom: Atom) -> tuple[Size, Size] | None:
        match defs.get(atom) if isinstance(atom, VName) else None:
            case ir.PrimOp("mod" | "rem", Prim.I64, (x, Const(value) as y)) if value > 0:
                return size(y), size(x)
        return None

    def parts(atom: Atom) -> list[Constraint]:
        if atom == TRUE:
            return []
        match defs.get(atom) if isinstance(atom, VName) else None:
            case ir.PrimOp("and", Prim.BOOL, (x, y)):
                return [*parts(x), *parts(y)]
            case ir.If(cond, ir.Body(_, (then_,)), ir.Body(_, (else_,))) if else_ == FALSE:
                return [*parts(cond), *parts(then_)]
            case ir.PrimOp("eq", Prim.I64, (x, y)):
                for one, other in ((x, y), (y, x)):
                    if other == i64(0) and (pair := divided(one)) is not None:
                        return [divides(*pair, *origin, span=span)]
                return [equal(size(x), size(y), *origin, span=span)]
            case ir.PrimOp("le", Prim.I64, (x, y)):
                return [at_least(size(y), size(x), *origin, span=span)]
            case ir.PrimOp("lt", Prim.I64, (x, y)):
                return [at_least(size(y), size(x) + 1, *origin, span=span)]
        raise _Another

    try:
        return tuple(parts(found.result[0]))
    except _Another:
        return None


class _Another(Exception):
    """A condition is no relation of sizes."""
