"""Sizes that a function has anew for each call: by its parameters, or computed from them."""

from __future__ import annotations

from typing import Any

import pytest

import runelift
from runelift.frontend.load import checked
from runelift.ir.base.errors import ProgramError
from runelift.ir.base.source import Source

ANY = "def f (g: i64 -> []i64) (n: i64) = [length (g n), length (g (n + 1))]\n"
OWN = "def f (g: (n: i64) -> [n]i64 -> i64) (k: i64) = g k (iota k)\n"
LIFTED = "def f 't '~u (f: t -> u) (x: t) = f x\n"


@pytest.mark.parametrize("text", [
    # lambdas whose result is as large as their argument says, where the type names no size
    LIFTED + "def main (n: i64) = f (\\i -> iota (i + n)) n",
    LIFTED + "def main (xs: []i64) = f (\\(ys: []i64) -> iota (length ys)) xs",
    "def f (g: i64 -> i64 -> []i64) = g 1 2\ndef main = f (\\a b -> iota a)",
    "def main (n: i64) = n |> (\\(i: i64) -> iota i)",
    "def main (xs: []i64) = (\\ys -> iota (length ys)) <| xs",
    # a size of one's own that is named in a parameter's type
    OWN + "def main = f (\\n xs -> n + xs[0])",
    OWN + "def main = f (\\n (xs: []i64) -> n)",
    OWN + "def main = f (\\_ -> i64.sum)",
    OWN + "def g [m] (n: i64) (xs: [m]i64) = n + m\ndef main = f g",
    OWN + "def main = let g (n: i64) xs = xs[n] in f g",
    "module type m = { val f : (n: i64) -> [n]i64 -> i64 }\n"
    "module k : m = { def f [m] (n: i64) (xs: [m]i64) = n + m }",
    "def f (g: (n: i64) -> [n]i64 -> [n]i64) = g 2 [1, 2]\ndef main = f (\\n -> map (+ n))",
    # sizes [] of a lambda's result are unknown to its callers
    "def main [n] (xs: [n]i64) : [n]i64 = (\\(xs: [n]i64) : []i64 -> map (+ 1) xs) xs",
])
def test_refused(text: str) -> None:
    with pytest.raises(ProgramError) as caught:
        checked(Source("t", text))
    assert caught.value.diagnostics[0].code == "size-mismatch"


@pytest.mark.parametrize(("text", "code"), [
    ("def f (g: (n: i64) -> (n: i64) -> i64) = g 1 2", "duplicate-name"),
    ("def f (g: (p: (i64, i64)) -> [p.0]i64 -> i64) = g (2, 3) [1, 2]", "unsupported-feature"),
    ("def f (g: (b: bool) -> [b]i64) = g true", "type-mismatch"),
    ("def main (xss: [][]i64) = map (\\(xs: []i64) : []i64 -> map (+ 1) xs) xss",
     "irregular-array"),
    # a size that each call computes goes where the type lets it, and nowhere else
    ("def f 'b (g: i64 -> ?[k].([k]i64, b)) = g 1\ndef main = f (\\n -> (iota n, iota n))",
     "irregular-array"),
    ("def f 'b (g: i32 -> ?[k].([k]i64, b)) = g 1\n"
     "def main = f (\\n -> (iota (i64.i32 n), iota (i64.i32 n)))", "irregular-array"),
    ("def f (g: i32 -> ?[k].([k]i64, [k]i64)) = g 1\n"
     "def main = f (\\n -> (iota (i64.i32 n), iota (i64.i32 (n + 1))))", "size-mismatch"),
    ("def main (ns: []i64) = flatmap (\\n -> (iota n, iota n)) ns", "irregular-array"),
    ("def main (ns: []i64) = flatmap' (\\n -> map (const (iota n)) ns) ns", "irregular-array"),
    ("def main (ns: []i64) = flatmap' (\\n -> n) ns", "type-mismatch"),
])
def test_refused_otherwise(text: str, code: str) -> None:
    with pytest.raises(ProgramError) as caught:
        checked(Source("t", text))
    assert caught.value.diagnostics[0].code == code


