"""Commands end within a second of Ctrl-C, and leave no process behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

ENDLESS = """\
-- ==
-- input { [1i32, 2i32] } output { [0i32, 0i32] }
entry main (xs: []i32) = map (\\x -> loop x while x != 0 do (x * 2) | 1) xs
"""
KEEPS_THE_LOCK = "begin(); sum(range(1 << 60))"
"""Code in which native code keeps Python's lock, as compilers of kernels do."""
SECOND = 1.0

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")


def interrupted(command: Sequence[str], number: int, *, group: bool,
                is_busy: Callable[[], bool]) -> tuple[int, float, str]:
    """The exit status, the seconds until the end, and the messages of a command."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True, start_new_session=True)
    while not is_busy():
        assert process.poll() is None
        time.sleep(0.02)
    started = time.monotonic()
    (os.killpg if group else os.kill)(process.pid, number)
    _, messages = process.communicate(timeout=20)
    return process.returncode, time.monotonic() - started, messages


def is_running(process: int) -> bool:
    """Test whether there is a process that has not ended, waited for or not."""
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True,
                           text=True, check=False).stdout.strip()
    return bool(found) and not found.startswith("Z")


def supervised(work: str, folder: Path) -> tuple[list[str], Callable[[], bool]]:
    """A process that does some work as commands do, and a test if it does it already."""
    mark = folder / "begun"
    code = f"""
import os, signal, sys, time
from pathlib import Path
from runelift.runtime.commands import cli
def execute(arguments):
    seen = []
    begin = Path({str(mark)!r}).touch
    {work}
cli._execute, sys.argv[1:] = execute, ["check", "x"]
sys.exit(cli.main())
"""
    return [sys.executable, "-c", code], mark.exists


@pytest.mark.parametrize("group", [True, False])
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_command_ends_though_native_code_keeps_the_lock(
        number: int, status: int, group: bool, tmp_path: Path) -> None:
    command, is_busy = supervised(KEEPS_THE_LOCK, tmp_path)
    code, seconds, messages = interrupted(command, number, group=group, is_busy=is_busy)
    assert (code, messages) == (status, "runelift: interrupted.\n")
    assert seconds < SECOND


@pytest.mark.parametrize("group", [True, False])
def test_a_command_that_can_end_by_itself_gets_one_signal(group: bool, tmp_path: Path) -> None:
    command, is_busy = supervised(
        "signal.signal(signal.SIGINT, lambda *_: seen.append(1)); begin(); time.sleep(.3); "
        "sys.exit(40 + len(seen))", tmp_path)
    code, seconds, _ = interrupted(command, signal.SIGINT, group=group, is_busy=is_busy)
    assert code == 41
    assert seconds < SECOND


@pytest.mark.parametrize(("work", "status"), [
    ("return 3", 3), ("sys.exit(1)", 1),
    ("os.kill(os.getpid(), signal.SIGSEGV)", -signal.SIGSEGV)])
def test_a_command_ends_as_its_copy_does(work: str, status: int, tmp_path: Path) -> None:
    command, _ = supervised(work, tmp_path)
    assert subprocess.run(command, check=False).returncode == status


def test_the_copy_ends_with_a_command_that_is_killed(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    command, is_busy = supervised(
        f"Path({str(copy)!r}).write_text(str(os.getpid())); begin(); time.sleep(60)", tmp_path)
    process = subprocess.Popen(command)
    while not is_busy():
        time.sleep(0.02)
    process.kill()
    process.wait()
    time.sleep(0.3)
    assert not is_running(int(copy.read_text()))


@pytest.mark.parametrize("command", ["run", "test", "bench"])
def test_endless_kernels_end_with_their_command(command: str, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("[1i32]")
    (tmp_path / "endless.fut").write_text(ENDLESS)
    options = ["-i", str(tmp_path / "data")] if command == "run" else []
    begun = time.monotonic()
    code, seconds, messages = interrupted(
        [sys.executable, "-m", "runelift", command, str(tmp_path / "endless.fut"), "--device",
         "Portable", *options], signal.SIGINT, group=True,
        is_busy=lambda: time.monotonic() > begun + 3)
    assert (code, messages) == (130, "runelift: interrupted.\n")
    assert seconds < SECOND
