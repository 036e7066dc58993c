"""Declarations that were checked before, for a program that is checked again after a change.

A declaration keeps its types if it did not change, and if all that it names has the types that it
had.  So only what a change reaches is checked.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from runelift.frontend.check.aliases import Origin
from runelift.frontend.check.base import Binding
from runelift.frontend.check.types import Abbreviation
from runelift.frontend.check.unify import Substitution
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.nodes import Node, duplicate, given, noted, walk
from runelift.ir.base.source import Span
from runelift.ir.names import Names, VName

ROUNDS = 100
"""The number of checks after which everything is checked anew: what is found is never forgotten."""

Written: TypeAlias = Mapping[Hashable, tuple[VName, ast.Exp | None]]
Meaning: TypeAlias = tuple[object, object, object]
"""The type of a name as a value, its size, and its meaning as a type."""


@dataclass(frozen=True)
class Checked:
    """A declaration without mistakes: its tree with types, and what the checker knows of it.

    ``uses`` are the meanings of the names in it; ``written`` the sizes that it wrote.
    """

    dec: ast.CoreDec
    uses: Mapping[str, Meaning]
    found: Binding | Abbreviation
    constant: Origin | None
    written: Written


class Memory:
    """The declarations of the last check, and the names and types that inference found in it."""

    def __init__(self) -> None:
        self._rounds = 0
        self._forget()

    def _forget(self) -> None:
        self.names = Names()
        self.solved = Substitution(self.names)
        self.known: dict[str, Checked] = {}

    def begin(self) -> dict[str, Checked]:
        """The declarations that are known when a check begins; it adds its own to ``known``."""
        known, self.known = self.known, {}
        self._rounds += 1
        if self._rounds % ROUNDS == 0:
            self._forget()
            return {}
        self.solved.begin()
        return known


def names_in(dec: ast.CoreDec) -> set[str]:
    """The names in a declaration, and perhaps some that name nothing outside of it."""
    found: set[str] = set()
    for node in walk(dec):
        for name in given(type(node)):
            part = getattr(node, name)
            if isinstance(part, str):
                found.add(part)
            elif isinstance(part, ast.QualName):
                found |= {part.name, str(part)}
    return found


def take_types(old: Node, new: Node) -> bool:
    """Give a tree the types of an equal one that was checked; False if they are not equal.

    All places in both must be as far from each other, so that mistakes are not misplaced.
    """
    pairs: list[tuple[Node, Node]] = []
    if not _same(old, new, new.span.start - old.span.start, pairs):
        return False
    for one, other in pairs:
        for name in noted(type(one)):
            value = getattr(one, name)
            if isinstance(value, Node):
                value = duplicate(value)
                value.span = other.span
            setattr(other, name, value)
    return True


def _same(old: object, new: object, shift: int, pairs: list[tuple[Node, Node]]) -> bool:
    """True if two parts of trees are equal, apart from the notes of the checker."""
    if type(old) is not type(new):
        return False
    match old, new:
        case Node(), Node():
            pairs.append((old, new))
            return all(_same(getattr(old, name), getattr(new, name), shift, pairs)
                       for name in given(type(old)))
        case tuple(), tuple():
            return len(old) == len(new) and all(
                _same(one, other, shift, pairs) for one, other in zip(old, new, strict=True))
        case Span(), Span():
            return (new.start - old.start == new.end - old.end == shift
                    and old.source.name == new.source.name)
    return old == new
