"""Common subexpressions: a value computed in scope is not computed again."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

import itertools
from collections.abc import Hashable

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.points import settings
from runelift.ir.prim import OPS
from runelift.ir.traverse import (
    Mapper,
    free_vars,
    map_body,
    map_exp,
    map_lambda,
    names_from_outside,
)
from runelift.ir.types import Atom, shape_of
from runelift.rewrite.engine.forward import rewrite_forward
from runelift.rewrite.engine.pick import let
from runelift.rewrite.engine.rule import Replacement, Rewriting, RuleBook, rule
from runelift.rewrite.engine.scope import Scope
from runelift.rewrite.passes.dead import remove_unused

EVERYWHERE = (ir.PrimOp, ir.Convert, ir.Index, ir.Rearrange, ir.Reshape, ir.Slide, ir.Pad, ir.Map,
              ir.Redomap, ir.Scanomap, ir.If, ir.Loop)
"""Expressions that are shared with the lambdas inside of their scope."""
NEARBY = (ir.Iota, ir.Replicate, ir.ArrayLit, ir.Concat)
"""Expressions that a lambda makes for itself faster than it reads them from memory."""


@rule(*EVERYWHERE, *NEARBY)
def common_subexpression(scope: Scope, stm: ir.Stm) -> Replacement:
    """let x = e₁ in ... let y = e₁ in e₂ ⇒ let x = e₁ in ... e₂[y ↦ x]

    Provided: neither array is consumed; iota, replicate and literals are shared only inside
    the same lambdas.
    Because: the first e₁ runs before the second, so it also fails before it.
    """
    if any(shape_of(p.type) and scope.consumes(p.name) for p in stm.pat):
        return None
    own = tuple(p.name for p in stm.pat)
    key = _key(stm.exp), settings(stm)
    for exp, found in scope.known.find(key):
        if found == own or not _equal(exp, stm.exp):
            continue
        if isinstance(stm.exp, NEARBY) and not scope.here(found[0]):
            continue
        return let(stm.pat, found)
    scope.known.add(key, stm.exp, own)
    return None


def _key(exp: ir.Exp) -> Hashable:
    """Equal for expressions that are equal but for bound names, checks and operand order.

    Of an expression with something inside it is a part only, which :func:`_equal` completes.  The
    names from outside and the kinds of statements tell most of those apart that differ.
    """
    match exp:
        case ir.PrimOp(op, prim, args):
            if len(args) == 2 and OPS[op].commutative and _order(args[1]) < _order(args[0]):
                args = args[1], args[0]
            return op, prim, args
        case ir.Index(array, dims):
            return ir.Index(array, dims)
        case ir.Map(width, lam, arrays) | ir.Redomap(width, _, lam, arrays) | ir.Scanomap(
            width, _, lam, arrays
        ):
            return (type(exp), width, arrays, frozenset(free_vars(lam)), _kinds(lam.body))
        case ir.If(cond, then_, else_):
            return (ir.If, cond, names_from_outside(then_), names_from_outside(else_),
                    _kinds(then_), _kinds(else_))
        case ir.Loop(params, form, body):
            return (ir.Loop, type(form), tuple(p.init for p in params), frozenset(free_vars(exp)),
                    _kinds(body))
    return exp


def _kinds(body: ir.Body) -> Hashable:
    """The kinds of the statements of a body."""
    return tuple(stm.exp.op if isinstance(stm.exp, ir.PrimOp) else type(stm.exp)
                 for stm in body.stms)


def _equal(exp: ir.Exp, other: ir.Exp) -> bool:
    """True if expressions with equal keys are equal but for bound names."""
    return not isinstance(exp, ir.Map | ir.Redomap | ir.Scanomap | ir.If | ir.Loop) or (
        canonical(exp) == canonical(other))


def _order(atom: Atom) -> int:
    return atom.tag if isinstance(atom, VName) else -1


def canonical(exp: ir.Exp) -> ir.Exp:
    """``exp`` with its bound names numbered in order, so that equality is up to renaming."""
    numbers = itertools.count(1)
    bound: dict[VName, VName] = {}

    def atom(use: Atom) -> Atom:
        return bound.get(use, use) if isinstance(use, VName) else use

    def bind(name: VName) -> VName:
        return bound.setdefault(name, VName("", -next(numbers)))

    def body(inner: ir.Body) -> ir.Body:
        return map_body(mapper, inner)

    def lam(inner: ir.Lambda) -> ir.Lambda:
        return map_lambda(mapper, inner)

    mapper = Mapper(atom, bind, body, lam)
    return map_exp(mapper, exp)


SHARING = RuleBook([common_subexpression])


def eliminate_common(program: ir.Program, rewriting: Rewriting) -> ir.Program:
    """``program`` in which equal expressions are computed once per scope."""
    program = rewrite_forward(program, SHARING, rewriting)
    return remove_unused(program, rewriting)
