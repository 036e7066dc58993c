"""Constraints: conditions that parameters, sizes and device quantities meet together.

A constraint relates two sizes (:class:`~runelift.ir.sizes.Size`) and knows where it comes from.  A
:class:`System` has the constraints of some parameters with the values that each can have.
:mod:`~runelift.ir.solver.reduction` simplifies it, :mod:`~runelift.ir.solver.solutions` counts and
draws.

>>> tile, n = VName("tile", 1), VName("n", 2)
>>> print(divides(Size.var(tile), Size.var(n), "whole tiles").complaint({tile: 5, n: 112}))
tile = 5 does not divide n = 112, 112 % 5 = 2 (whole tiles)

Source: Mogers 2023, chapter 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from operator import attrgetter
from typing import TypeAlias

from runelift.ir.base.source import Loc
from runelift.ir.names import VName
from runelift.ir.sizes import Size

Domains: TypeAlias = Mapping[VName, Sequence[int]]
"""The values that variables can have, in ascending order."""


class Relation(Enum):
    """A relation of two sizes."""

    DIVIDES = "divides"
    AT_LEAST = ">="
    EQUAL = "="


@dataclass(frozen=True, slots=True)
class Constraint:
    """``left`` divides, is at least, or equals ``right``.

    ``span`` is the place in the source that asks for it.  ``origin`` is the rule that made it, and
    then the kernel or the chain of rewrites by which it came about.  A divisor is positive.
    """

    kind: Relation
    left: Size
    right: Size
    span: Loc | None = field(default=None, compare=False)
    origin: tuple[str, ...] = ()

    def variables(self) -> frozenset[VName]:
        """The variables of both sides."""
        return self.left.variables() | self.right.variables()

    def holds(self, env: Mapping[VName, int]) -> bool:
        """True if it holds for the values of its variables."""
        return related(self.kind, self.left.value(env), self.right.value(env))

    def given(self, env: Mapping[VName, int]) -> Constraint:
        """The constraint with values for some variables."""
        if self.variables().isdisjoint(env):
            return self

        def known(name: VName) -> Size:
            return Size.of(env[name]) if name in env else Size.var(name)

        return replace(self, left=self.left.substitute(known), right=self.right.substitute(known))

    def complaint(self, env: Mapping[VName, int],
                  name: Callable[[VName], str] = attrgetter("base")) -> str:
        """The reason why it does not hold, with both sizes and its origin."""
        left, right = self.left.value(env), self.right.value(env)
        one, other = (str(value) if size.constant is not None else
                      f"{size.render(name)} = {value}"
                      for size, value in ((self.left, left), (self.right, right)))
        match self.kind:
            case Relation.DIVIDES:
                said = f"{one} does not divide {other}, {right} % {left} = {right % (left or 1)}"
            case Relation.AT_LEAST:
                said = f"{other} is more than {one}"
            case Relation.EQUAL:
                said = f"{one} is not {other}"
        return f"{said} ({self.source()})"

    def source(self) -> str:
        """The origin, and the place in the source."""
        rule, *chain = self.origin or ("given",)
        return "; ".join([rule, *(f"from {each}" for each in chain),
                          *([f"at {self.span}"] if self.span is not None else [])])

    def __str__(self) -> str:
        left, right = (size.render(attrgetter("base")) for size in (self.left, self.right))
        return f"{left} {self.kind.value} {right}"


def related(kind: Relation, left: int, right: int) -> bool:
    """True if two numbers are in a relation."""
    match kind:
        case Relation.DIVIDES:
            return left > 0 and right % left == 0
        case Relation.AT_LEAST:
            return left >= right
        case Relation.EQUAL:
            return left == right


def divides(left: Size, right: Size, *origin: str, span: Loc | None = None) -> Constraint:
    """``left`` divides ``right``."""
    return Constraint(Relation.DIVIDES, left, right, span, origin)


def at_least(left: Size, right: Size, *origin: str, span: Loc | None = None) -> Constraint:
    """``left`` is at least ``right``."""
    return Constraint(Relation.AT_LEAST, left, right, span, origin)


def equal(left: Size, right: Size, *origin: str, span: Loc | None = None) -> Constraint:
    """``left`` equals ``right``."""
    return Constraint(Relation.EQUAL, left, right, span, origin)


@dataclass(frozen=True, slots=True)
class Derived:
    """The quantities ``names`` that ``compute`` finds from the values of ``inputs``.

    They are decisions that no polynomial expresses, such as the tiles that fit a device.
    """

    names: tuple[VName, ...]
    inputs: tuple[VName, ...]
    compute: Callable[..., Sequence[int]]


@dataclass(frozen=True, slots=True)
class System:
    """Constraints, the values that each variable can have, and quantities derived from them.

    A variable that has no domain and is not derived is known later only.  Constraints about it are
    left as they are.  Derived quantities depend on variables and on those derived before them.
    """

    domains: Domains
    constraints: tuple[Constraint, ...] = ()
    derived: tuple[Derived, ...] = ()

    def known(self) -> frozenset[VName]:
        """The variables whose values a solution decides."""
        return frozenset(self.domains).union(*(each.names for each in self.derived))

    def name(self, variable: VName) -> str:
        """A variable in words; one that is derived is what was found, not what was asked for."""
        derived = any(variable in each.names for each in self.derived)
        return f"found_{variable.base}" if derived else variable.base

    def obstacle(self, values: Mapping[VName, int]) -> str:
        """The reason why values of all parameters are no solution; empty if they are one."""
        env = {name: domain[0] for name, domain in self.domains.items() if len(domain) == 1}
        env |= values
        left, derived = list(self.constraints), iter(self.derived)
        while True:
            ready = [each for each in left if each.variables() <= env.keys()]
            for each in ready:
                if not each.holds(env):
                    return each.complaint(env, self.name)
            left = [each for each in left if each not in ready]
            following = next(derived, None)
            if following is None:
                return ""
            env.update(zip(following.names, following.compute(
                *(env[name] for name in following.inputs)), strict=True))
