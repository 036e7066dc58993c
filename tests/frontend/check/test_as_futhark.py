"""Programs that Futhark 0.25.32 accepts or refuses, of kinds in which the two once differed."""

from __future__ import annotations

import pytest

from runelift.frontend.load import check
from runelift.ir.base.errors import ProgramError
from runelift.ir.base.source import Source

SIZED = "module type s = { type t  val f: t -> t -> i64 }\nmodule m: s with t = []i32 = "
ARRAY = "def made [n]: [n]i64 = iota n\n"
PUT = "def (+++) (xs: *[]i32) (y: i32) = xs with [0] = y\n"
FIRST = "def f (y: i32) (xs: *[]i32) = xs with [0] = y\n"
HERE = "entry main (b: bool) (n: i64) (xs: []i32) = "


@pytest.mark.parametrize("text", [
    # 'with' gives an abstract type what it did not allow for
    SIZED + "{ type~ t = []i32  def f [n] [k] (_: [n]i32) (_: [k]i32) = n + k }",
    "module type s = { type t }\nmodule type r = s with t = ?[n].[n]i32\n"
    "module m: r = { type~ t = []i32 }\nentry main (xs: m.t) = xs",
    "module type s = { type t 'a }\nmodule m: s with t 'a = []a = { type~ t 'a = []a }",
    "module type s = { type t  val f: t -> i32 }\n"
    "module m: s with t = (i32 -> i32) = { type^ t = i32 -> i32  def f (g: t) = g 2 }\n"
    "entry main (x: i32) = m.f (+ x)",
    "module type s = { type t  val f: t -> i64 }\n"
    "module F (P: s with t = []i32) = { def g (x: []i32) = P.f x }\n"
    "module m = F { type~ t = []i32  def f [n] (_: [n]i32) = n }\n"
    "entry main (xs: [10]i32) = m.g xs",
    "module m: { type~ t 'a } = { type~ t '~a = a }",
    # values with size parameters are made anew at each use
    ARRAY + "entry main (n: i64): *[n]i64 = made",
    ARRAY + "entry main (n: i64): *[n]i64 = made with [0] = 3",
    ARRAY + "entry main (n: i64): *([n]i64, [n]i64) = (made, made)",
    "module m: { val made [n]: [n]i64 } = { def made [n]: [n]i64 = iota n }\n"
    "entry main (n: i64): *[n]i64 = m.made",
    "def made [n]: (i64, [n]i64) = (n, iota n)\nentry main (n: i64): *[n]i64 = made.1",
    # holes, compositions, binders and orders that are right
    HERE + "let ys = filter (> 0) xs in if b then ys else ???",
    "entry main (b: bool) (n: i64) = if b then iota n else ???",
    "def twice '~a (f: a -> a) (x: a) = f (f x)\n"
    "entry main [n] (xs: [n]i64) = twice (map (+ 1)) xs",
    "def pair '~a '~b (x: a) (y: b): (a, b) = (x, y)\n" + HERE + "pair xs (filter (> 0) xs)",
    HERE + "let [k] (f: [k]i32 -> [k]i32, ys: [k]i32) = (map (+ 1), xs) in k",
    FIRST + "entry main (xs: *[]i32) = let y = xs[0] in f y xs",
    PUT + "entry main (xs: *[]i32) = let f = (+++ 2) in f xs",
])
def test_accepted(text: str) -> None:
    check(Source("p.fut", text))


@pytest.mark.parametrize(("text", "code"), [
    # 'with' and ascriptions that promise more than the module has
    (SIZED + "{ type~ t = []i32  def f [n] (_: [n]i32) (_: [n]i32) = n }", "size-mismatch"),
    (SIZED + "{ type t = [3]i32  def f (_: t) (_: t) = 3i64 }", "size-mismatch"),
    ("module m: { type~ t = []i32 } = { type t = [3]i32 }", "size-mismatch"),
    ("module m: { type~ t = ?[n][m].([n]i32, [m]i32) } = { type~ t = ?[n].([n]i32, [n]i32) }",
     "size-mismatch"),
    ("module type s = { type t 'a }\nmodule m: s with t '~a = (a, i32) = { type t 'a = (a, i32) }",
     "type-arguments"),
    ("module m: { type~ t '~a } = { type~ t 'a = a }", "type-arguments"),
    ("module m: { val f: ((n: i64) -> ?[k].[k]i64) -> i64 } =\n"
     "  { def f (g: (n: i64) -> [n]i64) = length (g 2) }", "size-mismatch"),
    ("module m: { val f [n]: (*[n]i32 -> [n]i32) -> [n]i32 -> [n]i32 } =\n"
     "  { def f [n] (g: [n]i32 -> [n]i32) (x: [n]i32) = g x }", "type-mismatch"),
    ("module type s = { type t  val f: [t]i32 -> t }", "unknown-name"),
    # holes whose size nobody knows
    (HERE + "if b then filter (> 0) xs else ???", "causality-check"),
    (HERE + "if b then ??? else filter (> 0) xs", "causality-check"),
    (HERE + "match n case 0 -> filter (> 0) xs case _ -> ???", "causality-check"),
    (HERE + "if b then filter (> 0) xs else (??? : []i32)", "causality-check"),
    # results of unknown size: composed, bound, ranged
    ("def twice '~a (f: a -> a) (x: a) = f (f x)\n" + HERE + "twice (filter (> 0)) xs",
     "irregular-array"),
    ("def either '~a (x: a) (y: a): a = x\n" + HERE + "either xs (filter (> 0) xs)",
     "unknown-param-size"),
    ("def fold '~a 'b (f: a -> b -> a) (x: a) (ys: []b): a = loop x = x for y in ys do f x y\n"
     + HERE + "fold (\\x y -> x ++ [y]) xs xs", "size-mismatch"),
    ("def step '~a '~b (f: a -> b) (g: b -> a) (x: a): a = g (f x)\n"
     + HERE + "step (filter (> 0)) (map (+ 1)) xs", "unknown-param-size"),
    (HERE + "let [k] (f: [k]i32 -> i32) = reduce (+) 0 in f xs", "unused-size"),
    (HERE + "zip [1, 2, 3] (0i32..<3i32)", "size-mismatch"),
    ("entry main: [3]i64 = 0..1..<3", "size-mismatch"),
    # an argument is looked at after the arguments behind it were consumed
    (FIRST + "entry main (xs: *[]i32) = f xs[0] xs", "use-after-consume"),
    (FIRST + "entry main (xs: *[]i32) = f (i32.i64 (length xs)) xs", "use-after-consume"),
    # operators consume, too
    (PUT + "entry main (xs: *[]i32) = let y = xs +++ 2 in y[0] + xs[0]", "use-after-consume"),
    (PUT + "entry main (xs: *[]i32) = xs +++ xs[0]", "use-after-consume"),
    (PUT + "entry main (xs: []i32) = xs +++ 2", "not-consumable"),
    (PUT + "entry main (xs: []i32) = let f = (+++ 2) in f xs", "not-consumable"),
    ("def f (xs: *[]i32) (y: i32) = xs with [0] = y\nentry main (xs: []i32) = xs `f` 2",
     "not-consumable"),
    ("def (+++) (xs: []i32) (ys: *[]i32) = ys with [0] = xs[0]\n"
     "entry main (xs: *[]i32) = xs +++ xs", "self-alias"),
])
def test_refused(text: str, code: str) -> None:
    with pytest.raises(ProgramError) as caught:
        check(Source("p.fut", text))
    assert code in [each.code for each in caught.value.diagnostics]
