"""Constraints: the counts of the thesis's convolution, and reduction against going through all."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runelift.ir.base.source import Loc
from runelift.ir.constraints import (
    Constraint,
    Derived,
    Relation,
    System,
    at_least,
    divides,
    equal,
)
from runelift.ir.names import VName
from runelift.ir.sizes import Size, applied, ceil_div, greatest, least
from runelift.ir.solver.formulas import formula, shown
from runelift.ir.solver.reduction import Impossible, reduced
from runelift.ir.solver.solutions import Solutions

Solution = dict[VName, int]


def names(text: str) -> list[VName]:
    return [VName(base, tag) for tag, base in enumerate(text.split(), 1)]


def var(name: VName) -> Size:
    return Size.var(name)


def listed(system: System) -> list[Solution]:
    """All solutions, by going through all values."""
    found = []
    for values in product(*system.domains.values()):
        env = dict(zip(system.domains, values, strict=True))
        if not system.obstacle(env):
            found.append(env)
    return found


# The direct convolution of layer 7 of VGG-16 (Mogers 2023, table 4.2)

THETA, RHO, KAPPA, SIGMA, OMEGA, V = names("theta rho kappa sigma omega v")
SIDE, KERNEL, CHANNELS, FILTERS = 114, 3, 128, 128
WINDOW = CHANNELS * KERNEL * KERNEL
PER_SIDE = var(THETA) - KERNEL + 1
DOMAINS = {THETA: range(KERNEL, 2 * SIDE + 1), RHO: range(65), KAPPA: range(1, FILTERS + 1),
           SIGMA: range(1, 65), OMEGA: range(1, WINDOW + 1), V: (1, 2, 4, 8, 16)}
CONVOLUTION = System(DOMAINS, (
    at_least(var(RHO) + SIDE, var(THETA), "slide: no window is larger than the array"),
    divides(var(THETA) - KERNEL + 1, var(RHO) + SIDE - var(THETA), "slide: tiles are whole"),
    divides(var(KAPPA), Size.of(FILTERS), "split of filters"),
    divides(var(SIGMA), PER_SIDE * PER_SIDE, "split of windows"),
    divides(var(OMEGA), Size.of(WINDOW), "split of a window"),
    divides(var(V), var(OMEGA), "vectors")))
GROUP = ceil_div(PER_SIDE * PER_SIDE, var(SIGMA)) * ceil_div(Size.of(WINDOW), var(OMEGA))
LOCAL = PER_SIDE * PER_SIDE * var(KAPPA) * ceil_div(Size.of(WINDOW), var(OMEGA)) * 4
REGISTERS = var(SIGMA) * var(KAPPA) + (var(SIGMA) + var(KAPPA)) * var(V)


def limited(*limits: Constraint) -> int:
    return Solutions(System(DOMAINS, (*CONVOLUTION.constraints, *limits))).count


def test_the_convolution_has_as_many_settings_as_the_thesis_needs() -> None:
    combinations = 1
    for domain in DOMAINS.values():
        combinations *= len(domain)
    assert combinations == 693_161_164_800
    less = reduced(CONVOLUTION)
    assert [len(less.domains[each]) for each in (KAPPA, OMEGA, V)] == [8, 24, 5]
    assert len(less.constraints) == 4
    found = Solutions(CONVOLUTION)
    assert found.count == 1_457_280
    assert sorted(found.components) == [(1, 8), (2, 90), (3, 2024)]
    pairs = System({THETA: DOMAINS[THETA], RHO: DOMAINS[RHO]}, CONVOLUTION.constraints[:2])
    assert Solutions(pairs).count == 401


def test_limits_of_devices_connect_all_parameters() -> None:
    assert limited(at_least(Size.of(384), GROUP), at_least(Size.of(32768), LOCAL)) == 303_901
    assert limited(at_least(Size.of(1024), GROUP), at_least(Size.of(49152), LOCAL),
                   at_least(Size.of(255), REGISTERS)) == 271_175


def test_nothing_that_is_drawn_breaks_a_constraint() -> None:
    found = Solutions(CONVOLUTION)
    random = Random(1)
    for _ in range(500):
        number = random.randrange(found.count)
        solution = found.solution(number)
        assert CONVOLUTION.obstacle(solution) == ""
        assert found.number(solution) == number


def test_ranges_are_reduced_as_in_equation_4_11() -> None:
    """a = 6, b = 4, d = 40, e = 10."""
    t1, t2, t3 = names("t1 t2 t3")
    less = reduced(System({t1: range(1, 5), t2: range(1, 25), t3: range(1, 41)}, (
        at_least(var(t1), Size.of(4)), at_least(Size.of(24), var(t1) * var(t2)),
        at_least(var(t2) * 10, var(t3) * 6))))
    assert [(less.domains[each][0], less.domains[each][-1]) for each in (t1, t2, t3)] == [
        (4, 4), (1, 6), (1, 10)]
    assert [str(each) for each in less.constraints] == ["10*t2 >= 6*t3"]


# Simplification


def test_what_others_imply_is_dropped() -> None:
    a, b, n = names("a b n")
    domains = {a: range(1, 9), b: range(1, 9)}
    size = var(a) * var(b) * 4

    def left(*constraints: Constraint) -> list[str]:
        return [str(each) for each in reduced(System(domains, constraints)).constraints]

    assert left(divides(var(a), size)) == []
    assert left(divides(var(a), size + var(a) + var(b))) == ["a divides b"]
    assert left(at_least(Size.of(256), size)) == []
    assert left(at_least(var(a), var(b)), at_least(var(a) * 2, var(b) * 2)) == ["a >= b"]
    assert left(at_least(var(a), var(b)), at_least(var(a) + 3, var(b))) == ["a >= b"]
    assert left(equal(var(a), var(b)), equal(var(a) * 3, var(b) * 3)) == ["a = b"]
    assert left(divides(var(a), var(n))) == ["a divides n"], "n is known later only"


def test_a_contradiction_is_told_with_both_sizes_and_its_origin() -> None:
    tile, n = names("tile n")
    span = Loc("conv.fut", 12, 3)
    whole = divides(var(tile), var(n), "split", "ab_tile[1]", span=span)
    with pytest.raises(Impossible, match=r"tile = 5 does not divide n = 112, 112 % 5 = 2 "
                       r"\(split; from ab_tile\[1\]; at conv.fut:12:3\)"):
        reduced(System({tile: (5,), n: (112,)}, (whole,)))
    with pytest.raises(Impossible, match=r"no values have tile divides 7 \(split;") as caught:
        reduced(System({tile: (2, 4), n: (7,)}, (whole,)))
    assert caught.value.constraint.origin == whole.origin
    with pytest.raises(Impossible, match=r"no values have 3 >= tile \(small\)"):
        reduced(System({tile: range(4, 9)}, (at_least(Size.of(3), var(tile), "small"),)))
    assert Solutions(System({tile: (2, 4), n: (7,)}, (whole,))).count == 0
    assert Solutions(System({tile: (2, 4), n: (7,)}, (whole,))).nearest({tile: 2, n: 7}) is None


def test_formulas_are_short() -> None:
    a, b = names("a b")
    assert formula((var(a) + 1) * (var(b) + 2)) == "(a + 1)*(b + 2)"
    assert formula(ceil_div(var(a), Size.of(4)) + least(var(a), var(b)) + greatest(
        var(a), Size.of(1))) == "ceil(a/4) + max(1, a) + min(a, b)"
    assert formula(applied("/", var(a), var(b)) * 2) == "2*(a / b)"
    assert shown(divides(var(a), Size.of(6))) == "a divides 6: 1, 2, 3 or 6"


# Systems at random

A, B, C, FOUND = names("a b c found")


@st.composite
def sizes(draw: st.DrawFn) -> Size:
    monomial = st.lists(st.sampled_from((A, B, C)), max_size=2)
    total = Size.of(draw(st.integers(-4, 8)))
    for factors in draw(st.lists(monomial, min_size=1, max_size=2)):
        term = Size.of(draw(st.integers(-3, 4)))
        for factor in factors:
            term *= var(factor)
        total += term
    return draw(st.sampled_from((total, least(total, var(A)), greatest(Size.of(1), total),
                                 ceil_div(total, var(B)))))


@st.composite
def systems(draw: st.DrawFn) -> System:
    domain = st.lists(st.integers(1, 12), min_size=1, max_size=5, unique=True).map(sorted)
    constraints = draw(st.lists(st.builds(
        Constraint, st.sampled_from(Relation), sizes(), sizes()), max_size=4))
    derived = ()
    if draw(st.booleans()):
        derived = (Derived((FOUND,), (A, B), lambda a, b: (a * b % 5,)),)
        constraints.append(at_least(Size.of(draw(st.integers(0, 4))), var(FOUND)))
    return System({A: draw(domain), B: draw(domain), C: draw(domain)}, tuple(constraints), derived)


@given(systems())
def test_reduction_keeps_the_solutions(system: System) -> None:
    expected = listed(system)
    try:
        less = reduced(system)
    except Impossible:
        assert expected == []
        return
    assert listed(less) == expected
    assert len(less.constraints) <= len(system.constraints)


@given(systems(), st.randoms(use_true_random=False))
def test_solutions_are_those_found_by_going_through_all(system: System, random: Random) -> None:
    expected, found = listed(system), Solutions(system)
    assert found.count == len(expected)
    solutions = list(found)
    assert sorted(map(sorted, map(dict.items, solutions))) == sorted(
        map(sorted, map(dict.items, expected)))
    assert [found.number(each) for each in solutions] == list(range(found.count))
    wanted = {name: random.choice(domain) for name, domain in system.domains.items()}
    assert found.number(wanted) == (solutions.index(wanted) if wanted in expected else None)
    nearest = found.nearest(wanted)
    assert nearest == wanted if wanted in expected else nearest in [*expected, None]
    assert (nearest is None) == (expected == [])


def test_parameters_of_one_sum_are_counted_without_going_through_them() -> None:
    """Their tree is as broad as there are sums, not as there are choices."""
    many = names(" ".join(f"p{k}" for k in range(30)))

    def counted(parameters: list[VName], most: int) -> int:
        total = sum((var(each) * (k % 3 + 1) for k, each in enumerate(parameters)), Size(()))
        return Solutions(System(dict.fromkeys(parameters, range(1, 9)),
                                (at_least(Size.of(most), total, "memory"),))).count

    assert counted(many[:4], 25) == sum(
        a + 2 * b + 3 * c + d <= 25 for a, b, c, d in product(range(1, 9), repeat=4))
    assert counted(many, 30 * 8 * 2) == 8 ** 30
    assert counted(many, 270) * 2 > 8 ** 30, "half of them, as sums lie around the middle"
