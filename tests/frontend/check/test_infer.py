"""Types and sizes: what is inferred, and what is rejected where."""

from __future__ import annotations

import pytest

from runelift.frontend.load import checked
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.types import Type, show
from runelift.ir.base.errors import ProgramError
from runelift.ir.base.source import Source


def type_of(text: str) -> str:
    """The type of the last declaration."""
    module = checked(Source("t", text))
    last = module.decs[-1]
    assert isinstance(last, ast.ValDec)
    type_: Type | None = last.type
    assert type_ is not None
    return show(type_)


@pytest.mark.parametrize(("text", "expected"), [
    ("def x = 1", "i32"),
    ("def x = 1.5", "f64"),
    ("def x = 1 + 2u8", "u8"),
    ("def f (x: f32) = x + 1", "f32 -> f32"),
    ("def f [n] (xs: [n]i32) = map (+1) xs", "[n]i32 -> [n]i32"),
    ("def f (n: i64) = iota n", "i64 -> [n]i64"),
    ("def f (n: i64) = iota (n + 1)", "i64 -> [1 + n]i64"),
    ("def f [n][m] (xss: [n][m]i32) = transpose xss", "[n][m]i32 -> [m][n]i32"),
    ("def f [n] (xs: [n]i32) = (length xs, i32.sum xs)", "[n]i32 -> (i64, i32)"),
    ("def f [n] (xs: [n](i32, f32)) = unzip xs", "[n](i32, f32) -> ([n]i32, [n]f32)"),
    ("def f 'a (x: a) = (x, x)", "a -> (a, a)"),
    ("def f x = x", "t -> t"),
    ("def f [n] (xs: [n]i32) = xs[1:3]", "[n]i32 -> [2]i32"),
    ("def f [n] (xs: [n]i32) = xs[::-1]", "[n]i32 -> [n]i32"),
    ("def f [n] (xs: [n]{a: i32, b: f32}) = map (\\r -> r.a) xs",
     "[n]{a: i32, b: f32} -> [n]i32"),
    ("def f [n] (xs: [n]{a: i32, b: f32}) = xs |> map (.b)", "[n]{a: i32, b: f32} -> [n]f32"),
    ("def f (x: i32) = if x > 0 then 1f32 else 2", "i32 -> f32"),
    ("def f [n] (xs: [n]f32) = reduce (\\(a, b) (c, d) -> (a + c, b)) (0, 0i64) "
     "(zip xs (iota n))", "[n]f32 -> (f32, i64)"),
    ("def f = (+ 1i64) >-> f32.i64", "i64 -> f32"),
    ("type v = {x: f32, y: f32}\ndef f (a: v) = a.x", "{x: f32, y: f32} -> f32"),
    ("def f [n] (xs: [n]i32) = loop xs for i < 3 do map (+i) xs", "[n]i32 -> [n]i32"),
    ("def f [n] (xs: [n]i32) (ys: [n]i32) = map2 (+) xs ys", "[n]i32 -> [n]i32 -> [n]i32"),
    ('def f = "abc"', "[3]u8"),
    ("def f = [[1, 2], [3, 4]]", "[2][2]i32"),
    ("def f (n: i64) = 0..<n", "i64 -> [n]i64"),
])
def test_inferred_type(text: str, expected: str) -> None:
    assert type_of(text) == expected


@pytest.mark.parametrize(("text", "code", "line", "column"), [
    ("def f = x", "unknown-name", 1, 9),
    ("entry main (xs: []i32) = map (+1) ys", "unknown-name", 1, 35),
    ("def f = 1i32 + 2f32", "type-mismatch", 1, 16),
    ("def f (x: t) = x", "unknown-type", 1, 11),
    ("def f = if 1 then 2 else 3", "type-mismatch", 1, 12),
    ("def f = if true then 2i32 else 3f32", "type-mismatch", 1, 32),
    ("def f [n][m] (xs: [n]i32) (ys: [m]i32) = map2 (+) xs ys", "size-mismatch", 1, 54),
    ("def f (x: {a: i32}) = x.b", "unknown-field", 1, 23),
    ("def f (x: i32) = x 1", "not-a-function", 1, 20),
    ("def f (x: i32): f32 = x", "type-mismatch", 1, 23),
    ("def f = [1, true]", "type-mismatch", 1, 13),
    ("def f = true.0", "unknown-field", 1, 9),
    ("entry main (f: i32 -> i32) = f 1", "bad-entry", 1, 7),
    ("def f [n] (xs: [n]i32) = xs[0, 1]", "wrong-rank", 1, 26),
    ("def f = let (a, b) = (1, 2, 3) in a", "bad-pattern", 1, 13),
    ("def f = !1.5", "type-mismatch", 1, 10),
    ("def f = [\\x -> x + 1]", "function-not-allowed", 1, 9),
    ("def f = {x = 1, x = 2}", "duplicate-name", 1, 9),
    ("def f (xs: []f32): f32 = f32.sum (map i32.f32 xs)", "type-mismatch", 1, 35),
    ("def f [n] (xs: [n]i32): [n+1]i32 = xs", "size-mismatch", 1, 36),
])
def test_rejected(text: str, code: str, line: int, column: int) -> None:
    with pytest.raises(ProgramError) as caught:
        checked(Source("t", text))
    first = caught.value.diagnostics[0]
    assert (first.code, first.span.line, first.span.column) == (code, line, column), first.render()


def test_several_errors_in_one_run() -> None:
    with pytest.raises(ProgramError) as caught:
        checked(Source("t", "def f = x\ndef g = y\ndef h = f"))
    assert [d.span.line for d in caught.value.diagnostics] == [1, 2]
