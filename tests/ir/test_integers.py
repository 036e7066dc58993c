"""Integer operations without NumPy: what the table of meanings says, at all edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runelift.ir.integers import INTEGER_FUNCTIONS, compute
from runelift.ir.meaning import MEANING, apply, convert
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


@pytest.mark.parametrize(("value", "to", "expected"), [
    (300.7, Prim.U8, 44), (-5.9, Prim.U8, 251), (-5.9, Prim.I8, -5),
    (3e9, Prim.I32, -2**31), (-3e9, Prim.I32, -2**31), (3e9, Prim.U32, 3 * 10**9),
    (3e9, Prim.U8, 0), (-3e9, Prim.U32, 1_294_967_296),
    (-1.0, Prim.U64, 2**64 - 1), (2.0**63, Prim.I64, -2**63), (-2.0**65, Prim.I64, -2**63),
    (2.0**63 + 2.0**12, Prim.U64, 2**63 + 2**12), (2.0**65, Prim.U64, 2**63),
    (math.inf, Prim.I32, 0), (-math.inf, Prim.U8, 0), (math.nan, Prim.I64, 0),
])
def test_floats_become_integers(value: float, to: Prim, expected: int) -> None:
    assert convert(np.float64(value), to) == expected
    assert convert(np.array([value, 1.0]), to).tolist() == [expected, 1]
