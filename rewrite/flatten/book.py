"""The rule book of flattening: every rule with its name in the paper and its law."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from runelift.ir.syntax import Stm

if TYPE_CHECKING:
    from runelift.rewrite.flatten.walk import Walk

Apply: TypeAlias = Callable[["Walk", Stm], str | None]
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class FlatteningRule:
    """A rule: its name in the paper, what it is called here, its law, and the function.

    ``apply`` returns None when the rule fired, else why it did not ("" if that is no news).  A
    rule without ``heads`` is not tried on statements: the walk itself performs it.
    """

    name: str
    title: str
    law: str
    heads: tuple[type, ...]
    apply: Callable[..., Any] = field(repr=False)


FLATTENING: list[FlatteningRule] = []
"""The rule book, in the order in which rules are tried on a statement."""


def flattening(name: str, *heads: type) -> Callable[[Apply], FlatteningRule]:
    """Add a rule to the book, tried on statements whose expression is one of ``heads``."""

    def make(apply: Apply) -> FlatteningRule:
        rule = FlatteningRule(name, apply.__name__, (apply.__doc__ or "").strip(), heads, apply)
        FLATTENING.append(rule)
        return rule

    return make


def performed_by_walk(name: str) -> Callable[[Function], Function]:
    """Add a rule to the book that the walk performs where its law says so."""

    def make(function: Function) -> Function:
        law = (function.__doc__ or "").strip()
        FLATTENING.append(FlatteningRule(name, function.__name__, law, (), function))
        return function

    return make
