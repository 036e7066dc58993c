"""Numbers with a suffix, which decides for the wrong type."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from runelift.frontend.check.conversions import is_float
from runelift.frontend.check.unify import Substitution
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.literals import beyond_suffix
from runelift.frontend.syntax.nodes import Node
from runelift.frontend.syntax.types import Type
from runelift.ir.base.errors import Label, ProgramError, Replacement
from runelift.ir.base.source import Span
from runelift.ir.prim import FLOATS, INTS, Prim


class Bound(Protocol):
    """A name in scope."""

    @property
    def span(self) -> Span | None:
        """The place at which it is bound."""


def require_room(typed: Sequence[Node], *types: Type) -> None:
    """Refuse a number that does not fit its suffix if that is one of two types that differ."""
    for exp in typed:
        if isinstance(exp, ast.Literal) and exp.prim in types and exp.prim is not None and (
                said := beyond_suffix(exp.span, exp.prim)):
            raise ProgramError(said)


def suffixed(solved: Substitution, typed: Sequence[Node], find: Callable[[str], Bound | None],
             wanted: Type, given: Type, because: ast.Exp | Span | Label | None) -> str | None:
    """The hint that a number's suffix is another one; None if no such decides for ``wanted``.

    ``because`` is the place that decides, or the operator with the two operands that differ.  A
    name that a loop carries has the suffix that it starts with.
    """
    place = because.left.span if isinstance(because, ast.BinExp) else because
    name = find(place.text) if isinstance(place, Span) else None
    places = [place, *(init.span for exp in typed if name is not None
                       and isinstance(exp, ast.LoopExp) and exp.init is not None
                       for pattern, init in _starts(exp.pattern, exp.init)
                       if pattern.span == name.span)]
    to_float = given in FLOATS or is_float(solved, given)
    for exp in typed:
        if isinstance(exp, ast.Literal) and exp.prim is wanted and exp.span in places and (
                to_float or (given in INTS and isinstance(exp.value, int)
                             and isinstance(because, ast.BinExp) and place == exp.span)):
            old = exp.span.text
            new = old.removesuffix(str(wanted)) + (str(given) if isinstance(given, Prim) else "")
            if to_float and isinstance(place, Span) and place != exp.span:
                return Replacement(f"{place.text} begins as {old} (line {exp.span.line}): "
                                   f"begin with {new}.", new, exp.span)
            return Replacement(f"The type is that of {old}: write {new}.", new, exp.span)
    return None


def _starts(pattern: ast.Pattern, init: ast.Exp) -> Iterator[tuple[ast.Pattern, ast.Exp]]:
    """Each part of a loop's pattern, with the expression that it starts from."""
    yield pattern, init
    if isinstance(pattern, ast.PatTuple) and isinstance(init, ast.TupleExp):
        for inner, start in zip(pattern.items, init.items, strict=False):
            yield from _starts(inner, start)
