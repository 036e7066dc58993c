"""Operations of the source on numbers and booleans, and on whatever is compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from runelift.frontend.elaborate.arrays import Arrays
from runelift.frontend.elaborate.builder import Builder
from runelift.frontend.elaborate.values import Dynamic, Value, leaves
from runelift.frontend.syntax.prelude import OPERATORS
from runelift.ir.base import failures
from runelift.ir.base.source import Span
from runelift.ir.prim import OPS, Prim
from runelift.ir.syntax import Assert
from runelift.ir.types import TRUE, Atom, Const, shape_of


class Evaluator(Protocol):
    """The part of the evaluator that the intrinsics need."""

    builder: Builder
    arrays: Arrays

    def apply(self, function: Value, args: tuple[Value, ...], span: Span) -> Value:
        """``function`` applied to ``args``."""

    def branch(self, cond: Dynamic, then_: Callable[[], Value], else_: Callable[[], Value],
               span: Span) -> Value:
        """``if cond then then_() else else_()``."""


Run: TypeAlias = Callable[[Evaluator, tuple[Value, ...], Span], Value]
"""The implementation of a built-in function on its arguments."""


def arithmetic(evaluator: Evaluator, op: str, left: Value, right: Value, span: Span) -> Value:
    """``left op right`` for an operator of the source."""
    if op in ("==", "!="):
        return _equality(evaluator, op, left, right, span)
    name, _, _ = OPERATORS[op]
    a, b = scalar(left), scalar(right)
    prim = _prim(a)
    if name in ("gt", "ge"):
        name, a, b = {"gt": "lt", "ge": "le"}[name], b, a
    if name == "pow" and prim.is_signed:
        _check_exponent(evaluator, b.atom, prim, span)
    result = evaluator.builder.op(name, prim, (a.atom, b.atom), span)
    return Dynamic(result, OPS[name].result(prim))


def _check_exponent(evaluator: Evaluator, exponent: Atom, prim: Prim, span: Span) -> None:
    """Fail at run time if an integer is raised to a negative power."""
    natural = evaluator.builder.op("le", prim, (Const(0, prim), exponent), span)
    if natural != TRUE:
        wide = evaluator.builder.convert(prim, Prim.I64, exponent, span)
        evaluator.builder.emit_stm((), Assert(natural, failures.EXPONENT, (wide,)), span)


def _equality(evaluator: Evaluator, op: str, left: Value, right: Value, span: Span) -> Value:
    builder = evaluator.builder
    total: Atom = Const(True, Prim.BOOL)
    left, right = evaluator.arrays.aligned([left, right], span)
    for a, b in zip(leaves(left), leaves(right), strict=True):
        total = builder.op("and", Prim.BOOL, (total, _equal(evaluator, a, b, span)), span)
    if op == "!=":
        total = builder.op("not", Prim.BOOL, (total,), span)
    return Dynamic(total, Prim.BOOL)


def _equal(evaluator: Evaluator, a: Dynamic, b: Dynamic, span: Span) -> Atom:
    builder, arrays = evaluator.builder, evaluator.arrays
    if isinstance(a.type, Prim):
        return builder.op("eq", a.type, (a.atom, b.atom), span)
    arrays.require_equal(shape_of(a.type)[0], shape_of(b.type)[0], span)
    same = arrays.map(lambda args: Dynamic(_equal(evaluator, leaf(args[0]), leaf(args[1]), span),
                                           Prim.BOOL), [a, b], span)
    return leaf(fold(evaluator, "and", Prim.BOOL, same, span)).atom


def leaf(value: Value) -> Dynamic:
    """The only part of a value."""
    (only,) = leaves(value)
    return only


def scalar(value: Value) -> Dynamic:
    """A value that is a number or a boolean."""
    assert isinstance(value, Dynamic)
    return value


def _prim(value: Dynamic) -> Prim:
    assert isinstance(value.type, Prim)
    return value.type


def atom_of(value: Value) -> Atom:
    """The atom of a scalar."""
    return scalar(value).atom


def fold(e: Evaluator, op: str, prim: Prim, array: Value, span: Span) -> Value:
    """``op`` over an array, from its unit; ``op`` is commutative."""
    row = OPS[op]
    assert row.neutral is not None
    start = row.neutral(prim)
    value = bool(start) if prim is Prim.BOOL else float(start) if prim.is_float else int(start)

    def combine(args: tuple[Value, ...]) -> Value:
        return Dynamic(e.builder.op(op, prim, tuple(map(atom_of, args)), span), prim)

    return e.arrays.reduce(combine, Dynamic(Const(value, prim), prim), array, span, comm=True)
