"""Conversions of floats to integers: values that do not fit, infinities, and what is no number."""

from __future__ import annotations

import numpy as np
import pytest

import runelift
from runelift.ir.prim import INTS

FLOATS = ("f32", "f64")
SPECIAL = [0, -0.0, 1.5, -1.5, 127, 128, -128, -129, 255, 256, 65535, 65536, -32769, 2**31 - 128,
           2**31, -2.0**31, -2.0**31 - 256, 2**32, 3e9, 2**63, -2.0**63, 2.0**64, 1e30, -1e30,
           1e-40, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("device", ["oclgrind", "Portable"])
def test_every_value_has_a_result(device: str) -> None:
    source = "\n".join(f"entry {to.value}_{of} [n] (xs: [n]{of}) = map {to.value}.{of} xs"
                       for to in INTS for of in FLOATS)
    reference = runelift.compile(source, device="interpreter")
    program = runelift.compile(source, device=device, tuning={})
    for to in INTS:
        for of, dtype in zip(FLOATS, (np.float32, np.float64), strict=True):
            xs, entry = np.array(SPECIAL, np.float64).astype(dtype), f"{to.value}_{of}"
            expected, actual = reference[entry](xs), program[entry](xs)
            np.testing.assert_array_equal(np.asarray(actual), np.asarray(expected), entry)
