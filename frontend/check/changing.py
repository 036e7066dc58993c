"""Functions whose results have another size each time, and what they are no arguments for.

``filter p`` returns ``?[k].[k]t``: in its type stands a size that each call computes anew.  A type
parameter that is not lifted, such as that of the elements that ``map`` makes, stands for one type,
so it cannot have such a size; nor can the parameter of a function that is composed with another.
Source: Futhark's error index, "unknown parameter size" and "existential parameter".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runelift.frontend import ast
from runelift.frontend.check.forms import COMPOSITIONS
from runelift.frontend.check.unify import metas, sizes_in
from runelift.frontend.types import Arrow, MetaVar, Type
from runelift.ir.errors import Diagnostic, ProgramError
from runelift.ir.names import VName

if TYPE_CHECKING:
    from runelift.frontend.check.infer import Inference


def regular_results(checker: Inference, type_: Type) -> list[MetaVar]:
    """What the results of a function are made of that may not have sizes of their own."""
    result = checker.solved.head(type_)
    if not isinstance(result, Arrow):
        return []
    while isinstance(result, Arrow):
        result = checker.solved.head(result.codomain)
    return [meta for meta in metas(checker.solved.resolve(result))
            if meta.id in checker.solved.regular]


def changing_sizes(checker: Inference, function: ast.Exp, made: int) -> frozenset[VName]:
    """Sizes that each call of a function computes anew; its names have tags above ``made``."""
    match function:
        case ast.LambdaExp():
            return frozenset(size for size in checker.solved.unknown if size.tag > made)
        case ast.AttrExp(value=inner) | ast.Ascript(value=inner) | ast.Apply(fun=inner):
            return changing_sizes(checker, inner, made)
        case ast.BinExp(_, op, first, second) if str(op) in COMPOSITIONS:
            return changing_sizes(checker, first, made) | changing_sizes(checker, second, made)
    return checker.changing.get(id(function), frozenset())


def check_composed(checker: Inference, first: ast.Exp, made: int) -> None:
    """ProgramError if sizes of what ``first`` hands on, in a composition, change every time."""
    head = checker.solved.head(first.type) if first.type is not None else None
    if not isinstance(head, Arrow):
        return
    sizes = sizes_in(checker.solved.resolve(head.codomain))
    if head.param in sizes or sizes & changing_sizes(checker, first, made):
        raise ProgramError(Diagnostic(
            "ambiguous-size", first.span, f"What {first.span.text} returns has another size each "
            "time, so nothing decides about the type of the function that takes it.",
            hints=("Apply the functions one after the other: x |> f |> g.",)))
