"""Proofs from known facts: a size is not negative, divides a size, or equals a size.

A fact is a :class:`~runelift.ir.sizes.Size` that is at least 0.  A goal is proved by refutation:
its negation and the facts that are connected with it are combined until no variable is left.  If a
negative number is left that should be at least 0, the goal holds.  The method is Fourier-Motzkin
elimination, with the constants rounded to whole numbers.  A product of variables is treated as
another variable, minima and maxima by cases.

>>> n, i = Size.var(VName("n", 1)), Size.var(VName("i", 2))
>>> facts = Facts((i, n - i - 1))
>>> facts.prove(n - 1), facts.prove(n - i), facts.prove(n - 2)
(True, True, False)

Names that equal other sizes say more.  Where ``n = tile * rows``, the tile divides n:

>>> tile, rows = Size.var(VName("tile", 3)), Size.var(VName("rows", 4))
>>> facts = Facts((tile - 1,)).equal(VName("n", 1), tile * rows)
>>> facts.divides(tile, n * i), facts.truth(divides(tile, n)), facts.truth(equal(tile * rows, n))
(True, True, True)
>>> facts.truth(divides(Size.of(4), Size.of(6))), facts.truth(divides(rows, n)) is None
(False, True)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from math import gcd
from typing import TypeAlias

from runelift.ir.constraints import Constraint, Relation
from runelift.ir.names import VName
from runelift.ir.sizes import Monomial, Size

MOST_FACTS = 40
"""The most facts that a proof uses."""
MOST_STEPS = 400
"""The most inequalities that elimination makes before it gives up."""
MOST_REPAIRS = 8
"""The most changes of numbers in search of a case in which all facts hold."""
MOST_CASES = 8
"""The most cases of minima and maxima that a proof distinguishes."""
REMEMBERED_PROOFS = 1 << 14
"""The most questions whose answers are kept in memory."""

Linear: TypeAlias = tuple[tuple[tuple[Monomial, int], ...], int]
"""``coefficient * monomial + ... + constant >= 0``, divided by what the coefficients share."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Knowledge: sizes that are not negative, and names that equal one of several sizes.

    ``values`` are names that equal a size without such names.
    """

    known: tuple[Size, ...] = ()
    choices: Mapping[VName, tuple[Size, ...]] = field(default_factory=dict)
    values: Mapping[VName, Size] = field(default_factory=dict)
    _prepared: tuple[tuple[Linear, frozenset[VName]], ...] = field(
        default=(), repr=False, compare=False)
    """Each fact in the form that proofs need, made once for all proofs."""

    def __post_init__(self) -> None:
        new = self.known[len(self._prepared):]
        object.__setattr__(self, "_prepared", (
            *self._prepared, *((_inequality(size), size.variables()) for size in new)))

    def given(self, *more: Size) -> Facts:
        """These facts, with further sizes that are not negative."""
        return Facts(self.known + more, self.choices, self.values, self._prepared)

    def choice(self, name: VName, *sizes: Size) -> Facts:
        """These facts, and that ``name`` equals one of ``sizes``."""
        return Facts(self.known, {**self.choices, name: sizes}, self.values, self._prepared)

    def equal(self, name: VName, size: Size) -> Facts:
        """These facts, and that ``name`` equals ``size``; one that says nothing new is left out."""
        value, known = self.valued(size), self.valued(Size.var(name))
        if value == known:
            return self
        facts = self.given(known - value, value - known)
        if known != Size.var(name) or name in value.variables():
            return facts

        def of(each: VName) -> Size:
            return value if each == name else Size.var(each)

        values = {other: size.substitute(of) for other, size in self.values.items()}
        return Facts(facts.known, facts.choices, {**values, name: value}, facts._prepared)

    def valued(self, size: Size) -> Size:
        """The size with values for the names that have them."""
        if self.values.keys().isdisjoint(size.variables()):
            return size
        return size.substitute(lambda name: self.values.get(name, Size.var(name)))

    def prove(self, goal: Size) -> bool:
        """True if ``goal >= 0`` follows; False may also mean that no proof was found."""
        if goal.constant is not None:
            return goal.constant >= 0
        return self._refute(goal * -1 - 1, MOST_CASES)

    def divides(self, divisor: Size, size: Size) -> bool:
        """True if ``divisor`` is positive and divides ``size``, as far as that is proved."""
        return self.prove(divisor - 1) and quotient(self.valued(size),
                                                    self.valued(divisor)) is not None

    def truth(self, constraint: Constraint) -> bool | None:
        """True if a constraint is proved, False if it can never hold, else None."""
        left, right = self.valued(constraint.left), self.valued(constraint.right)
        match constraint.kind:
            case Relation.DIVIDES:
                if self.divides(left, right):
                    return True
                return False if _never_divides(left, right) or self.prove(left * -1) else None
            case Relation.AT_LEAST:
                if self.prove(left - right):
                    return True
                return False if self.prove(right - left - 1) else None
            case Relation.EQUAL:
                if left == right or (self.prove(left - right) and self.prove(right - left)):
                    return True
                apart = self.prove(left - right - 1) or self.prove(right - left - 1)
                return False if apart else None

    def _refute(self, claim: Size, cases: int) -> bool:
        """True if ``claim >= 0`` contradicts the facts."""
        if claim.constant is not None:
            return claim.constant < 0
        asked = _inequality(claim)
        if any(_contradictory(frozenset([asked, *facts])) for facts in self._connected(claim)):
            return True
        split = next((name for name in claim.variables() if name in self.choices), None)
        if split is None or len(self.choices[split]) > cases:
            return False
        options = self.choices[split]
        return all(self._refute(claim.substitute(
            lambda name, option=option: option if name == split else Size.var(name)),  # type: ignore[misc]
            cases // len(options)) for option in options)

    def _connected(self, claim: Size) -> Iterator[list[Linear]]:
        """The facts that are connected with the claim, in growing lists.

        Facts of the first list share a variable with the claim.  Each further list adds the facts
        that share a variable with facts of the list before it.  Later facts come first, as they are
        about the nearest names.
        """
        reached, found = claim.variables(), list[Linear]()
        left = [*reversed(self._prepared)]
        while len(found) < MOST_FACTS:
            near = [each for each in left if not reached.isdisjoint(each[1])]
            if not near:
                break
            found = [*found, *(fact for fact, _ in near)][:MOST_FACTS]
            yield found
            left = [each for each in left if reached.isdisjoint(each[1])]
            reached = reached.union(*(variables for _, variables in near))


def quotient(size: Size, divisor: Size) -> Size | None:
    """The size that makes ``size`` when multiplied by ``divisor``; None if none is found.

    It is found where the divisor divides each term, or where they differ by a common factor.

    >>> n, m = Size.var(VName("n", 1)), Size.var(VName("m", 2))
    >>> print(quotient(n * m * 6 + n * 4, n * 2), quotient(n * n + n, n + 1), quotient(n + 1, n))
    2 + 3*m_2 n_1 None
    """
    if not size.terms or not divisor.terms:
        return Size.of(0) if divisor.terms else None
    found = Size.of(0)
    for term in size.terms if len(divisor.terms) == 1 else size.terms[:1]:
        part = _term_quotient(term, divisor.terms[0])
        if part is None:
            return None
        found = found + part
    return found if found * divisor == size else None


def _term_quotient(term: tuple[Monomial, int], divisor: tuple[Monomial, int]) -> Size | None:
    """The quotient of two terms, if it is a term."""
    (monomial, coefficient), (part, by) = term, divisor
    if coefficient % by:
        return None
    left = list(monomial)
    for factor in part:
        if factor not in left:
            return None
        left.remove(factor)
    return Size(((tuple(left), coefficient // by),))


def _never_divides(divisor: Size, size: Size) -> bool:
    """True if a number divides all of a size but its constant term."""
    number, rest = divisor.constant, dict(size.terms).get((), 0)
    return number is not None and number > 0 and rest % number != 0 and all(
        coefficient % number == 0 for monomial, coefficient in size.terms if monomial)


@lru_cache(REMEMBERED_PROOFS)
def _contradictory(facts: frozenset[Linear]) -> bool:
    """True if the inequalities cannot all hold; passes often repeat a question."""
    system = {*facts, *_products(facts)}
    if _has_model(system):
        return False
    steps = 0
    while True:
        if any(not terms and constant < 0 for terms, constant in system):
            return True
        work = _work(system)
        if not work:
            return False
        best = min(work, key=lambda m: (work[m], _spelled(m)))
        steps += work[best]
        if steps > MOST_STEPS:
            return False
        system = _without(best, system)


def _has_model(system: Iterable[Linear]) -> bool:
    """True if whole numbers are found for which all holds; mostly so if there is no proof.

    Numbers are made larger until everything holds, which takes less time than elimination.
    """
    values: dict[Monomial, int] = {m: 0 for terms, _ in system for m, _ in terms}
    for _ in range(MOST_REPAIRS):
        holds = True
        for terms, constant in system:
            lack = -constant - sum(c * values[m] for m, c in terms)
            if lack > 0:
                holds = False
                enlarged, most = max(terms, key=lambda term: term[1], default=((), 0))
                if most <= 0:
                    return False
                values[enlarged] -= -lack // most
        if holds:
            return True
    return False


def _products(system: Iterable[Linear]) -> Iterable[Linear]:
    """The inequality ``product >= 0`` for each product of names that cannot be negative."""
    system = list(system)
    positive = {m[0] for terms, constant in system
                for m, c in terms if len(terms) == 1 and len(m) == 1 and c > 0 and constant <= 0}
    for monomial in {m for terms, _ in system for m, _ in terms if len(m) > 1}:
        if all(factor in positive for factor in monomial):
            yield ((monomial, 1),), 0


def _work(system: Iterable[Linear]) -> dict[Monomial, int]:
    """The number of inequalities that the elimination of each variable makes."""
    lower, upper = Counter[Monomial](), Counter[Monomial]()
    for terms, _ in system:
        for m, c in terms:
            (lower if c > 0 else upper)[m] += 1
    return {m: lower[m] * upper[m] for m in lower | upper}


def _without(variable: Monomial, system: Iterable[Linear]) -> set[Linear]:
    """The inequalities about the other variables that follow from ``system``."""
    result, lower, upper = set[Linear](), list[Linear](), list[Linear]()
    for one in system:
        coefficient = dict(one[0]).get(variable, 0)
        if not coefficient:
            result.add(one)
        else:
            (lower if coefficient > 0 else upper).append(one)
    for low in lower:
        for high in upper:
            result.add(_combine(low, -dict(high[0])[variable], high, dict(low[0])[variable]))
    return result


def _combine(one: Linear, x: int, other: Linear, y: int) -> Linear:
    total = {m: c * x for m, c in one[0]}
    for m, c in other[0]:
        total[m] = total.get(m, 0) + c * y
    total[()] = one[1] * x + other[1] * y
    return _linear(total)


def _inequality(size: Size) -> Linear:
    """The inequality ``size >= 0``."""
    return _linear(dict(size.terms))


def _linear(terms: Mapping[Monomial, int]) -> Linear:
    constant = terms.get((), 0)
    rest = {m: c for m, c in terms.items() if m and c}
    if not rest:
        return (), constant
    shared = reduce(gcd, rest.values(), 0)
    ordered = sorted(((m, c // shared) for m, c in rest.items()),
                     key=lambda term: _spelled(term[0]))
    return tuple(ordered), constant // shared


@lru_cache(REMEMBERED_PROOFS)
def _spelled(monomial: Monomial) -> tuple[str, ...]:
    """A key that orders monomials."""
    return tuple(str(factor) for factor in monomial)
