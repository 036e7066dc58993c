"""Floating-point contraction: off by default, allowed when asked for."""

from __future__ import annotations

import numpy as np
import pytest

import runelift
from runelift.codegen.opencl import prelude

PROGRAM = "entry main (xs: []f32) (ys: []f32): []f32 = map2 (\\x y -> x * x - y) xs ys"


def test_products_and_sums_are_rounded_apart() -> None:
    """x * x has a rounding error here, which a fused operation would show."""
    x = np.float32(1 + 2**-12)
    square = np.float32(x * x)
    assert np.float64(x) ** 2 != square
    program = runelift.compile(PROGRAM, device="Portable")
    assert program.main(np.full(64, x), np.full(64, square)).tolist() == [0.0] * 64


def test_contraction_is_an_option_of_the_build() -> None:
    program = runelift.compile(PROGRAM, device="Portable", fp_contract=True)
    xs = np.arange(9, dtype=np.float32)
    assert program.main(xs, xs) == pytest.approx(xs * xs - xs)
    assert "-DCONTRACT" in program._executable("main").options
    assert "#ifndef CONTRACT\n#pragma OPENCL FP_CONTRACT OFF" in prelude()
