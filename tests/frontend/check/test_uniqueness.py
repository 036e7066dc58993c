"""Consumption: what may not be looked at again, and what may not be consumed."""

from __future__ import annotations

import pytest

from runelift.frontend.load import checked
from runelift.ir.base.errors import ProgramError
from runelift.ir.base.source import Source

APPLY = "def apply 'a 'b (f: a -> *b) (x: a) : b = f x\n"


@pytest.mark.parametrize("text", [
    "def f [n] (xs: *[n]i32) = xs with [0] = 1",
    "def f [n] (xs: [n]i32) = let ys = copy xs in ys with [0] = xs[0]",
    "def f [n] (xs: [n]i32) = let ys = map (+1) xs let ys[0] = 2 let ys[1] = 3 in ys",
    "def f [n] (xs: *[n]i32) = loop xs for i < n do xs with [i] = 0",
    "def f [n] (xs: *[n]i32) (b: bool) = if b then xs with [0] = 1 else xs with [1] = 2",
    "def f [n] (xs: *[n]i32) = loop (xs, s) = (xs, 0) for i < n do (xs with [i] = s, s + 1)",
    "def f [n] (is: [n]i64) (vs: [n]i32) = scatter (replicate n 0) is vs",
    "def f [n] (xs: *[n]i32, x: i32) = let xs[0] = x in xs",
    "def f [n] (x: i32) (xs: *[n]i32) = let xs[0] = x in (xs, x)",
    "def f [n] (xs: [n]i32) = map (\\x -> let ys = replicate 3 x in ys with [0] = 1) xs",
    "def f [n] (xs: *[n]i32) = let ys = map id [xs] let xs[0] = 1 in (ys, xs)",
    "def f (n: i64): []i64 = iota n\ndef g (n: i64) = f n with [0] = 1",
    "def f (xs: []i64) = map (+1) xs\ndef g (xs: *[]i64) = let ys = f xs let xs[0] = 1 in (ys, xs)",
    "def f [n] (a: *[n]i32) (b: *[n]i32) = loop (a, b) = (a, b) for i < n do "
    "let a[i] = b[i] in (b, a)",
    "def f [n] (xs: *[n]i32) (b: bool) = let ys = if b then xs else xs with [0] = 1 in ys",
    "def f [n] (xs: *[n]i32) = let g (i: i64) = xs[i] let y = g 0 let xs[0] = 1 in (xs, y)",
    "def f [n] (t: {a: *[n]i32, b: [n]i32}) = let a = t.a let a[0] = 1 in (a, t.b)",
    "def f [n] (xs: *[n]i32): (*[n]i32, *[n]i32) = (xs, copy xs)",
    "def g (xs: *[]i32) = xs with [0] = 1\ndef h (x: i32) (xs: []i32) = xs[0] + x\n"
    "def f (xs: *[]i32) = h xs[0] (copy xs) + (g xs)[0]",
    "def f [n] (xs: *[n]i32) = loop (ys: *[n]i32, k: i32) = (xs, 0) for i < n do "
    "(ys with [i] = k, k + 1)",
    APPLY + "def f (xs: []i32) = apply copy xs |> apply (rotate 1) |> apply (map (+ 1))",
    APPLY + "def g (xs: []i32) = map (+ 1) xs\ndef f (xs: []i32) = apply g xs",
    APPLY + "def g (k: i32) (xs: []i32) : *[]i32 = map (+ k) xs\ndef f = apply (g 1)",
])
def test_accepted(text: str) -> None:
    checked(Source("t", text))


