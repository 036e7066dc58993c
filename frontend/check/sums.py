"""Inference of sum types: constructors, ``match`` and the patterns that need not fit.

The type of ``#a e`` has a constructor ``a``.  Its other constructors are found by unification with
a type that names them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from runelift.frontend.check.exhaustive import no_constructor
from runelift.frontend.check.forms import tail
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.nodes import Node, walk
from runelift.frontend.syntax.types import Sum, Tuple, Type, payload
from runelift.ir.base.errors import (
    Diagnostic,
    ProgramError,
    Replacement,
    did_you_mean,
)
from runelift.ir.base.source import Span

if TYPE_CHECKING:
    from runelift.frontend.check.infer import Inference
    from runelift.frontend.check.patterns import Bindings, Patterns


def sum_type(checker: Inference, exp: ast.Constr | ast.MatchExp, expected: Type | None) -> Type:
    """The type of a constructor's application or of a match."""
    if isinstance(exp, ast.MatchExp):
        return _match(checker, exp, expected)
    args = Tuple(tuple(checker.infer(arg) for arg in exp.args))
    return checker.solved.require(Sum, exp.name, args)


def _match(checker: Inference, exp: ast.MatchExp, expected: Type | None) -> Type:
    value = checker.infer(exp.value)
    result: Type | None = None
    for case in exp.cases:
        with checker.inner_scope():
            checker.sizes_outside((case.pattern,))
            checker.pattern(case.pattern, value)
            body = checker.infer(case.body, expected)
        result = body if result is None else checker.join(
            result, body, tail(case.body).span, "a case", tail(exp.cases[0].body).span)
    assert result is not None
    checker.no_function(result, exp.span, "the result of a match")
    return result


def refutable_type(checker: Patterns, pattern: ast.PatConstr | ast.PatLiteral, bound: Bindings,
                   type_: Type | None) -> Type:
    """The type of a pattern that does not fit every value, which is ``type_`` if given.

    The names in it are added to ``bound``.
    """
    if isinstance(pattern, ast.PatLiteral):
        found = checker.infer(pattern.literal)
        if type_ is not None:
            checker.expect(type_, found, pattern.span, "a pattern")
        return found
    head = checker.solved.head(type_) if type_ is not None else None
    if isinstance(head, Sum):
        known = dict(head.fields)
        if pattern.name not in known or len(payload(known[pattern.name])) != len(pattern.items):
            raise _bad_constructor(pattern, head, pattern.span)
        for item, part in zip(pattern.items, payload(known[pattern.name]), strict=True):
            checker.part_type(item, bound, part)
        return head
    items = Tuple(tuple(checker.part_type(item, bound, None) for item in pattern.items))
    found = checker.solved.require(Sum, pattern.name, items)
    if type_ is not None:
        checker.expect(type_, found, pattern.span, "a pattern")
    return found


def _bad_constructor(pattern: ast.PatConstr, type_: Sum, span: Span) -> ProgramError:
    known = dict(type_.fields)
    if pattern.name not in known:
        return no_constructor("bad-pattern", pattern.name, type_, span)
    count = len(payload(known[pattern.name]))
    if len(pattern.items) == 1 and isinstance(tuple_ := pattern.items[0], ast.PatTuple) and (
            len(tuple_.items) == count):
        new = " ".join([f"#{pattern.name}", *(item.span.text for item in tuple_.items)])
        hint = f"Its values stand behind it, without a tuple: {new}"
        return ProgramError(Diagnostic(
            "bad-pattern", span, f"'#{pattern.name}' has {count} values, but the pattern has 1.",
            hints=(Replacement(hint, new),)))
    return ProgramError(Diagnostic(
        "bad-pattern", span, f"'#{pattern.name}' has {count} value{'s' * (count != 1)}, but the "
        f"pattern has {len(pattern.items)}.", hints=(
            f"Write {' '.join([f'#{pattern.name}', *['_'] * count])} to ignore what is inside.",)
        if len(pattern.items) < count else ()))


def unmarked(decs: tuple[Node, ...]) -> Iterator[Diagnostic]:
    """Warnings of patterns that are names of constructors without '#': they fit every value."""
    for node in walk(decs):
        if not isinstance(node, ast.MatchExp) or not isinstance(node.value.type, Sum):
            continue
        names = {name.lower(): name for name, _ in node.value.type.fields}
        for case in node.cases:
            if isinstance(case.pattern, ast.PatName) and (
                    name := names.get(case.pattern.name.lower())):
                yield Diagnostic(
                    "bad-pattern", case.pattern.span, f"The name '{case.pattern.name}' fits every "
                    "value: a constructor begins with '#'.", severity="warning",
                    hints=(did_you_mean(f"#{name}", case.pattern.span, case.pattern.name),))
