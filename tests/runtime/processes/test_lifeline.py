"""Child processes whose parent dies: they end within a second, whatever they are doing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

WORKER = """
from runelift.runtime.host.channel import receive, send
from runelift.runtime.processes import process
process.WORKER = "tests.runtime.processes.test_lifeline:never_answer"
it = process.Process({device!r}, builds={builds})
assert receive(it.connection) == "locked"
print(it._process.pid, flush=True)
{then}
"""
COMPILING = """
import subprocess, time
from runelift.runtime.processes import compile_ahead
compile_ahead.RUN = compile_ahead.RUN.partition("from runelift.runtime.processes")[0] + \\
    "from tests.runtime.processes.test_lifeline import keep_lock;" \
    "print('locked', flush=True); keep_lock()"
it = compile_ahead._Compiling("p.fut", "all")
assert it._process.stdout.read(6) == b"locked"
print(it._process.pid, flush=True)
time.sleep(600)
"""
COPY = """
import os, sys, time
if os.fork() == 0:
    os.close(1)
    time.sleep(3)
    sys.exit()  # nothing that the parent has started is ended or waited for
time.sleep(600)
"""
POOL = """
from runelift.runtime.host.answering import Answering
Answering("tests.runtime.processes.test_lifeline:tell_and_keep_lock").ask()
"""
ROOT = Path(__file__).parents[3]


def start(code: str, folder: Path, **options: Any) -> subprocess.Popen[str]:
    """A process that runs code in a folder, and finds these tests."""
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True,
                            cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, **options)


def tell_and_keep_lock() -> None:
    """Print the number of this process, and keep Python's lock."""
    print(os.getpid(), flush=True)
    keep_lock()


def keep_lock() -> None:
    """Keep Python's lock for a minute, as compilers of kernels do."""
    # late: only the processes of these tests need it
    import ctypes

    ctypes.PyDLL(None).sleep(60)


def never_answer(connection: object, **options: object) -> None:
    """Be a worker that keeps Python's lock."""
    # late: only the worker needs it
    from runelift.runtime.host.channel import send

    send(connection, "locked")  # type: ignore[arg-type]
    keep_lock()


def gone(process: int, seconds: float) -> bool:
    """True if a process ends in time; it may wait to be noticed."""
    stat = Path(f"/proc/{process}/stat")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if stat.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks /proc for processes")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("code", [
    WORKER.format(device="pocl", builds=False, then="import time; time.sleep(600)"),
    WORKER.format(device="pocl", builds=True, then="import time; time.sleep(600)"),
    COMPILING], ids=["worker", "builder", "compiler"])
def test_children_that_keep_the_lock_end_with_their_parent(
        code: str, how: signal.Signals, tmp_path: Path) -> None:
    """None holds the pipe that a caller reads, either."""
    parent = start(code, tmp_path, stderr=subprocess.STDOUT)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.send_signal(how)
    started = time.monotonic()
    parent.stdout.read()
    assert time.monotonic() - started < 1.0
    assert gone(child, 1.0)
    parent.wait()


def test_processes_of_a_parallel_test_end_with_it(tmp_path: Path) -> None:
    parent = start(POOL, tmp_path)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    time.sleep(0.2)  # it has the lock
    parent.kill()
    assert gone(child, 1.5)
    parent.wait()


def test_a_copy_of_a_process_leaves_its_children_alone(tmp_path: Path) -> None:
    """A copy that lives on does not keep workers from ending with their own parent."""
    code = WORKER.format(device="pocl", builds=False, then=COPY)
    parent = start(code, tmp_path)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    time.sleep(0.2)
    assert not gone(child, 0.1)
    parent.kill()
    assert gone(child, 1.0)
    parent.wait()
