"""Expressions of a loop's body in terms of the values at its start: counters and conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runelift.ir import imp
from runelift.ir.imp import Exp, Stm
from runelift.ir.imp.traverse import parts
from runelift.ir.names import VName
from runelift.ir.prim import Prim

DEEPEST_NAMES = 8
"""The definitions within each other that are looked into for a loop's counter."""


def definitions(body: Sequence[Stm]) -> dict[VName, Exp]:
    """The values of variables that a block sets once, by variable; inner blocks do not count.

    ``if a { c := b } else { c := false }`` has the value ``a and b``.
    """
    found = {s.name: s.init for s in body if isinstance(s, imp.Declare) and s.init is not None}
    for stm in body:
        match stm:
            case imp.If(cond, (*_, imp.Assign(name, value)), (imp.Assign(other, imp.Lit(const)),)
                        ) if name == other and const.prim is Prim.BOOL and not const.value:
                found[name] = imp.Apply("and", Prim.BOOL, (cond, value))
    return found


def expanded(exp: Exp, given: Mapping[VName, Exp], depth: int = 0) -> Exp:
    """An expression with the definitions of some variables in their place."""
    match exp:
        case imp.Var(name) if name in given and depth < DEEPEST_NAMES:
            return expanded(given[name], given, depth + 1)
        case imp.Apply(op, prim, args):
            return imp.Apply(op, prim, tuple(expanded(a, given, depth + 1) for a in args))
        case imp.Convert(from_, to, arg):
            return imp.Convert(from_, to, expanded(arg, given, depth + 1))
    return exp


def conjuncts(cond: Exp, given: Mapping[VName, Exp]) -> list[Exp]:
    """The conditions whose conjunction ``cond`` is."""
    match cond:
        case imp.Var(name) if name in given:
            return conjuncts(given[name], given)
        case imp.Apply("and", Prim.BOOL, args):
            return [each for arg in args for each in conjuncts(arg, given)]
        case imp.Select(first, second, imp.Lit(const), Prim.BOOL) if not const.value:
            return [*conjuncts(first, given), *conjuncts(second, given)]
    return [cond]


def loads(exp: Exp) -> bool:
    """True if an expression reads memory."""
    return isinstance(exp, imp.Load) or any(map(loads, parts(exp)))
