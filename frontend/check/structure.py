"""The structure of expressions: two with equal structure are certain to have the same value.

An expression that occurs twice, with names that stand for the same things, has one value.  The
language has no effects, and an array cannot be named any more once it is consumed.  Inference makes
sizes of such expressions the same unknown size.

Source: Futhark's language reference, "Size types": sizes are compared as expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from runelift.frontend.syntax import ast
from runelift.frontend.syntax.nodes import Node, parts

Identify = Callable[[ast.QualName], Hashable]
"""A function that identifies the thing that a name stands for here."""

_PLAIN = (ast.StringLit, ast.TupleExp, ast.RecordExp, ast.ArrayExp, ast.Range, ast.Project,
          ast.SliceExp, ast.IndexExp, ast.Apply, ast.Negate, ast.Not, ast.IfExp, ast.ProjectSection,
          ast.IndexSection)
"""Expressions that have no names but in their parts, and bind none."""


def structure(exp: object, identify: Identify) -> Hashable | None:
    """A value that is equal for expressions that have the same one; None if that is not known."""
    match exp:
        case ast.Literal(_, value, prim):
            return type(value).__name__, value, prim
        case ast.Name(_, name):
            return _named(identify(name))
        case ast.BinExp(_, op, left, right):
            return _all("op", _named(identify(op)), structure(left, identify),
                        structure(right, identify))
        case ast.OpSection(_, op, left, right):
            operands = [structure(e, identify) if e is not None else "none" for e in (left, right)]
            return _all("section", _named(identify(op)), *operands)
        case ast.Ascript(_, value) | ast.AttrExp(_, _, value) | ast.AssertExp(_, _, value):
            return structure(value, identify)
        case tuple():
            return _all("tuple", *(structure(item, identify) for item in exp))
        case Node() if isinstance(exp, _PLAIN):
            kind = type(exp)
            return _all(kind.__name__, *(structure(getattr(exp, name), identify)
                                         for name in parts(kind)))
        case str() | int():
            return "text", exp
        case None:
            return ("nothing",)
    return None


def _named(identity: Hashable) -> Hashable:
    return "name", identity


def with_names(known: Hashable, replace: Callable[[Hashable], Hashable | None]) -> Hashable | None:
    """A structure with each name's identity replaced; None if ``replace`` gives None for a name."""
    match known:
        case ("name", identity):
            return replace(identity)
        case tuple():
            new = tuple(with_names(part, replace) for part in known)
            lost = any(part is None and old is not None
                       for part, old in zip(new, known, strict=True))
            return None if lost else new
    return known


def _all(*parts: Hashable | None) -> Hashable | None:
    return None if None in parts else parts
