"""Reduction of systems of constraints: fewer constraints and values, with the same solutions.

Constraints that always hold are dropped, values that no solution has are removed, and decided
values stand in the other constraints.  It is repeated until nothing changes.

>>> tile, n = VName("tile", 1), VName("n", 2)
>>> whole = Constraint(Relation.DIVIDES, Size.var(tile), Size.var(n))
>>> found = reduced(System({tile: tuple(range(1, 33)), n: (112,)}, (whole,)))
>>> found.domains[tile], found.constraints
((1, 2, 4, 7, 8, 14, 16, 28), ())

Source: Mogers 2023, algorithm 2; divisors and the facts of other constraints are ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import reduce
from itertools import product
from math import gcd, prod
from typing import TypeAlias

from runelift.ir.constraints import Constraint, Domains, Relation, System, related
from runelift.ir.names import VName
from runelift.ir.sizes import Applied, CeilDiv, Factor, Greatest, Least, Monomial, Size
from runelift.ir.solver.inequalities import Facts

MOST_PAIRS = 1 << 16
"""The most pairs of values that are gone through for a constraint of two parameters."""

Bounds: TypeAlias = tuple[int | None, int | None]
"""The least and the greatest value; None if there is no bound."""


class Impossible(Exception):
    """A constraint that no possible values meet."""

    def __init__(self, constraint: Constraint, why: str) -> None:
        super().__init__(why)
        self.constraint = constraint


def reduced(system: System) -> System:
    """The system with fewer constraints and values, but with the same solutions.

    Raises :class:`Impossible` if there is no solution for certain.
    """
    domains = {name: tuple(values) for name, values in system.domains.items()}
    constraints, changed = system.constraints, True
    while changed:
        constraints = _simplified(constraints, domains)
        narrowed, constraints = _narrowed(constraints, domains)
        changed = narrowed != domains
        domains = narrowed
    return System(domains, constraints, system.derived)


# Simplification


def _simplified(constraints: Iterable[Constraint], domains: Domains) -> tuple[Constraint, ...]:
    """The constraints that ``domains`` leave open, without redundant constraints.

    A name whose domain has a single value is replaced by that value.  Raises Impossible if a
    constraint is false for all values of the domains.
    """
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
    """A key that equivalent constraints share."""
    if each.kind is Relation.DIVIDES:
        return each.kind, each.left, each.right
    difference = each.left - each.right
    shared = reduce(gcd, (c for _, c in difference.terms), 0)
    return each.kind, tuple((m, c // shared) for m, c in difference.terms)


def _independent(constraints: list[Constraint], domains: Domains) -> Iterator[Constraint]:
    """The constraints that do not follow from other constraints and from ranges of variables."""
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
        return None if left is None or right is None else related(each.kind, left, right)
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
    """Bounds of a size whose variables have values of ``domains``.

    A variable that ``domains`` does not name has no bounds.

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
            if low is None or high is None or least is None or most is None or least <= 0:
                return None, None
            found = [-(-x // y) for x in (low, high) for y in (least, most)]
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
