"""First runs whose kernels others build: the same results, whatever becomes of the others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import runelift
from runelift.runtime.cache.programs import ENTRIES
from runelift.runtime.compilation.reuse import if_current, load_compiled
from runelift.runtime.devices.driver import icd
from runelift.runtime.prebuild import first_run
from runelift.runtime.prebuild.first_run import FirstRun
from runelift.runtime.processes.build_pool import Builders, Source
from runelift.runtime.programs.program import Program
from runelift.runtime.tools.commands import cli

TEXT = """
entry main [n][m] (xss: [n][m]i32): ([n]i32, [n][m]i32) =
  (map (\\xs -> reduce (+) 0 (map (* 3) xs)) xss, map (scan (+) 0) xss)
"""
MATRIX = np.random.default_rng(5).integers(0, 9, (12, 40)).astype(np.int32)


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing has been built yet."""
    monkeypatch.setenv("RUNELIFT_CACHE", str(tmp_path))
    return tmp_path


def compiled(device: str, count: int, monkeypatch: pytest.MonkeyPatch) -> Program:
    monkeypatch.setenv(first_run.COUNT_VARIABLE, str(count))
    return runelift.compile(TEXT, device=device, tuning={})


def builders_of(program: Program) -> Builders:
    assert program.loaded.first is not None
    return program.loaded.first._builders


def check(program: Program) -> None:
    sums, scans = program.main(MATRIX)
    assert np.array_equal(sums, MATRIX.sum(axis=1, dtype=np.int32) * 3)
    assert np.array_equal(scans, MATRIX.cumsum(axis=1, dtype=np.int32))