@pytest.mark.parametrize(("text", "args", "expected"), [
    # functions of the program, and lambdas whose results have sizes without names
    (ANY + "def main (n: i64) = f iota n", (2,), [2, 3]),
    (ANY + "def g (n: i64) = iota (n + 1)\ndef main (n: i64) = f g n", (2,), [3, 4]),
    (ANY + "def main (n: i64) = f (replicate 3) n", (2,), [3, 3]),
    (ANY + "def main (n: i64) = f (\\m -> filter (> 1) (iota m)) n", (3,), [1, 2]),
    (ANY + "def main (n: i64) = f (\\m : []i64 -> iota m) n", (3,), [3, 4]),
    (ANY + "def main (n: i64) = f (\\m -> iota m ++ filter (> 2) (iota m)) n", (3,), [3, 5]),
    (ANY + "def main (n: i64) = f (\\m -> let xs = iota m in iota (length xs)) n", (3,), [3, 4]),
    # lambdas and local functions whose result is as large as their argument says
    ("def f (g: i32 -> []i64) (n: i32) = [length (g n), length (g (n + 1))]\n"
     "def main (n: i64) = f (\\m -> iota (i64.i32 (m & 5))) (i32.i64 n)", (6,), [4, 5]),
    ("def f (g: i32 -> ?[k].([k]i64, [k]i64)) = let (xs, ys) = g 2 in map2 (+) xs ys\n"
     "def main (n: i64) = f (\\m -> (replicate (i64.i32 m) n, replicate (i64.i32 m) 1))", (6,),
     [7, 7]),
    ("def main (n: i64) = (flatmap' (\\(xs: []i32) -> replicate (i64.i32 xs[0]) n) "
     "[[1, 5], [2, 5]]).3", (6,), [6, 6, 6]),
    ("def main (n: i64) = (flatmap' (\\x -> (flatmap' (\\y -> iota (i64.i32 (x + y))) "
     "[0, x]).3) [0i32, 1]).3 ++ [n]", (6,), [0, 0, 1, 6]),
    (ANY + "def main (n: i64) = f (\\n -> iota n) n", (2,), [2, 3]),
    (ANY + "def main (n: i64) = f (\\n -> let k = n + 1 in iota k) n", (2,), [3, 4]),
    (ANY + "def main (n: i64) = f (\\m -> map (+ 1) (iota (i64.abs m))) n", (2,), [2, 3]),
    (ANY + "def main (n: i64) = let g (n: i64) = iota (n + 1) in f g n", (2,), [3, 4]),
    (ANY + "def main (n: i64) = let g = \\(n: i64) -> iota n in f g n", (2,), [2, 3]),
    ("def f : i64 -> []i64 = \\n -> iota n\ndef main (n: i64) = f n", (2,), [0, 1]),
    ("def f (g: (i64 -> []i64, i64)) = g.0 g.1\ndef main (n: i64) = f (\\n -> iota n, n)", (2,),
     [0, 1]),
    (LIFTED + "def main (n: i64) = f (`replicate` 2i64) n", (2,), [2, 2]),
    (LIFTED + "def g = \\(n: i64) -> iota n\ndef main (n: i64) = f g n", (2,), [0, 1]),
    ("def main (n: i64) = n |> (`replicate` 2i64)", (2,), [2, 2]),
    ("def g (x: i64) (y: i64) (a: i64) (b: i64) = replicate a (x + y + b)\n"
     "def main (n: i64) = let ap h = h n 2 3 in ap (g 1)", (1,), [5, 5]),
    # sizes of one's own with names on both sides
    (OWN + "def main (k: i64) = [f (\\n (xs: [n]i64) -> n + xs[0]) k]", (2,), [2]),
    (OWN + "def g (k: i64) (xs: [k]i64) = k + xs[0]\ndef main (k: i64) = [f g k]", (2,), [2]),
    (OWN + "def main (k: i64) = [f (\\n _ -> n) k]", (2,), [2]),
    # named parameters of function types that are no i64
    ("def f (g: (n: i32) -> [i64.i32 n]i64) (k: i32) : [i64.i32 k]i64 = g k\n"
     "def main (k: i64) = f (\\n -> iota (i64.i32 n)) (i32.i64 k)", (2,), [0, 1]),
    ("def f (g: (b: bool) -> [if b then 1 else 2]i64) = g true\n"
     "def g (b: bool) : [if b then 1 else 2]i64 = iota (if b then 1 else 2)\n"
     "def main (k: i64) = f g", (2,), [0]),
    ("def f (g: (r: {a: i64}) -> [r.a]i64) (a: i64) = g {a}\n"
     "def main (k: i64) = f (\\r -> iota r.a) k", (2,), [0, 1]),
    ("def f (g: (xs: []i64) -> [length xs]i64) (k: i64) = g [1, k]\n"
     "def g (xs: []i64) : [length xs]i64 = iota (length xs)\ndef main (k: i64) = f g k", (2,),
     [0, 1]),
    ("module type m = { val f : (n: i32) -> [i64.i32 n]i64 val g : (p: (i64, i64)) -> [p.0]i64 }\n"
     "module k : m = { def f (n: i32) = iota (i64.i32 n) def g (p: (i64, i64)) = iota p.0 }\n"
     "def main (n: i64) = k.f (i32.i64 n) ++ k.g (n, 3)", (2,), [0, 1, 0, 1]),
    ("def f (g: (n: i32) -> [i64.i32 n]i64 -> i64) (k: i32) = g k (iota (i64.i32 k))\n"
     "def g (n: i32) (xs: [i64.i32 n]i64) = xs[1]\ndef main (k: i64) = [f g (i32.i64 k)]", (3,),
     [1]),
])
def test_allowed(text: str, args: tuple[Any, ...], expected: list[int]) -> None:
    assert runelift.compile(text, device="interpreter").main(*args).tolist() == expected
