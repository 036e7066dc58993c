"""Stubs of programs: mypy knows entry points, and finds wrong arguments."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import runelift
from runelift.runtime.programs import functions
from runelift.runtime.tools.commands.cli import main

TEXT = """\
-- | Rows times a number, and \"\"\"quotes\"\"\" \\ slashes.
entry scaled [n][m] (k: f32) (xss: [n][m]f32): ([n][m]f32, i64) = (map (map (* k)) xss, n)
entry any (x: bool) (lambda: u8) (y: {a: i32}) = (x, lambda, y)
entry run (x: i32) = x
entry np (convert: i32) (out: i32) = convert + out
entry from' (x: i32) = x
"""
METHODS = ("__call__", "__get__", "vjp", "jvp", "grad", "value_and_grad", "hvp", "torch", "jax")
API = """\
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Literal, ParamSpec, Self, TypeVar, overload
TYPE_CHECKING = True
Argnums = int | Sequence[int] | None
class DeviceArray: ...
class Opaque: ...
class Tuned: ...
class EntryPoint:
""" + "".join(f"    def {name}{inspect.signature(getattr(runelift.EntryPoint, name))}: ...\n"
              for name in METHODS) + f"""\
class Program:
    def __getattr__{inspect.signature(runelift.Program.__getattr__)}: ...
    def tune{inspect.signature(runelift.Program.tune)}: ...
def compile(path: str) -> Program: ...
P =""" + inspect.getsource(functions).partition("\nP =")[2].partition("@takes")[0]
"""What users see of the package, with its own types: mypy would take seconds for all of it."""
PAGE = Path(__file__).parents[4] / "docs" / "python.md"
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
program.np(convert=1, out=2)
rows.scaled(2.0, doubles)  # wrong type of elements
program.scaled(2.0, xss, q=2)  # no such size
program.scaled("two", xss)  # no number
rows.scaled(2.0, doubles, convert=True, out=(good, None))[0].reshape(6)
rows.scaled.vjp(2.0, xss, seed=xss, argnums=(0,))[1]
rows.scaled.grad()(2.0), rows.scaled.value_and_grad(), rows.scaled.torch(), rows.scaled.jax()
program.tune({"small": [2.0, xss]}, entry="scaled")
rows.scaled(2.0, xss, out=(doubles, None))  # wrong type of elements
rows.scaled.vpj(2.0, xss)  # no such method
program.tune([2.0, xss])  # no names
good.reshape(6) + there  # an array on the device has no arithmetic
rows.skaled(2.0, xss)  # no such entry point
program.any(True, 3, 4)  # no opaque value
"""


DECORATED = """
doubled(np.arange(3.0))  # wrong type of elements
doubled(np.arange(3.0), convert=True).reshape(3)
doubled(np.arange(3, dtype=np.int32)).reshape(3)
doubled(np.arange(3, dtype=np.int32), device_arrays=True).get()
doubled.torch()
more(1)
"""


def page_example() -> str:
    """The decorated function that the page shows."""
    found = re.search(r"```python\n(import[^`]*@runelift\.fn.*?)```", PAGE.read_text(), re.S)
    assert found is not None
    return found[1]


def test_mypy_finds_wrong_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rows.fut").write_text(TEXT)
    assert main(["stubs", str(tmp_path / "rows.fut")]) == 0
    assert capsys.readouterr().out == f"Written: {tmp_path / 'rows.pyi'}\n"
    (tmp_path / "runelift.pyi").write_text(API)
    text = USE + page_example() + DECORATED
    (tmp_path / "use.py").write_text(text)
    ran = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-error-summary",
                          "--hide-error-context", "--cache-dir", str(tmp_path / "cache"),
                          "use.py", "rows.pyi"], cwd=tmp_path, capture_output=True, text=True)
    found = {int(line) for line in re.findall(r"^use\.py:(\d+): error", ran.stdout, re.M)}
    wanted = {number for number, line in enumerate(text.splitlines(), start=1)
              if "  # " in line and "never" not in line}
    assert (found, "rows.pyi" in ran.stdout) == (wanted, False), ran.stdout + ran.stderr


def test_stubs_name_what_there_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rows.fut").write_text(TEXT)
    assert main(["stubs", str(tmp_path / "rows.fut"), "-o", "-"]) == 0
    text = capsys.readouterr().out
    names = set(re.findall(r"runelift\.(\w+)", text)) - {"fut"}
    assert {"Program", "EntryPoint", "DeviceArray", "Opaque"} == names <= set(runelift.__all__)
    assert '# program["run"] is not typed.' in text
    assert '# program["from\'"] is not typed.' in text
    assert "quotes''' \\\\ slashes" in text
    assert main(["stubs", str(tmp_path / "rows.fut"), "-o", "-", "--json"]) == 0
    entry = json.loads(capsys.readouterr().out)["result"]["entries"]["scaled"]
    assert entry["sizes"] == ["n", "m"]
    assert [(each["name"], each["written"]) for each in entry["params"]] == [
        ("k", "f32"), ("xss", "[n][m]f32")]
