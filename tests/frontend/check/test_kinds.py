"""Types that may not be functions, module types that say which types members have, duplicates."""

from __future__ import annotations

import numpy as np
import pytest

import runelift
from runelift.frontend.load import load
from runelift.ir.base.errors import ProgramError
from runelift.ir.base.source import Source
from runelift.ir.names import Names


@pytest.mark.parametrize("text", [
    "def pick '^a (x: a) (_: i64): a = x\ndef main (x: i32) = pick (+ x) 0 1",
    "def twice f x = f (f x)\ndef main (x: i32) = twice (\\g y -> g y + 1) (+ 2) x",
    "type^ f = i32 -> i32\ndef g: f = (+ 1)\ndef main = g",
    "module m: {type t val f [n]: [n]t -> [n]t val x: t} = {type t = i32 def f xs = map (+ 1) xs "
    "def x = 1i32}\ndef main n = m.f (replicate n m.x)",
    "module f (p: {type t module q: {val g: t -> t}}) = {def h x = p.q.g x}\n"
    "module m = f {type t = i64 module q = {def g (x: i64) = x + 1}}\ndef main x = m.h x",
    "module type s = {type^ t val f: t}\nmodule m: s = {type t = i32 def f = 1i32}\n"
    "def main (x: i32) = x",
])
def test_accepted(text: str) -> None:
    load(Source("t", text), Names())


def test_a_size_lifted_type_has_another_size_each_time() -> None:
    text = ("def grow '~a (n: i64) (more: (() -> a) -> a) (start: () -> a) =\n"
            "  loop x = start () for _i < n do more (\\() -> x)\n"
            "def main (n: i64) (xs: []i32) =\n"
            "  grow n (\\(now: () -> []i32) -> now () ++ [i32.sum (now ())]) (\\() -> xs)")
    program = runelift.compile(text, device="interpreter")
    assert program.main(3, np.array([1, 2], "int32")).tolist() == [1, 2, 3, 6, 12]


@pytest.mark.parametrize(("text", "code"), [
    ("def main (xs: []i32) = map (\\x -> \\y -> x + y) xs", "function-not-allowed"),
    ("def pick 'a (b: bool) (x: a) (y: a): a = if b then x else y\n"
     "def main (b: bool) = pick b (+ 1) (+ 2) 3i32", "function-not-allowed"),
    ("def pick '^a (b: bool) (x: a) (y: a): a = if b then x else y", "function-not-allowed"),
    ("def f x = ([x], x 2)", "function-not-allowed"),
    ("def f x = (x == x, x 2)", "function-not-allowed"),
    ("type f = i32 -> i32", "function-not-allowed"),
    ("type^ t '^a = []a", "lifted-element"),
    ("type~ row = []i32\ntype t = [2]row", "lifted-element"),
    ("type t [n] = i32", "unused-size"),
    ("type t 'a 'a = a", "duplicate-name"),
    ("type t = i32\ntype t = i64", "duplicate-name"),
    ("def f = 1\ndef f = 2", "duplicate-name"),
    ("def (&&) (x: bool) (y: bool) = x", "not-definable"),
    ("def f (r: {a: i32}) = let {a = x, a = y} = r in x + y", "duplicate-name"),
    ("module type s = {val f: []i32 -> i32}", "anonymous-size"),
    ("module type s = {val f: (x: i32) -> (x: i32) -> i32}", "duplicate-name"),
    ("module m: {val x: bool} = {def x = 1i32}", "type-mismatch"),
    ("module m: {type t = bool} = {type t = i32}", "type-mismatch"),
    ("module m: {val n: i64 val xs: [n]i64} = {def n = 3i64 def xs = iota 4}", "size-mismatch"),
    ("type opt 't = #some t | #none\ndef f b (x: i64) = if b then #some (iota x) "
     "else #none :> opt ([2]i64)", "size-mismatch"),
    ("module m: {type t 'a} = {type t = i32}", "type-arguments"),
    ("module m: {type t} = {type^ t = i32 -> i32}", "function-not-allowed"),
    ("def f (gs: [2](i32 -> i32)) (x: i32) = gs[0] x\ndef main (x: i32) = x",
     "function-not-allowed"),
    ("def f [n] (gs: [n]{k: i32, g: #some (i32 -> i32) | #none}) = 1", "function-not-allowed"),
    ("def main (x: i32) = let f (g: [1](i32 -> i32) -> i32) = x in x", "function-not-allowed"),
    ("module type s = {val f [n]: [n](i32, i32 -> i32) -> i32}", "function-not-allowed"),
    ("type~ row = []i32\ndef f (xs: [2](row, i32)) = 1", "lifted-element"),
])
def test_refused(text: str, code: str) -> None:
    with pytest.raises(ProgramError) as caught:
        load(Source("t", f"{text}\nentry e (x: i32) = x"), Names())
    assert caught.value.diagnostics[0].code == code
