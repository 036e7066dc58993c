"""Source lines in errors."""

from __future__ import annotations

import pytest

from runelift.ir.base.source import WIDTH, Source, Span


@pytest.mark.parametrize("start", [0, 1, 59, 60, 30_000, 59_940, 59_999, 60_000])
@pytest.mark.parametrize("length", [1, 7, 40, 5000])
def test_long_lines_are_cut_around_the_span(start: int, length: int) -> None:
    text = "".join(chr(ord("a") + place % 26) for place in range(60_000))
    span = Span(Source("p.fut", f"first\n{text}\nlast"), 6 + start, 6 + start + length)
    line, carets = span.excerpt().splitlines()
    gutter, shown = line[:7], line[7:]
    assert gutter == "   2 | "
    assert len(shown) == WIDTH
    assert shown.strip("…") in text
    assert shown.startswith("…") != text.startswith(shown.rstrip("…"))
    assert shown.endswith("…") != text.endswith(shown.lstrip("…"))
    marked = "".join(letter for letter, mark in zip(line, carets, strict=False) if mark == "^")
    assert text[start:start + length].startswith(marked.rstrip("…"))
    assert marked or start == 60_000
    assert len(carets) <= 7 + WIDTH + 1


def test_short_lines_are_whole() -> None:
    text = "x" * WIDTH
    assert Span(Source("p.fut", text), 3, 5).excerpt() == f"   1 | {text}\n     |    ^^"