def is_there(pid: int) -> bool:
    """Whether a process has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(pids: list[int], seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while any(map(is_there, pids)) and time.monotonic() < end:
        time.sleep(0.05)
    return not any(map(is_there, pids))


def pids_of(builders: Builders) -> list[int]:
    return [each._process.pid for each in builders._processes]


@pytest.mark.parametrize("device", ["pocl", "oclgrind"])
def test_others_build_what_the_first_run_needs(device: str, fresh: Path,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    program = compiled(device, 2, monkeypatch)
    builders, shared = builders_of(program), list[Source]()
    pids, share = pids_of(builders), builders.share
    monkeypatch.setattr(builders, "share", lambda sources, *rest: (
        shared.extend(sources), share(sources, *rest)))
    check(program)
    assert len(shared) > 1
    if device == "pocl":  # what a simulator builds is not kept
        assert {*builders._done} >= {*shared}
        assert len(list((fresh / "kernels").iterdir())) == len(shared)
    assert program.loaded.first is None
    check(program)
    assert gone(pids)


def test_none_are_started_where_nothing_is_gained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(first_run.COUNT_VARIABLE, raising=False)
    assert runelift.compile(TEXT, device="pocl", tuning={}).loaded.first is None
    assert compiled("pocl", 0, monkeypatch).loaded.first is None
    monkeypatch.setenv(first_run.COUNT_VARIABLE, "2")
    assert runelift.compile(TEXT, device="pocl", tuning={}, runs=False).loaded.first is None
    assert runelift.compile(TEXT, device="interpreter", tuning={}).loaded.first is None


@pytest.mark.parametrize("when", ["before", "while they build"])
def test_those_that_die_are_not_missed(when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = compiled("pocl", 2, monkeypatch)
    builders = builders_of(program)
    pids, share = pids_of(builders), builders.share

    def kill(*_: object) -> None:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)

    def killed(sources: list[Source], *rest: object) -> None:
        builders.begin(sources)
        while not builders._busy and builders._processes:
            time.sleep(0.01)
        kill()
        share(sources, *rest)  # type: ignore[arg-type]

    if when == "before":
        kill()
    else:
        monkeypatch.setattr(builders, "share", killed)
    check(program)
    assert gone(pids)


def test_one_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    program = compiled("pocl", 1, monkeypatch)
    builders = builders_of(program)
    (pid,) = pids_of(builders)
    while builders._starting:
        time.sleep(0.01)
    os.kill(pid, signal.SIGSTOP)
    monkeypatch.setattr(first_run, "BUILD_TIMEOUT", 1.0)
    check(program)
    assert gone([pid])


def test_a_wrong_program_leaves_none_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(first_run.COUNT_VARIABLE, "1")
    started = list[FirstRun]()
    monkeypatch.setattr("runelift.runtime.programs.compile._first_run", lambda *args: (
        started.append(found := first_run.first_run(*args)), found)[1])  # type: ignore[func-returns-value, arg-type]
    with pytest.raises(runelift.ir.base.errors.UserError):
        runelift.compile("entry main (x: i32): f32 = x", device="pocl", tuning={})
    (first,) = started
    assert gone(pids_of(first._builders)) or not first._builders._processes


def test_a_program_that_is_not_run_does_not_keep_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_run, "UNUSED_TIMEOUT", 0.2)
    pids = pids_of(builders_of(compiled("pocl", 1, monkeypatch)))
    assert gone(pids)


def test_trials_that_nobody_has_begun_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Builders, "_hand_out", lambda self: None)
    builders = Builders("pocl", 0, probes=("probe_forward_progress", "probe_subgroups"))
    builders.take_over("probe_forward_progress")
    assert builders._queue == ["probe_subgroups"]
    builders.close()


def test_none_opens_the_device_before_this_process_has() -> None:
    opened = threading.Event()
    builders = Builders("pocl", 2, first=opened.wait)
    (process, other) = builders._processes
    assert not process.connection.poll(1.0)
    opened.set()
    while builders._starting:
        time.sleep(0.01)
    assert process.is_there
    assert other.is_there
    builders.close()


def test_they_end_if_the_device_cannot_be_opened_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(first_run, "open_device", fails)
    program = compiled("pocl", 2, monkeypatch)
    pids = pids_of(builders_of(program))
    check(program)
    assert gone(pids)


@pytest.mark.parametrize("count", [0, 2])
def test_a_program_is_kept_when_its_kernels_are_built(
        count: int, fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(first_run.COUNT_VARIABLE, str(count))
    monkeypatch.setenv("RUNELIFT_KEEP", "1")
    path = fresh / "program.fut"
    path.write_text(TEXT)
    program = runelift.compile(path, device="pocl", tuning={})
    assert not (fresh / ENTRIES).exists()
    check(program)
    assert len(list((fresh / ENTRIES).iterdir())) == 1
    kept = if_current(load_compiled(program.compiled.source, policy="all"), {})
    assert kept is not None
    assert kept.plans.keys() == program.compiled.plans.keys()


RUN = """
import os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it in the background
import runelift
program = runelift.compile({text!r}, device="pocl", tuning={{}})
print(*[each._process.pid for each in program.loaded.first._builders._processes], flush=True)
{does}
"""


@pytest.mark.parametrize(("does", "sends"), [
    ("", None), ("os._exit(1)", None), ("raise ValueError", None),
    ("time.sleep(60)", signal.SIGINT), ("time.sleep(60)", signal.SIGKILL)])
def test_they_end_with_the_process_that_started_them(does: str, sends: int | None) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", RUN.format(text=TEXT, does=does)], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, env={**os.environ, first_run.COUNT_VARIABLE: "2"})
    assert process.stdout is not None
    pids = [int(each) for each in process.stdout.readline().split()]
    assert len(pids) == 2
    if sends is not None:
        process.send_signal(sends)
    process.wait()
    assert gone(pids)


@pytest.mark.parametrize("spec", [None, "pocl", "Portable:0"])
def test_a_context_may_be_made_early(driver: str, spec: str | None) -> None:
    """By a thread that calls the driver itself."""
    code = f"""
from runelift.runtime.devices.driver import icd
icd.begin({spec!r}, {driver!r})
icd._thread.join()
assert len(icd._contexts) == 1
import runelift, numpy as np
program = runelift.compile("entry main (xs: []i32): i32 = i32.sum xs", device="pocl", tuning={{}})
assert program.main(np.arange(10, dtype=np.int32)) == 45
assert not icd._contexts
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("spec", ["NVIDIA", "pocl:7", "interpreter"])
def test_no_context_is_made_for_a_device_that_is_not_meant(driver: str, spec: str) -> None:
    code = f"""
from runelift.runtime.devices.driver import icd
icd.begin({spec!r}, {driver!r})
assert icd.take_context(0) is None
assert not icd._contexts
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_who_runs_no_programs_makes_no_context(driver: str) -> None:
    code = f"""
from runelift.runtime.devices.driver import icd
icd.begin(None, {driver!r}, runs=False)
assert icd.take_context(0) is None
assert not icd._contexts
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(("arguments", "device"), [
    (["run", "a.fut"], None), (["run", "--device", "H200:1", "a.fut"], "H200:1"),
    (["run", "a.fut", "--device=pocl"], "pocl"), (["run", "--device"], None)])
def test_the_device_is_known_before_arguments_are_parsed(
        arguments: list[str], device: str | None) -> None:
    assert cli._option("--device", arguments) == device


@pytest.mark.parametrize("driver", ["libthere-is-none.so", "libc.so.6"])
def test_what_is_no_driver_is_left_alone(driver: str) -> None:
    icd._open(None, driver)
    assert not icd._contexts
