"""Integer operations without NumPy: what the table of meanings says, at all edges."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runelift.ir.integers import INTEGER_FUNCTIONS, compute
from runelift.ir.meaning import MEANING, apply
from runelift.ir.prim import INTS, OPS, Prim


def test_every_operation_has_a_meaning() -> None:
    assert MEANING.keys() == OPS.keys()


def test_every_operation_on_integers_is_computed() -> None:
    assert INTEGER_FUNCTIONS.keys() == {op.name for op in OPS.values() if Prim.I64 in op.domain}


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
    assert compute(op, prim, *args) == apply(op, prim, *args)
