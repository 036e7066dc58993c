"""Built-in functions that are not covered by their rows in the table of operations."""

from __future__ import annotations

import numpy as np
import pytest

import runelift


@pytest.mark.parametrize(("float_", "word"), [("f32", "u32"), ("f64", "u64")])
def test_bits_of_floats(float_: str, word: str) -> None:
    """A float and its bits are one to one, also where the float is no number or zero."""
    text = (f"entry bits (xs: []{float_}) = map {float_}.to_bits xs\n"
            f"entry back (xs: []{word}) = map {float_}.from_bits xs")
    xs = np.array([1, -2.5, 0, -0.0, np.inf, -np.inf, 1e-42], "float32").astype(
        {"f32": "float32", "f64": "float64"}[float_])
    program = runelift.compile(text, device="interpreter")
    bits = program.bits(xs)
    assert np.array_equal(bits, xs.view({"u32": "uint32", "u64": "uint64"}[word]))
    assert np.array_equal(np.signbit(program.back(bits)), np.signbit(xs))
    assert np.array_equal(program.back(bits), xs)


def test_rep_takes_its_size_from_the_use() -> None:
    program = runelift.compile("def main (xs: []i32) = map2 (+) xs (rep 3)", device="interpreter")
    assert program.main(np.arange(3, dtype="int32")).tolist() == [3, 4, 5]
