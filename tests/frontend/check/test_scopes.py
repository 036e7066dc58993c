"""Where names are in scope: in patterns, in parameters, in local polymorphic functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runelift
from runelift.frontend.load import checked
from runelift.ir.base.errors import ProgramError
from runelift.ir.base.source import Source


@pytest.mark.parametrize(("text", "args", "expected"), [
    ("def main (n: i64) (xs: [n]i64) = let (n, ys: [n]i64) = (5, xs) in n + length ys",
     (2, np.arange(2)), 7),
    ("def main (n: i64) (xs: [n]i64) = let (n, ys: [n]i64) = (5i32, xs) in i64.i32 n + length ys",
     (2, np.arange(2)), 7),
    ("def main [n] (xs: [n]i64) = (loop (n, ys: [n]i64) = (0i32, xs) for i < 3 do\n"
     "  (n + 1, map (+ 1) ys)).1", (np.arange(2),), [3, 4]),
    ("def main [n] (xs: [n]i64) = (\\(n: i64, ys: [n]i64) -> ys[0] + n) (9, xs)",
     (np.arange(2),), 9),
    ("type t [n] = #a i64 ([n]i64) | #b\n"
     "def main (n: i64) = match (#a 9 (iota n) : t [n])\n"
     "  case #a n (ys: [n]i64) -> n + length ys case #b -> 0", (2,), 11),
    ("def main (n: i64) = let {n, xs = ys: [n]i64} = {n = 9i64, xs = iota n} in n + length ys",
     (2,), 11),
    ("def n = 2i64\ndef f (n: i64, xs: [n]i64) = n + xs[1]\ndef main (x: i64) = f (x, [3, 4])",
     (5,), 9),
    # a parameter hides what the module around has
    ("module M = { def n = 2i64 def f = \\(n: i64) (xs: [n]i64) -> n + length xs }\n"
     "def main (x: i64) = M.f x (iota x)", (4,), 8),
    ("module M = { def n = 2i64 def f (n: i64) (xs: [n]i64) = n + length xs }\n"
     "def main (x: i64) = M.f x (iota x)", (4,), 8),
    ("module M = { def n = 2i64 def f (n: i64, xs: [n]i64) = n + length xs }\n"
     "def main (x: i64) = M.f (x, [1, 2])", (4,), 6),
])
def test_sizes_in_patterns(text: str, args: tuple[Any, ...], expected: Any) -> None:
    """A size in a pattern is something around it, though the pattern binds the same name."""
    assert np.array_equal(runelift.compile(text, device="interpreter").main(*args), expected)


@pytest.mark.parametrize(("text", "code", "line", "column"), [
    ("def main (x: i64) = let (k, ys: [k]i64) = (x, iota x) in ys", "unknown-name", 1, 34),
    # the fields of what is updated must be known
    ("def main (x: i32) = let f r = r with a = x in (f {a = 1}).a", "ambiguous-type", 1, 31),
    ("def f r = let y = r.a.b + 1i32 in r with a.b = y", "ambiguous-type", 1, 35),
    # a type parameter is not the type of something around
    ("def g x =\n  let f 'a (y: a) = [x, y]\n  in f 1i32", "type-mismatch", 2, 9),
    ("def g =\n  \\x -> let f 'a 'b (z: a) (y: b): b = if true then x else y in f true x",
     "type-mismatch", 2, 18),
    ("def main (x: i32) =\n  (\\r -> let f 't (y: t) = [r.a.b, y] in r.a.b) {a = {b = x}}",
     "type-mismatch", 2, 16),
    ("def main (x: i32) = (\\s ->\n  let f 't (y: t) = match s case #a z -> [z, y] case #b -> []\n"
     "  in x) (#a x : #a i32 | #b)", "type-mismatch", 2, 9),
    ("type pair '~a = (a, i32)", "lifted-abbreviation", 1, 1),
])
def test_refused(text: str, code: str, line: int, column: int) -> None:
    with pytest.raises(ProgramError) as caught:
        checked(Source("t", text))
    found = caught.value.diagnostics[0]
    assert (found.code, found.span.line, found.span.column) == (code, line, column)


def test_a_message_never_prints_one_type_as_two() -> None:
    with pytest.raises(ProgramError, match="found another type that is written alike"):
        checked(Source("t", "def f 't (x: t) = let g 't (y: t) = [x, y] in x"))
