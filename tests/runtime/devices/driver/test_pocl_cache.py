"""PoCL's cache: full disks, folders that cannot be written to, and damaged kernels."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from runelift.runtime.devices.driver import crash_marks, pocl_cache
from runelift.runtime.devices.info import find_devices

PROGRAM = """\
-- ==
-- input { [[1f32, 2f32], [3f32, 4f32]] } output { [6f32, 14f32] }
entry main [n][m] (xss: [n][m]f32): [n]f32 = map (\\xs -> reduce (+) 0 (map (* 2) xs)) xss
"""
RESULT = "[6.0f32, 14.0f32]\n"
FULL = """
import os, sys
from runelift.runtime.devices.driver import pocl_cache
pocl_cache.LEAST_FREE = 1 << 60
"""
"""Code before a command that takes every disk for a full one."""
needs_pocl = pytest.mark.skipif(not any("Portable" in d.platform for d in find_devices()),
                                reason="PoCL is not installed")


class Machine:
    """A folder with a program, its data and two caches."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.kernels = folder, folder / "pocl"
        (folder / "p.fut").write_text(PROGRAM)
        (folder / "in").write_text("[[1f32, 2f32], [3f32, 4f32]]")
        self.caches = 0

    def runelift(self, *arguments: str, code: str = "", **variables: str
                 ) -> subprocess.CompletedProcess[str]:
        """Run a command with a new cache of Runelift and the cache of PoCL."""
        self.caches += 1
        return subprocess.run(
            [sys.executable, "-P", "-c", code + "\nimport sys\n"
             "from runelift.runtime.tools.commands.start import main; sys.exit(main())",
             *arguments], cwd=self.folder, capture_output=True, text=True, check=False,
            env={**os.environ, "RUNELIFT_CACHE": str(self.folder / f"cache{self.caches}"),
                 "RUNELIFT_DEVICE": "pocl", pocl_cache.VARIABLE: str(self.kernels), **variables})

    def damage(self) -> None:
        """Cut all kernels short, as a full disk does."""
        found = list(self.kernels.rglob("*.so"))
        assert found
        for each in found:
            os.truncate(each, 5000)

    def script(self, code: str = "", then: str = "", **variables: str
               ) -> subprocess.CompletedProcess[str]:
        """Run a user's own program: ``code``, a call of a compiled program, and ``then`` more."""
        self.caches += 1
        (self.folder / "user.py").write_text(
            f"{code}\nimport numpy as np, runelift\n"
            "print(runelift.compile('p.fut', device='pocl').main("
            "np.array([[1, 2], [3, 4]], np.float32)))\n" + then)
        return subprocess.run(
            [sys.executable, "user.py"], cwd=self.folder, capture_output=True, text=True,
            check=False, env={**os.environ, "RUNELIFT_CACHE": str(
                self.folder / f"cache{self.caches}"), pocl_cache.VARIABLE: str(self.kernels),
                **variables})


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache of PoCL after a script."""
    found = Machine(tmp_path_factory.mktemp("kernels"))
    assert found.script().returncode == 0
    return found.kernels


RUN = ("run", "p.fut", "-i", "in")
TUNE = ("autotune", "p.fut", "--effort", "quick", "--no-verify", "--no-parameters")


@needs_pocl
def test_a_damaged_cache_is_replaced(machine: Machine) -> None:
    assert machine.runelift(*RUN).stdout == RESULT
    machine.damage()
    again = machine.runelift(*RUN)
    assert (again.returncode, again.stdout) == (0, RESULT)
    assert f"'{machine.kernels}' was damaged, and is now '{machine.kernels}.damaged'" in (
        again.stderr)
    assert machine.runelift(*RUN).stderr == ""


@needs_pocl
def test_a_damaged_cache_is_replaced_in_a_tuning(machine: Machine) -> None:
    assert machine.runelift(*TUNE).returncode == 0
    machine.damage()
    again = machine.runelift(*TUNE)
    assert again.returncode == 0
    assert again.stderr.count("is tried once more") == 1
    assert "crash" not in again.stdout


def test_a_crash_that_comes_again_is_explained(machine: Machine) -> None:
    """The cache is not to blame: it stays."""
    (machine.kernels / "x").mkdir(parents=True)
    crash = "import os, signal\nfrom runelift.runtime.tools.commands import cli\n" \
            "cli._execute = lambda _: os.kill(os.getpid(), signal.SIGSEGV)"
    done = machine.runelift(*RUN, code=crash)
    assert done.returncode == -11
    assert "SIGSEGV ended the command: native code failed" in done.stderr
    assert "tried twice" in done.stderr
    assert [each.name for each in machine.folder.glob("pocl*")] == ["pocl"]
    assert (machine.kernels / "x").exists()


def test_a_command_that_has_printed_or_writes_files_is_not_repeated(machine: Machine) -> None:
    (machine.kernels / "x").mkdir(parents=True)
    crash = "import os, signal\nfrom runelift.runtime.tools.commands import cli\n" \
            "cli._execute = lambda _: (print('x'), os.kill(os.getpid(), signal.SIGSEGV))"
    for arguments in (RUN, TUNE):
        done = machine.runelift(*arguments, code=crash)
        assert (done.returncode, done.stdout) == (-11, "x\n")
        assert "twice" not in done.stderr


@needs_pocl
@pytest.mark.parametrize("arguments", [RUN, TUNE])
def test_a_full_disk(machine: Machine, arguments: tuple[str, ...]) -> None:
    full = FULL + "pocl_cache.MEMORY = '/nowhere'\nreal = pocl_cache.problem_of\n" \
        "pocl_cache.problem_of = lambda place: real(place) if 'pocl' == place.name else None"
    done = machine.runelift(*arguments, code=full)
    assert done.returncode == 0
    assert done.stderr.count(
        f"PoCL's cache '{machine.kernels}' is not used: the disk is full.") == 1
    assert not any(machine.kernels.iterdir())


@needs_pocl
@pytest.mark.parametrize(("way", "place"), [
    (RUN, "/proc/none"), (RUN, "/dev/null/x"), ("script", "/dev/null/x"),
    (("profile", "p.fut", "-r", "1"), "/dev/null/x")])
def test_a_home_that_cannot_be_written_to(machine: Machine, way: str | tuple[str, ...], place: str
                                          ) -> None:
    home = {pocl_cache.VARIABLE: "", "XDG_CACHE_HOME": "", "HOME": place}
    done = machine.script(**home) if way == "script" else machine.runelift(*way, **home)
    assert done.returncode == 0
    assert done.stdout == {RUN: RESULT, "script": "[ 6. 14.]\n"}.get(way, done.stdout)
    assert f"PoCL's cache '{place}/.cache/pocl/kcache' is not used" in done.stderr
    assert "no usable OpenCL device" not in done.stderr


@needs_pocl
def test_a_script_after_a_script_that_a_damaged_cache_ended(machine: Machine) -> None:
    """The first one dies, as any process would; the next one says so and works."""
    first = machine.script()
    assert (first.returncode, first.stdout, first.stderr) == (0, "[ 6. 14.]\n", "")
    assert not any((machine.kernels / crash_marks.FOLDER).iterdir())
    machine.damage()
    assert -machine.script().returncode in (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT)
    after = machine.script()
    assert (after.returncode, after.stdout) == (0, "[ 6. 14.]\n")
    assert "a process before this one was ended by a signal while it used OpenCL" in after.stderr
    assert f"it is now '{machine.kernels}.damaged'" in after.stderr
    again = machine.script()
    assert (again.returncode, again.stderr) == (0, "")


@needs_pocl
@pytest.mark.parametrize("end", [
    "os.kill(os.getpid(), signal.SIGKILL)", "os._exit(3)",
    "ctypes.string_at(0)"])
def test_scripts_that_end_otherwise_leave_the_cache(end: str, machine: Machine, kernels: Path
                                                     ) -> None:
    """Somebody kills them, or native code of their own fails."""
    shutil.copytree(kernels, machine.kernels)
    done = machine.script(then=f"import ctypes, os, signal\n{end}")
    assert done.returncode in (3, -signal.SIGKILL, -signal.SIGSEGV)
    assert list((machine.kernels / crash_marks.FOLDER).iterdir())
    after = machine.script()
    assert (after.returncode, after.stderr) == (0, "")
    assert not any((machine.kernels / crash_marks.FOLDER).iterdir())
    assert not machine.kernels.with_name("pocl.damaged").exists()


@needs_pocl
def test_a_script_that_asks_python_for_traces_gets_them(machine: Machine, kernels: Path) -> None:
    shutil.copytree(kernels, machine.kernels)
    machine.damage()
    done = machine.script("import faulthandler\nfaulthandler.enable()")
    assert done.returncode < 0
    assert "Fatal Python error" in done.stderr
