"""``runelift fmt``: files in place, folders, standard input, and what it leaves alone."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from runelift.runtime.tools.commands.cli import main

MESSY, CLEAN = "def f(x:i32)=x+1  -- more\n", "def f (x: i32) = x + 1  -- more\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "messy.fut").write_text(MESSY)
    (tmp_path / "clean.fut").write_text(CLEAN)
    (tmp_path / "note.txt").write_text(MESSY)
    return tmp_path


def test_files_are_written_in_place(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    messy = folder / "in" / "messy.fut"
    messy.chmod(0o640)
    assert main(["fmt", str(folder)]) == 0
    assert capsys.readouterr().out == f"{messy} is formatted.\n"
    assert messy.read_text() == CLEAN
    assert messy.stat().st_mode & 0o777 == 0o640
    assert (folder / "note.txt").read_text() == MESSY
    assert sorted(path.name for path in (folder / "in").iterdir()) == ["messy.fut"]
    assert main(["fmt", str(folder)]) == 0
    assert capsys.readouterr().out == ""


def test_check_and_diff_write_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    messy = folder / "in" / "messy.fut"
    assert main(["fmt", "--check", str(folder)]) == 1
    assert capsys.readouterr().out == f"{messy} would change.\n"
    assert main(["fmt", "--check", str(folder / "clean.fut")]) == 0
    assert main(["fmt", "--diff", str(folder)]) == 0
    said = capsys.readouterr().out
    assert f"-{MESSY}+{CLEAN}" in said
    assert messy.read_text() == MESSY


def test_json_holds_the_differences(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fmt", "--check", "--json", str(folder)]) == 1
    (change,) = json.loads(capsys.readouterr().out)["result"]["changed"]
    assert change["file"].endswith("messy.fut")
    assert f"-{MESSY}+{CLEAN}" in change["diff"]


def test_links_stay_links(folder: Path) -> None:
    link = folder / "link.fut"
    link.symlink_to(folder / "in" / "messy.fut")
    assert main(["fmt", str(link)]) == 0
    assert link.is_symlink()
    assert link.read_text() == CLEAN


def test_standard_input(monkeypatch: pytest.MonkeyPatch,
                        capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["-"]):
        stream = io.TextIOWrapper(io.BytesIO(MESSY.replace("\n", "\r\n").encode()))
        monkeypatch.setattr("sys.stdin", stream)
        assert main(["fmt", *arguments]) == 0
        assert capsys.readouterr().out == CLEAN


def test_a_wrong_file_is_left_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = folder / "in" / "wrong.fut"
    wrong.write_text("def f(x:i32)=")
    assert main(["fmt", str(folder / "in")]) == 1
    said = capsys.readouterr()
    assert "wrong.fut:1:14: error[syntax-error]" in said.err
    assert wrong.read_text() == "def f(x:i32)="
    assert (folder / "in" / "messy.fut").read_text() == CLEAN
    (folder / "none").mkdir()
    for path in ("no.fut", "none"):
        assert main(["fmt", str(folder / path)]) == 1
