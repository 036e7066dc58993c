"""The lexer finds what Lark's contextual lexer finds."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from lark import Lark, Token, Tree, UnexpectedInput

from runelift.frontend.syntax.parse_tables import SOURCE

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").rglob("*.fut"))


@pytest.fixture(scope="module")
def larks() -> Lark:
    return Lark(SOURCE.text, **{**SOURCE._options, "_plugins": {}})


def found(parser: Lark, text: str) -> list[object]:
    """The tokens of a text with their places, or the place of the mistake and what could stand."""
    try:
        tree = parser.parse(text, start="start")
    except UnexpectedInput as error:
        return [type(error), error.pos_in_stream,
                getattr(error, "accepts", None) or getattr(error, "allowed", None)]
    assert isinstance(tree, Tree)
    return [(token.type, token, token.start_pos, token.end_pos)
            for token in tree.scan_values(lambda each: isinstance(each, Token))]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples(path: Path, larks: Lark) -> None:
    text = path.read_text()
    assert found(SOURCE.grammar(), text) == found(larks, text)


@pytest.mark.parametrize("seed", range(40))
def test_broken_texts(seed: int, larks: Lark) -> None:
    chance = random.Random(seed)
    text = chance.choice(EXAMPLES).read_text()
    at, length = chance.randrange(len(text)), chance.randrange(4)
    text = text[:at] + chance.choice(["", "'", "[", "..", "#", ".", "\\", "- ", "$"]) + text[
        at + length:]
    assert found(SOURCE.grammar(), text) == found(larks, text)
