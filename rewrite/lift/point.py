"""A rewrite point: a place of the program where a rewrite with parameters may be applied.

A point is an attribute of a statement, as in ``#[split_join(16)]``.  It changes the form of the
statement and not its meaning or type.  Its name and parameters are a row of
:data:`runelift.ir.points.POINTS`, and its rewrite is a function of this name::

    @point(Map)
    def split_join(scope: Scope, stm: Stm, given: Arguments) -> Rewrite | str:
        '''map f xs ⇒ join (map (map f) (split tile xs))

        Provided: tile divides the length of xs.
        Source: Mogers 2023, section 6.2.5.
        '''

Source: Mogers 2023, sections 6.2.1 to 6.2.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from runelift.ir.constraints import Constraint
from runelift.ir.names import VName
from runelift.ir.points import Parameter, parameters_of
from runelift.ir.syntax import Stm
from runelift.ir.types import Atom
from runelift.rewrite.engine.rule import read_law
from runelift.rewrite.engine.scope import Scope

Value: TypeAlias = Atom | str
"""A number, or the variable of one that is tuned; or the word of a choice."""
Arguments: TypeAlias = Mapping[str, Value]
"""A value for each parameter of a point, by name."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The statements that replace a statement; they bind its names with equal types.

    ``constraints`` are conditions for the equality that are not known to hold.  The caller tests
    them at run time, and keeps the statement where one fails.  ``inner`` is a name bound by the
    statement, at any depth, that gets the points that follow in the list of attributes.
    """

    stms: tuple[Stm, ...]
    constraints: tuple[Constraint, ...] = ()
    inner: VName | None = None


Apply: TypeAlias = Callable[[Scope, Stm, Arguments], Rewrite | str]
"""The rewrite, or the reason why the statement does not match."""


@dataclass(frozen=True, slots=True)
class Point:
    """A point: its name, its law with notes, and the function.

    ``heads`` are the expressions that it may match.  ``needs_reductions`` is True if it matches
    reductions that maps have been fused with, so that it is applied after fusion.
    """

    name: str
    law: str
    notes: tuple[tuple[str, str], ...]
    heads: tuple[type, ...]
    needs_reductions: bool
    apply: Apply = field(repr=False)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters of the point, in order."""
        return parameters_of(self.name)


def point(*heads: type, needs_reductions: bool = False) -> Callable[[Apply], Point]:
    """Make a point of a function with its name, whose docstring begins with the law."""

    def make(apply: Apply) -> Point:
        law, notes = read_law(apply.__doc__ or "")
        return Point(apply.__name__, law, notes, heads, needs_reductions, apply)

    return make
