"""Sizes: what inference finds, what it leaves to the running program, what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runelift
from runelift.frontend.load import load
from runelift.ir.base.errors import CompilerLimitation, ProgramError
from runelift.ir.base.source import Source
from runelift.ir.names import Names


@pytest.mark.parametrize(("text", "args", "expected"), [
    ("def main [n] (xs: *[n]i64) (k: i64) = xs with [1:3] = iota k",
     (np.arange(4), 2), [0, 0, 1, 3]),
    ("def f (n: i64): []i64 = iota n\ndef main (n: i64): [n]i64 = map2 (+) (f n) (iota n)",
     (3,), [0, 2, 4]),
    ("def tail = (.[1:])\ndef main (xs: []i64) (b: []bool) = map i64.bool (tail b) ++ tail xs",
     (np.arange(3), np.array([False, True])), [1, 1, 2]),
    ("type^ f = (k: i64) -> [k]i64 -> i64\ndef g: f = \\n (xs: [n]i64) -> n + xs[0]\n"
     "def main [n] (xs: [n]i64) = replicate 1 (g n xs)", (np.array([5, 6]),), [7]),
    ("def main (b: bool) = let (xs, ys) = if b then ([1i64, 2], [3i64, 4]) else ([1], [2]) "
     "in map2 (+) xs ys", (True,), [4, 6]),
    ("def f [n] (xs: [n][2 * n]i64) = flatten xs\ndef main = f [[1, 2]]", (), [1, 2]),
    ("def main (n: i64): [n]i64 = 0..1..<n", (2,), [0, 1]),
    ("def f [n] (x: i64): [n]i64 = replicate n x\ndef main (x: i64): [x]i64 = f x", (2,), [2, 2]),
    ("def up [n]: [n]i64 = iota n\ndef main (x: i64) = map2 (+) up (replicate (2 * x) 1)",
     (1,), [1, 2]),
    ("type arr [n] = [n]bool\ndef mk (b: bool): arr [] = [b, b, b]\n"
     "def main b = let [n] (_: arr [n]) = mk b in [n, n]", (True,), [3, 3]),
    ("def half (n: i64) = n / 2\ndef f [n] (_: [half n]i64): i64 = n\n"
     "def g (n: i64): [half n]i64 = iota (half n)\ndef main (n: i64) = [f (g n)]", (5,), [5]),
    ("def f [n] (g: [n]i64 -> i64): [n]i64 -> i64 = let m = n + 1 in \\_ -> m\n"
     "def main xs = [filter (> 0) xs |> f (\\_ -> 0)]", (np.array([1, 0, 2]),), [3]),
    ("def main (n: i64) (m: i64) (xs: [n * m]i64) = flatten (transpose (unflatten xs))",
     (2, 3, np.arange(6)), [0, 3, 1, 4, 2, 5]),
    ("def main (n: i64) (m: i64) (xs: [m * n]i64) = flatten (transpose (unflatten xs))",
     (2, 3, np.arange(6)), [0, 2, 4, 1, 3, 5]),
    ("def main (n: i64) = flatten (transpose (unflatten (iota (n * 2))))", (2,), [0, 2, 1, 3]),
    ("def f (n: i32) (m: i32) : [i64.i32 n * i64.i32 m]i64 -> [][]i64 = unflatten\n"
     "def main n m xs = flatten (transpose (f n m xs))",
     (np.int32(2), np.int32(3), np.arange(6)), [0, 3, 1, 4, 2, 5]),
    ("def f [n] (xs: [n]i64) : [i64.sum xs]i64 = iota (i64.sum xs)\n"
     "def main [n] (xs: [n]i64) = map (+ 1) (f xs)", (np.array([1, 2]),), [1, 2, 3]),
    ("def f [n] (xs: [n]i64) : [i64.sum xs]i64 = iota (i64.sum xs)\n"
     "def main [n] (xs: [n]i64) = let a = f xs let b = map (* 2) (f xs) in map2 (+) a b",
     (np.array([1, 2]),), [0, 3, 6]),
    ("def f (xs: []i64) (x: i64): [xs[0]]i64 = replicate xs[0] x\n"
     "def main (xs: []i64) = let g = f xs in map2 (+) (2 |> f xs) (map2 (+) (g 1) (iota xs[0]))",
     (np.array([2]),), [3, 4]),
    ("def tab = [1i64, 2]\ndef f (xs: [length tab]i64) = map2 (+) xs tab[:length tab]\n"
     "def main (xs: [length tab]i64) = f (f xs)", (np.array([5, 6]),), [7, 10]),
    ("def r = {a = 2i64, b = (1i64, 2i64)}\ndef f (xs: [r.a]i64): [r.a + 1]i64 = xs ++ [1]\n"
     "def main (x: i64) = map2 (+) (f (replicate r.a x)) (iota (r.a + 1))", (3,), [3, 4, 3]),
    ("def f (xs: [i64.i32 2]i64) = xs\ndef main (x: i64) = f (replicate (i64.i32 2) x)", (3,),
     [3, 3]),
    ("def f (b: bool) (xs: [if b then 1 else 2]i64) = xs\n"
     "def main (b: bool) (n: i64) =\n"
     "  map2 (+) (f b (replicate (if b then 1 else 2) 3)) (iota (if b then 1 else 2))\n"
     "  ++ map2 (+) (iota (assert (n > 0) n)) (iota n)", (False, 2), [3, 4, 0, 2]),
    ("def f (r: {n: i64}) : [r.n]i64 = let g (x: i64) : [r.n]i64 = replicate r.n x in g 4\n"
     "def main (n: i64) = f {n}", (2,), [4, 4]),
    ("def main (n: i64) = flatten_3d (map transpose (unflatten_3d (flatten (map (\\i ->\n"
     "  map (+ i) (iota 2)) (iota (1 * 3))))))", (0,), [0, 1, 2, 1, 2, 3]),
    ("def f [n] (xs: [n]i64) (ys: [n]i64) = n + ys[0]\n"
     "def main [n] (xs: [n]i64) =\n"
     "  let (xs, ys, total, zs) = loop (xs, ys, total, zs) = (xs, iota n, 0, xs)\n"
     "    while length xs > 2 do\n"
     "    let (us, vs) = unzip (filter (\\(x, _) -> x % 2 == 0) (zip xs ys))\n"
     "    in (map (/ 2) us, vs, total + f xs ys, concat zs us)\n"
     "  in map2 (+) xs ys ++ [total, length zs]",
     (np.array([8, 16, 3, 32, 64, 128, 5]),), [5, 7, 33, 31]),
    ("def part [n] (k: i64) (xs: [n]i64): ?[k].([k]i64, [n - k]i64) = let at = [k] in\n"
     "  (xs[0:at[0]], xs[at[0]:n])\n"
     "def main xs = let (a, b) = part 2 xs in map (+ 1) a ++ b", (np.array([1, 2, 3]),), [2, 3, 3]),
    ("def f (n): [n]i64 = map (\\_ -> 1) (0..<n)\ndef main n = f n", (2,), [1, 1]),
    ("def double_until k = loop x = 1i64 while x < k do 2 * x\n"
     "def put [n] 't (xs: *[n]t): *[n]t = if n < 2 then xs else xs with [0] = copy xs[n-1]\n"
     "def main k = let size = 1 + double_until k\n"
     "  in flatten (tabulate 2 (\\i -> put (tabulate size (\\j -> i + j))))",
     (2,), [2, 1, 2, 3, 2, 3]),
    ("def main (n: i32) = i64.i32 n |> iota |> map (+ 1) |> scan (+) 0", (np.int32(3),), [1, 3, 6]),
    ("type~ r = {n: i64, xs: []i64, p: (i64, []i64)}\n"
     "def f (a: r): r = a with xs = a.xs ++ [a.n] with n = a.n + 1 with p.1 = [1, 2]\n"
     "def main n = let r = f {n, xs = iota n, p = (3, [])} in r.xs ++ r.p.1",
     (2,), [0, 1, 2, 1, 2]),
    ("def main (n: i64) (m: i64) =\n"
     "  let xss = unflatten (flatten_3d (replicate 2 (replicate n (iota (n * m)))))\n"
     "  in [length xss, length xss[0]]", (2, 3), [4, 6]),
    ("type~ some 'a = ?[k].[k]a\ndef f 'a 'b (p: (some a, some b)) = (length p.0, length p.1)\n"
     "def main (n: i64) = let (a, b) = f (iota n, replicate 7 true) in [a, b]", (2,), [2, 7]),
    ("def f (n: i64) (m: i64): [m * n]i64 = iota (m * n)\n"
     "def main (n: i64) (m: i64) = flatten (transpose (unflatten (f n m)))",
     (2, 3), [0, 2, 4, 1, 3, 5]),
    ("def f [n] [m] 'a (_: [n + m]a) = [n, m]\n"
     "def main [n] (xs: [n]i64) = let ys = filter (> 1) xs in f (ys ++ xs)",
     (np.arange(5),), [3, 5]),
    ("def f [n] [m] 'a (_: [n + m]a) = [n, m]\n"
     "def main [n] (xs: [n]i64) = f (let ys = filter (> 1) xs in ys ++ xs)",
     (np.arange(5),), [3, 5]),
    ("type same [n] [m] = [0][n][m]()\ndef (<&>) [n] [m] [k] (_: same [n] [m]) "
     "(_: same [m] [k]) : same [n] [k] = []\ndef turn [n] [m] : same [n + m] [m + n] = []\n"
     "def cast [n] [m] 'a (_: same [n] [m]) (xs: [n]a) = xs :> [m]a\n"
     "def main [n] [m] (xs: [n]i64) (ys: [m]i64) = copy (cast (turn <&> turn) (xs ++ ys))",
     (np.arange(2), np.arange(1)), [0, 1, 0]),
    ("type mark [n] [m] = [n][m]()\ndef mark n m : mark [n] [m] = replicate n (replicate m ())\n"
     "def sizes [n] [m] (_: mark [n] [m]) = [n, m]\ndef main n m = sizes (mark n m)",
     (2, 3), [2, 3]),
    ("def none 'a (n: i64) = (n, [] : [0]a)\n"
     "def main (n: i64) = let (_, a): (i64, [][n]i64) = none n in [length (transpose a)]",
     (3,), [3]),
    ("def none = []\ndef main (n: i64) = flatten (none ++ [iota n]) ++ none", (2,), [0, 1]),
    ("def main (n: i64) = let a: [3][n]i64 = unflatten (iota (3 * n)) in a[1]", (2,), [2, 3]),
    ("def main (n: i64) =  -- inferred three times, until all three sizes are known to vary\n"
     "  let (xs, ys, lengths) = loop (xs, ys, lengths) = ([n], [], []) for _i < n do\n"
     "    let s = map (+ 1) xs in (s ++ xs, s ++ ys, [length s] ++ lengths)\n"
     "  in xs ++ ys ++ lengths", (2,), [4, 3, 3, 2, 4, 3, 3, 2, 1]),
    # sizes that type abbreviations compute
    ("def u (xs: []i64) = xs[0]\ntype t = [u [1, 2]]i64\n"
     "def f (x: t) (y: t) : t = map2 (+) x y\n"
     "def main (k: i64) = f (replicate (u [1, 2]) k) (replicate (u [1, 2]) 1)", (3,), [4]),
    ("def k (b: bool) = if b then 2i64 else 3\ntype u [n] 'a = [n]a\n"
     "type t = {a: u [k true] i64, b: [k false]i64}\n"
     "def main (n: i64) = let r : t = {a = replicate (k true) n, b = replicate (k false) n}\n"
     "  in r.a ++ r.b", (4,), [4, 4, 4, 4, 4]),
    ("module f (p: {val k : i64}) = {type t = [i64.abs p.k + 1]i64 def g (x: t) : t = map (+ 1) x\n"
     "  def mk (n: i64) : t = replicate (i64.abs p.k + 1) n}\n"
     "module a = f {def k = 2i64}\nmodule b = f {def k = -3i64}\n"
     "def main (n: i64) = a.g (a.mk n) ++ b.g (b.mk n)", (1,), [2] * 7),
    ("type t [n] = [n + i64.i32 2]i64\ndef f [n] (x: t [n]) = map (+ n) x\n"
     "def main (n: i64) = f (replicate (n + i64.i32 2) 1)", (1,), [2, 2, 2]),
    ("def f [n] (xs: [n + 1]i64) = [n + length xs]\ndef main [m] (xs: [m]i64) = f ([1] ++ xs)",
     (np.arange(2),), [5]),
    # loops that begin with nothing
    ("def main (n: i64) = loop xs = [] for i < n do xs ++ [i] ++ xs", (2,), [0, 1, 0]),
    ("def main (n: i64) = (loop (xs, ys) = ([], []) for i < n do (ys ++ [i], xs))\n"
     "  |> (\\(a, b) -> a ++ b)", (3,), [0, 2, 1]),
    ("def main (n: i64) = (loop (xs: [0]i64) = [] for _i < n do map (+ 1) xs) ++ [n]", (3,), [3]),
    # functions whose results have another size for each call
    ("def f (g: i64 -> []i64) (n: i64) = [length (g n), length (g (n + 1))]\n"
     "def main (n: i64) = f (\\n -> filter (> 1) (iota n)) n", (3,), [1, 2]),
    ("def f (g: i64 -> i64 -> ?[k].[k]i64) (n: i64) = [length (g n 1), length (g (n + 1) 2)]\n"
     "def h (n: i64) (m: i64) = filter (> m) (iota n)\ndef main (n: i64) = f h n", (3,), [1, 1]),
    ("def f (g: i64 -> ?[a].([a]i64, [a]i64)) (n: i64) = let (x, y) = g n in map2 (+) x y\n"
     "def main (n: i64) = f (\\n -> let z = filter (> 2) (iota n) in (z, z)) n", (5,), [6, 8]),
    ("def above (n: i64) = \\m -> filter (> m) (iota n)\n"
     "def main (n: i64) = let g = above n in [length (g 1), length (g 2), length (above 9 0)]",
     (5,), [3, 2, 8]),
    ("def main (n: i64) = let g = \\n -> let k = n * n in iota k in map2 (+) (g n) (g n)", (2,),
     [0, 2, 4, 6]),
    ("def f 'a (g: (k: i64) -> [k]a -> []a) (n: i64) (xs: [n]a) = g n xs\n"
     "def main (xs: []i64) = f (\\k (ys: [k]i64) -> filter (> 1) ys) (length xs)\n"
     "  (xs :> [length xs]i64)", (np.arange(4),), [2, 3]),
    ("def f (g: i64 -> []i64) (n: i64) = n |> g |> map (+ 1)\n"
     "def main (n: i64) = f (\\n -> filter (> 1) (iota n)) n", (4,), [3, 4]),
    ("def few = filter (> 3) (iota 6)\ndef main (n: i64) = map2 (+) few (map (+ n) few)", (1,),
     [9, 11]),
])
def test_found(text: str, args: tuple[Any, ...], expected: list[int]) -> None:
    assert runelift.compile(text, device="interpreter").main(*args).tolist() == expected


@pytest.mark.parametrize(("text", "code"), [
    ("def f (g: (n: i64) -> [n]i64) (l: i64) = (g l)[0]\ndef main = f (\\n -> iota (n + 1))",
     "size-mismatch"),
    ("def f (n: i64): []i64 = iota (n + 1)\ndef main (n: i64): [n]i64 = f n", "size-mismatch"),
    ("def main (b: bool) = let (xs, ys) = if b then ([1], [2, 3]) else ([1, 2], [3]) in zip xs ys",
     "size-mismatch"),
    ("def f [n] (x: i64): [n]i64 = replicate n x\ndef main (x: i64) = length (f x)",
     "ambiguous-size"),
    ("def f [n] (x: i64): [n]i64 = replicate n x\ndef main (x: i64) = f x",
     "size-polymorphic-entry"),
    ("def f [n] (xs: [n]i64) : [i64.sum xs]i64 = iota (i64.sum xs)\n"
     "def main [n] (xs: [n]i64) (ys: [n]i64) = zip (f xs) (f ys)", "size-mismatch"),
    ("def f [n] (xs: [n]i64) : [i64.sum xs]i64 = iota (i64.sum xs)\n"
     "def main [n] (xs: *[n]i64) = let a = f xs let xs[0] = 4 in zip a (f xs)", "size-mismatch"),
    ("def f (xs: []i64) (k: i64) (ys: [xs[k]]i64) = ys\n"
     "def main (xs: []i64) = f xs 0 (iota xs[1])", "size-mismatch"),
    ("def f (xs: []i64) (ys: [xs[0]]i64) = ys\ndef main (xs: []i64) = f xs (iota 3)",
     "size-mismatch"),
    ("def f (xs: []i64) (x: i64): [xs[0]]i64 = replicate xs[0] x\n"
     "def main (xs: []i64) (ys: []i64) = zip (f xs 1) (f ys 1)", "size-mismatch"),
    ("def tab = [1i64, 2]\ndef f (xs: [length tab]i64) = xs\ndef main = f [1, 2]",
     "size-mismatch"),
    ("def tab = [1i64, 2]\ndef f (xs: [tab[0]]i64) = xs\ndef main = f (iota tab[1])",
     "size-mismatch"),
    ("def t = (1i64, 2i64)\ndef f (xs: [t.0]i64) = xs\ndef main = f (iota t.1)",
     "size-mismatch"),
    ("def f (xs: [i64.i32 2]i64) = xs\ndef main = f [1, 2]", "size-mismatch"),
    ("def tab = [1i64, 2]\ndef f (xs: [length tab]i64) = xs\n"
     "def main (tab: []i64) = f (iota (length tab))", "size-mismatch"),
    ("def f (b: bool) (xs: [if b then 1 else 2]i64) = xs\n"
     "def main (b: bool) = f (!b) (replicate (if b then 1 else 2) 3)", "size-mismatch"),
    ("def main (n: i32) = zip (iota (match n case 1 -> 4 case _ -> 2))\n"
     "  (iota (match n case 1 -> 4 case _ -> 2))", "size-mismatch"),
    ("type t = [match 1i32 case 1 -> 2 case _ -> 3]i32\ndef main (xs: []i32) = xs :> t",
     "unsupported-feature"),
    ("def u (xs: []i64) = xs[0]\ntype t = [u [1, 2]]i64\ndef f (x: t) = x[0]\n"
     "def main (k: i64) = f (replicate (u [1, 3]) k)", "size-mismatch"),
    # sums are not solved for a size where the other side is a number
    ("def f [n] (xs: [n + 1]i64) = n + length xs\ndef main = f [1, 2, 3]", "size-mismatch"),
    ("def f [n] (xs: [2 * n]i64) = n + length xs\ndef main (xs: [4]i64) = f xs", "size-mismatch"),
    # each call of a function may make another size
    ("def f (g: i64 -> []i64) (n: i64) = map2 (+) (g n) (g n)", "size-mismatch"),
    ("type^ fun = i64 -> []i64\ndef f (g: fun) (n: i64) = [g n, g (n + 1)]", "size-mismatch"),
    ("def main (n: i64) = let g = \\n -> filter (> 1) (iota n) in map2 (+) (g n) (g n)",
     "size-mismatch"),
    ("def h (n: i64) (m: i64) = filter (> m) (iota n)\n"
     "def main (n: i64) = let g = h n in map2 (+) (g 1) (g 2)", "size-mismatch"),
    ("def main (n: i64) = let r = {f = \\m -> filter (> m) (iota n)} in zip (r.f 1) (r.f 2)",
     "size-mismatch"),
    ("module M : { val f : i64 -> []i32 } = { def f (n: i64) = replicate n 1i32 }\n"
     "def main (n: i64) = map2 (+) (M.f n) (M.f n)", "size-mismatch"),
    ("def f [m] (g: i64 -> [m]i64) (n: i64) = map2 (+) (g n) (g (n + 1))\n"
     "def main (n: i64) = f (\\n -> filter (> 1) (iota n)) n", "irregular-array"),
    ("def f [m] (g: i64 -> [m]i64) (n: i64) = map2 (+) (g n) (g (n + 1))\n"
     "def main (n: i64) = f (\\n -> iota n) n", "irregular-array"),
    ("def f (g: i64 -> []i64) (n: i64) = map (\\i -> g i) (iota n)", "irregular-array"),
    ("def p = map (+ 1i64) >-> filter (> 2) >-> reduce (+) 0\ndef main (xs: []i64) = p xs",
     "ambiguous-size"),
    ("def f (g: i64 -> []i64) (n: i64) = (g >-> i64.sum) n", "ambiguous-size"),
    ("def f 'a (g: []a -> []a) (xs: []a) = g (g xs)", "unknown-param-size"),
    ("def f (ys: []i32) = \\(n: i64) (xs: [n]i32) -> zip xs ys", "unknown-param-size"),
    ("def f (ys: []i32) = let g (n: i64) (xs: [n]i32) = zip xs ys in g", "unknown-param-size"),
    ("def f (ys: []i32) = let g [n] (xs: [n]i32) = zip xs ys in g", "unknown-param-size"),
    ("def f (ys: []i32) (k: i64) = let n = i64.max k 3 in zip (iota n) ys", "unknown-param-size"),
    ("def f (xs: []i32) (n: i64) = zip xs (iota n)", "unknown-param-size"),
    ("def f (xs: []i32) (ns: []i64) = zip xs (iota ns[0])", "unknown-param-size"),
    ("def f (ns: []i64) = zip ns (iota ns[0])", "unknown-param-size"),
    ("def f (xs: []i32) (ns: []i64) = (\\xs ns -> zip xs (iota ns[0])) xs ns",
     "unknown-param-size"),
    ("def f (i: i32) = (\\(xs: []i32) n -> zip xs (iota n))", "unknown-param-size"),
    ("def f [n] (xs: [n]i64) = let g zs = zip zs (filter (> 1) xs) in g xs",
     "unknown-param-size"),
])
def test_refused(text: str, code: str) -> None:
    with pytest.raises(ProgramError) as caught:
        load(Source("t", text), Names())
    assert caught.value.diagnostics[0].code == code


@pytest.mark.parametrize("text", [
    "def main (n: i64) (a: [n * 2]i64) (b: [2 * n]i64) = length (unflatten (map2 (+) a b))",
    "def main [n] (xs: [n]i64) = length (unflatten xs)",
])
def test_factors_are_not_guessed(text: str) -> None:
    with pytest.raises(CompilerLimitation, match="needs to be told the sizes"):
        load(Source("t", text), Names())
