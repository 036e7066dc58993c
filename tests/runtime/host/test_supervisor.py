"""Commands end within a second of Ctrl-C, and leave no process behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
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


@pytest.fixture(autouse=True)
def usual_handler() -> Iterator[None]:
    """Processes get what Python does unless it was started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


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
from runelift.runtime.tools.commands import cli, start
def execute(arguments):
    seen = []
    begin = Path({str(mark)!r}).touch
    {work}
cli._execute, sys.argv[1:] = execute, ["check", "x"]
sys.exit(start.main())
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


STOPS = "os.kill(os.getpid(), signal.SIGINT)"
MIDST = """
class Finder:
    def find_spec(name, *_):
        if name == 'runelift.runtime.{}': os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder)
"""
"""Code that sends Ctrl-C when a module of ours is about to be imported."""


@pytest.mark.parametrize("option", ["--version", "--help"])
@pytest.mark.parametrize("moment", [
    STOPS, MIDST.format("host.supervisor"), MIDST.format("tools.commands.cli"),
    MIDST.format("devices"), f"import signal; signal.pthread_sigmask = lambda *_: {STOPS}"])
def test_ctrl_c_while_a_command_starts(option: str, moment: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c",
         "import os, signal, sys; from runelift.runtime.tools.commands import start"
         f"\n{moment}\nsys.argv[1:] = [{option!r}]\nsys.exit(start.main())"],
        capture_output=True, text=True, timeout=20, check=False)
    if option == "--help" and moment.startswith("import"):
        assert done.returncode == 0  # nothing is masked
    else:
        assert (done.returncode, done.stderr) == (130, "runelift: interrupted.\n")


def test_little_is_imported_before_ctrl_c_is_handled() -> None:
    listed = subprocess.run([sys.executable, "-c", """
import re, sys
before = {*sys.modules}
from runelift.runtime.tools.commands import start
print(*{*sys.modules} - before)"""], capture_output=True, text=True, check=True).stdout
    assert {each for each in listed.split() if not each.startswith("runelift")} <= {
        "signal", "_signal", "__future__", "importlib", "types", "warnings"}


@pytest.mark.parametrize("group", [True, False])
def test_a_command_that_can_end_by_itself_gets_one_signal(group: bool, tmp_path: Path) -> None:
    command, is_busy = supervised(
        "signal.signal(signal.SIGINT, lambda *_: seen.append(1)); begin(); time.sleep(.3); "
        "sys.exit(40 + len(seen))", tmp_path)
    code, seconds, _ = interrupted(command, signal.SIGINT, group=group, is_busy=is_busy)
    assert code == 41
    assert seconds < SECOND


@pytest.mark.parametrize("step", ["os.fork", "os.pipe", "signal.signal", "signal.set_wakeup_fd",
                                  "signal.getsignal", "signal.pthread_sigmask"])
@pytest.mark.parametrize("first", [True, False])
def test_no_signal_is_lost_while_the_copy_is_made(step: str, first: bool, tmp_path: Path) -> None:
    command, _ = supervised(KEEPS_THE_LOCK, tmp_path)
    send = "os.killpg(0, signal.SIGINT)"
    code = f"""
import os, signal
def stepped(*given, known={step}, **options):
    if not {first}: result = known(*given, **options)
    {step} = known
    {send}
    return known(*given, **options) if {first} else result
{step} = stepped
"""
    if not first and step == "os.fork":
        code = code.replace(send, f"result and {send}")
    process = subprocess.Popen([*command[:2], code + command[2]], start_new_session=True,
                               stderr=subprocess.PIPE, text=True)
    try:
        _, messages = process.communicate(timeout=20)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode in (130, -signal.SIGINT), messages  # -2 before there are two


@pytest.mark.parametrize("work", [
    "sys.path.insert(0, {folder!r}); import slow",
    "exec('class Slow:\\n def __del__(self): begin(); time.sleep(9)\\nSlow()'"
    ", dict(begin=begin, time=time)); time.sleep(9)",
    "begin(); os.kill(os.getpid(), signal.SIGSTOP)",
    "signal.signal(signal.SIGINT, lambda *_: os.abort()); begin(); time.sleep(9)"])
def test_no_exception_is_lost_or_shown(work: str, tmp_path: Path) -> None:
    command, is_busy = supervised(work.format(folder=str(tmp_path)), tmp_path)
    (tmp_path / "slow.py").write_text(
        f"import pathlib, time; pathlib.Path({str(tmp_path / 'begun')!r}).touch(); time.sleep(9)")
    code, seconds, messages = interrupted(command, signal.SIGINT, group=True, is_busy=is_busy)
    assert (code, messages) == (130, "runelift: interrupted.\n")
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


def test_what_a_command_has_started_ends_with_it(tmp_path: Path) -> None:
    process = tmp_path / "process"
    command, is_busy = supervised(
        "import subprocess; started = subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
        f"    Path({str(process)!r}).write_text(str(started.pid)); " + KEEPS_THE_LOCK, tmp_path)
    code, seconds, messages = interrupted(command, signal.SIGTERM, group=False, is_busy=is_busy)
    assert (code, messages) == (143, "runelift: interrupted.\n")
    assert seconds < SECOND
    assert not is_running(int(process.read_text()))


def test_printed_lines_are_not_lost(tmp_path: Path) -> None:
    command, is_busy = supervised("print('first'); " + KEEPS_THE_LOCK, tmp_path)
    with (tmp_path / "output").open("w") as output:
        process = subprocess.Popen(command, stdout=output)
        while not is_busy():
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
    assert (tmp_path / "output").read_text() == "first\n"


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
