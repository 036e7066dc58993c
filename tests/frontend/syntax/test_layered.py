"""Layered dictionaries."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runelift.frontend.syntax.layered import Layered


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(), st.integers(0, 30))))
def test_children_do_not_change_their_parents(steps: list[tuple[int, int, int]]) -> None:
    """Each step extends a child of one of the dictionaries that there are."""
    found: list[tuple[Layered[int, int], dict[int, int]]] = [(Layered(), {})]
    for key, value, which in steps:
        old, model = found[which % len(found)]
        child = old.child()
        child[key] = value
        child.setdefault(key + 1, 0)
        found.append((child, {key + 1: 0, **model, key: value}))
    for layered, model in found:
        assert dict(layered) == model
        assert len(layered) == len(model)
        assert all((key in layered) == (key in model) for key in range(12))
