"""Exhaustiveness: patterns cover every value of their type, or a value that they miss is found.

Source: Maranget, Warnings for pattern matching, JFP 2007, section 5: the columns of a matrix of
patterns are specialised one after the other.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from runelift.frontend.syntax import ast
from runelift.frontend.syntax.types import Record, Sum, Tuple, Type, payload, show
from runelift.ir.base.errors import Code, Diagnostic, ProgramError, Replacement
from runelift.ir.base.source import Span
from runelift.ir.prim import Prim

Row = tuple[ast.Pattern | None, ...]
"""A row of patterns; None fits everything."""


ANOTHER_CASE = "Add a case for it, or a last case '_'."
NO_CASES = "Only 'match' can have several cases."


def uncovered(patterns: Sequence[ast.Pattern], span: Span, hint: str = NO_CASES) -> list[
        Diagnostic]:
    """An error that shows a value which none of the (typed) patterns fits, or nothing."""
    type_ = patterns[0].type
    assert type_ is not None
    missing = _missing([(pattern,) for pattern in patterns], [type_])
    if missing is None:
        return []
    return [Diagnostic("incomplete-match", span,
                       "Unmatched cases: no pattern fits "
                       + (f"'{missing[0]}'." if missing[0] != "_" else "other values."),
                       hints=(hint,))]


def _missing(rows: list[Row], types: list[Type]) -> list[str] | None:
    """Values of ``types``, as text, that no row fits; None if there are none."""
    if not types:
        return None if rows else []
    first, *rest = types
    heads = [(_strip(row[0]), row[1:]) for row in rows]
    if heads and all(head is None for head, _ in heads):
        left = _missing([others for _, others in heads], rest)  # its parts decide nothing
        return None if left is None else ["_", *left]
    literals = _by_literal([head for head, _ in heads])
    for tag, parts in _shapes(first, [head for head, _ in heads]):
        inner: list[Row] = []
        for head, others in ([heads[n] for n in literals.get(tag, literals[_NO_LITERAL])]
                             if literals else heads):
            fitting = _parts(head, tag, parts)
            if fitting is not None:
                inner.append((*fitting, *others))
        found = _missing(inner, [*parts, *rest])
        if found is not None:
            return [_render(first, tag, found[:len(parts)]), *found[len(parts):]]
    return None


_NO_LITERAL = object()
"""The key of the rows that fit every value."""


def _by_literal(heads: list[ast.Pattern | None]) -> dict[object, list[int]]:
    """The numbers of the rows that fit each literal, in order; empty if a pattern has parts.

    Many cases are of one literal each, and looking at each row for each of them would be long.
    """
    found: dict[object, list[int]] = {}
    everything = [number for number, head in enumerate(heads) if head is None]
    for number, head in enumerate(heads):
        if isinstance(head, ast.PatLiteral):
            found.setdefault(head.literal.value, []).append(number)
        elif head is not None:
            return {}
    return {_NO_LITERAL: everything} | {
        value: sorted((*rows, *everything)) for value, rows in found.items()}


def _strip(pattern: ast.Pattern | None) -> ast.Pattern | None:
    """The pattern without annotations; None if it fits everything."""
    while isinstance(pattern, ast.PatAscript):
        pattern = pattern.pattern
    return None if isinstance(pattern, ast.PatName | ast.PatWild) else pattern


def _shapes(type_: Type, heads: list[ast.Pattern | None]) -> list[tuple[object, list[Type]]]:
    """The ways to build a value that matter, each with the types of its parts."""
    match type_:
        case Sum(fields):
            return [(name, list(payload(field))) for name, field in fields]
        case Tuple(items):
            return [(None, list(items))]
        case Record(fields):
            return [(None, [field for _, field in fields])]
        case Prim.BOOL:
            return [(True, []), (False, [])]
    seen = dict.fromkeys(h.literal.value for h in heads if isinstance(h, ast.PatLiteral))
    return [*((value, []) for value in seen), ("_", [])]


def _parts(head: ast.Pattern | None, tag: object,
           parts: list[Type]) -> tuple[ast.Pattern | None, ...] | None:
    """The patterns inside of ``head`` if it fits ``tag``; None if it does not."""
    match head:
        case None:
            return (None,) * len(parts)
        case ast.PatConstr(_, name, items):
            return items if name == tag else None
        case ast.PatLiteral(_, literal):
            return () if literal.value == tag else None
        case ast.PatTuple(_, items):
            return items
        case ast.PatRecord(_, fields):
            return tuple(pattern for _, pattern in sorted(fields, key=lambda field: field[0]))
    raise AssertionError(head)


def _render(type_: Type, tag: object, parts: list[str]) -> str:
    match type_:
        case Sum():
            text = " ".join([f"#{tag}", *parts])
            return f"({text})" if parts else text
        case Tuple():
            return f"({', '.join(parts)})"
        case Record(fields):
            inside = ", ".join(f"{name} = {part}" for (name, _), part
                               in zip(fields, parts, strict=True))
            return f"{{{inside}}}"
    return str(tag).lower() if isinstance(tag, bool) else str(tag)


def no_constructor(code: Code, name: str, type_: Sum, span: Span) -> ProgramError:
    """The error that a type has no constructor of a name, which begins ``span``."""
    known = {label.lower(): label for label, _ in type_.fields}
    near = difflib.get_close_matches(name.lower(), known, n=1)
    place = Span(span.source, span.start, span.start + len(name) + 1)
    return ProgramError(Diagnostic(
        code, span, f"The type {show(type_)} has no constructor '#{name}'.",
        hints=tuple(Replacement(f"Did you mean '#{known[each]}'?", f"#{known[each]}", place)
                    for each in near)))
