"""Commands in odd surroundings: closed streams, names and locales, folders, foreign results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runelift.ir.base.errors import UserError
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tools.commands.rerun import doubtful
from runelift.runtime.tools.notebook.magic import load_ipython_extension
from runelift.runtime.tools.reports.two_tunings import two_tunings

PROGRAM = """\
-- ==
-- "a" input { [[1f32, 2f32], [3f32, 4f32]] }
entry main [n][m] (xss: [n][m]f32): [n]f32 = map (\\xs -> reduce (+) 0 xs) xss
"""
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
QUICK = ("--effort", "quick", "--no-verify", "--no-parameters", "--runs", "1")


def runelift(*arguments: Any, how: str = "", folder: Path | None = None, **variables: str
             ) -> subprocess.CompletedProcess[str]:
    """A command in a shell, ``how`` says where its streams come from and go to."""
    return subprocess.run(
        ["bash", "-c", f'exec "$@" {how}', "bash", sys.executable, "-P", "-m", "runelift",
         *map(os.fspath, arguments)], capture_output=True, text=True, errors="replace",
        check=False, cwd=folder, env={**os.environ, **variables}, stdin=subprocess.DEVNULL)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "p.fut"
    path.write_text(PROGRAM)
    (tmp_path / "in").write_text("[[1f32, 2f32]]")
    return path


@pytest.mark.parametrize("how", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams(how: str, program: Path) -> None:
    for command in (["check", program], ["run", program, "-i", program.with_name("in")],
                    ["test", "--interpreter", program], ["explain", program]):
        done = runelift(*command, how=how)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("name", "variables"), [(b"n\xff.fut", {}), ("é.fut".encode(), ASCII)])
def test_names_of_any_bytes(name: bytes, variables: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(name)
    path.write_text(PROGRAM)
    for command in (["check", path], ["check", f"{path}.missing"], ["dump", path],
                    ["autotune", path, *QUICK, "--html", tmp_path / "t.html"],
                    ["rerun", f"{path}.tuning.json"],
                    ["explain", path, "--html", tmp_path / "e.html"],
                    ["explain", path, "--html", tmp_path / "e.html", "--json"]):
        done = runelift(*command, **variables)
        assert done.returncode == (1 if ".missing" in str(command[1]) else 0), done.stderr
        assert "Traceback" not in done.stderr


def test_a_deleted_working_folder(program: Path, tmp_path: Path) -> None:
    """Caches are those of this test: to count the files of all tests takes half a minute."""
    own = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "caches"), "POCL_CACHE_DIR": ""}
    (tmp_path / "gone").mkdir()
    for command in (["check", "p.fut"], ["check", program], ["cache", "info"],
                    ["bench", "--runs", "2", program], ["test", program, "-j", "2"]):
        (tmp_path / "gone").mkdir(exist_ok=True)
        done = subprocess.run(
            ["bash", "-c", 'rmdir ../gone; exec "$@"', "bash", sys.executable, "-P", "-m",
             "runelift", *map(str, command)], cwd=tmp_path / "gone", capture_output=True,
            text=True, check=False, env=own if command[0] == "cache" else None)
        assert done.returncode == (1 if command[1] == "p.fut" else 0), done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("size", ["9" * 16, "9" * 4000, "9" * 5000])
def test_a_message_that_is_too_long(size: str) -> None:
    done = subprocess.run([sys.executable, "-P", "-m", "runelift", "lsp"], check=False, timeout=60,
                          input=f"Content-Length: {size}\r\n\r\n{{}}", capture_output=True,
                          text=True)
    assert done.returncode == 1
    assert "runelift: The editor" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("further", [(), ("--strategy", "instrumentation")])
def test_a_dataset_that_meets_no_choice_is_told(
        program: Path, further: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """The loop has no iteration, so no version runs."""
    program.write_text("""-- ==
-- "none" input { 0i64 [[1i64, 2i64]] }
-- "some" input { 1i64 [[1i64, 2i64]] }
entry main [n][m] (t: i64) (xss: [n][m]i64): [n]i64 =
  loop ys = replicate n 0 for _i < t do map2 (\\y xs -> y + i64.sum xs) ys xss
