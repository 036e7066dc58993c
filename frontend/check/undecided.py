"""Sizes that inference ends without: nothing in the program decides about them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from runelift.frontend.syntax import ast
from runelift.frontend.syntax.types import Arrow, Sum, Type, sizes_in
from runelift.ir.base.errors import Diagnostic
from runelift.ir.base.source import Span
from runelift.ir.names import NAMELESS, VName
from runelift.ir.sizes import Size

_ANNOTATE = "Say it in a type annotation, such as ([] : [0][3]t)."


def undecided_sizes(nodes: Sequence[ast.Exp | ast.Pattern | ast.ValDec],
                    binders: Iterable[ast.SizeParam],
                    is_open: Callable[[VName], bool]) -> Iterator[Diagnostic]:
    """An error for each size that is open at the end of a declaration, where it comes from.

    Open sizes stand in functions that are used, in annotations, and in constructors of a sum type
    that the value does not have.  Types of ``nodes`` and sizes of ``binders`` have all that is
    known in them.
    Source: Futhark's error index, "ambiguous size".
    """
    told: set[VName] = set()

    def new(sizes: Collection[VName]) -> bool:
        found = {size for size in sizes if size not in told and is_open(size)}
        told.update(found)
        return bool(found)

    for binder in binders:
        if binder.known is not None and new(binder.known.variables()):
            yield _error(binder.span, f"Nothing decides which size '{binder.name}' stands for "
                         "here.")
    for node in nodes:
        match node:
            case ast.PatAscript(type_exp=type_exp) | ast.Ascript(type_exp=type_exp):
                if node.type is not None and new(sizes_in(node.type)):
                    yield _error(type_exp.span, "Nothing decides about a size [] of this type.",
                                 "Write the size instead of [], such as [0][3]t.")
            case ast.Hole(span) if node.written and node.type is not None:
                if new(sizes_in(node.type)):
                    yield _error(span, "Nothing decides about a size of what belongs here.")
            case ast.Constr(span, chosen) if isinstance(node.type, Sum):
                for other, field in node.type.fields:
                    if other != chosen and new(sizes_in(field)):
                        yield _error(span, f"Nothing decides about a size of '#{other}', which "
                                     "this value might have been.")
    used = [(node, param, size) for node in nodes if isinstance(node, ast.Name)
            for param, size in node.sizes.items() if any(map(is_open, size.variables()))]
    for node, param, size in sorted(used, key=lambda use: _takes(use[0].type, use[2])):
        if new(size.variables()):
            shown = "a size" if param.base == NAMELESS else f"size [{param.base}]"
            yield _error(node.span, f"Nothing decides about {shown} of '{node.name}' here.")


def _takes(type_: Type | None, size: Size) -> bool:
    """True if an argument of a function has the size: then another expression makes the size."""
    while isinstance(type_, Arrow):
        if not sizes_in(type_.domain).isdisjoint(size.variables()):
            return True
        type_ = type_.codomain
    return False


def _error(span: Span, message: str, hint: str = _ANNOTATE) -> Diagnostic:
    return Diagnostic("ambiguous-size", span, message, hints=(hint,))
