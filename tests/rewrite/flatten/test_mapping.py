"""Mappings of loops to levels: those of chains, of a nest with an intermediate, and the thesis's.

The rules of Mogers 2023, chapter 5, give a loop an integer: 0 is sequential, 1 fused with the loop
around it, 10 + d over work-items, 20 + d over groups, 30 + d over the grid in dimension d.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import product

import pytest

from runelift.ir.guards import Kind
from runelift.ir.syntax import Level
from runelift.rewrite.flatten.mapping import ALL, kind_of, launched_once, legal, mappings, useful

GRID, GROUP, LOCAL = Level.GRID, Level.GROUP, Level.LOCAL


def test_two_loops_have_the_mappings_of_rule_g3() -> None:
    assert mappings(2) == ((GRID, None), (GROUP, LOCAL), (GRID, GRID))
    assert [kind_of(each) for each in mappings(2)] == [Kind.OUTER, Kind.INTRA, Kind.FLAT]
    assert mappings(2, inside_group=True) == ((None, LOCAL), (LOCAL, None), (LOCAL, LOCAL))


@pytest.mark.parametrize(("depth", "counts"), [
    (1, (3, 1, 1)), (2, (8, 4, 3)), (3, (20, 12, 7)), (4, (48, 32, 15))])
def test_chains_have_as_many_mappings_as_counted(depth: int, counts: tuple[int, ...]) -> None:
    fitting = [each for each in product(ALL, repeat=depth) if legal(each)]
    helpful = [each for each in fitting if useful(each)]
    assert (len(fitting), len(helpful), len(mappings(depth))) == counts
    assert {each for each in helpful if launched_once(each)} == set(mappings(depth))


def joined(a: Level | None, inside: Collection[Level | None], space: str) -> bool:
    """True if an intermediate of a loop ``a`` can be in a memory, given the loops inside of it."""
    if space == "private":
        return not any(inside)
    if space == "local":
        return a is GROUP and set(inside) <= {None, LOCAL}
    return True


@pytest.mark.parametrize(("space", "counts"), [
    ("private", (3, 1)), ("local", (8, 3)), ("global", (40, 15))])
def test_an_intermediate_limits_the_loops_around_it(space: str, counts: tuple[int, int]) -> None:
    """a { b, c { d } }, where b reads what d has made."""
    found = []
    for a, b, c, d in product(ALL, repeat=4):
        inside, two_kernels = (b, c, d), {b, c, d} & {GRID, GROUP}
        if legal((a, b)) and legal((a, c, d)) and joined(a, inside, space) and (
                not two_kernels or (a in (GRID, None) and b is not LOCAL)):
            found.append((a, b, c, d))
    helpful = [each for each in found if useful(each[:2]) and useful((each[0], *each[2:]))]
    assert (len(found), len(helpful)) == counts


# The thesis's rules

CODES = (0, 1, 10, 11, 12, 20, 21, 22, 30, 31, 32)
Codes = dict[str, int]
Rule = Callable[[Codes], bool]


@dataclass(frozen=True)
class Loops:
    """Loops by name with the loop around each; ``perfect`` ones are all that stands in theirs."""

    around: dict[str, str]
    perfect: frozenset[str]

    def outside(self, loop: str) -> list[str]:
        """The loops around one, the nearest first."""
        found = []
        while loop := self.around[loop]:
            found.append(loop)
        return found

    def chains(self) -> list[list[str]]:
        """The loops from the root to each leaf."""
        return [[*reversed(self.outside(leaf)), leaf] for leaf in self.around
                if leaf not in self.around.values()]


def used(codes: Codes, chain: list[str], domain: int) -> set[int]:
    """The dimensions that a chain uses of work-items (1), groups (2) or the grid (3)."""
    return {codes[loop] % 10 for loop in chain if codes[loop] // 10 == domain}


def rules(nest: Loops, private: Collection[str] = (), local: Collection[str] = ()
          ) -> dict[str, Rule]:
    """Rules 5.1 to 5.9; loops named ``private`` and ``local`` use such memory."""
    chains, pairs = nest.chains(), [
        (outer, inner) for inner in nest.around for outer in nest.outside(inner)]
    return {
        "5.1": lambda c: all(c[loop] < 10 for loop in private),
        "5.2": lambda c: all(c[loop] < 20 and all(
            any(c[other] == 20 + d for other in nest.outside(loop))
            for chain in chains if loop in chain for d in used(c, chain, 2)) for loop in local),
        "5.3": lambda c: all(c[outer] < 10 or c[outer] != c[inner] for outer, inner in pairs),
        "5.4": lambda c: all(used(c, chain, 1) <= used(c, chain, 2) for chain in chains),
        "5.5": lambda c: all(used(c, chain, 2) <= used(c, chain, 1) for chain in chains),
        "5.6": lambda c: not any(c[outer] // 10 == 1 and c[inner] == c[outer] + 10
                                 for outer, inner in pairs),
        "5.7-5.9": lambda c: all(used(c, one, domain) == used(c, other, domain)
                                 for one in chains for other in chains for domain in (1, 2, 3)),
    }


def corrected(nest: Loops) -> dict[str, Rule]:
    """Only perfect nests are fused, and no dimension is over the grid and over groups."""
    return {
        "fused": lambda c: all(c[loop] != 1 or loop in nest.perfect for loop in nest.around),
        "mixed": lambda c: not any(used(c, chain, 3) & (used(c, chain, 1) | used(c, chain, 2))
                                   for chain in nest.chains())}


def fusing(nest: Loops) -> Rule:
    """Rule 5.10: sequential loops of a perfect nest are fused."""
    return lambda c: not any(c[loop] == 0 == c[nest.around[loop]] for loop in nest.perfect)


def dependence(nest: Loops, producer: str, consumer: str) -> Rule:
    """Below what encloses both sides of an intermediate, nothing is over groups or the grid."""
    one, other = ({loop, *nest.outside(loop)} for loop in (producer, consumer))
    return lambda c: all(c[loop] < 20 for loop in one ^ other)


def solutions(nest: Loops, *conditions: Rule, limit: dict[str, int] | None = None
              ) -> Iterator[Codes]:
    """The mappings that meet conditions; codes of some loops are below a limit."""
    domains = [[code for code in CODES if code < (limit or {}).get(loop, 100)
                and (code != 1 or loop in nest.perfect)] for loop in nest.around]
    for values in product(*domains):
        codes = dict(zip(nest.around, values, strict=True))
        if all(condition(codes) for condition in conditions):
            yield codes


def count(found: Iterator[Codes]) -> int:
    return sum(1 for _ in found)


FIGURE = Loops({"A": "", "B": "A", "C": "A", "D": "C"}, frozenset("D"))


@pytest.mark.parametrize(("memory", "counts"), [
    ({}, (44, 40)), ({"private": "BD"}, (8, 4)), ({"local": "BD"}, (17, 13))])
def test_figure_5_2_has_as_many_mappings_as_in_the_thesis(memory: dict[str, str],
                                                          counts: tuple[int, int]) -> None:
    conditions = [*rules(FIGURE, **memory).values(), *corrected(FIGURE).values()]
    assert (count(solutions(FIGURE, *conditions)),
            count(solutions(FIGURE, *conditions, fusing(FIGURE)))) == counts


def test_a_dependence_leaves_13_mappings_of_figure_5_2() -> None:
    assert count(solutions(
        FIGURE, *rules(FIGURE).values(), *corrected(FIGURE).values(), fusing(FIGURE),
        dependence(FIGURE, "D", "B"))) == 13


TILES = Loops({"TA": "", "CA": "TA", "TB": "TA", "CB": "TB", "A": "TB", "B": "A"}, frozenset("B"))


@pytest.mark.parametrize(("memory", "counts"), [
    ({"private": ("CA", "CB", "B")}, (4, 4)), ({"local": ("CA", "CB", "B")}, (16, 16)),
    ({}, (52, 16))])
def test_tiles_of_a_product_have_as_many_mappings_as_in_the_thesis(
        memory: dict[str, tuple[str, ...]], counts: tuple[int, int]) -> None:
    limit = {loop: 10 if "private" in memory else 20
             for each in memory.values() for loop in each}
    found = list(solutions(TILES, *rules(TILES, **memory).values(), *corrected(TILES).values(),
                           fusing(TILES), limit=limit))
    synchronised = [each for each in found if dependence(TILES, "CA", "B")(each)
                    and dependence(TILES, "CB", "B")(each)]
    assert (len(found), len(synchronised)) == counts
