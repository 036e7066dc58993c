"""Restrictions on declarations beyond types that fit together."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence, Set

from runelift.frontend.check.aliases import fresh_enough
from runelift.frontend.check.forms import whole_name
from runelift.frontend.syntax import ast
from runelift.frontend.syntax import types as ty
from runelift.frontend.syntax.nodes import Node, walk
from runelift.ir.base.errors import Diagnostic
from runelift.ir.names import VName


def constructive_sizes(type_: ty.Type) -> set[VName]:
    """The sizes in a type that a value of it has: those outside of functions."""
    return {name for part in ty.parts(type_, lambda part: not isinstance(part, ty.Arrow))
            if isinstance(part, ty.Array) for name in part.size.variables()}


def sizes_of_inner_names(params: tuple[ast.Pattern, ...],
                         ret: ast.TypeExp | None) -> Iterator[Diagnostic]:
    """A declared result has no sizes that are components of a parameter: calls cannot name them."""
    inner = {name for param in params for name in _names(param) - {whole_name(param)}}
    for node in walk(ret):
        if isinstance(node, ast.Name) and not node.name.quals and node.name.name in inner:
            yield Diagnostic(
                "inaccessible-size", node.span, "The return type annotation refers to the name "
                f'"{node.name}" which is bound to an inner component of a function parameter.',
                hints=("Bind the whole parameter to a name: write p.0 or p.x for the component.",))


def inner_sizes(params: Sequence[ast.Pattern], domains: Sequence[ty.Type]) -> Iterator[Diagnostic]:
    """Errors for sizes of a parameter that are components of another parameter.

    Calls cannot name such sizes.
    """
    inner = {node.size for param in params for node in walk(param)
             if isinstance(node, ast.PatName) and node.name != whole_name(param)}
    for param, domain in zip(params, domains, strict=True):
        for size in sorted(ty.sizes_in(domain) & inner):
            yield Diagnostic(
                "inaccessible-size", param.span, "The type of the parameter refers to "
                f'"{size.base}", which is bound to an inner component of another one.',
                hints=("Make the component a separate parameter.",))


def later_sizes(params: Sequence[ast.Pattern], names: Sequence[VName | None],
                domains: Sequence[ty.Type]) -> Iterator[Diagnostic]:
    """Errors for sizes of parameters that later parameters bind.

    Arguments may be given one by one, so that later sizes are unknown.  ``names`` are the
    parameters' names in types.
    """
    for place, (param, domain) in enumerate(zip(params, domains, strict=True)):
        for size in sorted(ty.sizes_in(domain).intersection(filter(None, names[place + 1:]))):
            yield Diagnostic(
                "unknown-param-size", param.span, "A size of this parameter would have to be "
                f'"{size.base}", which is a later parameter.',
                hints=(f"Give {size.base} first, or as a size parameter: [{size.base}].",))


def computed_sizes(params: Sequence[ast.Pattern], domains: Sequence[ty.Type],
                   unknown: Collection[VName], bound: Collection[VName]) -> Iterator[Diagnostic]:
    """A parameter has no size that only the body of its function knows.

    Only the body knows ``unknown`` sizes that it computes, and names that are ``bound`` in it.
    """
    for param, domain in zip(params, domains, strict=True):
        sizes = ty.sizes_in(domain)
        named = sorted(sizes.intersection(bound))
        if named or not sizes.isdisjoint(unknown):
            which = (f'"{named[0].base}", which is bound inside of the function' if named else
                     "one that the function itself computes")
            yield Diagnostic(
                "unknown-param-size", param.span,
                f"A size of this parameter would have to be {which}.",
                hints=("Where an array of such a size is used, say its size with a size coercion: "
                       "e :> [n]t.",))


def unused_sizes(params: Sequence[ast.SizeParam | ast.TypeParam],
                 type_: ty.Type) -> Iterator[Diagnostic]:
    """Errors for size parameters of a function that are no sizes in its type."""
    used = ty.sizes_in(type_)
    for param in params:
        if isinstance(param, ast.SizeParam) and param.size not in used:
            yield Diagnostic(
                "unused-size", param.span, f"Size [{param.name}] unused in the type of the "
                "function.", hints=("Leave it out, or say of which array it is the size: "
                                    f"(xs: [{param.name}]t).",))


def own_size(pattern: ast.Pattern) -> ast.Name | None:
    """A size in a pattern's annotations that is one of the names which the pattern binds.

    They are in scope behind it: of ``(n: i64, xs: [n]t)`` no size can be the component n.
    """
    bound = _names(pattern)
    for node in walk(pattern):
        if isinstance(node, ast.PatAscript):
            arrows = {arrow.param for arrow in walk(node.type_exp)
                      if isinstance(arrow, ast.TypeArrow)}
            for name in walk(node.type_exp):
                if isinstance(name, ast.Name) and not name.name.quals and (
                        name.name.name in bound - arrows - {whole_name(node)}):
                    return name
    return None


def _names(pattern: ast.Pattern) -> set[str]:
    return {node.name for node in walk(pattern) if isinstance(node, ast.PatName)}


def unknown_parameters(dec_name: str, type_: ty.Type, arity: int, unknown: Set[VName],
                       dec: Node) -> Iterator[Diagnostic]:
    """A function that a function returns takes no arrays of unknown sizes."""
    result = type_
    unknown = unknown - ty.params_in(type_)
    for _ in range(arity):
        assert isinstance(result, ty.Arrow)
        result = result.codomain
    while isinstance(result, ty.Arrow):
        for size in sorted(plain_sizes(result.domain) & unknown):
            yield Diagnostic(
                "unknown-param-size", dec.span, f'Unknown size "{size.base}" in parameter of '
                f'"{dec_name}", which is inferred as {ty.show(type_)}.')
        result = result.codomain


def plain_sizes(type_: ty.Type) -> set[VName]:
    """The names that are sizes of an array on their own."""
    match type_:
        case ty.Array(size, elem):
            return plain_sizes(elem) | ({size.variable} if size.variable is not None else set())
        case ty.Tuple(items):
            return {v for item in items for v in plain_sizes(item)}
        case ty.Record(fields) | ty.Sum(fields):
            return {v for _, item in fields for v in plain_sizes(item)}
    return set()


def less_unique(declared: ty.Type, found: ty.Type) -> ty.Type | None:
    """A result in a declared type that shares nothing with arguments while the one found may."""
    while isinstance(declared, ty.Arrow) and isinstance(found, ty.Arrow):
        if not fresh_enough(found.fresh, declared.fresh, declared.codomain):
            return declared.codomain
        declared, found = declared.codomain, found.codomain
    return None
