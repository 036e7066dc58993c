"""Rules of flattening: each has its name in the paper, its law and its function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias


class Unlike(str):
    """A reason why a rule did not fire that listings leave out: the rule is for something else."""

    __slots__ = ()


Apply: TypeAlias = Callable[..., str | None]
"""A function of a walk, a statement and its expression; a reason if the rule does not fire."""


@dataclass(frozen=True, slots=True)
class FlatteningRule:
    """A rule: its name in the paper, its title here, its law, and the function.

    ``apply`` returns None when the rule fired, else the reason why not.
    A rule without ``heads`` is not tried on statements: the walk itself performs it.
    """

    name: str
    title: str
    law: str
    heads: tuple[type, ...]
    apply: Callable[..., Any] = field(repr=False)


def flattening(name: str, *heads: type) -> Callable[[Apply], FlatteningRule]:
    """Make a rule that is tried on statements whose expression is one of ``heads``."""
    return lambda apply: _rule(name, heads, apply)


def performed_by_walk(name: str, function: Callable[..., Any]) -> FlatteningRule:
    """Make a rule that the walk performs itself, by calling ``function``."""
    return _rule(name, (), function)


def _rule(name: str, heads: tuple[type, ...], apply: Callable[..., Any]) -> FlatteningRule:
    return FlatteningRule(name, apply.__name__, (apply.__doc__ or "").strip(), heads, apply)