""")
    told = "Not used: none: its runs met no choice between versions"
    for only, status in (("none", 1), ("o", 0)):
        assert main(["autotune", str(program), *QUICK, "--only", only, *further]) == status
        assert told in capsys.readouterr().out
    assert main(["autotune", str(program), *QUICK, "--only", "some", *further]) == 0
    assert told not in capsys.readouterr().out


def test_nothing_is_measured(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The dataset has another output."""
    program.write_text(PROGRAM.replace("[3f32, 4f32]] }", "[3f32, 4f32]] } output { [0f32] }"))
    for further in ((), ("--json",)):
        assert main(["autotune", str(program), *QUICK, *further]) == 1
        assert "no dataset has times of all versions" in capsys.readouterr().err
    assert not program.with_name("p.fut.tuning").exists()


def test_a_quotation_without_an_end() -> None:
    class Shell:
        def register_magic_function(self, function: Any, _: str) -> None:
            self.function = function

    shell = Shell()
    load_ipython_extension(shell)
    with pytest.raises(UserError, match="no closing quotation"):
        shell.function("'", "entry main = 1i32")


DAMAGED = [None, [], {}, "x", 1, [1], [{}], [{"entry": 1}], [{"entry": "main", "dataset": []}],
           [{"entry": "main", "dataset": "a", "wall": "x", "seconds": [1]}],
           [{"entry": "main", "dataset": "a", "wall": [], "seconds": {"tuned": "x"}}],
           [{"entry": "main", "dataset": "a", "wall": ["a", None], "versions": 3,
             "seconds": {"tuned": [None]}}],
           [{"entry": "main", "dataset": "a", "wall": [0], "seconds": {"tuned": [1]},
             "versions": {"tuned": [1]}}]]


@pytest.mark.parametrize("damaged", DAMAGED, ids=range(len(DAMAGED)))
def test_results_that_are_damaged(damaged: Any, tmp_path: Path,
                                  capsys: pytest.CaptureFixture[str]) -> None:
    """They have no times to compare; what else they say still counts."""
    (tmp_path / "c.fut").write_text("entry main = 1i32")
    (tmp_path / "r.json").write_text(json.dumps({
        "command": ["check", str(tmp_path / "c.fut"), "--json"], "result": {"results": damaged}}))
    assert main(["rerun", str(tmp_path / "r.json")]) == 0
    capsys.readouterr()
    for name in ("a", "b"):
        (tmp_path / f"{name}.tuning").write_text("x=1\n")
        (tmp_path / f"{name}.tuning.json").write_text(json.dumps({"final": damaged}))
    two_tunings(tmp_path / "a.tuning", tmp_path / "b.tuning")


@pytest.mark.parametrize("options", [
    ["--strategy", "evilmod.S"], ["--strategy=evilmod.S:x=1"], ["--observe", "evilmod.S"],
    ["-oVICTIM"], ["--htm", "VICTIM"], ["--export-t", "VICTIM"], ["-voVICTIM"], ["--keep", "x"],
    ["--scheduler", "host:1"], ["--strat", "evilmod.S"]])
def test_results_of_others_do_nothing_unasked(options: list[str], program: Path, tmp_path: Path,
                                              monkeypatch: pytest.MonkeyPatch,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    """They import no module, and write to no file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evilmod.py").write_text("open('executed', 'w').close()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    before = {each.name for each in tmp_path.iterdir()}
    (tmp_path / "r.json").write_text(json.dumps({
        "command": ["autotune", "p.fut", *options, "--seed", "-1"]}))
    assert main(["rerun", str(tmp_path / "r.json")]) == 1
    assert "Give --yes if you trust" in capsys.readouterr().err
    assert {each.name for each in tmp_path.iterdir()} - before == {"r.json"}


def test_usual_options_are_not_asked_about() -> None:
    assert not list(doubtful(["autotune", "p.fut", "-r5", "-e", "main", "--seed=-1", "--seed", "-1",
                              "--budget", "30s", "--strategy", "random:tries=3", "-v"]))
