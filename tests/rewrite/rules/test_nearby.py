"""Programs near those that make rules fire: a law that matches too much changes what they mean.

Each is a program of ``reach.py`` with another operator, or another number, at one place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from runelift.ir.base.errors import CompilerLimitation, UserError
from runelift.ir.interpret import interpret
from runelift.rewrite.pipeline import optimise
from tests.rewrite.rules.reach import REACH
from tests.rewrite.rules.test_rules import same, source

ALIKE = (("+", "-", "*"), ("/", "%"), ("&", "|", "^"), ("&&", "||"), ("<", "<=", "==", ">"),
         ("0", "1", "2"), ("min", "max"), ("true", "false"))
"""Words that may stand in each other's place."""
WORD = re.compile(r"\w+|[-+*/%&|^<>=!]+")


def nearby(text: str) -> Iterator[str]:
    """The programs that differ from ``text`` in one word of its body.

    Operators in brackets stay: reductions rely on what programs promise of them.
    """
    for word in WORD.finditer(text, text.index("=") + 1):
        before, after = text[:word.start()], text[word.end():]
        if before.endswith("(") and after.startswith(")"):
            continue
        for alike in ALIKE:
            if word[0] in alike:
                yield from (before + other + after for other in alike if other != word[0])


def means(text: str, args: list[Any]) -> bool:
    """True if it is a program that does not fail on ``args``."""
    try:
        interpret(source(text)[0], "main", args)
    except (UserError, CompilerLimitation):
        return False
    return True


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("name", sorted(REACH))
def test_programs_nearby_keep_their_meaning(name: str) -> None:
    text, args = REACH[name]
    for other in nearby(text):
        if means(other, args):
            program, names = source(other)
            try:
                same(program, optimise(program, names), args)
            except AssertionError as error:
                raise AssertionError(f"{other}\n{error}") from None


def test_there_are_such_programs() -> None:
    found = [other for text, args in REACH.values() for other in nearby(text) if means(other, args)]
    assert len(found) > 3 * len(REACH)
    assert "entry main (x: i32) (y: i32) = (x + y) + y" in found
