"""Calls whose arguments fit in another order, without one of them, or with one more.

The arguments are checked again for that, so this is only for calls that are wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, permutations
from typing import Protocol

from runelift.frontend.check.foreign import argument
from runelift.frontend.check.unify import (
    FunctionalType,
    IrregularType,
    SizeMismatch,
    Substitution,
    TypeMismatch,
)
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.types import Arrow, Type, metas, show
from runelift.ir.base.errors import Diagnostic, ProgramError, Replacement

MOST_ARGUMENTS = 5
"""The most arguments of a call that are tried in other orders."""
DERIVATIVES = frozenset({"vjp", "vjp2", "jvp", "jvp2", "mjp", "mjp2", "jmp", "jmp2"})
"""The functions that take a function, its argument and a seed."""


class Checker(Protocol):
    """The parts of the inference of types that are needed."""

    solved: Substitution
    errors: list[Diagnostic]

    def infer(self, exp: ast.Exp, expected: Type | None = None) -> Type:
        """The type of an expression."""


def reordered(checker: Checker, call: ast.Exp | None) -> str | None:
    """The hint of the one order in which the arguments of a call fit; None if there is no such."""
    if not isinstance(call, ast.Apply) or not 2 <= len(call.args) <= MOST_ARGUMENTS:
        return None
    types = _types(checker, call)
    if types is None:
        return None
    function, given = types
    domains = _domains(checker, function)
    if len(domains) < len(given):
        return None
    wanted = domains[:len(given)]
    fitting = [order for order in permutations(range(len(given)))
               if _fit(checker, wanted, [given[k] for k in order])]
    # what is overwritten is rather made by a call than a name
    best = [order for order in fitting if not any(
        each.consumes and isinstance(call.args[k], ast.Name)
        for each, k in zip(wanted, order, strict=True))] or fitting
    if len(best) != 1:
        return None
    new = _call(call, (call.args[k] for k in best[0]))
    return Replacement(f"The arguments fit in another order: {new}", new, call.span)


def miscounted(checker: Checker, call: ast.Exp | None) -> str | None:
    """The hint that arguments of a call fit without some of them, or with one more."""
    if not isinstance(call, ast.Apply) or len(call.args) > MOST_ARGUMENTS:
        return None
    types = _types(checker, call)
    if types is None:
        return None
    function, given = types
    domains = _domains(checker, function)
    for skipped in reversed(range(len(domains) - 1)):
        others = [*domains[:skipped], *domains[skipped + 1:]]
        if len(others) == len(given) and _fit(checker, others, given):
            param, text = domains[skipped], call.args[skipped].span.text
            name = f"{param.param.base}, " if param.param is not None else ""
            type_ = checker.solved.resolve(param.domain)
            kind = "a function" if isinstance(type_, Arrow) else (
                "of another type" if metas(type_) else f"of type {show(type_)}")
            return f"An argument is missing before {text}: {name}{kind}."
    for kept in combinations(range(len(given)), len(domains)):
        if len(kept) < len(given) and _fit(checker, domains, [given[k] for k in kept]):
            new = _call(call, (call.args[k] for k in kept))
            return Replacement(f"It takes {len(kept)} argument{'s' * (len(kept) != 1)}: {new}",
                               new, call.span)
    return None


def lacks_inner(checker: Checker, call: ast.Apply) -> bool:
    """True if a call lacks an argument, and its last one fits as the last parameter."""
    types = _types(checker, call)
    if types is None:
        return False
    function, given = types
    domains = _domains(checker, function)
    return len(domains) == len(given) + 1 and any(
        _fit(checker, [*domains[:skipped], *domains[skipped + 1:]], given)
        for skipped in range(len(given)))


def _types(checker: Checker, call: ast.Apply) -> tuple[Type, list[Type]] | None:
    """The types of a function and its arguments; None if one of them is wrong itself."""
    state, said = checker.solved.snapshot(), len(checker.errors)
    try:
        return checker.infer(call.fun), [checker.infer(arg) for arg in call.args]
    except ProgramError:
        checker.solved.restore(state)
        return None
    finally:
        del checker.errors[said:]


def _domains(checker: Checker, type_: Type) -> list[Arrow]:
    """The function types of a function, and of what is left of it behind each argument."""
    found = []
    while isinstance(head := checker.solved.head(type_), Arrow):
        found.append(head)
        type_ = head.codomain
    return found


def _fit(checker: Checker, wanted: Iterable[Arrow], given: Iterable[Type]) -> bool:
    """True if arguments of some types fit the parameters."""
    state = checker.solved.snapshot()
    try:
        for arrow, type_ in zip(wanted, given, strict=True):
            checker.solved.unify(arrow.domain, type_)
    except (TypeMismatch, SizeMismatch, FunctionalType, IrregularType):
        return False
    finally:
        checker.solved.restore(state)
    return True


def _call(call: ast.Apply, args: Iterable[ast.Exp]) -> str:
    return " ".join([call.fun.span.text, *(_text(arg) for arg in args)])


def _text(arg: ast.Exp) -> str:
    """The text of an argument, in parentheses if it has such in the call."""
    source, span = arg.span.source.text, arg.span
    alone = source[span.start - 1:span.start] == "(" and source[span.end:span.end + 1] == ")"
    return f"({span.text})" if alone else argument(span.text) if isinstance(
        arg, ast.Negate | ast.BinExp | ast.Apply) else span.text
