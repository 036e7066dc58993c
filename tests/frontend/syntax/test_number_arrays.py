"""Array literals of plain numbers, which are one token."""

from __future__ import annotations

import pytest

from runelift.frontend.syntax import ast
from runelift.frontend.syntax.parse_tables import SOURCE
from runelift.frontend.syntax.parser import parse_exp
from runelift.ir.base.source import Source

NUMBERS = ["1", "-2", "3_000", "1.5", "-2e3", "7u8", "2.5f32", "-1i64", "4f64"]


def _elements(text: str) -> list[tuple[type[ast.Exp], object, object, str]]:
    array = parse_exp(Source("t", text))
    assert isinstance(array, ast.ArrayExp)
    found: list[tuple[type[ast.Exp], object, object, str]] = []
    for item in array.items:
        literal = item.arg if isinstance(item, ast.Negate) else item
        assert isinstance(literal, ast.Literal)
        found.append((type(item), literal.value, literal.prim, item.span.text))
    return found


def test_like_others() -> None:
    """The token gives what a literal with parentheses, which is none, gives."""
    assert _elements(f"[{', '.join(NUMBERS)}]") == [
        _elements(f"[{number}]")[0] for number in NUMBERS]


def test_one_token() -> None:
    tokens = list(SOURCE.grammar().lex(f"def x = [{', '.join(['1'] * 1000)}]"))
    assert len(tokens) == 4


@pytest.mark.parametrize("text", [
    "xs[0, 1, 2, 3, 4, 5, 6, 7]", "[1, 2, 3, 4, 5, 6, 7, f 8]", "[1..2...8]",
    "[1, 2, 3, 4, 5, 6, 7, -- eight\n 8]", "f [1, 2, 3, 4, 5, 6, 7, 8, ]",
    "[1, 2, 3, 4, 5, 6, 7, 0x8]"])
def test_forms(text: str) -> None:
    parse_exp(Source("t", text))