@pytest.mark.parametrize(("text", "code", "column"), [
    ("def f [n] (xs: *[n]i32) = let ys = xs with [0] = 1 in (xs, ys)", "use-after-consume", 56),
    ("def f [n] (xs: *[n]i32) = let ys = xs let zs = xs with [0] = 1 in (ys, zs)",
     "use-after-consume", 68),
    ("def f [n] (xs: [n]i32) = xs with [0] = 1", "not-consumable", 26),
    ("def f [n] (xs: [n]i32) = loop xs for i < n do xs with [i] = 0", "not-consumable", 47),
    ("def g [n] (xs: *[n]i32) = xs with [0] = 1\ndef f [n] (xs: *[n]i32) = (g xs, xs[0])",
     "use-after-consume", 34),
    ("def f [n] (xs: *[n]i32) (b: bool) = let ys = if b then xs with [0] = 1 else [2] :> [n]i32 "
     "in (ys, xs)", "use-after-consume", 99),
    ("def f [n] (is: [n]i64) (xs: *[n]i32) = (scatter xs is (replicate n 1), xs)",
     "use-after-consume", 72),
    ("def f [n] (xs: *[n]i32) = map (\\i -> (xs with [i] = 1)[0]) (iota n)", "consume-free", 39),
    ("def f [n] (xs: *[n]i32) = let ys = reverse xs let xs[0] = 1 in ys", "use-after-consume", 64),
    ("def f (xs: *[]i32) (k: i32) = let g = (\\x _ -> x) xs let xs[0] = 1 in g k",
     "use-after-consume", 71),
    ("def g (t: (i32, *[]i64)) = t.0\ndef f (xs: *[]i64) = let y = g (1, xs) in (xs, y)",
     "use-after-consume", 44),
    ("def f [n] (xs: *[n]i32) = let g (i: i64) = xs[i] let xs[0] = 1 in g 0",
     "use-after-consume", 67),
    ("def f [n] (xs: *[n](i32, i32)) = let (a, b) = unzip xs let a[0] = 1 in b",
     "use-after-consume", 72),
    ("def f [n] (xs: *[n][n]i32) = xs with [0] = xs[1]", "self-alias", 44),
    ("def f (xs: *[]i64) = scatter xs xs xs", "self-alias", 30),
    ("def f (n: i64): (*[]i64, *[]i64) = let a = iota n in (a, a)", "unique-result", 36),
    ("def f [n] (xs: [n]i32): *[n]i32 = loop a = replicate n 0 for i < n do xs",
     "unique-result", 35),
    ("def f (n: i64) = let a = iota n in loop i = 0 for j < 3 do let a[i] = 1 in i",
     "consume-free", 64),
    ("def f [n] (xs: *[n]i32) = let g i = xs[i] in loop ys = xs for i < n do ys with [i] = g i",
     "use-after-consume", 86),
    ("def f [n] (a: *[n]i32) (b: *[n]i32) = loop (a, b) = (a, b) for i < n do "
     "let a[0] = 1 in (a, a)", "unique-result", 73),
    ("def k (a: *[]i64) (i: i64) = a with [i] = 0\ndef f (a: *[]i64) = map (k a) [0, 1]",
     "consume-free", 28),
    ("def k: [3]i32 = [1, 2, 3]\ndef f (b: bool) = k", "returns-constant", 19),
    ("def k: *[3]i32 = [1, 2, 3]", "unique-constant", 5),
    ("def f [n] (xs: *[n]i32) = loop (ys: [n]i32) = xs for i < n do ys with [i] = 0",
     "not-consumable", 63),
    (APPLY + "def g (xs: []i32) = xs\ndef f (xs: []i32) = apply g xs", "unique-result", 27),
    (APPLY + "def f (xs: []i32) = apply reverse xs", "unique-result", 27),
    (APPLY + "def f (xs: []i32) = apply (\\ys -> ys) xs", "unique-result", 28),
    ("def f (g: i32 -> []i32) = let xs = g 1 in xs with [0] = 1", "not-consumable", 43),
    ("def f [n] (xss: *[n][n]i32) = map (\\(x: *[n]i32) -> x with [0] = 1) xss",
     "type-mismatch", 36),
])
def test_rejected(text: str, code: str, column: int) -> None:
    with pytest.raises(ProgramError) as caught:
        checked(Source("t", text))
    first = caught.value.diagnostics[0]
    assert (first.code, first.span.column) == (code, column), first.render()
    if code == "use-after-consume":
        assert first.labels[0].text == "consumed here"


def test_stars_of_a_loop_count_where_next_values_have_no_names() -> None:
    """Futhark's rule: a parameter that is only read is not consumed then."""
    loop = ("def f [n] (xs: [n]i32) (k: i32) = let (u, _) = loop (u: *[n]i32, e: *[]i32) = "
            "(replicate n k, xs) while length e > 0 do {} in u")
    checked(Source("t", loop.format("(let v = filter (> 0) e in (u with [0] = 1, v))")))
    with pytest.raises(ProgramError, match='Consuming variable "xs"'):
        checked(Source("t", loop.format("(u with [0] = 1, filter (> 0) e)")))
