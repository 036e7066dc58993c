"""Sum types: a tag and the payloads of the constructors; ``match`` as a chain of branches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from runelift.frontend.elaborate.array_exps import zeros
from runelift.frontend.elaborate.environment import inside
from runelift.frontend.elaborate.values import (
    TAG,
    Dynamic,
    Env,
    RecordValue,
    SumValue,
    TupleValue,
    Value,
    leaves,
    project,
)
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.types import Array, Record, Sum, Tuple, Type, payload
from runelift.ir.base.errors import CompilerBug
from runelift.ir.base.source import Span
from runelift.ir.prim import Prim
from runelift.ir.types import TRUE, Atom, Const, elem_of, shape_of

if TYPE_CHECKING:
    from runelift.frontend.elaborate.exps import Evaluator


def construct(evaluator: Evaluator, exp: ast.Constr, env: Env) -> SumValue:
    """``#a e f``."""
    assert isinstance(exp.type, Sum)
    names = [name for name, _ in exp.type.fields]
    args = tuple([evaluator.exp(arg, env) for arg in exp.args])
    payloads = tuple((name, args if name == exp.name else None if payload(field) else ())
                     for name, field in exp.type.fields)
    return SumValue(Dynamic(Const(names.index(exp.name), TAG), TAG), payloads)


def whole(evaluator: Evaluator, value: Value, type_: Type, span: Span, rank: int = 0) -> Value:
    """``value`` with blanks for the payloads of other constructors of ``type_``."""
    match type_, value:
        case Array(_, elem), _:
            return whole(evaluator, value, elem, span, rank + 1)
        case Tuple(types), TupleValue(items):
            return TupleValue(tuple([whole(evaluator, item, t, span, rank)
                                     for item, t in zip(items, types, strict=True)]))
        case Record(types), RecordValue(items):
            return RecordValue(tuple([(name, whole(evaluator, item, t, span, rank))
                                      for (name, item), (_, t) in zip(items, types, strict=True)]))
        case Sum(fields), SumValue(tag, payloads):
            outer = shape_of(tag.type)
            parts: list[tuple[str, tuple[Value, ...] | None]] = []
            for (name, found), (_, field) in zip(payloads, fields, strict=True):
                if found is None:
                    parts.append((name, tuple([zeros(evaluator, t, outer, {}, span)
                                               for t in payload(field)])))
                else:
                    parts.append((name, tuple([whole(evaluator, item, t, span, rank) for item, t
                                               in zip(found, payload(field), strict=True)])))
            return SumValue(tag, tuple(parts))
    return value


def parts_of(value: Value, name: str) -> tuple[Value, ...]:
    """The payload of a constructor that ``value`` was made with."""
    assert isinstance(value, SumValue)
    found = dict(value.payloads)[name]
    if found is None:
        raise CompilerBug(f"a payload of '#{name}' that cannot be there")
    return found


def match_value(evaluator: Evaluator, exp: ast.MatchExp, value: Value,
                env: Env) -> Value:
    """``match``: the cases are tried in order, and the last one that can fit needs no test."""
    tests = [(case, _fits(evaluator, case.pattern, value, case.span)) for case in exp.cases]
    possible = [(case, test) for case, test in tests if test is not None]

    def run(number: int) -> Value:
        case, test = possible[number]

        def body() -> Value:
            inner = inside(env)
            evaluator.bind(case.pattern, value, inner, set())
            return evaluator.exp(case.body, inner)

        if number + 1 == len(possible) or test == TRUE:
            return body()
        assert test is not None
        return evaluator.branch(Dynamic(test, Prim.BOOL), body, lambda: run(number + 1), case.span)

    return run(0)


def _fits(evaluator: Evaluator, pattern: ast.Pattern, value: Value, span: Span) -> Atom | None:
    """The condition that ``value`` has the form of ``pattern``; None if it certainly has not."""
    match pattern:
        case ast.PatAscript(_, inner):
            return _fits(evaluator, inner, value, span)
        case ast.PatLiteral(_, literal):
            return _equal(evaluator, value, evaluator.exp(literal, {}), span)
        case ast.PatTuple(_, items) if items:
            assert isinstance(value, TupleValue)
            return _all(evaluator, zip(items, value.items, strict=True), TRUE, span)
        case ast.PatRecord(_, fields):
            pairs = [(item, project(value, name)) for name, item in fields]
            return _all(evaluator, pairs, TRUE, span)
        case ast.PatConstr(_, name, items):
            assert isinstance(value, SumValue)
            parts = dict(value.payloads)[name]
            number = [label for label, _ in value.payloads].index(name)
            tagged = _equal(evaluator, value.tag, Dynamic(Const(number, TAG), TAG), span)
            if parts is None or tagged is None:
                return None
            return _all(evaluator, zip(items, parts, strict=True), tagged, span)
    return TRUE


def _all(evaluator: Evaluator, pairs: Iterable[tuple[ast.Pattern, Value]], test: Atom,
         span: Span) -> Atom | None:
    for item, part in pairs:
        fits = _fits(evaluator, item, part, span)
        if fits is None:
            return None
        if fits != TRUE:
            test = fits if test == TRUE else evaluator.builder.op(
                "and", Prim.BOOL, (test, fits), span)
    return test


def _equal(evaluator: Evaluator, left: Value, right: Value, span: Span) -> Atom | None:
    (a,), (b,) = leaves(left), leaves(right)
    test = evaluator.builder.op("eq", elem_of(a.type), (a.atom, b.atom), span)
    return None if test == Const(False, Prim.BOOL) else test
