"""What ``check`` says of test blocks that cannot pass, and the edits for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from runelift.frontend.load import checked
from runelift.ir.base.errors import Replacement
from runelift.ir.base.source import Source
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tools.testing.block_mistakes import mistakes

PROGRAM = "entry scaled [n] (k: i64) (xs: [n]f32): [n]f32 = map (* f32.i64 k) xs\n"


def said(block: str) -> list[tuple[int, str, str]]:
    """The line, the text and the edit of each mistake of a block before the program."""
    source = Source("a.fut", block + PROGRAM)
    return [(each.span.line, each.span.text,
             next((hint.new for hint in each.hints if isinstance(hint, Replacement)), ""))
            for each in mistakes(source, checked(source))]


@pytest.mark.parametrize(("block", "expected"), [
    ("-- ==\n-- entry: scaled\n-- input { 2i64 [1f32] }\n-- output { [2f32] }\n", []),
    ("-- ==\n-- entry: scalde\n-- input { 2i64 [1f32] }\n", [(2, "scalde", "scaled")]),
    ("-- ==\n-- input { 2i64 [1f32] }\n", [(2, "input { 2i64 [1f32] }", "entry: scaled\n-- ")]),
    ("-- ==\n-- entry: scaled\n-- input { 2i32 [1f32] }\n", [(3, "2i32", "2i64")]),
    ("-- ==\n-- entry: scaled\n-- input { 2i64 [1, 2] }\n", [(3, "[1, 2]", "[1f32, 2f32]")]),
    ("-- ==\n-- entry: scaled\n-- input { 2i64 1f32 }\n", [(3, "1f32", "")]),
    ("-- ==\n-- entry: scaled\n-- input { 2i64 }\n", [(3, "input { 2i64 }", "")]),
    ("-- ==\n-- entry: scaled\n-- input { 2i64 [1f32] }\n-- output { [2.0] }\n",
     [(4, "[2.0]", "[2.0f32]")]),
    ("-- ==\n-- entry: scaled\n-- input { 2i64, [1f32] }\n", [(3, ",", "")]),
    ("-- ==\n-- entry: scaled\n-- input { 2i64 [1f32] }\n-- output { [2f32]\n", [(4, "{", "")]),
    ("-- ==\n-- entry: scaled\n-- input { 2i64 [1f32]\n-- output { [2f32] }\n", [(3, "{", "")]),
    ("-- ==\n-- entry: scaled\n-- random input { 2i64 [1]f32\n", [(3, "{", "")]),
    ("-- ==\n-- entry: scaled\n-- input { 2i32 [1f32] }\n-- error: i64\n", [])])
def test_mistakes_of_blocks(block: str, expected: list[tuple[int, str, str]]) -> None:
    assert said(block) == expected


def test_the_edits_are_written_and_the_test_names_the_mistake(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.fut"
    path.write_text("-- ==\n-- entry: scalde\n-- input { 2i32 [1f32] }\n" + PROGRAM)
    assert main(["test", "--interpreter", str(path)]) == 1
    shown = capsys.readouterr().out
    assert "a.fut:2: scalde" in shown
    assert "Did you mean 'scaled'?" in shown
    assert main(["check", "--fix", str(path)]) == 0
    assert path.read_text().startswith("-- ==\n-- entry: scaled\n-- input { 2i64 [1f32] }\n")
