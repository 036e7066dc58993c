"""The tables that come with Runelift are those of its grammar."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest
from lark import Lark

from runelift.frontend import tables


def test_they_were_made_from_this_grammar() -> None:
    """If not: python -m runelift.frontend.tables."""
    written = resources.files("runelift.frontend").joinpath(tables.FILE).read_bytes()
    assert written.partition(b"\n")[0] == tables.made_from(tables.grammar_text())


def test_without_them_they_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "FILE", "there-is-none")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    tables.grammar.cache_clear()
    made = tables.grammar()
    tables.grammar.cache_clear()
    monkeypatch.undo()
    assert tables.grammar().parse("entry f (x: i32) = x + 1", start="start") == made.parse(
        "entry f (x: i32) = x + 1", start="start")
    assert isinstance(made, Lark)
    assert list(tmp_path.rglob("grammar.lark.cache"))


def test_they_can_be_written(tmp_path: Path) -> None:
    tables.write(tmp_path / "tables")
    found = (tmp_path / "tables").read_bytes()
    assert found.partition(b"\n")[0] == tables.made_from(tables.grammar_text())
