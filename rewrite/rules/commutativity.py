"""Commutativity: operators whose operands may change sides, found by going through all cases.

An operator of two tuples compares their components pair by pair, and picks results among them.  So
it is enough to know for each pair which component is less.  The operator is run on each such case
and on the case with sides swapped.
"""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeAlias

from runelift.ir import syntax as ir
from runelift.ir.prim import OPS, Prim
from runelift.ir.types import Atom, Const
from runelift.rewrite.engine.rule import Replacement, RuleBook, rule
from runelift.rewrite.engine.scope import Scope

MOST_PAIRS = 4
"""The most components of an operator that is tried on all cases."""


@dataclass(frozen=True, slots=True)
class _Side:
    """The component ``pair`` of the left operand, or of the right one."""

    pair: int
    right: bool


@dataclass(frozen=True, slots=True)
class _Made:
    """The result of a commutative operation on the components ``pair`` of both operands."""

    pair: int
    op: str


_Value: TypeAlias = _Side | _Made | bool
_Case: TypeAlias = tuple[int, ...]
"""For each pair: negative if the left component is less, 0 if both are equal, else positive."""


@rule(ir.Redomap, ir.Scanomap, ir.SegRed, ir.SegScan)
def commutative_operator(scope: Scope, stm: ir.Stm) -> Replacement:
    """reduce ⊕ e xs ⇒ reduce_comm ⊕ e xs

    Provided: each result of ⊕ is a commutative primitive operation on a pair of operands, or one of
    the pair, as comparisons of pairs decide.  Floats are no NaN: such a choice is then not
    associative.  Integers beside floats are places: elements with equal places are one.
    """
    match stm.exp:
        case (ir.Redomap(ops=ops) | ir.Scanomap(ops=ops) | ir.SegRed(ops=ops)
              | ir.SegScan(ops=ops)):
            if not any(not op.comm and commutes(op.lam) for op in ops):
                return None
            new = tuple(replace(op, comm=op.comm or commutes(op.lam)) for op in ops)
            return replace(stm.exp, ops=new)
    return None


def commutes(lam: ir.Lambda) -> bool:
    """True if an operator is known to be commutative."""
    pairs = len(lam.params) // 2
    compares = any(isinstance(stm.exp, ir.If) for stm in lam.body.stms)
    placed = not all(_is_float(param) for param in lam.params[:pairs])
    if compares and pairs > MOST_PAIRS:
        return False
    operands: dict[Atom, _Value] = {
        p.name: _Side(k % pairs, k >= pairs) for k, p in enumerate(lam.params)}
    cases: list[_Case] = list(product((-1, 0, 1), repeat=pairs)) if compares else [(1,) * pairs]
    for case in cases:
        here = _run(lam.body, operands, case)
        swapped = _run(lam.body, operands, tuple(-order for order in case))
        told = not any(case) and placed
        if here is None or swapped is None or not all(
                _alike(x, y, k, case[k] == 0 and (told or not _is_float(lam.params[k])))
                for k, (x, y) in enumerate(zip(here, swapped, strict=True))):
            return False
    return True


def _is_float(param: ir.Param) -> bool:
    return isinstance(param.type, Prim) and param.type.is_float


def _alike(here: _Value, swapped: _Value, pair: int, same: bool) -> bool:
    """True if a result is equal to that of swapped operands, which may be the ``same``.

    Equal floats may be different values, since zeros have signs.  But elements that have equal
    places, too, are one element.
    """
    match here, swapped:
        case _Side(k, right), _Side(j, other):
            return k == j == pair and (right != other or same)
        case _Made(k), _Made():
            return k == pair and here == swapped
    return False


def _run(body: ir.Body, around: Mapping[Atom, _Value], case: _Case) -> list[_Value] | None:
    """The results of a body in a case; None if the body is not simple enough."""
    values = dict(around)
    for stm in body.stms:
        found = _values(stm.exp, values, case)
        if found is None:
            return None
        values |= {p.name: value for p, value in zip(stm.pat, found, strict=True)}
    results = [_value(atom, values) for atom in body.result]
    return None if None in results else [each for each in results if each is not None]


def _value(atom: Atom, values: Mapping[Atom, _Value]) -> _Value | None:
    if isinstance(atom, Const):
        return bool(atom.value) if atom.prim is Prim.BOOL else None
    return values.get(atom)


def _values(exp: ir.Exp, values: Mapping[Atom, _Value], case: _Case) -> list[_Value] | None:
    """The results of an expression in a case; None if it is of another kind."""
    match exp:
        case ir.AtomExp(atom):
            value = _value(atom, values)
            return None if value is None else [value]
        case ir.If(cond, then_, else_):
            taken = _value(cond, values)
            if isinstance(taken, bool):
                return _run(then_ if taken else else_, values, case)
        case ir.PrimOp(op, prim, args):
            given = [_value(arg, values) for arg in args]
            value = _applied(op, prim, given, case)
            return None if value is None else [value]
    return None


def _applied(op: str, prim: Prim, given: list[_Value | None], case: _Case) -> _Value | None:
    """The result of a primitive operation in a case, if it is a comparison or commutative."""
    match op, given:
        case "not", [bool() as x]:
            return not x
        case "and", [bool() as x, bool() as y]:
            return x and y
        case "or", [bool() as x, bool() as y]:
            return x or y
        case _, [_Side(k, right), _Side(j, other)] if k == j and right != other:
            order = -case[k] if right else case[k]
            if op in ("lt", "le", "eq"):
                return {"lt": order < 0, "le": order <= 0, "eq": order == 0}[op]
            return _Made(k, op) if OPS[op].commutative else None
    return None


COMMUTATIVITY = RuleBook([commutative_operator])
