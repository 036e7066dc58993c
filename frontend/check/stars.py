"""The parts of a type or pattern that are marked with ``*``: consumed, or fresh as a result."""

from __future__ import annotations

from collections.abc import Callable

from runelift.frontend.check.aliases import united
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.types import Unique


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
