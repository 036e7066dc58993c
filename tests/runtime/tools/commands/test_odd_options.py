"""Options as a stranger gives them: each is obeyed, or refused with what to write."""

from __future__ import annotations

import argparse
import ast
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runelift.runtime.tools.commands.cli import COMMANDS, RENAMED, main, make_parser

ROOT = Path(__file__).parents[4]
CODE = [path for folder in ("runtime", "frontend", "codegen", "rewrite", "ir")
        for path in sorted((ROOT / folder).rglob("*.py"))]
PLAIN = "entry main (x: f32) (y: i32): f32 = x + f32.i32 y\n"
ROWS = "entry main [n][m] (xss: [n][m]f32): [n]f32 = map f32.sum xss\n"

Said = Callable[..., tuple[int, str]]


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
         ) -> Said:
    """Commands in a folder with two programs: their exit status and all that they print."""
    monkeypatch.chdir(tmp_path)
    Path("plain.fut").write_text(PLAIN)
    Path("rows.fut").write_text(f"-- ==\n-- input {{ [[1f32]] }}\n{ROWS}")
    Path("rows.schedule").write_text("fuse\n")

    def run(line: str) -> tuple[int, str]:
        try:
            status = main(shlex.split(line))
        except SystemExit as stop:
            status = int(stop.code or 0)
        return status, "".join(capfd.readouterr())

    return run


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_the_whole_help_is_there_for_each_command(command: str, said: Said) -> None:
    status, text = said(f"{command} --help-all")
    assert status == 0
    assert text.startswith(f"usage: runelift {command}".strip())


@pytest.mark.parametrize(("line", "told"), [
    ("test rows.fut -e mian", "No test is of an entry point 'mian'."),
    ("dump --stage core --dot rows.fut", "--dot goes with --stage tree."),
    ("dump --stage host --preamble rows.fut", "--preamble goes with --stage kernels."),
    ("doctor --device no-such-device", "No device matches 'no-such-device'."),
    ("dataset '[n]i32'", "Sizes of random data are numbers, such as [10]f32."),
    ("dataset '[2][k][]f32'", "Sizes of random data are numbers"),
    ("explain cost rows.fut --as-device h200 --over n", "Write --sizes m=N n=N."),
    ("autotune rows.fut --device interpreter", "and the interpreter is none"),
    ("run rows.fut [[1]] --memory 2", "needs 32 B of device memory")])
def test_what_cannot_be_obeyed_is_refused(line: str, told: str, said: Said) -> None:
    status, text = said(line)
    assert status == 1
    assert told in text


@pytest.mark.parametrize(("line", "told"), [
    ("dataset '[4]i32' --i32-bounds -5:-5", "[-5i32, -5i32, -5i32, -5i32]"),
    ("doctor --device interpreter", "programs run in the interpreter."),
    ("run plain.fut -e main -- -3 -4", "-7.0f32"),
    ("run plain.fut -- -f32.inf 4", "-f32.inf"),
    ("run plain.fut 3 -4 --record", "this run met no choice between versions"),
    ("run plain.fut 3 4 --record --device interpreter", "the interpreter has none"),
    ("run rows.fut [[1]] --record", " 1 launch ("),
    ("explain rows.fut --schedule rows.schedule", "main:"),
    ("explain --schedule rows.schedule rows.fut", "main:"),
    ("rules --help", "print the rules of this file"),
    ("explain", "  anonymous-nonconstructive  a size")])
def test_what_is_obeyed(line: str, told: str, said: Said) -> None:
    status, text = said(line)
    assert status == 0
    assert told in text
    assert "is written" not in text


def test_doctor_obeys_the_variable(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNELIFT_DEVICE", "interpreter")
    assert "programs run in the interpreter." in said("doctor")[1]


def test_a_reader_of_a_profile_may_leave(said: Said) -> None:
    found = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m runelift profile rows.fut | head -1; "
                       "exit ${PIPESTATUS[0]}"], capture_output=True, text=True, check=False)
    assert (found.returncode, len(found.stdout.splitlines())) == (0, 1)


def test_commands_in_messages_are_written_as_they_are_now() -> None:
    shown = {(path.stem, line) for path in CODE for line in _commands(path)
             if path.stem not in RENAMED}
    assert len(shown) > 40
    wrong = [each for each in sorted(shown) if not _is_right(each[1])]
    assert wrong == []


def _commands(path: Path) -> Iterator[str]:
    """What stands in quotes and begins with ``runelift`` in the strings of a module."""
    text = path.read_text()
    if "'runelift " not in text and "`runelift " not in text:
        return
    for node in ast.walk(ast.parse(text)):
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        said = "".join(str(part.value) if isinstance(part, ast.Constant) else "X"
                       for part in parts if isinstance(part, ast.Constant | ast.FormattedValue))
        yield from re.findall(r"['`]runelift ([a-z][^'`\n]*)['`]", said)


def _is_right(line: str) -> bool:
    """True if a command exists and has these options, by their present names."""
    command, *words = line.split()
    if command in RENAMED or command not in COMMANDS:
        return False
    commands = next(each for each in make_parser(command)._actions
                    if isinstance(each, argparse._SubParsersAction))
    known = {name for each in commands.choices[command]._actions for name in each.option_strings
             if each.help != argparse.SUPPRESS} | {"--help"}
    return known.issuperset(word.partition("=")[0] for word in words if word.startswith("-"))
