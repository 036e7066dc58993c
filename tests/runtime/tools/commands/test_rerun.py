"""``runelift rerun``: the command of a result, again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runelift.runtime.tools.commands.cli import main

PROGRAM = """\
-- ==
-- input { [[1f32, 2f32], [3f32, 4f32]] }
entry main [n][m] (xss: [n][m]f32): [n]f32 = map (\\xs -> reduce (+) 0 xs) xss
"""
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def execute(*arguments: object) -> tuple[int, str, str]:
        status = main([*map(str, arguments)])
        return status, *capsys.readouterr()

    return execute


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "p.fut"
    path.write_text(PROGRAM)
    return path


def result(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content))
    return path


def test_what_differs_is_told(program: Path, tmp_path: Path, run: Run) -> None:
    """The program has got an error since."""
    program.write_text("entry main (x: i64) = y\n")
    recorded = result(tmp_path / "r.json", {
        "command": ["check", str(program), "--json"], "versions": {"numpy": "0.1"}, "result": []})
    status, out, err = run("rerun", recorded)
    assert status == 0
    assert f"running: runelift check {program} --json" in err
    assert "numpy" in out
    assert "0.1" in out
    assert "Values that differ" in out


def test_a_tuning_is_repeated_elsewhere(program: Path, run: Run) -> None:
    command = ["autotune", str(program), "--effort", "quick", "--no-verify", "--runs", "1",
               "--time-limit", "none"]
    assert main(command) == 0
    facts = program.with_name("p.fut.tuning.json")
    before = facts.read_text()
    recorded = json.loads(before)
    assert recorded["command"] == command
    assert recorded["seed"] == 0
    assert {"numpy", "runelift", "pyopencl"} <= recorded["versions"].keys()
    status, out, _ = run("rerun", facts)
    assert status == 0
    assert "no times to compare now with recorded" in out
    assert facts.read_text() == before


@pytest.mark.parametrize(("content", "message"), [
    ([], "should be a JSON object"), ({}, "does not say by which command"),
    ({"command": ["cache", "clear"]}, "'cache' is not repeated")])
def test_what_cannot_be_repeated(tmp_path: Path, run: Run, content: Any, message: str) -> None:
    status, _, err = run("rerun", result(tmp_path / "r.json", content))
    assert status == 1
    assert message in err
