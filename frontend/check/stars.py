"""The parts of a type or pattern that are marked with ``*``: consumed, or fresh as a result."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from runelift.frontend.check.aliases import united
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.types import Unique
from runelift.ir.base.errors import Label, Replacement
from runelift.ir.base.source import Span

_PATH = r"[A-Za-z_][\w']*(?:\.[\w']+|\[[^\[\]\n]*\])*"
"""A name, a field or an element."""


def unique_parts(exp: ast.TypeExp | None) -> Unique:
    """The parts of a type that are marked with ``*``."""
    match exp:
        case ast.TypeUnique():
            return True
        case ast.TypeTuple(_, items):
            return united(tuple(map(unique_parts, items)))
        case ast.TypeRecord(_, members):
            return united(tuple(unique_parts(item) for _, item in sorted(
                members, key=lambda member: member[0])))
        case ast.TypeExists(_, _, inner):
            return unique_parts(inner)
    return False


def typed_pattern(pattern: ast.Pattern) -> Unique:
    """The parts of a pattern's value that have a type there."""
    return _parts_of(pattern, lambda ascribed: True)


def unique_pattern(pattern: ast.Pattern) -> Unique:
    """The parts of a pattern's value that are declared unique."""
    return _parts_of(pattern, lambda ascribed: (
        unique_parts(ascribed.type_exp) or unique_pattern(ascribed.pattern)))


def _parts_of(pattern: ast.Pattern, ascribed: Callable[[ast.PatAscript], Unique]) -> Unique:
    """The parts of a pattern that ``ascribed`` finds in its patterns with types."""
    match pattern:
        case ast.PatAscript():
            return ascribed(pattern)
        case ast.PatTuple(_, items):
            return united(tuple([_parts_of(item, ascribed) for item in items]))
        case ast.PatRecord(_, members):
            return united(tuple([_parts_of(item, ascribed) for _, item in sorted(
                members, key=lambda member: member[0])]))
    return False


class Parameter(NamedTuple):
    """The place of a parameter, and the text of its type."""

    span: Span
    type: str


def parameter(name: str, span: Span) -> Parameter | None:
    """The parameter of a name that is in scope at a place, if its type is written there."""
    places = list(re.compile(rf"\(({re.escape(name)})\s*:\s*([^()*\n]+)\)").finditer(
        span.source.text, _declaration(span), span.start))
    if not places:
        return None
    return Parameter(Span(span.source, places[-1].start(1), places[-1].end(1)), places[-1][2])


def copied(name: str, span: Span) -> str | None:
    """The hint to copy what ``name`` is where it is defined; None if that is no part of an array.

    ``span`` is where the name is used.
    """
    text, first = span.source.text, _declaration(span)
    begin = max((found.end() for found in re.compile(
        rf"\b(let|loop)\s+{re.escape(name)}\s*(:[^=\n]*)?=\s*").finditer(
            text, first, span.start) if found.end() != span.start), default=None)
    value = re.compile(rf"({_PATH})\s*(?=\b(in|let|for|while)\b)").match(text, begin) if (
        begin is not None) else None
    pairs = list(re.compile(r"\bloop\s*\(([^()]*)\)\s*=\s*\(([^()]*)\)").finditer(
        text, first, span.start))
    if value is None and pairs and name in (names := _split(pairs[-1][1])):
        number = names.index(name)
        before = ",".join(pairs[-1][2].split(",")[:number])
        value = re.compile(rf"[\s,]*({_PATH})\s*(?=[,)])").match(
            text, pairs[-1].start(2) + len(before))
    if value is None:
        return None
    new = f"copy {value[1]}"
    return Replacement(f"Begin with a copy: {name} = {new}.", new,
                       Span(span.source, value.start(1), value.end(1)))


def defined(hint: str | None) -> tuple[Label, ...]:
    """The place that a hint to copy is about."""
    if not isinstance(hint, Replacement) or hint.span is None:
        return ()
    return (Label(hint.span, "defined here"),)


def _declaration(span: Span) -> int:
    """The place where the top-level declaration of ``span`` begins, or about there."""
    return max((found.start() for found in re.finditer(
        r"^(def|entry|let)\b", span.source.text[:span.start], re.MULTILINE)), default=0)


def _split(names: str) -> list[str]:
    return [each.partition(":")[0].strip() for each in names.split(",")]


def update_of(span: Span) -> str | None:
    """The hint to consume a copy of what ``span`` has; None if it is more than a name or a part."""
    text = span.text
    if not re.fullmatch(_PATH, text):
        return None
    if span.source.text[span.end:span.end + 1] == "[":
        line = span.source.text[:span.start].rpartition("\n")[2]
        if line.strip() != "let":
            return None
        new = f"let {text} = copy {text}"
        return Replacement(f"Update a copy: {new}.", f"{new}\n{line}{text}",
                           Span(span.source, span.start - len(line.lstrip()), span.end))
    return Replacement(f"Update a copy: copy {text}.", f"(copy {text})", span)


def written_at_once(name: str, span: Span) -> str | None:
    """The hint for an update inside of a function that may run many times, or None."""
    if not re.match(r"\s*(with\b|\[[^\]\n]*\]\s*=)", span.source.text[span.end:]):
        return None
    at_once = "written at once by scatter {} is vs"
    if re.match(rf"[^=\n]*=\s*{re.escape(name)}\[[^\]\n]*\]\s*\+", span.source.text[span.end:]):
        at_once = "added up at once by reduce_by_index {} (+) 0 is vs"
    return (f"Many elements are {at_once.format(name)}; a loop carries the array: "
            f"loop {name} for i < n do e")


def reworded(hint: str, text: str) -> str:
    """A hint in other words, with the same replacement."""
    return Replacement(text, hint.new, hint.span) if isinstance(hint, Replacement) else text
