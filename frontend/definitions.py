"""Definitions of names, places that mention them, and the scopes in which they can be used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from runelift.frontend.syntax import module_ast
from runelift.frontend.syntax.layered import Layered
from runelift.ir.base.source import Span

Reader = Callable[[Path], "module_ast.Module | None"]
"""Reads and parses a file; None if that is not possible."""


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """A name that a program binds.

    ``kind`` is declaration, function (of a ``let``), value, parameter, size, type or module.
    ``whole`` is the text that an editor shows for it: a declaration, a pattern.
    ``among`` identifies the list or pattern that binds it, in which names of a kind differ.
    """

    name: str
    kind: str
    span: Span
    whole: Span
    among: object = None


class Mention(NamedTuple):
    """A place in a program that names a definition.

    ``field``: the place is also the name of a record's field, as in ``{x}``.
    """

    span: Span
    definition: Definition
    field: bool = False


@dataclass(slots=True)
class Scope:
    """The names that can be used at a place, or the names of a module or module type.

    ``parameters`` are the names of the modules that a parametric module takes, in order.
    """

    values: Layered[str, Definition] = field(default_factory=Layered)
    types: Layered[str, Definition] = field(default_factory=Layered)
    modules: Layered[str, tuple[Definition, Scope]] = field(default_factory=Layered)
    signatures: Layered[str, tuple[Definition, Scope]] = field(default_factory=Layered)
    parameters: tuple[Scope, ...] = ()

    def child(self) -> Scope:
        """A scope that can grow without changing this one."""
        return Scope(self.values.child(), self.types.child(), self.modules.child(),
                     self.signatures.child())

    def add(self, other: Scope) -> None:
        """Have all names of a module that is opened."""
        self.values.update(other.values)
        self.types.update(other.types)
        self.modules.update(other.modules)
        self.signatures.update(other.signatures)
