"""Processes of our own: when they start, what they are told, and which of them are ended."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

import runelift
from runelift.runtime.cache import disk
from runelift.runtime.devices import probe_results
from runelift.runtime.devices.driver import icd
from runelift.runtime.host import children
from runelift.runtime.host.channel import receive
from runelift.runtime.processes import process
from runelift.runtime.processes.build_pool import probing_started_ahead
from runelift.runtime.processes.process import Process
from runelift.runtime.tuner.workers.remote import Remote
from tests.runtime.tuner.workers.test_worker import MATRIX, TEXT


def test_it_is_known_when_a_process_has_opened_its_device() -> None:
    """Or that it never will."""
    held = process.Process("pocl", held=True)
    assert not held._started.opened.poll(0.5)
    held.go()
    held.wait_until_open()
    assert held.is_there
    held.kill()
    ended = process.Process("pocl", held=True)
    ended.kill()
    ended.wait_until_open()


OUTLIVED = """
import gc
from runelift.runtime.host.channel import receive, send
from runelift.runtime.tuner.workers.requests import OpenProgram
from runelift.runtime.processes.process import Process
process = Process("pocl")
send(process.connection, ("open", OpenProgram("no program", "all", False, {}, False)))
assert receive(process.connection) == ("result", False)
process.outlive()
it = process._process
del process
gc.collect()
assert it.poll() is None
print(it.pid)
"""


def test_a_process_ends_after_the_one_that_leaves_it() -> None:
    found = subprocess.run([sys.executable, "-c", OUTLIVED], check=True, capture_output=True,
                           text=True)
    process = Path("/proc", found.stdout.strip())
    assert process.exists()
    ended = time.monotonic() + 60
    while process.exists() and "Z" not in (process / "stat").read_text():
        assert time.monotonic() < ended
        time.sleep(0.01)


LEFT = """
from runelift.runtime.processes import child_main as child
child.OUTLIVE_SECONDS = 30
print("here", flush=True)
child._end_with(0)
"""


def test_who_reads_what_a_command_says_does_not_wait_for_processes_that_outlive_it() -> None:
    left = subprocess.Popen([sys.executable, "-c", LEFT], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert left.stdin is not None
    assert left.stdout is not None
    left.stdin.close()
    assert left.stdout.read() == "here\n"
    assert left.poll() is None
    left.kill()
    left.wait()


def test_a_process_starts_ahead_of_what_it_is_for() -> None:
    """It is told the device when that is known; one that nobody wants is ended."""
    with process.started_ahead():
        (ahead,) = process._running
        builder = Process("pocl", builds=True)
        assert builder._process is not ahead.process
        worker = Process("pocl")
        assert worker._process is ahead.process
        it = Remote(runelift.compile(TEXT, device="pocl", tuning={}), "pocl", worker=worker)
        assert it.time("main", it.place([MATRIX])) > 0
    assert worker.is_there
    it.close()
    builder.kill()
    with process.started_ahead():
        (ahead,) = process._running
    assert ahead.process.poll() is not None
    assert not process._running


def test_processes_that_make_trials_start_ahead() -> None:
    """In the order in which they are asked for: each comes after the one before it."""
    with process.probers_started_ahead("pocl", 3):
        first, second, third = process._probing
        one = Process("pocl", builds=True, probes=True, held=True)
        two = Process("pocl", builds=True, probes=True, after=one)
        other = Process("pocl", builds=True, after=two)
        assert (one._process, two._process) == (first.process, second.process)
        assert other._process is not third.process
        assert not two._started.opened.poll(0.5)
        one.go()
        for each in (one, two, other):
            assert receive(each.connection) == "ready"
    assert third.process.poll() is not None
    assert not process._probing
    for each in (one, two, other):
        each.kill()


@pytest.mark.parametrize(("there", "known", "count"), [
    (True, False, 2), (True, True, 0), (False, False, 0)])
def test_trials_are_made_ahead_where_none_has_been_passed(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool, known: bool,
        count: int) -> None:
    monkeypatch.setenv("RUNELIFT_CACHE", str(tmp_path))
    monkeypatch.setattr(icd, "CONTROL_DEVICE", str(tmp_path if there else tmp_path / "none"))
    assert not probe_results.are_any()
    if known:
        disk.store(probe_results.KEPT, "some device", probe_results.WORKS)
        assert probe_results.are_any()
    with probing_started_ahead(None):
        assert len(process._probing) == count


def test_a_process_is_told_what_takes_long_to_find_out(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where modules are, and what Runelift's files are."""
    (tmp_path / "only_here.py").write_text("FOUND = 7")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    code = """
import only_here
from runelift.runtime.cache import disk
disk.set_fingerprint(given[0])
print(only_here.FOUND, disk.fingerprint(), given[1], sys.prefix)
"""
    made = subprocess.run(children.command(code, "us", [1, None]), capture_output=True,
                          text=True, check=True)
    assert made.stdout == f"7 us [1, None] {sys.prefix}\n"


@pytest.mark.parametrize(("folder", "path", "there"), [
    ("/lib/runelift", ["/lib", "/more"], True), ("/lib/runelift", ["/more"], False),
    ("/lib/checkout", ["/lib", "/more"], False)])
def test_site_is_left_out_where_runelift_is_on_the_path(
        monkeypatch: pytest.MonkeyPatch, folder: str, path: list[str], there: bool) -> None:
    monkeypatch.setattr(runelift, "__path__", [folder])
    monkeypatch.setattr(sys, "path", path)
    assert ("-S" in children.command("pass")) == there
