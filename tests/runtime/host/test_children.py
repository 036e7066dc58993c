"""Child processes: none imports from the working folder, and none outlives its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runelift.runtime.host import children
from tests.runtime.tuner.killed_tunings import MARK, processes

PROGRAM = """\
-- ==
-- "a" input { [1i32, 2i32] } output { [3i32, 6i32] }
entry main (xs: []i32) = map (* 3) xs
"""
ENDLESS = """\
-- ==
-- input { 5i64 } output { 3i64 }
entry main (n: i64) : i64 = loop x = n while x > 0 do (x % 7) + 1
"""
ENDLESS_ROWS = """\
-- ==
-- input { [5i64] } output { [3i64] }
entry main [n] (xs: [n]i64) =
  map (\\x -> i64.sum (map (\\y -> loop z = x + y while z > 0 do (z % 7) + 1) xs)) xs
"""
EVIL = 'open("executed", "w").close()\n'
EVALUATE = """
import runelift.runtime.tools.editors.evaluation as it
text = "entry main = 1i32\\n" + {text!r}
(asked,) = it.evaluations(text)
print(it.result_lines(text, "p.fut", asked))
"""
"""What the language server does with a comment that the user runs."""
CALL = "import runelift; runelift.compile({text!r}, device='interpreter').main(5)"
LEFT_SECONDS = 2.0


def runelift(*arguments: str) -> list[str]:
    """A command as its script starts it, which has no working folder on its path."""
    return [sys.executable, "-P", "-m", "runelift", *arguments]


QUICK = ("--effort", "quick", "--no-verify", "--no-parameters", "--runs", "1")
COMMANDS = {
    "devices": runelift("devices"),
    "doctor": runelift("doctor"),
    "run": runelift("run", "p.fut", "-i", "in"),
    "bench": runelift("bench", "p.fut", "--runs", "2"),
    "autotune": runelift("autotune", "p.fut", *QUICK),
    "rerun": runelift("rerun", "r.json"),
    "test": runelift("test", "p.fut", "--jobs", "2"),
    "all versions": runelift("test", "p.fut", "--all-versions"),
    "sanitize": runelift("test", "p.fut", "--sanitize"),
    "evaluation": [sys.executable, "-P", "-c", EVALUATE.format(text="-- >>> 1 + 2\n")],
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_no_process_imports_from_the_working_folder(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "p.fut").write_text(PROGRAM)
    (tmp_path / "in").write_text("[1i32]")
    (tmp_path / "r.json").write_text('{"command": ["bench", "p.fut", "--json"]}')
    for module in ("json", "pickle", "socket", "numpy", "usercustomize"):
        (tmp_path / f"{module}.py").write_text(EVIL)
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False,
                          env={**os.environ, "RUNELIFT_CACHE": str(tmp_path / "cache")})
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "executed").exists()


def test_the_path_of_children(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is the path of this process, without the working folder in any of its forms."""
    (tmp_path / "here").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    other = str(tmp_path)
    monkeypatch.setattr(sys, "path", ["", ".", str(tmp_path / "here"), str(tmp_path / "link"),
                                      other, *sys.path])
    assert children.module_path()[0] == other
    (tmp_path / "here").rmdir()
    assert children.module_path()[0] == str(tmp_path / "here")


ENDLESS_ONES = {
    "run": runelift("run", "--device", "interpreter", "p.fut", "-i", "in"),
    "run on device": runelift("run", "--device", "pocl", "p.fut", "-i", "in"),
    "test": runelift("test", "p.fut", "--interpreter"),
    "jobs": runelift("test", "p.fut", "p.fut", "--interpreter", "--jobs", "2"),
    "sanitize": runelift("test", "p.fut", "--sanitize"),
    "rerun": runelift("rerun", "r.json"),
    "autotune": runelift("autotune", "rows.fut", "--time-limit", "none"),
    "evaluation": [sys.executable, "-P", "-c", EVALUATE.format(
        text="-- >>> loop x = 5 while x > 0 do (x % 7) + 1\n")],
    "call": [sys.executable, "-P", "-c", CALL.format(text=ENDLESS)],
}


@pytest.mark.sweep(every=3)
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="asks /proc for processes")
@pytest.mark.parametrize("command", ENDLESS_ONES.values(), ids=ENDLESS_ONES)
def test_no_process_outlives_a_killed_command(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "p.fut").write_text(ENDLESS)
    (tmp_path / "rows.fut").write_text(ENDLESS_ROWS)
    (tmp_path / "in").write_text("5i64")
    (tmp_path / "r.json").write_text('{"command": ["test", "p.fut", "--json"]}')
    mark = f"{os.getpid()}.{tmp_path.name}"
    process = subprocess.Popen(command, cwd=tmp_path, start_new_session=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, env={**os.environ, MARK: mark})
    time.sleep(3)
    assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(LEFT_SECONDS)
    assert not processes(mark)
