"""Commands on machines that lack the linker, OpenCL runtimes, or PyOpenCL's library.

The interpreter takes over, or clear words say what is missing.  A first command of each machine
starts Python anew.  The others are copies of a process on that machine that has imported the
compiler, but nothing of devices.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.warm_commands import WarmCommands

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
    """A machine that lacks something."""

    def __init__(self, lacks: Callable[[Path], dict[str, str]], folder: Path) -> None:
        (folder / "lacks").mkdir()
        self.why, self.hint = WHY[lacks]
        self.environment = {**os.environ, **lacks(folder / "lacks")}
        self.environment.pop("RUNELIFT_DEVICE", None)
        self.commands = WarmCommands(self.environment, folder)


class Commands:
    """Commands on a machine, with a cache of their own."""

    def __init__(self, machine: Machine, folder: Path) -> None:
        self.why, self.hint = machine.why, machine.hint
        self.rows = folder / "rows.fut"
        self.rows.write_text(ROWS)
        self._machine = machine
        self._cache = str(folder / "cache")

    def run(self, *arguments: str, given: str = "", anew: bool = False
            ) -> subprocess.CompletedProcess[str]:
        """Run a command, which neither crashes nor shows frames; ``anew``: Python starts, too."""
        if anew:
            done = subprocess.run(
                [sys.executable, "-m", "runelift", *arguments], input=given, capture_output=True,
                text=True, check=False,
                env={**self._machine.environment, "RUNELIFT_CACHE": self._cache})
        else:
            done = self._machine.commands.run(*arguments, given=given, RUNELIFT_CACHE=self._cache)
        assert done.returncode in (0, 1), done.stderr
        assert "Traceback" not in done.stderr
        return done

    def interpreted(self, *arguments: str, given: str = "", anew: bool = False) -> str:
        """The output of a command that succeeds by the interpreter, and says so once."""
        done = self.run(*arguments, given=given, anew=anew)
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


@pytest.fixture(scope="module", params=WHY, ids=lambda lacks: lacks.__name__)
def machine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
            ) -> Iterator[Machine]:
    found = Machine(request.param, tmp_path_factory.mktemp("machine"))
    yield found
    found.commands.close()


@pytest.fixture
def commands(machine: Machine, tmp_path: Path) -> Commands:
    return Commands(machine, tmp_path)


def test_a_program_runs(commands: Commands) -> None:
    for anew in (True, False):
        assert commands.interpreted("run", MATMUL, given=MATRICES, anew=anew) == (
            "[[1.0f32, 2.0f32], [3.0f32, 4.0f32]]\n")


def test_the_demo(commands: Commands) -> None:
    assert "Gained: the right result, " in commands.interpreted("demo")


def test_programs_are_tested(commands: Commands) -> None:
    for options in ((), ("--all-versions",), ("-j", "2")):
        assert "1 passed, 0 failed" in commands.interpreted("test", *options, str(commands.rows))
    assert "--check-races keeps arrays on a device" in commands.refused(
        "test", "--check-races", str(commands.rows))


def test_programs_are_timed(commands: Commands) -> None:
    assert "on interpreter" in commands.interpreted("bench", str(commands.rows))


@pytest.mark.parametrize("command", ["autotune", "profile"])
def test_what_needs_a_device_says_so(command: str, commands: Commands) -> None:
    told = commands.refused(command, str(commands.rows))
    assert any(each in told for each in ("Tuning needs an OpenCL device", "needs a device",
                                         f"'{command}' needs OpenCL, and PyOpenCL")), told


def test_the_doctor_says_what_is_missing(commands: Commands) -> None:
    done = commands.run("doctor")
    assert done.returncode == 1
    assert "No OpenCL device can be used; programs are interpreted" in done.stdout
    assert commands.hint in done.stdout
