"""Built-in functions that are not covered by their rows in the table of operations."""

from __future__ import annotations

import numpy as np
import pytest

import runelift
from runelift.frontend.load import checked
from runelift.ir.base.errors import ProgramError, ProgramFailure, UserError
from runelift.ir.base.source import Source


@pytest.mark.parametrize(("float_", "word"), [
    ("f16", "u16"), ("f32", "u32"), ("f64", "u64")])
def test_bits_of_floats(float_: str, word: str) -> None:
    """A float and its bits are one to one, also where the float is no number or zero."""
    text = (f"entry bits (xs: []{float_}) = map {float_}.to_bits xs\n"
            f"entry back (xs: []{word}) = map {float_}.from_bits xs")
    xs = np.array([1, -2.5, 0, -0.0, np.inf, -np.inf, 1e-42], "float32").astype(
        f"float{float_[1:]}")
    program = runelift.compile(text, device="interpreter")
    bits = program.bits(xs)
    assert np.array_equal(bits, xs.view(f"uint{word[1:]}"))
    assert np.array_equal(np.signbit(program.back(bits)), np.signbit(xs))
    assert np.array_equal(program.back(bits), xs)


def test_a_definition_of_a_builtin_name_is_in_scope_of_itself() -> None:
    text = ("def length [n] (xs: [n]i32) = if null xs then 0 else length (tail xs) + 2\n"
            "entry main (xs: []i32) = length xs")
    assert runelift.compile(text, device="interpreter").main(np.arange(3, dtype="int32")) == 6


def test_rep_takes_its_size_from_the_use() -> None:
    program = runelift.compile("def main (xs: []i32) = map2 (+) xs (rep 3)", device="interpreter")
    assert program.main(np.arange(3, dtype="int32")).tolist() == [3, 4, 5]


@pytest.mark.parametrize(("text", "ends", "expected"), [
    ("a..b...c", (1, 3, 6), [1, 3, 5]), ("a..b...c", (1, 2, 1), [1]),
    ("a..b...c", (1, 2, 0), None), ("a..b...c", (1, 1, 4), None),
    ("a..b...c", (1, 0, -1), [1, 0, -1]), ("a..b...c", (1, 0, 2), None),
    ("a..b..<c", (1, 3, 5), [1, 3]), ("a..b..<c", (1, 2, 1), []),
    ("a..b..<c", (1, 2, 0), None), ("a..b..<c", (1, 0, -4), None),
    ("a..b..>c", (5, 3, 1), [5, 3]), ("a..b..>c", (1, 0, 1), []),
    ("a..b..>c", (1, 2, 4), None), ("a..b..>c", (1, 0, 2), None),
    ("a...c", (1, 0, 0), None), ("a...c", (1, 0, 1), [1]), ("a..<c", (1, 0, 0), None),
    ("a..>c", (0, 0, 1), None), ("a..>c", (1, 0, -1), [1, 0]),
])
def test_ranges_lead_to_their_end(text: str, ends: tuple[int, ...],
                                  expected: list[int] | None) -> None:
    program = runelift.compile(f"def main (a: i64) (b: i64) (c: i64) = {text}",
                               device="interpreter")
    if expected is None:
        with pytest.raises(ProgramFailure, match=r"is invalid|is negative"):
            program.main(*ends)
    else:
        assert program.main(*ends).tolist() == expected


def test_arguments_have_the_sizes_that_types_compute() -> None:
    program = runelift.compile("def main (n: i64) (_: [n + 1]i32) = n", device="interpreter")
    assert program.main(1, np.zeros(2, "int32")) == 1
    with pytest.raises(ProgramFailure, match="invalid size: 3, where its type says 2"):
        program.main(1, np.zeros(3, "int32"))


def test_flat_slices_step_through_an_array() -> None:
    text = """
entry columns (xs: []i32) = intrinsics.flat_index_2d xs 1 2 2 3 5
entry beside (xs: *[]i32) (ys: [][]i32) = intrinsics.flat_update_2d xs 1 3 1 ys
entry cube (xs: []i32) = intrinsics.flat_index_3d xs 0 2 4 2 2 2 1
"""
    program = runelift.compile(text, device="interpreter")
    xs = np.arange(16, dtype="int32")
    assert program.columns(xs).tolist() == [[1, 6, 11], [3, 8, 13]]
    assert program.cube(xs).tolist() == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
    changed = program.beside(xs[:8], np.array([[-1, -2], [-3, -4]], "int32"))
    assert changed.tolist() == [0, -1, -2, 3, -3, -4, 6, 7]
    with pytest.raises(ProgramFailure, match="out of bounds"):
        program.beside(xs[:4], np.array([[-1, -2], [-3, -4]], "int32"))


def test_library_modules_are_no_values() -> None:
    with pytest.raises(ProgramError, match="may not be used in module expressions"):
        checked(Source("t", "module m = intrinsics"))


def test_too_little_memory_is_no_bug() -> None:
    program = runelift.compile("def main (n: i64) = (map (+ 1) (iota n))[0]", device="interpreter")
    with pytest.raises(UserError, match="Out of memory"):
        program.main(1 << 46)
