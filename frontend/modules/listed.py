"""Rules of module types: the members that they list, and the parameters of their types."""

from __future__ import annotations

from collections.abc import Iterable

from runelift.frontend.modules.structures import PRIMS, Signature, Structure, is_predefined, wrong
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.nodes import walk
from runelift.ir.base.source import Span

LIFTED = ("", "~", "^")
"""Marks of types, from the mark that allows least to the mark that allows most."""


def check_type_names(exp: ast.TypeExp | None, scope: Structure,
                      params: Iterable[ast.SizeParam | ast.TypeParam]) -> None:
    """Check that the types and sizes which a module type names exist."""
    names = {"acc", *PRIMS, *(p.name for p in params)}
    bound = {p.name for p in params if isinstance(p, ast.SizeParam)}
    for node in walk(exp):
        bound |= {*node.sizes} if isinstance(node, ast.TypeExists) else set()
        bound |= {node.param} if isinstance(node, ast.TypeArrow) and node.param else set()
    for node in walk(exp):
        if isinstance(node, ast.TypeName) and not node.name.quals and (
                node.name.name not in names and scope.type(node.name.name) is None):
            raise wrong("unknown-type", node.span, f'Unknown type "{node.name}".')
        if isinstance(node, ast.TypeArray) and isinstance(size := node.size, ast.Name) and (
                not size.name.quals and size.name.name not in bound
                and scope.value(size.name.name) is None and not is_predefined(size.name.name)):
            raise wrong("unknown-name", size.span, f"Unknown variable '{size.name}'.")


def check_distinct(names: list[str], span: Span) -> None:
    """Refuse a name that is listed twice."""
    for k, name in enumerate(names):
        if name in names[:k]:
            raise wrong("duplicate-name", span, f'Duplicate: "{name}" was previously defined.')


def check_new(more: Signature, known: Signature, span: Span) -> None:
    """Refuse a module type that lists a name twice."""
    for each, others in ((more.values, known.values), (more.types, known.types),
                         (more.modules, known.modules)):
        for name in each.keys() & others.keys():
            raise wrong("duplicate-name", span, f'Duplicate: "{name}" was previously defined.')


def check_arguments(exp: ast.TypeExp, names: set[str]) -> None:
    """Check that the arguments of a specified function have distinct names and named sizes.

    The sizes of a constant must be named, too.
    """
    if not isinstance(exp, ast.TypeArrow) and _has_anonymous(exp):
        raise wrong("anonymous-size", exp.span,
                    "The sizes of a constant must be non-anonymous in a module type.")
    while isinstance(exp, ast.TypeArrow):
        if exp.param is not None and exp.param in names:
            raise wrong("duplicate-name", exp.span,
                        f'Duplicate: "{exp.param}" was previously defined.')
        names.add(exp.param or "")
        if _has_anonymous(exp.domain):
            raise wrong("anonymous-size", exp.domain.span,
                        "The sizes of an argument must be non-anonymous in a module type.",
                        "Name the size: val f [n] : [n]t -> u.")
        exp = exp.codomain


def _has_anonymous(exp: ast.TypeExp) -> bool:
    match exp:
        case ast.TypeArray(_, size, elem):
            return size is None or _has_anonymous(elem)
        case ast.TypeTuple(_, items):
            return any(map(_has_anonymous, items))
        case ast.TypeUnique(_, inner):
            return _has_anonymous(inner)
    return False


def stands_for(own: ast.SizeParam | ast.TypeParam, other: ast.SizeParam | ast.TypeParam, *,
                exactly: bool = True) -> bool:
    """True if type parameter ``own`` may stand for all types that ``other`` may stand for.

    ``exactly``: and for no other types.
    """
    if not (isinstance(own, ast.TypeParam) and isinstance(other, ast.TypeParam)):
        return type(own) is type(other)
    more = LIFTED.index(own.kind) - LIFTED.index(other.kind)
    return more == 0 if exactly else more >= 0
