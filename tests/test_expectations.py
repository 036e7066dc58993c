"""The page of expectations: its rows are complete, its commands parse, and its tests exist."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from runelift.runtime.tools.commands.cli import make_parser

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "expectations.md").read_text()
ROWS = [[cell.strip() for cell in row.split("|")[1:-1]]
        for row in re.findall(r"^\| \d.*$", PAGE, re.M)]
SHOWN = sorted({shown for row in ROWS for shown in re.findall(r"`([^`]*)`", row[3])})


def test_no_row_is_missing() -> None:
    assert [row[0] for row in ROWS] == [*map(str, range(1, 29)), *map(str, range(1, 23))]
    assert {len(row) for row in ROWS} == {5}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[1])
def test_each_row_is_shown_and_says_what_is_missing(row: list[str]) -> None:
    _, _, state, shown, missing = row
    assert re.fullmatch(r"`[^`]+`(, `[^`]+`)*", shown)
    assert state in {"+", "~", "-"}
    assert (state == "+") == (missing == "")


def test_states_are_counted() -> None:
    met = [sum(row[2] == "+" for row in rows) for rows in (ROWS[:28], ROWS[28:])]
    others = "in part" if all(row[2] != "-" for row in ROWS) else "not or in part"
    assert (f"Of the 28 expectations, {met[0]} are met and the others {others}.  "
            f"Of the 22 goals, {met[1]} are met and the others {others}.") in PAGE


@pytest.mark.parametrize("shown", SHOWN)
def test_what_shows_it_exists(shown: str) -> None:
    program, *words = shlex.split(shown)
    if program == "runelift":
        command = next((word for word in words if not word.startswith("-")), None)
        if command is None:
            assert words == ["--help"]
        else:
            make_parser(command).parse_args(words)
        places = [word for word in words if re.fullmatch(r"examples/(\w+\.fut)?", word)]
    else:
        assert program in {"pytest", "python"}
        places = [word for word in words if not word.startswith("-")]
        assert places
    for place in places:
        path, _, name = place.partition("::")
        assert (ROOT / path).exists()
        if name:
            tests = ast.parse((ROOT / path).read_text()).body
            assert name in [each.name for each in tests if isinstance(each, ast.FunctionDef)]


@pytest.mark.sweep(keep=["collection"])
@pytest.mark.parametrize("shown", [each for each in SHOWN if each.startswith("python ")])
def test_benchmarks_that_show_it_run(shown: str) -> None:
    done = subprocess.run([sys.executable, *shlex.split(shown)[1:]], cwd=ROOT, check=True,
                          capture_output=True, text=True)
    assert len(done.stdout.splitlines()) > 2
