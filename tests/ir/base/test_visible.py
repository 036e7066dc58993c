"""Control characters never reach a terminal."""

import pytest

from runelift.ir.base.source import Source, Span
from runelift.ir.base.visible import shortened, visible


@pytest.mark.parametrize(("text", "shown"), [
    ("plain\ttext\n", "plain\ttext\n"), ("\x1b[31m", "\\x1b[31m"), ("a\rb", "a\\rb"),
    ("\0", "\\x00"), ("\x9b", "\\x9b"), ("\u202e", "\\u202e"), ("\udcff", "\\udcff"),
    ("\u2028", "\\u2028"), ("äµ☃", "äµ☃"), ("\U000e0041", "\\U000e0041")])
def test_escapes(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_carets_stand_under_escaped_text() -> None:
    source = Source("a", "x\x0b\x1b = 'y\r'\u202e;\nz")
    start = source.text.index("\u202e")
    line, carets = Span(source, start, start + 1).excerpt().split("\n")
    assert line.endswith("| x\\x0b\\x1b = 'y\\r'\\u202e;")
    assert line[carets.index("^"):carets.rindex("^") + 1] == "\\u202e"


def test_long_messages_are_shortened() -> None:
    assert shortened("abc") == "abc"
    assert len(shortened("x" * 1_000_000)) < 21_000
