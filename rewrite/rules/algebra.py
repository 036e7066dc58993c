"""Scalar algebra.  Float laws are those that hold bit by bit under IEEE 754."""

from __future__ import annotations

from runelift.ir.names import VName
from runelift.ir.prim import OPS, Prim, apply, convert
from runelift.ir.syntax import Atom, AtomExp, Const, Convert, Exp, PrimOp
from runelift.rewrite.rule import Defs, RuleBook, rule


@rule(PrimOp)
def fold_constants(exp: Exp, defs: Defs) -> Exp | None:
    """c₁ ⊕ c₂ ⇒ the value    (division by zero is left to run time)"""
    match exp:
        case PrimOp(name, prim, args) if all(isinstance(a, Const) for a in args):
            values = [a.value for a in args if isinstance(a, Const)]
            if OPS[name].traps and prim.is_int and values[-1] == 0:
                return None
            return AtomExp(Const(apply(name, prim, *values).item(), OPS[name].result(prim)))
    return None


@rule(Convert)
def fold_conversion(exp: Exp, defs: Defs) -> Exp | None:
    """Convert c ⇒ the value"""
    match exp:
        case Convert(from_, to, Const(value)):
            return AtomExp(Const(convert(from_.dtype.type(value), to).item(), to))
    return None


@rule(Convert)
def same_conversion(exp: Exp, defs: Defs) -> Exp | None:
    """convert.t.t x ⇒ x"""
    match exp:
        case Convert(from_, to, arg) if from_ is to:
            return AtomExp(arg)
    return None


@rule(PrimOp)
def unit(exp: Exp, defs: Defs) -> Exp | None:
    """X + 0 ⇒ x,  x * 1 ⇒ x,  x && true ⇒ x, ...    (for integers and booleans)"""
    match exp:
        case PrimOp(name, prim, (x, y)) if not prim.is_float:
            neutral = OPS[name].neutral
            if neutral is None or name in ("min", "max"):
                return None
            one = neutral(prim)
            if _is(y, one):
                return AtomExp(x)
            if _is(x, one) and OPS[name].commutative:
                return AtomExp(y)
    return None


@rule(PrimOp)
def annihilator(exp: Exp, defs: Defs) -> Exp | None:
    """X * 0 ⇒ 0,  x && false ⇒ false,  x || true ⇒ true    (for integers and booleans)"""
    match exp:
        case PrimOp("mul", prim, (x, y)) if prim.is_int and (_is(x, 0) or _is(y, 0)):
            return AtomExp(Const(0, prim))
        case PrimOp("and", Prim.BOOL, (x, y)) if _is(x, False) or _is(y, False):
            return AtomExp(Const(False, Prim.BOOL))
        case PrimOp("or", Prim.BOOL, (x, y)) if _is(x, True) or _is(y, True):
            return AtomExp(Const(True, Prim.BOOL))
    return None


@rule(PrimOp)
def subtract_nothing(exp: Exp, defs: Defs) -> Exp | None:
    """X - 0 ⇒ x,  x - x ⇒ 0,  x / 1 ⇒ x    (for integers)"""
    match exp:
        case PrimOp("sub", prim, (x, y)) if prim.is_int:
            if _is(y, 0):
                return AtomExp(x)
            if x == y:
                return AtomExp(Const(0, prim))
        case PrimOp("div" | "quot", prim, (x, y)) if prim.is_int and _is(y, 1):
            return AtomExp(x)
    return None


@rule(PrimOp)
def reflexive(exp: Exp, defs: Defs) -> Exp | None:
    """X == x ⇒ true,  x <= x ⇒ true,  x < x ⇒ false    (for integers)"""
    match exp:
        case PrimOp("eq" | "le", prim, (x, y)) if prim.is_int and x == y:
            return AtomExp(Const(True, Prim.BOOL))
        case PrimOp("lt", prim, (x, y)) if prim.is_int and x == y:
            return AtomExp(Const(False, Prim.BOOL))
    return None


@rule(PrimOp)
def double_negation(exp: Exp, defs: Defs) -> Exp | None:
    """Not (not x) ⇒ x"""
    match exp:
        case PrimOp("not", prim, (VName() as x,)) if x in defs:
            match defs[x].exp:
                case PrimOp("not", inner, (y,)) if inner is prim:
                    return AtomExp(y)
    return None


def _is(atom: Atom, value: int | float | bool) -> bool:
    return isinstance(atom, Const) and atom.value == value


ALGEBRA = RuleBook([fold_constants, fold_conversion, same_conversion, unit, annihilator,
                    subtract_nothing, reflexive, double_negation])
