"""Inputs that loops read in place: they stay as they are, whatever happens to the results."""

from __future__ import annotations

import numpy as np
import pytest

import runelift
from runelift.runtime.versions.forest import plans

READ = """
entry main [n] (k: i64) (xs: [n]i32): ([n]i32, [n]i32, [n]i32) =
  let ys = loop x = xs for i < k do map (+ i32.i64 i) x
  let zs = copy ys with [0] = 7
  in (ys, zs, xs)
"""
UPDATED_AFTER = """
entry main [n] (k: i64) (xs: [n]i32): ([n]i32, i32) =
  let ys = loop x = map (* 2) xs for _i < k do map (+ 1) x
  let zs = ys with [1] = 9
  in (zs, i32.sum xs)
"""
THROUGH_VIEWS = """
entry main [n] (k: i64) (xs: [n]i32): ([n]i32, [n]i32) =
  loop (a, b) = (xs, xs) for _i < k do
    let c = reverse a
    in (map2 (+) b c, take n a)
"""
UPDATED_INSIDE = """
entry main [n] (k: i64) (xs: *[n]i32): [n]i32 =
  loop x = xs for i < i64.min k n do
    let s = i32.sum x
    let view = x[0:n]
    in view with [i] = s
"""
BOTH = """
entry main [n] (k: i64) (xs: [n]i32): ([n]i32, [n]i32) =
  let a = loop x = xs for _i < k do map (+ 1) x
  let b = loop x = a for _i < k do map (* 2) x
  in (a, b)
"""


@pytest.mark.parametrize("k", [0, 1, 2, 9])
@pytest.mark.parametrize("text", [READ, UPDATED_AFTER, THROUGH_VIEWS, UPDATED_INSIDE, BOTH],
                         ids=["read", "updated-after", "views", "updated-inside", "both"])
def test_inputs_stay(text: str, k: int) -> None:
    program = runelift.compile(text, device="pocl", tuning={})
    xs = np.arange(3, 8, dtype=np.int32)
    expected, _ = runelift.compile(text, device="interpreter").run("main", [np.int64(k), xs])
    given = program.to_device(xs)
    for force in plans(program.tree.entry("main")):
        first, _ = program.run("main", [np.int64(k), given], force=force)
        again, _ = program.run("main", [np.int64(k), given], force=force)
        for want, got, same in zip(expected, first, again, strict=True):
            np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
            np.testing.assert_array_equal(np.asarray(same), np.asarray(want))
        np.testing.assert_array_equal(given.get(), xs)
