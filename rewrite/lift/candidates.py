"""The steps that could be taken in a program: where points match, and with which numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import islice, product
from typing import TypeAlias

from runelift.ir.analysis.consumption import consumed_names
from runelift.ir.constraints import Constraint
from runelift.ir.names import Names, VName
from runelift.ir.points import DEFAULT, ORDERS, Choice, Number, Parameter, Request, settings
from runelift.ir.syntax import Fun, Program, Stm
from runelift.ir.types import shape_of
from runelift.rewrite.engine.forward import ForwardWalk, copy_propagation
from runelift.rewrite.engine.rule import Rewriting, RuleBook
from runelift.rewrite.lift.apply import At, given_of, rewritten
from runelift.rewrite.lift.places import find, places
from runelift.rewrite.lift.point import Point
from runelift.rewrite.lift.schedule import Step

NUMBERS = (DEFAULT, 4, 2, 3)
"""The values that are tried for a number: arrays of a known length have few divisors."""


def candidates(program: Program, names: Names, book: Mapping[str, Point], *, fused: bool
               ) -> list[Step]:
    """The steps that could be taken in a program before fusion, or after it (``fused``).

    Numbers have the first value of :data:`NUMBERS` that fits, and a step is listed for each word of
    a choice.  Names are given out again, so that the program can go on as if nothing was asked.
    """
    before, found = copy(names), list[Step]()
    points = [each for each in book.values() if fused or not each.needs_reductions]
    try:
        for fun in program.funs:
            trying = _Trying(Program((fun,)), names, points)
            trying.fun(fun)
            found += [Step(place.path, request, fused, loc=place.stm.loc) for place in places(fun)
                      for request in trying.found.get(place.name, ())]
    finally:
        names.back_to(before)
    return found


def exploring(book: Mapping[str, Point]) -> Callable[[Program, Names, bool], list[Step]]:
    """The function that finds all steps, with the points of a book."""
    return lambda program, names, fused: candidates(program, names, book, fused=fused)


def requests(point: Point, number: int, rank: int) -> Iterator[Request]:
    """A point with each combination of words; numbers have their default, or else ``number``.

    Words that order dimensions are for arrays with ``rank`` dimensions.
    """
    options: list[tuple[int | str, ...]] = [
        _words(kind, rank) if isinstance(kind, Choice) else (kind.default or number,)
        for kind in point.parameters]
    for arguments in product(*options):
        yield Request(point.name, arguments)


def _words(kind: Choice, rank: int) -> tuple[str, ...]:
    """The words of a choice; if they are orders of dimensions, only the orders of a rank."""
    return kind.words if kind.words is not ORDERS else tuple(
        each for each in ORDERS if len(each) == rank)


Suits: TypeAlias = Callable[[Sequence[Constraint]], bool]
"""A test whether constraints can hold."""


def fitting_numbers(fun: Fun, names: Names, path: str, point: Point, request: Request,
                    pool: Iterable[int], suits: Suits) -> list[list[int]]:
    """For each parameter that is a number, the values of a pool that fit; else an empty list.

    Conditions about one number do not name another one, so that all combinations fit, and need not
    be listed.  So the other numbers without a default are 1 here, which divides everything.
    """
    place, before = find(fun, path), copy(names)
    if place is None:
        return [[] for _ in point.parameters]
    walk = _Fitting(fun, names, place.name, point, request, tuple(pool), suits)
    try:
        walk.fun(fun)
    finally:
        names.back_to(before)
    return walk.found


class _Trying(ForwardWalk):
    """A walk that tries points at each statement and changes nothing."""

    def __init__(self, program: Program, names: Names, points: list[Point]) -> None:
        super().__init__(RuleBook([]), Rewriting(names, frozenset({copy_propagation.name})),
                         consumed_names(program))
        self.points = points
        self.found: dict[VName, list[Request]] = {}

    def statement(self, stm: Stm, out: list[Stm], steps: int) -> None:
        """Append the statement to ``out`` unchanged, and note the points that match it."""
        plain = replace(stm, attrs=settings(stm))
        for point in self.points:
            if stm.pat and isinstance(stm.exp, point.heads):
                found = self.found.setdefault(stm.pat[0].name, [])
                rank = len(shape_of(stm.pat[0].type))
                for tries in zip(*(requests(point, number, rank) for number in NUMBERS),
                                 strict=True):
                    fits = (each for each in dict.fromkeys(tries) if self._fits(plain, point, each))
                    found += islice(fits, 1)
        super().statement(stm, out, steps)

    def _fits(self, stm: Stm, point: Point, request: Request) -> bool:
        """True if a point matches a statement with these arguments."""
        return not isinstance(rewritten(self.scope, stm, point, given_of(point, request, {})), str)


class _Fitting(At):
    """A walk that tries numbers of a point at one statement, and changes nothing."""

    def __init__(self, fun: Fun, names: Names, target: VName, point: Point, request: Request,
                 pool: Sequence[int], suits: Suits) -> None:
        super().__init__(fun, names, target)
        self.point, self.request, self.pool, self.suits = point, request, pool, suits
        self.found: list[list[int]] = [[] for _ in point.parameters]

    def reached(self, stm: Stm) -> tuple[Stm, ...]:
        """Note the numbers that fit; the statement stays as it is."""
        plain = replace(stm, attrs=settings(stm))
        self.found = [list(filter(partial(self._fits, plain, k), _pool(kind, self.pool)))
                      for k, kind in enumerate(self.point.parameters)]
        return (stm,)

    def _fits(self, stm: Stm, place: int, number: int) -> bool:
        """True if a point matches with a number in one place, on arguments that there are."""
        arguments = [1 if isinstance(kind, Number) and kind.default is None else each
                     for kind, each in zip(self.point.parameters, self.request.arguments,
                                           strict=True)]
        arguments[place] = number
        given = given_of(self.point, replace(self.request, arguments=tuple(arguments)), {})
        found = rewritten(self.scope, stm, self.point, given)
        return not isinstance(found, str) and self.suits(found.constraints)


def _pool(kind: Parameter, pool: Sequence[int]) -> Sequence[int]:
    """The values to try; a parameter with a default, which numbers loops, has few."""
    if not isinstance(kind, Number):
        return ()
    return pool if kind.default is None else (1, 2, 3, 4)
