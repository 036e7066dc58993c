"""Which parts of a type or pattern are marked with ``*``: consumed, or fresh as a result."""

from __future__ import annotations

from runelift.frontend import ast
from runelift.frontend.check.aliases import united
from runelift.frontend.types import Unique


def unique_parts(exp: ast.TypeExp | None) -> Unique:
    """Which parts of a type are marked with ``*``."""
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
    """Which parts of what a pattern binds have a type there."""
    match pattern:
        case ast.PatAscript():
            return True
        case ast.PatTuple(_, items):
            return united(tuple(map(typed_pattern, items)))
        case ast.PatRecord(_, members):
            return united(tuple(typed_pattern(item) for _, item in sorted(
                members, key=lambda member: member[0])))
    return False


def unique_pattern(pattern: ast.Pattern) -> Unique:
    """Which parts of what a pattern binds are declared unique."""
    match pattern:
        case ast.PatAscript(_, inner, type_exp):
            return unique_parts(type_exp) or unique_pattern(inner)
        case ast.PatTuple(_, items):
            return united(tuple(map(unique_pattern, items)))
        case ast.PatRecord(_, members):
            return united(tuple(unique_pattern(item) for _, item in sorted(
                members, key=lambda member: member[0])))
    return False
