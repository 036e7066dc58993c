"""Syntax: what parses, how operators bind, and where errors point."""

from __future__ import annotations

import pytest

from runelift.frontend.syntax import ast
from runelift.frontend.syntax.parser import parse, parse_exp
from runelift.ir.base.errors import ProgramError
from runelift.ir.base.source import Source


def show(exp: ast.Exp) -> str:
    """An expression with all brackets."""
    match exp:
        case ast.Literal(_, value):
            return str(value)
        case ast.Name(_, name):
            return str(name)
        case ast.BinExp(_, op, left, right):
            return f"({show(left)} {op} {show(right)})"
        case ast.Apply(_, fun, args):
            return f"({' '.join(show(e) for e in (fun, *args))})"
        case ast.Negate(_, arg):
            return f"(-{show(arg)})"
        case ast.IndexExp(_, array, _):
            return f"{show(array)}[...]"
        case ast.ArrayExp(_, items):
            return f"[{', '.join(map(show, items))}]"
    return type(exp).__name__


@pytest.mark.parametrize(("text", "expected"), [
    ("a + b * c", "(a + (b * c))"),
    ("a - b - c", "((a - b) - c)"),
    ("a == b && c < d || e", "(((a == b) && (c < d)) || e)"),
    ("a ** b * c", "((a ** b) * c)"),
    ("a & b == c", "((a & b) == c)"),
    ("xs |> f |> g", "((xs |> f) |> g)"),
    ("f <| g <| x", "(f <| (g <| x))"),
    ("a `f` b + c", "(a f (b + c))"),
    ("f x - y", "((f x) - y)"),
    ("-x + y", "((-x) + y)"),
    ("f [x]", "(f [x])"),
    ("f[x]", "f[...]"),
    ("a +^ b * c", "(a +^ (b * c))"),
    ("f32.sum xs", "(Project xs)"),
])
def test_precedence(text: str, expected: str) -> None:
    assert show(parse_exp(Source("t", text))) == expected


@pytest.mark.parametrize("text", [
    "1i32", "0x1F", "0b101u8", "1_000", "1.5e3f32", "0x1.8p3", "true", "'a'", '"text\\n"',
    "(1, 2)", "()", "{x = 1, y}", "[1, 2, 3,]", "x.0.y", "xs[1:2]", "xs[::-1]", "xs[1, :]",
    "0..<n", "0...n", "n..n-1..>0", "(+)", "(+2)", "(x+)", "(2+)", "(2 * x +)",
    "(-2)", "(- x)", "(.f.g)", "(.[1, 2])",
    "(`f` 2)", "\\x -> x", "\\(x: i32) y : i32 -> x + y", "let x = 1 in x",
    "let x = 1 let y = 2 in x + y", "let f [n] 'a (xs: [n]a): [n]a = xs in f",
    "let xs[i] = 3 in xs",
    "xs with [i] = 3", "r with x.y = 3", "if a then b else c", "loop x = 1 for i < n do x + i",
    "loop (x, y) = (1, 2) while x < y do (x, y)", "loop x for y in ys do x + y",
    "e : [n]i32", "e :> [n+1]i32", "assert (x > 0) x", "#[unsafe] xs[i]", "map (+1) <| iota 3",
    "a + if b then c else d",
])
def test_expression_parses(text: str) -> None:
    parse_exp(Source("t", text))


@pytest.mark.parametrize("text", [
    "def f x = x", "let f x = x", "entry main [n] (xs: *[n]i32): [n]i32 = xs",
    "type t [n] 'a = ([n]a, i64)", "def f 't (g: t -> t) (x: t): t = g x", "def (+^) x y = x",
    "#[noinline] def f (n: i64): [n]i64 = iota n", "-- comment\ndef x = 1 -- more",
    "-- | what\n-- it is\n\n#[trace(a, b(1),)] def x = \"-- | text\"", "-- | what\nlet x = 1",
])
def test_declaration_parses(text: str) -> None:
    assert len(parse(Source("t", text)).decs) == 1


@pytest.mark.parametrize(("text", "code", "line", "column"), [
    ("def f = (1 + ", "syntax-error", 1, 9),
    ("def f = 1 +* ] 2", "syntax-error", 1, 14),
    ("def f =\n  let y = 1 + in y", "syntax-error", 2, 15),
    ("def in = 1", "syntax-error", 1, 5),
    ("def f = if a then b", "syntax-error", 1, 20),
    ("module m = { def }", "syntax-error", 1, 18),
    ("def f = match x case 1 2", "syntax-error", 1, 24),
    ("type t = #some | none", "syntax-error", 1, 18),
    ("def f = loop x = 1 for i > n do x", "syntax-error", 1, 26),
    ("def f = loop [m] (xs: [m]i32) = [1] for i < 2 do xs", "syntax-error", 1, 14),
    ("#[] def f = 1", "syntax-error", 1, 3),
    ("#[unroll, unsafe] def f = 1", "syntax-error", 1, 9),
    ("def f = #[trace(1.5)] 1", "syntax-error", 1, 18),
    ("def f = #[trace(2i32)] 1", "syntax-error", 1, 17),
    ("def f = #[let] 1", "syntax-error", 1, 11),
    ("def f =\n  -- | what\n  let x = 1 in x", "syntax-error", 2, 3),
    ("def f = 1 -- | what\n-- follows", "syntax-error", 1, 11),
])
def test_error_position(text: str, code: str, line: int, column: int) -> None:
    with pytest.raises(ProgramError) as caught:
        parse(Source("t", text))
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.span.line, diagnostic.span.column) == (code, line, column)
