"""Details of the language in which programs are easily read otherwise than Futhark reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import ProgramError, ProgramFailure

MEANING: dict[str, tuple[str, list[Any], Any]] = {
    "stars of elements": ("def f (xss: *[]*[2]i64): *[]*[2]i64 = xss with [0, 1] = 4\n"
                          "def main (xss: [][2]i64) = f (copy xss)", [np.array([[1, 2]])],
                          [[1, 4]]),
    "a loop's value hides its index": ("def main (n: i64) = loop i = 0i32 for i < n do i + 2", [3],
                                       6),
    "a loop's value hides its element": (
        "def main (n: i64) = loop x = 0i64 for x in [10i64, 20] do x + n", [3], 6),
    "operators that begin with <| group to the right": (
        "def (<|>) (x: i32) (y: i32) = x - y\ndef main (x: i32) = x <|> 2 <|> 1", [5], 4),
    "the pipe can be defined anew": (
        "def (<|) (x: i32) (y: i32) = x - y\ndef main (x: i32) = x <| 3 <| 1", [5], 3),
    "dots in operators": ("def (+.) (x: i32) (y: i32) = x * y\n"
                          "def (*.) (x: i32) (y: i32) = x + y\n"
                          "def main (x: i32) = x +. 2 *. 3", [5], 25),
    "operators of modules in modules": (
        "module M = { module N = { def (+++) (x: i32) (y: i32) = x * y } }\n"
        "def main (x: i32) = x M.N.+++ 4", [5], 20),
    "blanks in backticks": ("def main (x: i32) = x ` i32.max ` 7", [5], 7),
    "escapes": (r'def main (x: i32): []u8 = "\65\x42\o103\SOH\DEL\^A\&7\n" ++ [u8.i32 x]', [0],
                [65, 66, 67, 1, 127, 1, 55, 10, 0]),
    "characters": (r"def main (x: i32) = ['\65', '\n', '\'', '\\', x]", [1], [65, 10, 39, 92, 1]),
    "suffixes wrap": ("def main (x: u8) = [x, 256u8, 300u8, -1u8]", [3], [3, 0, 44, 255]),
    "the least number": ("def main (x: i8) = [x, -128i8, 128i8]", [3], [3, -128, -128]),
    "the greatest float": ("def main (x: f32) = [x, 340282350000000000000000000000000000000f32]",
                           [0], [0, 3.4028234663852886e38]),
    "floats that are too large": ("def main (x: f32) = [x, 1e39f32]", [0], [0, np.inf]),
    "roman numbers": ("def main (x: i8) = x + 0rXIVi8", [0], 14),
    "patterns of components": ("def main (x: i32) = let {0 = a, 1 = b} = (x, 2) in a - b", [5], 3),
    "patterns of typed fields": ("def f {a: i32, b} = a - b\ndef main (x: i32) = f {a = x, b = 2}",
                                 [5], 3),
    "holes that are not reached": ("def main (x: i32): i32 = if x > 0 then x else ???", [5], 5),
    "fields of fields in functions inside": (
        "def main [n] (xs: [n]f64) = let row b = [b.p.x, b.p.y, b.m]\n"
        "in map row (map (\\x -> {p = {x, y = 1}, m = x + 2}) xs)", [np.array([5.0])],
        [[5, 1, 7]]),
    "fields of fields of fields": (
        "def main (x: i64) = let f r = r.a.b.c + r.a.d let g r = (f r, r.a.b)\n"
        "in (g {a = {b = {c = x, e = 2i32}, d = 3}}).0", [5], 8),
    "assertions in unsafe code": ("def main (x: i32) = #[unsafe] assert (x < 0) x", [5], 5),
    "coercions to arrays of any size": (
        "entry main (x: i32) = map i32.sum ([[x], [2]] :> [][1]i32) :> []i32", [5], [5, 2]),
    "coercions in loops": (
        "entry main (x: i32) = loop ys = [x] :> []i32 for _i < 3 do ys ++ ys :> []i32", [5],
        [5] * 8),
    "modules that open numeric ones": (
        "module A = { open i32 def twice (x: t) = x * 2 }\n"
        "module F (P: integral) = { def f (x: P.t) = P.popc x }\nmodule B = F A\n"
        "def main (x: i32) = A.twice x + A.popc x + B.f x", [5], 14),
    "attributes before declarations": (
        "#[inline] type t = i32\nmodule M = { #[inline] type u = t }\ndef main (x: M.u) = x", [5],
        5),
    "equality in functions inside": ("def main (x: i32) = let same y = y == y in same x", [5],
                                     True),
}


@pytest.mark.parametrize(("text", "args", "wanted"), MEANING.values(), ids=MEANING)
def test_meaning(text: str, args: list[Any], wanted: Any) -> None:
    found = runelift.compile(text, device="interpreter").main(*args)
    assert np.asarray(found).tolist() == wanted


@pytest.mark.parametrize("device", ["interpreter", None])
def test_holes_fail_when_they_are_reached(device: str | None) -> None:
    program = runelift.compile("def main (xs: []i32): []i32 = "
                               "map (\\x -> if x > 0 then x else ???) xs", device=device)
    assert program.main(np.array([1, 2], np.int32)).tolist() == [1, 2]
    with pytest.raises(ProgramFailure, match="Reached hole of type: i32"):
        program.main(np.array([1, -2], np.int32))


@pytest.mark.parametrize("text", [
    "def later (x: i32): i32 = ??? ???\ndef main (x: i32) = if x > 0 then x else later x",
    "def apply (f: i32 -> i32) (x: i32) = f x\n"
    "def main (x: i32) = if x > 0 then x else apply ??? x",
    "def later: i32 -> i32 = ???\ndef main (x: i32) = if x > 0 then x else later x",
    "def later (x: i32): (i32 -> i32, i32) = ???\n"
    "def main (x: i32) = if x > 0 then x else (later x).0 x",
    "def main (x: i32) = map (\\y -> if y > 0 then y else ??? y 2i64 [y]) [x]",
    "type^ step = #go (i32 -> i32) | #stop\ndef later (x: i32): step = ???\n"
    "def main (x: i32) = if x > 0 then x else match later x case #go f -> f x case #stop -> 1",
])
@pytest.mark.parametrize("device", ["interpreter", None])
def test_holes_may_be_functions(text: str, device: str | None) -> None:
    program = runelift.compile(text, device=device)
    assert program.main(np.int32(2)) in (2, [2])
    with pytest.raises(ProgramFailure, match=r":\d+:\d+: .*Reached hole of type: "):
        program.main(np.int32(-2))


WRONG = {
    "underscores": ("def main (_x: i32) = _x", "syntax-error", "_x"),
    "underscores in fields": ("def main (x: i32) = let r = {_a = x} in r._a", "syntax-error",
                              "r._a"),
    "sections of loose operators": ("def main (x: i32) = (1 + 2 *) x", "syntax-error", "*"),
    "unknown escapes": (r'def main (x: i32) = "\q"', "syntax-error", r'"\q"'),
    "too large without a suffix": ("def main (x: f32) = x + 1e39", "literal-out-of-range", "1e39"),
    "logical shifts without a module": ("def main (x: i32) = x >>> 1", "unknown-name", ">>>"),
    "bits of truth": ("def main (x: bool) = x & true", "type-mismatch", "x"),
    "unsigned ranges": ("def main (x: u8) = 0..<x", "type-mismatch", "x"),
    "unsigned indices": ("def main (xs: []i32) (i: u8) = xs[i]", "type-mismatch", "i"),
    "unsigned counts": ("def main (n: u8) = loop x = 0 for _i < n do x + 1", "type-mismatch", "n"),
    "equality of any type": ("def same 'a (x: a) = (x, 1i32) == (x, 2i32)", "type-mismatch", "=="),
    "equality of hidden types": ("module M: {type t val x: t} = {type t = i32 def x = 1i32}\n"
                                 "def main (y: i32) = M.x == M.x", "type-mismatch", "=="),
    "equality of types to be found": ("def same x y = x == y", "type-mismatch", "=="),
    "abbreviations of any size": ("type t = {a: []i32}", "lifted-abbreviation",
                                  "type t = {a: []i32}"),
    "fields twice": ("def f (r: {n: i64, n: i32}) = 1i32", "duplicate-name", "{n: i64, n: i32}"),
    "sizes and parameters": ("def f [n] (xs: [n]i32) (n: i32) = n", "duplicate-name", "n"),
    "sizes and names of a let": ("def f (xs: []i32) = let [n] (n: [n]i32) = xs in n",
                                 "duplicate-name", "n"),
    "sizes of a let twice": ("def f (xs: []i32) = let [n] [n] (ys: [n]i32) = xs in ys",
                             "duplicate-name", "[n]"),
    "names of a loop twice": ("def f (n: i32) = loop (x, x) = (n, n) for i < 3 do (x, x)",
                              "duplicate-name", "x"),
    "entries in modules": ("module M = { entry f (x: i32) = x }", "bad-entry",
                           "entry f (x: i32) = x"),
    "names twice in module types": ("module type S = { val x: i32 val x: i32 }", "duplicate-name",
                                    "val x: i32"),
    "known types refined": ("module type S = { type t = i32 } with t = i32", "unknown-type",
                            "{ type t = i32 } with t = i32"),
    "integers are not real": ("module A: real = i32", "missing-member", "i32"),
}


@pytest.mark.parametrize(("text", "code", "place"), WRONG.values(), ids=WRONG)
def test_what_is_wrong(text: str, code: str, place: str) -> None:
    with pytest.raises(ProgramError) as caught:
        runelift.compile(text, device="interpreter")
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.span.text) == (code, place)
