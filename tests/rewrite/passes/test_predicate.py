"""Conditional updates that the device makes without asking the host."""

from __future__ import annotations

import numpy as np
import pytest

from runelift.ir.base.errors import ProgramFailure
from tests.programs import agree, expected, program

TAKEN = """
entry main [n] (k: i64) (xs: [n]i32): ([k]i32, [n]i32) =
  loop (out, xs) = (replicate k (-1), copy xs) for i < k do
    let m = i32.maximum xs
    let j = i64.i32 (m % 7)
    in if m > 3 then (out with [i] = m, xs with [j] = xs[j] - m - i32.i64 i) else (out, xs)
"""
EITHER = """
entry main [n] (k: i64) (xs: [n]i32): ([n]i32, [n]i32) =
  loop (xs, ys) = (copy xs, copy xs) for i < k do
    let m = i32.sum xs
    in if m > 0 then (xs with [0] = xs[0] - m, ys) else (xs, ys with [1] = m + i32.i64 i)
"""
MATRIX = """
entry main [n] (k: i64) (xs: [n]i32): [n][n]i32 =
  loop yss = replicate n xs for _i < k do
    let m = i32.maximum (flatten yss)
    in if m > 2 then yss with [n - 1, i64.i32 m % n] = 0 else yss
"""
ROW = """
entry main [n] (k: i64) (xs: [n]i32): [n]i32 =
  loop xs = copy xs for _i < k do
    let m = i32.maximum xs
    in if m > 2 then xs with [0:2] = [m / 2, m / 3] else xs
"""
OUTSIDE = """
entry main [n] (k: i64) (xs: [n]i32): [n]i32 =
  loop xs = copy xs for _i < k do
    let m = i32.maximum xs
    in if m > 3 then xs with [i64.i32 m] = 0 else xs
"""


@pytest.mark.parametrize("device", ["pocl", "oclgrind"])
@pytest.mark.parametrize(("text", "reads"), [
    (TAKEN, False), (EITHER, False), (MATRIX, False), (ROW, True)],
    ids=["taken", "either", "matrix", "row"])
def test_updates(text: str, reads: bool, device: str) -> None:
    updates = program(text, device)
    assert ("rt.read" in updates.source("host")) == reads
    args = [np.int64(9), np.random.default_rng(1).integers(-9, 30, 12).astype(np.int32)]
    assert agree(updates, "main", args, expected(text, "main", args), [{}])


@pytest.mark.parametrize("device", ["pocl", "interpreter"])
def test_an_update_outside_of_the_array_fails_where_it_is_made(device: str) -> None:
    outside = program(OUTSIDE, device)
    xs = np.arange(10, dtype=np.int32)
    with pytest.raises(ProgramFailure, match=r"^<source>:5:22: .*Index \[99\] out of bounds for"):
        outside.run("main", [np.int64(3), xs + 90])
    result, _ = outside.run("main", [np.int64(3), xs - 20])
    np.testing.assert_array_equal(np.asarray(result[0]), xs - 20)
