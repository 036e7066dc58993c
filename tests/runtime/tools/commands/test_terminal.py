"""The look of the command line: help, colours, width, completion, JSON, and the demo."""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from runelift.runtime.data.text import format_value
from runelift.runtime.programs import first_call
from runelift.runtime.records.format import table, tables_within
from runelift.runtime.tools.commands import completion, progress
from runelift.runtime.tools.commands.cli import COMMANDS, EXAMPLES, main, make_parser
from runelift.runtime.tools.commands.styles import fitted, show

ROOT = Path(__file__).parents[4]
WRONG = "def f (x: i32): i64 = x\nentry main [n] (xs: [n]f32): [n]f32 = map (\\x -> x + y) xs\n"


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def usual(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


# Help


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help_ends_with_examples_that_parse(command: str | None,
                                            capsys: pytest.CaptureFixture[str]) -> None:
    name = str(command).replace("-", "_")
    examples = EXAMPLES if command is None else import_module(
        f"runelift.runtime.tools.commands.{name}").EXAMPLES
    with pytest.raises(SystemExit):
        main(["--help"] if command is None else [command, "--help"])
    assert capsys.readouterr().out.splitlines()[-len(examples):] == [f"  {e}" for e in examples]
    assert len(examples) >= 2
    for example in examples:
        words = shlex.split(example, comments=True)
        words = words[words.index("runelift") + 1:]
        ends = [words.index(each) for each in (">", "|", "<") if each in words]
        args = make_parser(words[0]).parse_args(words[:min(ends, default=None)])
        assert command in (None, args.command)
        for word in words:
            if word.startswith("examples/") and not word.endswith(".tuning.log"):
                assert (ROOT / word).exists()


def test_help_follows_the_width(capsys: pytest.CaptureFixture[str],
                                monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    for command in ("test", "tune-compare"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        text = capsys.readouterr().out.partition("\nexamples:")[0]
        assert max(len(line) for line in text.splitlines() if "{" not in line) <= 72


# Colours and width


@pytest.mark.parametrize(("terminal", "variables", "coloured"), [
    (True, {}, True), (False, {}, False), (True, {"NO_COLOR": "1"}, False),
    (True, {"TERM": "dumb"}, False), (False, {"FORCE_COLOR": "1"}, True),
    (False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)])
def test_colours(terminal: bool, variables: dict[str, str], coloured: bool,
                 monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    out = Screen() if terminal else io.StringIO()
    show("runelift: p.fut:1:2: error[unknown-name]: Unknown.\n└─ true: V1", out)
    assert ("\x1b[" in out.getvalue()) == coloured
    plain = re.sub(r"\x1b\[[\d;]*m", "", out.getvalue())
    assert plain == "runelift: p.fut:1:2: error[unknown-name]: Unknown.\n└─ true: V1\n"


def test_gains_have_a_colour_and_what_stays_has_none() -> None:
    out = Screen()
    show("wide  2.80×\ntall  1.00×\nthin  1.04×", out)
    wide, tall, thin = out.getvalue().splitlines()
    assert "\x1b[32m2.80×" in wide
    assert "\x1b[2m1.00×" in tall
    assert "\x1b[2m1.04×" in thin


def test_names_cannot_steer_the_terminal() -> None:
    out = Screen()
    show("p\x1b[2J.fut: V1", out)
    assert "p\\x1b[2J.fut" in out.getvalue()
    assert "\x1b[2J" not in out.getvalue()


def test_errors_follow_the_width(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                 monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.chdir(tmp_path)
    Path("p.fut").write_text("entry main (x: i32): i32 =" + " x +" * 30 + " unknown + x" * 3 + "\n")
    assert main(["check", "p.fut"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert max(map(len, lines)) <= 50
    for number, line in enumerate(lines):
        if "^" in line:
            start = line.index("^")
            assert lines[number - 1][start:start + 7] == "unknown"


def test_paragraphs_are_filled_and_programs_stay(capsys: pytest.CaptureFixture[str],
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    main(["explain", "size-mismatch"])
    text = capsys.readouterr().out
    assert "\n    entry main [n] [m] (xs: [n]i32) (ys: [m]i32): [n]i32 = map2 (+) xs ys\n" in text
    prose = text.split("\n\n")[1].splitlines()
    assert max(map(len, prose)) <= 40
    assert min(map(len, prose[:-1])) > 25


def test_branches_of_trees_go_on_beside_them() -> None:
    assert fitted("│  ├─ false: one two three four five", 26).split("\n") == [
        "│  ├─ false: one two three", "│  │         four five"]


def test_columns_that_do_not_fit_stand_below() -> None:
    rows = [["name", *(f"column {k}" for k in range(9))], ["main", *"123456789"]]
    with tables_within(40):
        found = table(rows, "  ")
    assert max(map(len, found.splitlines())) <= 40
    assert [line.split()[0] for line in found.splitlines() if line] == ["name", "main"] * 3
    assert all(str(k) in found for k in range(1, 10))
    assert len(table(rows).splitlines()) == 2


# Progress


def test_a_line_per_program_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, value in (("a", 3), ("b", 4)):
        (tmp_path / f"{name}.fut").write_text(
            f"-- ==\n-- input {{ 2 }} output {{ {value} }}\nentry main (x: i32) = x + 1\n")
    assert main(["test", "--interpreter", str(tmp_path)]) == 1
    found = capsys.readouterr()
    assert found.err.splitlines() == [
        f"tested {tmp_path}/a.fut: 1 passed, 0 failed, 0 skipped (1/2)",
        f"tested {tmp_path}/b.fut: 0 passed, 1 failed, 0 skipped (2/2)"]
    assert found.out.splitlines()[-1] == "1 passed, 1 failed, 0 skipped"


def test_what_takes_long_shows_that_it_goes_on(monkeypatch: pytest.MonkeyPatch,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "REMINDER", 0.01)
    with progress.waiting("interpreting main"):
        time.sleep(0.1)
    assert capsys.readouterr().err.startswith("interpreting main: ")
    with progress.waiting("interpreting main"):
        pass
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("command", "said"), [
    (("literate",), "computing the values of f.fut: "),
    (("export", "-o", "made"), "building the kernels of f.fut: ")])
def test_commands_that_take_long_show_that_they_go_on(
        command: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "REMINDER", 0.001)
    Path("f.fut").write_text("-- > f [1, 2]\n\nentry f [n] (xs: [n]i32) = map (+ 1) xs\n")
    assert main([*command, "f.fut"]) == 0
    assert capsys.readouterr().err.startswith(said)


def test_a_long_first_run_shows_what_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch
                                              ) -> None:
    screen = Screen()
    monkeypatch.setattr(first_call, "PATIENCE", 0.0001)
    monkeypatch.setattr(sys, "stderr", screen)
    path = tmp_path / "f.fut"
    path.write_text("entry f [n] (xs: [n]i32): i32 = loop a = 77 for x in xs do a / 3 + x\n")
    assert main(["run", str(path), "[1, 2]", "--device", "Portable"]) == 0
    assert "first call of 'f'" in screen.getvalue()


def test_the_bar_gives_way_to_what_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.console import Console

    from runelift.runtime.tools.commands.terminal import Terminal

    out = Screen()
    with Terminal(Console(file=out, force_terminal=True, width=70)) as shown:
        shown.counted("tested a.fut: 1 passed", 1, 2, "1 passed")
        with shown.aside():
            out.write("FAILED\n")
    before, _, after = out.getvalue().partition("FAILED\n")
    assert "1 passed" in before
    assert before.endswith("\x1b[2K")  # the bar's line is empty
    assert "50%" in before + after


def test_results_reach_their_file_while_a_bar_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    from runelift.runtime.tools.commands.terminal import Terminal

    screen = Screen()
    with Terminal(Console(file=screen, force_terminal=True, width=70)):
        print("result")
    assert capsys.readouterr().out == "result\n"
    assert "result" not in screen.getvalue()


# JSON


def with_json() -> Iterator[str]:
    for command in COMMANDS:
        parser = argparse.ArgumentParser()
        name = command.replace("-", "_")
        import_module(f"runelift.runtime.tools.commands.{name}").configure(parser)
        if "--json" in parser._option_string_actions:
            yield command


def test_commands_with_text_have_json() -> None:
    assert set(COMMANDS) - set(with_json()) <= {
        "run", "dataset", "completion", "lsp", "repl", "export", "literate"}


@pytest.mark.parametrize("command", list(with_json()))
def test_errors_have_one_form(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([command, "--json", "--nonsense", "x", "y"])
    assert stop.value.code == 1
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["format", "command", "versions", "errors", "warnings", "result"]
    assert found["command"] == [command, "--json", "--nonsense", "x", "y"]
    assert (len(found["errors"]), found["result"]) == (1, None)


def test_errors_and_results_of_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]
                                        ) -> None:
    path = tmp_path / "p.fut"
    path.write_text(WRONG)
    assert main(["check", str(path), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [(e["code"], e["line"], e["column"], e["end_column"]) for e in found["errors"]] == [
        ("type-mismatch", 1, 23, 24), ("unknown-name", 2, 54, 55)]
    path.write_text("entry main (x: i32): i32 = x\n")
    assert main(["dump", str(path), "--json", "--stage", "tree"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["errors"], found["warnings"]) == ([], [])
    assert found["result"]["text"] == "main: one version, no thresholds"
    assert found["versions"]["python"].count(".") == 2


# Completion


def completed(*words: str) -> set[str]:
    """The words that bash would offer for the last one."""
    script = completion.bash(completion.commands()) + f"""
COMP_WORDS=({" ".join(map(shlex.quote, words))}); COMP_CWORD={len(words) - 1}
_runelift; printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    found = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True,
                           cwd=ROOT)
    assert found.stderr == ""
    return set(found.stdout.split())


def test_bash_completes() -> None:
    assert completed("runelift", "du") == {"dump"}
    assert completed("runelift", "") >= set(COMMANDS)
    assert completed("runelift", "dump", "--stage", "k") == {"kernels"}
    assert completed("runelift", "dump", "--st") == {"--stage"}
    assert completed("runelift", "cache", "cl") == {"clear"}
    assert completed("runelift", "explain", "size-m") == {"size-mismatch"}
    assert completed("runelift", "explain", "exa") == {"examples"}
    assert completed("runelift", "explain", "--ke") == {"--kernel"}
    assert completed("runelift", "check", "examples/matm") == {"examples/matmul.fut"}


@pytest.mark.parametrize(("shell", "write"), [
    ("zsh", completion.zsh), ("fish", completion.fish)])
def test_other_shells_know_all_options(
        shell: str, write: Callable[[list[completion.Command]], str], tmp_path: Path) -> None:
    known = completion.commands()
    text = write(known)
    for command in known:
        assert command.name in text
        for option in command.options:
            for name in option.names:
                assert (name if shell == "zsh" else f" {name[1:3].strip('-')}") in text
    assert {"--stage", "--all-versions"} <= {
        name for command in known for option in command.options for name in option.names}
    if shutil.which(shell) is not None:
        (tmp_path / "script").write_text(text)
        subprocess.run([shell, "-n", str(tmp_path / "script")], check=True)


# The demo


def test_the_demo_gains_something(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["demo", "--device", "pocl", "--keep", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines[-3:]] == ["Tried", "Gained", "Sure"]
    assert re.match(r"Tried:  3 versions of one program on 3 shapes of data in \d+ s;", lines[-3])
    assert {"rows.fut", "rows.fut.tuning", "rows.html"} <= {
        each.name for each in tmp_path.iterdir()}


def test_the_demo_without_a_device(tmp_path: Path) -> None:
    """Without a linker PoCL cannot be used; it is said once, with the cure."""
    (tmp_path / "bin").mkdir()
    done = subprocess.run([sys.executable, "-m", "runelift", "demo"], capture_output=True,
                          text=True, check=False,
                          env={**os.environ, "PATH": str(tmp_path / "bin")})
    assert done.returncode == 0
    assert done.stdout.splitlines()[-2].startswith("Gained: the right result, " + expected_result())
    assert done.stderr.count("the interpreter runs instead") == 1
    assert "hint: apt-get install binutils" in done.stderr


def expected_result() -> str:
    """The result of the demo by NumPy."""
    return format_value((np.array([[1, 2, 3], [4, 5, 6]], np.float32) ** 2).sum(axis=1))
