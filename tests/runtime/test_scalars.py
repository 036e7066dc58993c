"""Scalar operations of the host: what the table of operations says, at all edges."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runelift.ir.prim import INTS, OPS, Prim, apply
from runelift.runtime.scalars import INTEGER_FUNCTIONS, SCALARS


@pytest.mark.parametrize("prim", INTS, ids=str)
@pytest.mark.parametrize("op", sorted(INTEGER_FUNCTIONS))
@settings(max_examples=30)
@given(data=st.data())
def test_integers(op: str, prim: Prim, data: st.DataObject) -> None:
    least, greatest = int(prim.least), int(prim.greatest)
    edges = st.sampled_from([least, least + 1, 0, 1, prim.bits - 1, prim.bits, greatest])
    args = [data.draw(st.integers(least, greatest) | edges) for _ in range(OPS[op].arity)]
    if OPS[op].traps and args[-1] == 0:
        args[-1] = 3
    wrap, function = SCALARS[f"wrap_{prim}"], SCALARS[f"int_{op}"]
    assert wrap(function(*args, prim.bits)) == apply(op, prim, *args)
