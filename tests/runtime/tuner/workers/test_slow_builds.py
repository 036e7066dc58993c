"""Kernels that take too long to build: the tuner waits for each of them once, and does without."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import RuneliftError
from runelift.runtime.devices import build, slow_builds
from runelift.runtime.execution import kernels
from runelift.runtime.processes import process
from runelift.runtime.processes.build_pool import Builders
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tuner.measure.time_limits import TimeLimit
from runelift.runtime.tuner.workers import remote, watchdog, worker
from runelift.runtime.tuner.workers.remote import Remote
from runelift.runtime.tuner.workers.watchdog import SlowBuild, Watchdog
from runelift.runtime.versions.forest import plans
from tests.runtime.processes.test_lifeline import keep_lock

TEXT = """
entry main [n][m] (xss: [n][m]i32): [n]i32 = map (\\xs -> reduce (+) 0 (map (* 3) xs)) xss
"""
MATRIX = np.arange(600, dtype=np.int32).reshape(20, 30)
LIMIT = 3.0


def serve_slowly(connection: Any, **options: Any) -> None:
    """Be a worker whose compiler takes a minute for kernels of one work-group per row."""
    make = build.build_program

    def slowly(device: Any, source: str, *options: str) -> Any:
        if "void intragroup" in source:
            keep_lock()
        return make(device, source, *options)

    kernels.build_program = worker.build_program = slowly
    worker.VERSION_BUILD_SECONDS = LIMIT
    worker.serve(connection, **options)


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers in which kernels of one kind take long, and short limits."""
    monkeypatch.setenv("RUNELIFT_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)  # workers have these tests on their path, but no working folder
    monkeypatch.setattr(process, "WORKER", f"{__name__}:serve_slowly")
    monkeypatch.setattr(remote, "VERSION_BUILD_SECONDS", LIMIT)
    monkeypatch.setattr(remote, "KNOWING_PART", 0.0)  # it only sleeps


def ran(it: Remote, forces: list[dict[str, int]]) -> list[int]:
    """The versions that run when each plan is forced in turn."""
    args = it.place([MATRIX])
    it.prebuild("main", args, [{}, *forces])
    chosen = []
    for made in it.measure_all("main", args, forces):
        assert not isinstance(made, RuneliftError)
        record, _ = made
        assert record is not None
        chosen.append(record.encounters[0].chosen)
    return chosen


@pytest.mark.usefixtures("slow")
def test_a_version_that_takes_long_to_build_cannot_run() -> None:
    """It is waited for once, and by no later tuning."""
    program = runelift.compile(TEXT, device="pocl", tuning={})
    forces = [dict(each) for each in plans(program.tree.entry("main"))]
    it = Remote(program, "pocl")
    started = time.monotonic()
    assert 1 not in ran(it, forces)
    # A worker that built several programs is stopped too: the next one builds the slow one alone.
    assert it.stops in (1, 2)
    assert time.monotonic() - started < LIMIT + 20
    it.close()
    again = Remote(program, "pocl")
    assert 1 not in ran(again, forces)
    assert again.stops == 0
    again.close()


@pytest.mark.usefixtures("slow")
def test_builders_do_not_build_for_ever_either(monkeypatch: pytest.MonkeyPatch) -> None:
    program = runelift.compile(TEXT, device="pocl", tuning={})
    forces = [dict(each) for each in plans(program.tree.entry("main"))]
    it = Remote(program, "pocl", builders=Builders("pocl", 1))
    assert 1 not in ran(it, forces)
    assert it.stops == 0
    it.close()


def test_a_build_is_not_prolonged_by_messages() -> None:
    """Nor by other builds; the default version may take longer."""
    it = Watchdog(TimeLimit(), 100.0)
    it.note("building", ["a", 0.2])
    for _ in range(3):
        time.sleep(0.1)
        it.note("building", ["b", 5.0])
        it.note("built", ["b"])
    assert it.left() == 0.0
    error = it.expired()
    assert isinstance(error, SlowBuild)
    assert error.names == ["a"]
    assert error.can_do_without
    assert not SlowBuild(["a"], watchdog.BUILD_SECONDS).can_do_without


@pytest.mark.parametrize(("worked", "known"), [(19.0, True), (2.0, False)])
def test_a_busy_machine_proves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                       worked: float, known: bool) -> None:
    """The program is left out now, but later tunings may build it."""
    monkeypatch.setenv("RUNELIFT_CACHE", str(tmp_path))
    it = Remote(runelift.compile(TEXT, device="pocl", tuning={}), "pocl")
    stopped = SlowBuild(["a"], 20.0, worked=worked)
    assert it._can_do_without(stopped)
    assert not it._can_do_without(stopped)
    assert slow_builds.takes_longer("a", 20.0) == known


def test_the_time_that_a_process_computes_is_known() -> None:
    held = process.Process("pocl", held=True)
    before = held.processor_seconds()
    held.go()
    held.wait_until_open()
    assert before < held.processor_seconds() < before + 60
    held.kill()


def test_it_is_known_for_how_long_a_build_was_waited_for(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNELIFT_CACHE", str(tmp_path))
    slow_builds.note("a", 30.0)
    assert slow_builds.takes_longer("a", 30.0)
    assert not slow_builds.takes_longer("a", 60.0)
    assert not slow_builds.takes_longer("b", 30.0)


def test_they_are_forgotten_with_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                           capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("RUNELIFT_CACHE", str(tmp_path / "cache"))
    name = "a" * 64
    slow_builds.note(name, 30.0)
    assert main(["cache", "clear"]) == 0
    assert "kernels that take too long to build" in capsys.readouterr().out
    assert not slow_builds.takes_longer(name, 30.0)
