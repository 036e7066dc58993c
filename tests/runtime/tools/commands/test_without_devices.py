"""Commands on machines that lack the linker, OpenCL runtimes, or PyOpenCL's library.

Each runs in a process of its own: the interpreter takes over, or clear words say what is missing.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
MATMUL = str(ROOT / "examples" / "matmul.fut")
MATRICES = "[[1f32, 2f32], [3f32, 4f32]] [[1f32, 0f32], [0f32, 1f32]]"
ROWS = """\
-- ==
-- input { [[1f32, 2f32], [3f32, 4f32]] } output { [3f32, 7f32] }
entry main [n][m] (xss: [n][m]f32): [n]f32 = map f32.sum xss
"""
NO_RUNTIMES = """
import os, pyopencl
os.environ["PYOPENCL_HOME"] = os.environ["OCL_ICD_VENDORS"]  # where its loader looks, too
"""
BROKEN_BINDINGS = 'raise ImportError("libOpenCL.so.1: cannot open shared object file")\n'
INTERPRETED = "the interpreter runs instead"


def without_linker(folder: Path) -> dict[str, str]:
    return {"PATH": str(folder)}


def without_runtimes(folder: Path) -> dict[str, str]:
    """PyOpenCL, whose loader finds no runtime."""
    (folder / "sitecustomize.py").write_text(NO_RUNTIMES)
    (folder / "vendors").mkdir()
    return {"OCL_ICD_VENDORS": str(folder / "vendors"), "PYTHONPATH": str(folder)}


def without_bindings(folder: Path) -> dict[str, str]:
    """PyOpenCL that cannot be imported."""
    (folder / "pyopencl").mkdir()
    (folder / "pyopencl" / "__init__.py").write_text(BROKEN_BINDINGS)
    return {"PYTHONPATH": str(folder)}


WHY = {without_linker: ("PoCL needs the linker 'ld', which is not on PATH",
                        "hint: apt-get install binutils"),
       without_runtimes: ("none is installed", "hint: 'pip install \"pyopencl[pocl]\"' brings"),
       without_bindings: ("PyOpenCL cannot be imported: libOpenCL.so.1: cannot open",
                          "hint: 'pip install --force-reinstall \"pyopencl[pocl]\"' brings")}


class Machine:
    """A machine that lacks something, with a cache of its own."""

    def __init__(self, lacks: Callable[[Path], dict[str, str]], folder: Path) -> None:
        (folder / "lacks").mkdir()
        self.why, self.hint = WHY[lacks]
        self.rows = folder / "rows.fut"
        self.rows.write_text(ROWS)
        self._environment = {**os.environ, "RUNELIFT_CACHE": str(folder / "cache"),
                             **lacks(folder / "lacks")}
        self._environment.pop("RUNELIFT_DEVICE", None)

    def run(self, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command, which neither crashes nor shows frames."""
        done = subprocess.run([sys.executable, "-m", "runelift", *arguments], input=given,
                              capture_output=True, text=True, check=False, env=self._environment)
        assert done.returncode in (0, 1), done.stderr
        assert "Traceback" not in done.stderr
        return done

    def interpreted(self, *arguments: str, given: str = "") -> str:
        """The output of a command that succeeds by the interpreter, and says so once."""
        done = self.run(*arguments, given=given)
        assert done.returncode == 0, done.stderr
        assert done.stderr.count(INTERPRETED) == 1
        assert self.why in done.stderr
        assert done.stderr.count(self.hint) == 1
        return done.stdout

    def refused(self, *arguments: str) -> str:
        """What is said of a command that needs a device; the reason and the cure, once."""
        done = self.run(*arguments)
        assert done.returncode == 1
        assert done.stderr.count(self.why) == 1
        assert done.stderr.count(self.hint) == 1
        return done.stderr


@pytest.fixture(params=WHY, ids=lambda lacks: lacks.__name__)
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Machine:
    return Machine(request.param, tmp_path)


def test_a_program_runs(machine: Machine) -> None:
    assert machine.interpreted("run", MATMUL, given=MATRICES) == (
        "[[1.0f32, 2.0f32], [3.0f32, 4.0f32]]\n")


def test_the_demo(machine: Machine) -> None:
    assert "Gained: the right result, " in machine.interpreted("demo")


def test_programs_are_tested(machine: Machine) -> None:
    for options in ((), ("--all-versions",), ("-j", "2")):
        assert "1 passed, 0 failed" in machine.interpreted("test", *options, str(machine.rows))
    assert "--check-races keeps arrays on a device" in machine.refused(
        "test", "--check-races", str(machine.rows))


def test_programs_are_timed(machine: Machine) -> None:
    assert "on interpreter" in machine.interpreted("bench", str(machine.rows))


@pytest.mark.parametrize("command", ["autotune", "profile"])
def test_what_needs_a_device_says_so(command: str, machine: Machine) -> None:
    told = machine.refused(command, str(machine.rows))
    assert any(each in told for each in ("Tuning needs an OpenCL device", "needs a device",
                                         f"'{command}' needs OpenCL, and PyOpenCL")), told


def test_the_doctor_says_what_is_missing(machine: Machine) -> None:
    done = machine.run("doctor")
    assert done.returncode == 1
    assert "No OpenCL device can be used; programs are interpreted" in done.stdout
    assert machine.hint in done.stdout
