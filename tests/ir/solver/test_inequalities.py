"""Proofs about sizes."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runelift.ir.constraints import Constraint, Relation, divides, equal
from runelift.ir.names import VName
from runelift.ir.sizes import Size
from runelift.ir.solver import inequalities
from runelift.ir.solver.inequalities import Facts, quotient

NAMES = [VName("n", 1), VName("m", 2), VName("i", 3)]


@st.composite
def sizes(draw: st.DrawFn) -> Size:
    """Sums of multiples of names, of a product of two of them, and of a constant."""
    total = Size.of(draw(st.integers(-3, 3)))
    for name in NAMES:
        total = total + Size.var(name) * draw(st.integers(-2, 2))
    return total + Size.var(NAMES[0]) * Size.var(NAMES[2]) * draw(st.integers(-1, 1))


SYSTEMS = st.lists(sizes().map(inequalities._inequality), min_size=1, max_size=6).map(frozenset)


@settings(max_examples=300, deadline=None)
@given(SYSTEMS)
def test_cases_found_save_elimination_and_change_no_answer(
        system: frozenset[inequalities.Linear]) -> None:
    contradictory = inequalities._contradictory.__wrapped__
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inequalities, "_has_model", lambda _: False)
        eliminated = contradictory(system)
    assert contradictory(system) == eliminated


def test_a_case_in_which_all_holds_is_found() -> None:
    n, _, i = map(Size.var, NAMES)
    linear = [*map(inequalities._inequality, (n - 5, i - 2, n - i * 3 - 1))]
    assert inequalities._has_model(linear)
    assert not inequalities._has_model([*linear, inequalities._inequality(i - n)])


def test_what_does_not_follow_is_not_proved() -> None:
    n, _, i = map(Size.var, NAMES)
    facts = Facts((i, n - i - 1))
    assert facts.prove(n - i)
    assert not facts.prove(n - i * 2)


CONSTRAINTS = st.builds(Constraint, st.sampled_from(Relation), sizes(), sizes())
EQUALITIES = st.lists(st.tuples(st.sampled_from(NAMES), sizes()), max_size=3)


@settings(max_examples=300, deadline=None)
@given(EQUALITIES, st.lists(sizes(), max_size=2), CONSTRAINTS)
def test_what_is_proved_holds_wherever_the_facts_do(
        equalities: list[tuple[VName, Size]], known: list[Size], constraint: Constraint) -> None:
    facts = Facts(tuple(known))
    for name, size in equalities:
        facts = facts.equal(name, size)
    truth = facts.truth(constraint)
    if truth is None:
        return
    for values in product(range(-2, 5), repeat=3):
        env = dict(zip(NAMES, values, strict=True))
        if all(size.value(env) >= 0 for size in known) and all(
                env[name] == size.value(env) for name, size in equalities):
            assert constraint.holds(env) == truth


def test_divisors_of_products_are_known() -> None:
    n, tile, rows = map(Size.var, NAMES)
    facts = Facts((tile - 1, rows)).equal(NAMES[0], tile * rows)
    assert facts.divides(tile, n * n + tile * 3)
    assert facts.truth(divides(tile, n)) is True
    assert facts.truth(divides(rows, n)) is None  # there may be none
    assert facts.truth(equal(tile * rows, n)) is True
    assert facts.truth(divides(tile * 2, n)) is None
    assert Facts().truth(divides(Size.of(4), n * 8 + 2)) is False
    assert Facts().truth(divides(Size.of(0), n)) is False


@settings(max_examples=200, deadline=None)
@given(sizes(), sizes())
def test_quotients_are_exact(size: Size, divisor: Size) -> None:
    found = quotient(size, divisor)
    assert found is None or found * divisor == size
    assert not divisor.terms or quotient(size * divisor, divisor) is not None or (
        len(divisor.terms) > 1)
