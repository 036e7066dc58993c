"""Constraints: conditions that parameters, sizes and device quantities meet together.

A constraint relates two sizes (:class:`~runelift.ir.sizes.Size`) and knows where it comes from.  A
:class:`System` has the constraints of some parameters with the values that each can have.
Reduction drops what always holds, removes values that no solution has, and puts decided values into
the other constraints.  :mod:`~runelift.ir.solutions` counts and draws solutions.

>>> tile, n = VName("tile", 1), VName("n", 2)
>>> whole = divides(Size.var(tile), Size.var(n), "whole tiles")
>>> found = System({tile: tuple(range(1, 33)), n: (112,)}, (whole,)).reduced()
>>> found.domains[tile], found.constraints
((1, 2, 4, 7, 8, 14, 16, 28), ())
>>> print(whole.complaint({tile: 5, n: 112}))
tile = 5 does not divide n = 112, 112 % 5 = 2 (whole tiles)

Source: Mogers 2023, chapter 4; reduction follows its algorithm 2, with divisors besides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import reduce
from itertools import product
from math import gcd, prod
from operator import attrgetter
from typing import TypeAlias

from runelift.ir.inequalities import Facts
from runelift.ir.names import VName
from runelift.ir.sizes import Applied, CeilDiv, Factor, Greatest, Least, Monomial, Size
from runelift.ir.source import Loc

MOST_PAIRS = 1 << 16
"""The most pairs of values that are gone through for a constraint of two parameters."""

Domains: TypeAlias = Mapping[VName, Sequence[int]]
"""The values that variables can have, in ascending order."""
Bounds: TypeAlias = tuple[int | None, int | None]
"""The least and the greatest value; None if there is no bound."""


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
    span: Loc | None = None
    origin: tuple[str, ...] = ()

    def variables(self) -> frozenset[VName]:
        """The variables of both sides."""
        return self.left.variables() | self.right.variables()

    def holds(self, env: Mapping[VName, int]) -> bool:
        """True if it holds for the values of its variables."""
        return _holds(self.kind, self.left.value(env), self.right.value(env))

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


def _holds(kind: Relation, left: int, right: int) -> bool:
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


class Impossible(Exception):
    """No values meet a constraint, whatever the others are."""

    def __init__(self, constraint: Constraint, why: str) -> None:
        super().__init__(why)
        self.constraint = constraint


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

    def reduced(self) -> System:
        """The system with fewer constraints and values, but with the same solutions.

        Raises :class:`Impossible` if there is no solution for certain.
        """
        domains = {name: tuple(values) for name, values in self.domains.items()}
        constraints, changed = self.constraints, True
        while changed:
            constraints = _simplified(constraints, domains)
            narrowed, constraints = _narrowed(constraints, domains)
            changed = narrowed != domains
            domains = narrowed
        return System(domains, constraints, self.derived)


# Simplification


def _simplified(constraints: Iterable[Constraint], domains: Domains) -> tuple[Constraint, ...]:
    """The constraints that are still to be met; decided values stand in them."""
    decided = {name: values[0] for name, values in domains.items() if len(values) == 1}
    left: dict[object, Constraint] = {}
    for original in constraints:
        each = _lessened(original.given(decided))
        match _truth(each, domains):
            case False:
                raise Impossible(original, _refusal(original, domains))
            case None:
                left.setdefault(_normal(each), each)
    return tuple(_independent(list(left.values()), domains))


def _refusal(constraint: Constraint, domains: Domains) -> str:
    decided = {name: values[0] for name, values in domains.items() if len(values) == 1}
    if constraint.variables() <= decided.keys():
        return constraint.complaint(decided)
    return f"no values have {constraint.given(decided)} ({constraint.source()})"


def _lessened(each: Constraint) -> Constraint:
    """A divisibility without the terms that the divisor divides for certain."""
    if each.kind is not Relation.DIVIDES or len(each.left.terms) != 1:
        return each
    ((monomial, coefficient),) = each.left.terms
    rest = tuple((m, c) for m, c in each.right.terms
                 if c % coefficient or not _contains(m, monomial))
    return replace(each, right=Size(rest)) if len(rest) < len(each.right.terms) else each


def _contains(whole: Monomial, part: Monomial) -> bool:
    return all(whole.count(factor) >= part.count(factor) for factor in part)


def _normal(each: Constraint) -> object:
    """A key that constraints of one meaning share."""
    if each.kind is Relation.DIVIDES:
        return each.kind, each.left, each.right
    difference = each.left - each.right
    shared = reduce(gcd, (c for _, c in difference.terms), 0)
    return each.kind, tuple((m, c // shared) for m, c in difference.terms)


def _independent(constraints: list[Constraint], domains: Domains) -> Iterator[Constraint]:
    """The constraints that do not follow from the others and from the ranges of variables."""
    ranges = [fact for name, values in domains.items() for fact in (
        Size.var(name) - values[0], Size.of(values[-1]) - Size.var(name))]
    kept = {number: each.left - each.right for number, each in enumerate(constraints)
            if each.kind is Relation.AT_LEAST}
    for number, each in enumerate(constraints):
        if number in kept:
            others = [fact for k, fact in kept.items() if k != number]
            if Facts((*ranges, *others)).prove(kept[number]):
                del kept[number]
                continue
        yield each


def _truth(each: Constraint, domains: Domains) -> bool | None:
    """True if a constraint always holds, False if it never does; None if that depends."""
    names = sorted(each.variables())
    known = _truth_by_bounds(each, domains)
    if known is not None or len(names) > 2 or not all(name in domains for name in names) or (
            prod(len(domains[name]) for name in names) > MOST_PAIRS):
        return known
    found = {each.holds(dict(zip(names, values, strict=True)))
             for values in product(*(domains[name] for name in names))}
    return found.pop() if len(found) == 1 else None


def _truth_by_bounds(each: Constraint, domains: Domains) -> bool | None:
    if each.kind is Relation.DIVIDES:
        left, right = each.left.constant, each.right.constant
        if left == 1 or (right == 0 and (bounds(each.left, domains)[0] or 0) > 0):
            return True
        return None if left is None or right is None else _holds(each.kind, left, right)
    low, high = bounds(each.left - each.right, domains)
    if each.kind is Relation.EQUAL:
        if low == high == 0:
            return True
        return False if (low or 0) > 0 or (high is not None and high < 0) else None
    if low is not None and low >= 0:
        return True
    return False if high is not None and high < 0 else None


# Values


def _narrowed(constraints: tuple[Constraint, ...], domains: Domains
              ) -> tuple[dict[VName, tuple[int, ...]], tuple[Constraint, ...]]:
    """The domains without values that a constraint excludes, and the constraints still needed."""
    found = {name: tuple(values) for name, values in domains.items()}
    left = []
    for each in constraints:
        names = [name for name in sorted(each.variables()) if name in found]
        for name in names:
            kept = tuple(value for value in found[name] if _possible(each, name, value, found))
            if not kept:
                raise Impossible(each, _refusal(each, domains))
            found[name] = kept
        if each.variables() != set(names[:1]):
            left.append(each)
    return found, tuple(left)


def _possible(each: Constraint, name: VName, value: int, domains: Domains) -> bool:
    """True if a constraint may hold where a variable has a value."""
    others = [other for other in each.variables() if other != name]
    if not others:
        return each.holds({name: value})
    if len(others) == 1 and others[0] in domains and (
            len(domains[name]) * len(domains[others[0]]) <= MOST_PAIRS):
        return any(each.holds({name: value, others[0]: other}) for other in domains[others[0]])
    return _truth_by_bounds(each.given({name: value}), domains) is not False


def bounds(size: Size, domains: Domains) -> Bounds:
    """Bounds of a size whose variables have values of ``domains``; others are not bounded.

    >>> n, m = VName("n", 1), VName("m", 2)
    >>> bounds(Size.var(n) * Size.var(m) * 2 - Size.var(m), {n: (1, 5), m: (3, 4)})
    (2, 37)
    """
    low: int | None = 0
    high: int | None = 0
    for monomial, coefficient in size.terms:
        term: Bounds = (coefficient, coefficient)
        for factor in monomial:
            term = _product(term, _factor_bounds(factor, domains))
        low = None if low is None or term[0] is None else low + term[0]
        high = None if high is None or term[1] is None else high + term[1]
    return low, high


def _factor_bounds(factor: Factor, domains: Domains) -> Bounds:
    match factor:
        case VName():
            values = domains.get(factor)
            return (None, None) if values is None else (values[0], values[-1])
        case CeilDiv(num, den):
            (low, high), (least, most) = bounds(num, domains), bounds(den, domains)
            if None in (low, high, least, most) or least <= 0:  # type: ignore[operator]
                return None, None
            found = [-(-x // y) for x in (low, high) for y in (least, most)]  # type: ignore[operator]
            return min(found), max(found)
        case Least(sizes) | Greatest(sizes):
            lows, highs = zip(*(bounds(each, domains) for each in sizes), strict=True)
            if isinstance(factor, Least):
                known = [each for each in highs if each is not None]
                return None if None in lows else min(lows), min(known, default=None)
            known = [each for each in lows if each is not None]
            return max(known, default=None), None if None in highs else max(highs)
        case Applied():
            return None, None


def _product(one: Bounds, other: Bounds) -> Bounds:
    if one[0] is None or one[1] is None or other[0] is None or other[1] is None:
        return (0, 0) if (0, 0) in (one, other) else (None, None)
    found = [x * y for x in (one[0], one[1]) for y in (other[0], other[1])]
    return min(found), max(found)
