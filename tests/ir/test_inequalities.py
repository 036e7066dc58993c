"""Proofs about sizes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runelift.ir import inequalities
from runelift.ir.inequalities import Facts
from runelift.ir.names import VName
from runelift.ir.sizes import Size

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
