"""The steps that could be taken in a program: where points match."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import replace
from itertools import product

from runelift.ir.consumption import consumed_names
from runelift.ir.names import Names, VName
from runelift.ir.points import DEFAULT, Choice, Request, settings
from runelift.ir.syntax import Program, Stm
from runelift.rewrite.engine.forward import ForwardWalk, copy_propagation
from runelift.rewrite.engine.rule import Rewriting, RuleBook
from runelift.rewrite.lift.apply import given_of, rewritten
from runelift.rewrite.lift.places import places
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


def requests(point: Point, number: int) -> Iterator[Request]:
    """A point with each combination of words; numbers have their default, or else ``number``."""
    options: list[tuple[int | str, ...]] = [
        kind.words if isinstance(kind, Choice) else (kind.default or number,)
        for kind in point.parameters]
    for arguments in product(*options):
        yield Request(point.name, arguments)


class _Trying(ForwardWalk):
    """A walk that tries points at each statement and changes nothing."""

    def __init__(self, program: Program, names: Names, points: list[Point]) -> None:
        super().__init__(RuleBook([]), Rewriting(names, frozenset({copy_propagation.name})),
                         consumed_names(program))
        self.points = points
        self.found: dict[VName, list[Request]] = {}

    def statement(self, stm: Stm, out: list[Stm], steps: int) -> None:
        """The statement as it is; the points that match it are noted."""
        plain = replace(stm, attrs=settings(stm))
        for point in self.points:
            if stm.pat and isinstance(stm.exp, point.heads):
                found = self.found.setdefault(stm.pat[0].name, [])
                for tries in zip(*(requests(point, number) for number in NUMBERS), strict=True):
                    found += [each for each in tries if self._fits(plain, point, each)][:1]
        super().statement(stm, out, steps)

    def _fits(self, stm: Stm, point: Point, request: Request) -> bool:
        """True if a point matches a statement with these arguments."""
        return not isinstance(rewritten(self.scope, stm, point, given_of(point, request, {})), str)
