"""The magic ``%%runelift``, and errors as IPython shows them."""

from __future__ import annotations

import os
import re
import sysconfig
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

import runelift
from runelift.ir.base.brevity import MOST_LINES
from runelift.runtime.programs.program import Program

CELL = "entry twice (x: i32): i32 = 2 * x\nentry at [n] (xs: [n]i32) (i: i64): i32 = xs[i]\n"


@pytest.fixture(scope="module")
def shell() -> Iterator[InteractiveShell]:
    made = InteractiveShell.instance()
    made.run_line_magic("load_ext", "runelift")
    yield made
    InteractiveShell.clear_instance()


def test_a_cell_binds_its_entry_points(shell: InteractiveShell) -> None:
    program = shell.run_cell_magic("runelift", "numbers --device interpreter", CELL)
    assert isinstance(program, Program)
    assert shell.user_ns["numbers"] is program
    assert shell.user_ns["twice"](4) == 8
    assert program.compiled.source.name == "<cell>"


def test_cells_for_a_shell_find_the_command(shell: InteractiveShell,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    """Jupyter may run without the folder on PATH; a second loading adds nothing."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for _ in range(2):
        shell.run_line_magic("reload_ext", "runelift")
    assert os.environ["PATH"] == sysconfig.get_path("scripts") + ":/usr/bin:/bin"
    assert shell.getoutput("command -v runelift") == [sysconfig.get_path("scripts") + "/runelift"]


@pytest.mark.parametrize(("line", "said"), [
    ("1x", "is no name of Python"), ("--devise x", "unrecognized arguments: --devise"),
    ("--policy nine", "nine"), ("--help", "the cell is a program")])
def test_wrong_options_are_errors_of_ours(shell: InteractiveShell, line: str, said: str) -> None:
    with pytest.raises(runelift.UserError, match=said):
        shell.run_cell_magic("runelift", line, CELL)


@pytest.mark.parametrize(("code", "said"), [
    ("twice('a')", ["ArgumentError at line 1: twice('a')",
                    "Argument 'x' should be i32, but has type text."]),
    ("1\nat(np.arange(3, dtype=np.int32), 3)", [
        "ProgramFailure at line 2: at(np.arange(3, dtype=np.int32), 3)",
        "<cell>:3:43: error[index-out-of-bounds]: Index [3] out of bounds for array of shape [3].",
        "   3 | entry at [n] (xs: [n]i32) (i: i64): i32 = xs[i]",
        "     |                                           ^"]),
    ("%%runelift\nentry f (x: i32) = y", [
        "ProgramError at line 1: %%runelift",
        "<cell>:2:20: error[unknown-name]: Unknown variable 'y'.",
        "   2 | entry f (x: i32) = y", "     |                    ^"]),
    ("%%runelift 1x\nentry f (x: i32) = x", [
        "UserError at line 1: %%runelift 1x", "%%runelift: '1x' is no name of Python."]),
])
def test_errors_have_few_lines_and_no_frames(shell: InteractiveShell, code: str, said: list[str],
                                             capsys: pytest.CaptureFixture[str]) -> None:
    shell.user_ns["np"] = np
    shell.run_cell_magic("runelift", "--device interpreter", CELL)
    result: Any = shell.run_cell(code)
    assert result.error_in_exec is not None
    shown = capsys.readouterr().out.strip("\n").splitlines()
    assert shown == said
    assert len(shown) <= MOST_LINES


@pytest.mark.parametrize("cell", [
    "%%runelift\nentry f (x: i32) = x +",
    "%%runelift --device interpreter\n\nentry f (x: i32) =\n\n  x + y\n\n",
    "%%time\n%%runelift\n-- ==\n\nentry f (x: i32) = z",
    "\n\n%%runelift\nentry f (x: i32) = x + 1.5f32",
    "%%runelift\nentry f [n] (xs: [n]i32): [n]i32 = map (\\x -> x + ???) xs",
    "%%runelift\nentry f [n] (xs: [n]i32) =\n  map i64 xs"])
def test_lines_are_those_of_the_cell(shell: InteractiveShell, cell: str,
                                     capsys: pytest.CaptureFixture[str]) -> None:
    """Errors and warnings have a line's number and text, counted from the first line of a cell."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        shell.run_cell(cell, store_history=True)
    said = "\n".join([capsys.readouterr().out, *(str(each.message) for each in warned)])
    places = re.findall(r"<cell>:(\d+):(\d+): .*\n +(\d+) \| (.*)\n +\| ( *)\^", said)
    assert places, said
    for line, column, shown, text, blanks in places:
        assert line == shown
        assert cell.splitlines()[int(line) - 1] == text
        assert len(blanks) == int(column) - 1
