"""Functions that call themselves at their end are loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runelift


@pytest.mark.parametrize(("text", "args", "wanted"), [
    ("def add (n: i64) (x: i64): i64 = if n == 0 then x else add (n - 1) (x + 1)\n"
     "entry main (n: i64) = add n 7", [3], 10),
    ("def add (n: i64) (x: i64): i64 = if n == 0 then x else add (n - 1) (x + 1)\n"
     "entry main (n: i64) = let f = add n in f 1 + f 2", [3], 9),
    # a function is passed on, and the rest may be of any type
    ("def again 'a (n: i32) (f: a -> a) (x: a): a = if n <= 0 then x else again (n - 1) f (f x)\n"
     "entry main (n: i32) = (again n (* 2i32) 1, again n (map (+ 1i32)) [1, 2])", [3],
     (8, [4, 5])),
    # the branch that calls comes first, or there are several
    ("def gcd (a: i32) (b: i32): i32 = if b != 0 then gcd b (a % b) else a\n"
     "entry main (xs: []i32) (ys: []i32) = map2 gcd xs ys", [[48, 7, 5], [36, 21, 0]], [12, 7, 5]),
    ("def steps (n: i64) (k: i32) = match n case 1 -> k\n"
     "  case _ -> let half = n / 2 in if n % 2 == 0 then steps half (k + 1)\n"
     "            else steps (3 * n + 1) (k + 1)\n"
     "entry main (xs: []i64) = map (\\x -> steps x 0) xs", [[1, 7, 27]], [0, 16, 111]),
    # sizes are those of the present arguments
    ("def total [n] (xs: [n]i32) (s: i32): i32 =\n"
     "  if n == 0 then s else total (tail xs) (s + head xs)\n"
     "entry main (xss: [][]i32) = map (\\xs -> total xs 0) xss", [[[1, 2], [3, 4]]], [3, 7]),
    ("def double [n] (xs: [n]i32) (k: i64): []i32 = if n > k then xs else double (xs ++ xs) k\n"
     "entry main (xs: []i32) = double xs 3", [[1, 2]], [1, 2, 1, 2]),
    ("def fill [n] (i: i64) (xs: *[n]i64): *[n]i64 =\n"
     "  if i == n then xs else fill (i + 1) (xs with [i] = i * i)\n"
     "entry main (n: i64) = fill 0 (replicate n 0)", [4], [0, 1, 4, 9]),
    # names of parameters that are bound anew
    ("def f (n: i32): i32 = let n = n - 1 in if n <= 0 then n * 10 else f (n - 1)\n"
     "entry main (n: i32) = f n", [5], 0),
    ("def f (n: i32): i32 = let n = n - 2 in if n <= 0 then n * 10 else f n\n"
     "entry main (n: i32) = f n", [5], -10),
    ("def f (n: i32) (k: i32): i32 = let n = n - 2 in if n <= 0 then n else f (n + k) k\n"
     "entry main (n: i32) = f n 1", [4], 0),
    # parameters that are patterns, and the names of the loop
    ("def f (a: i32, {b, again = c}: {b: i32, again: i32}): i32 =\n"
     "  let again = a + c in if again <= 0 then b else f (a - 1, {b = b + 2, again = c})\n"
     "entry main (a: i32) = f (a, {b = 0, again = 0})", [4], 8),
    ("module m = { def down (x: i32): i32 = if x < 10 then x else down (x - 10) }\n"
     "entry main (x: i32) = m.down x", [47], 7),
    # a variable of this name, or a constant that was there before
    ("def f (x: i32) = let f = x + 1 in f\nentry main (x: i32) = f x", [4], 5),
    ("def f = 3i32\nmodule m = { def f = f + 1 }\nentry main (x: i32) = m.f + x", [4], 8),
    ("def f (f: i32) = f + 1\nentry main (x: i32) = f x", [4], 5),
    # a call without an end would be one of what was there before
    ("def indices xs = indices xs |> map i32.i64\n"
     "module m = { def indices xs = (xs |> indices) with [0] = 7 }\n"
     "entry main (xs: []i64) = m.indices xs", [[4, 4]], [7, 1]),
    ("open { def f (x: i32, y: i32) = x - y }\ndef f x y = let z = 1 + x in f (z, y)\n"
     "entry main (x: i32) = f x 2", [5], 4),
    ("def (+) (a: (i32, i32)) (b: (i32, i32)) = (a.0 + b.0, a.1 + b.1)\n"
     "entry main (x: i32) = (x, 1) + (2, x)", [3], (5, 4)),
])
def test_calls_at_the_end(text: str, args: list[Any], wanted: Any) -> None:
    given = [np.array(arg, np.int64 if "[]i64" in text else np.int32) if isinstance(arg, list)
             else arg for arg in args]
    for device in ("interpreter", "pocl"):
        found = runelift.compile(text, device=device).main(*given)
        assert [np.asarray(each).tolist() for each in found] == list(wanted) if isinstance(
            wanted, tuple) else np.asarray(found).tolist() == wanted
