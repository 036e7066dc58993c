"""Stubs of programs: mypy knows entry points, and finds wrong arguments."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import runelift
from runelift.runtime.tools.commands.cli import main

TEXT = """\
-- | Rows times a number, and \"\"\"quotes\"\"\" \\ slashes.
entry scaled [n][m] (k: f32) (xss: [n][m]f32): ([n][m]f32, i64) = (map (map (* k)) xss, n)
entry any (x: bool) (lambda: u8) (y: {a: i32}) = (x, lambda, y)
entry run (x: i32) = x
entry from' (x: i32) = x
"""
API = """\
from typing import Any
class DeviceArray: ...
class Opaque: ...
class Program: ...
def compile(path: str) -> Program: ...
"""
"""What stubs need of the package: mypy would take seconds for all of it."""
USE = """\
from typing import cast
import numpy as np
import numpy.typing as npt
import runelift
import rows

xss: npt.NDArray[np.float32] = np.ones((2, 3), np.float32)
doubles = np.ones((2, 3))
good, count = rows.scaled(2.0, xss, n=2)
there, _ = rows.scaled(np.float32(1), xss, device_arrays=True)
rows.scaled(2.0, there)
program = cast(rows.Program, runelift.compile("rows.fut"))
program.any(True, 3, runelift.Opaque())
rows.scaled(2.0, doubles)  # wrong type of elements
program.scaled(2.0, xss, q=2)  # no such size
program.scaled("two", xss)  # no number
good.reshape(6) + there  # an array on the device has no arithmetic
rows.skaled(2.0, xss)  # no such entry point
program.any(True, 3, 4)  # no opaque value
"""


def test_mypy_finds_wrong_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rows.fut").write_text(TEXT)
    assert main(["stubs", str(tmp_path / "rows.fut")]) == 0
    assert capsys.readouterr().out == f"Written: {tmp_path / 'rows.pyi'}\n"
    (tmp_path / "runelift.pyi").write_text(API)
    (tmp_path / "use.py").write_text(USE)
    ran = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-error-summary",
                          "--hide-error-context", "--cache-dir", str(tmp_path / "cache"),
                          "use.py", "rows.pyi"], cwd=tmp_path, capture_output=True, text=True)
    found = {int(line) for line in re.findall(r"^use\.py:(\d+): error", ran.stdout, re.M)}
    wanted = {number for number, line in enumerate(USE.splitlines(), start=1) if "  # " in line}
    assert (found, "rows.pyi" in ran.stdout) == (wanted, False), ran.stdout + ran.stderr


def test_stubs_name_what_there_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rows.fut").write_text(TEXT)
    assert main(["stubs", str(tmp_path / "rows.fut"), "-o", "-"]) == 0
    text = capsys.readouterr().out
    names = set(re.findall(r"runelift\.(\w+)", text)) - {"fut"}
    assert {"Program", "DeviceArray", "Opaque"} == names <= set(runelift.__all__)
    assert '# program["run"] is not typed.' in text
    assert '# program["from\'"] is not typed.' in text
    assert "quotes''' \\\\ slashes" in text
    assert main(["stubs", str(tmp_path / "rows.fut"), "-o", "-", "--json"]) == 0
    entry = json.loads(capsys.readouterr().out)["result"]["entries"]["scaled"]
    assert entry["sizes"] == ["n", "m"]
    assert [(each["name"], each["written"]) for each in entry["params"]] == [
        ("k", "f32"), ("xss", "[n][m]f32")]
