"""The tables that come with Runelift are those of its grammars."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest
from lark import Lark

from runelift.frontend.syntax.parse_tables import SOURCE
from runelift.ir.base.tables import Tables
from runelift.ir.parse import CORE

ALL = pytest.mark.parametrize(("tables", "package"), [
    (SOURCE, "runelift.frontend.syntax"), (CORE, "runelift.ir")], ids=["source", "core"])


@ALL
def test_they_were_made_from_this_grammar(tables: Tables, package: str) -> None:
    """If not: python -m runelift.frontend.syntax.parse_tables."""
    written = resources.files(package).joinpath(tables.file).read_bytes()
    assert written.partition(b"\n")[0] == tables.made_from


def test_without_them_they_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without = Tables("runelift.frontend.syntax", "grammar", SOURCE._options)
    without.file = "there-is-none"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = without.grammar()
    assert SOURCE.grammar().parse("entry f (x: i32) = x + 1", start="start") == made.parse(
        "entry f (x: i32) = x + 1", start="start")
    assert isinstance(made, Lark)
    assert list(tmp_path.rglob("grammar.lark.cache"))


@ALL
def test_they_can_be_written(tables: Tables, package: str, tmp_path: Path) -> None:
    tables.write(tmp_path / "tables")
    found = (tmp_path / "tables").read_bytes()
    assert found.partition(b"\n")[0] == tables.made_from
