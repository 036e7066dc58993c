"""Names of constructs by their place."""

from __future__ import annotations

import pytest

from runelift.frontend.constructs import construct_of, constructs
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.parser import parse_exp
from runelift.ir.base.source import Source

EXPRESSIONS = {
    "map f xs": "map", "f32.sum xs": "f32.sum", "x + y": "operator +", "xs[i]": "index",
    "#[unsafe] xs[i]": "index", "xs with [i] = x": "with", "r with f = x": "with",
    "loop x = 0 for i < n do x + i": "loop", "if c then x else y": "if",
    "match x case 1 -> 2": "match",
    "let x = 1 in x": "let", "let f x = x in f 1": "let", "let xs[1] = 2 in xs": "let",
    "\\x -> x": "function", "(+)": "operator section", "(.x)": "field section",
    "(.[1])": "index section", "-x": "negation", "!x": "negation", "x": "name", "1": "literal",
    "\"a\"": "string", "???": "hole", "(x, y)": "tuple", "{x, y}": "record", "[x, y]": "array",
    "0..<n": "range", "r.x": "field", "#a 1": "constructor", "(x: i32)": "type ascription",
    "xs :> [n]i32": "size coercion", "assert c x": "assert", "M.(x)": "local open",
    "(f x) y": "f", "(\\x -> x) 1": "application",
}


@pytest.mark.parametrize(("text", "name"), EXPRESSIONS.items())
def test_names(text: str, name: str) -> None:
    assert construct_of(parse_exp(Source("", text))) == name


def test_every_expression_has_a_name() -> None:
    """The expressions above are of all kinds."""
    kinds = {type(parse_exp(Source("", text))) for text in EXPRESSIONS}
    assert kinds == {each for each in vars(ast).values() if isinstance(each, type)
                     and issubclass(each, ast.Exp) and each is not ast.Exp}


def test_the_outermost_expression_of_a_range_counts() -> None:
    source = Source("p.fut", "module m = { def f xs = map g xs }\nentry main xs = m.f xs\n")
    found = {source.text[start:end]: name for (start, end), name in constructs(source).items()}
    assert found["map g xs"] == "map"
    assert found["m.f xs"] == "m.f"
    assert found["g"] == "name"
