"""Drivers that compile at the first launch of a kernel: that is a build, and no part of a run."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import runelift
from runelift.ir.base.errors import RuneliftError
from runelift.runtime.devices.first_launch import NARROW
from runelift.runtime.execution import issuing
from runelift.runtime.execution.calls import call_of
from runelift.runtime.execution.policy import BuildWatch, CallPolicy
from runelift.runtime.processes import process
from runelift.runtime.programs.program import Program
from runelift.runtime.tuner.measure.time_limits import TOO_LONG, RunStopped, TimeLimit
from runelift.runtime.tuner.replay import compare_results
from runelift.runtime.tuner.replay.racing import Race
from runelift.runtime.tuner.workers import remote, worker
from runelift.runtime.tuner.workers.placed import bound
from runelift.runtime.tuner.workers.remote import Remote
from runelift.runtime.tuner.workers.watchdog import SlowBuild
from runelift.runtime.versions.forest import plans

TEXT = """
entry main [n][m] (xss: [n][m]i32): [n]i32 = map (\\xs -> reduce (+) 0 (map (* 3) xs)) xss

entry scaled [n] (xs: [n]i32): [n]i32 = map (* 3) xs

entry slow (n: i64): i32 =
  (map (\\j -> loop s = 0 for i < n do s * 3 + i32.i64 (i ^ j)) (iota 2))[1]
"""
MATRIX = np.arange(600, dtype=np.int32).reshape(20, 30)
COMPILES = 4.0
"""The seconds that the driver takes to compile kernels of one work-group per row."""
LIMIT = TimeLimit(least=2.0)
BUILD_LIMIT = 3.0


def compile_at_launch(seconds: float | None) -> None:
    """Have a driver take so long at the first launch with groups of a size; None: for ever.

    As with a compiler, the command does not begin before.
    """
    enqueue, launched = cl.enqueue_nd_range_kernel, set[Any]()

    def launch(queue: Any, kernel: Any, items: Any, group: Any) -> Any:
        key = kernel.function_name, group
        if "intragroup" not in kernel.function_name or key in launched:
            return enqueue(queue, kernel, items, group)
        launched.add(key)
        compiled = cl.UserEvent(queue.context)
        if seconds is not None:
            complete = cl.command_execution_status.COMPLETE
            threading.Timer(seconds, compiled.set_status, [complete]).start()
        return enqueue(queue, kernel, items, group, wait_for=[compiled])

    cl.enqueue_nd_range_kernel = issuing._enqueue_kernel = launch


def serve_slowly(connection: Any, **options: Any) -> None:
    """Be a worker whose driver compiles at launches, for longer than runs may take."""
    compile_at_launch(COMPILES)
    worker.serve(connection, **options)


def serve_for_ever(connection: Any, **options: Any) -> None:
    """Be a worker whose driver never comes to an end."""
    compile_at_launch(None)
    worker.VERSION_BUILD_SECONDS = BUILD_LIMIT
    worker.serve(connection, **options)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """A program, with empty caches."""
    monkeypatch.setenv("RUNELIFT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("POCL_CACHE_DIR", str(tmp_path / "pocl"))
    monkeypatch.chdir(tmp_path)  # workers have these tests on their path, but no working folder
    return runelift.compile(TEXT, device="pocl", tuning={})


def measured(it: Remote, forces: Sequence[dict[str, int]]) -> list[Any]:
    """The costs of each plan."""
    return list(it.measure_all("main", it.place([MATRIX]), forces))


def all_plans(program: Program) -> list[dict[str, int]]:
    return [dict(each) for each in plans(program.tree.entry("main"))]


def test_what_a_driver_compiles_at_a_launch_is_no_run(
        program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no part of a time, and no version is stopped for it."""
    monkeypatch.setattr(process, "WORKER", f"{__name__}:serve_slowly")
    it = Remote(program, "pocl", limit=LIMIT)
    costs = measured(it, all_plans(program))
    assert it.stops == 0
    assert {cost[0].encounters[0].chosen for cost in costs} == {0, 1, 2}
    assert all(record.wall < COMPILES > timing.seconds for record, timing in costs)
    it.close()


def test_nor_is_it_at_a_replay(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "WORKER", f"{__name__}:serve_slowly")
    it = Remote(program, "pocl", limit=LIMIT)
    found = it.replay("main", it.place([MATRIX]), race := Race(rounds=1))
    assert (it.stops, race.stopped) == (0, {})
    assert found.outermost[0].attempts.keys() == {0, 1, 2}
    it.close()


def test_a_compiler_that_never_ends_is_waited_for_once(
        program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its version cannot run, in later tunings either."""
    monkeypatch.setattr(process, "WORKER", f"{__name__}:serve_for_ever")
    monkeypatch.setattr(remote, "KNOWING_PART", 0.0)  # it only sleeps
    for stops in (1, 0):
        it = Remote(program, "pocl", limit=TimeLimit(least=600.0))
        costs = measured(it, all_plans(program))
        chosen = {cost[0].encounters[0].chosen for cost in costs
                  if not isinstance(cost, RuneliftError)}
        assert (it.stops, chosen) == (stops, {0, 2})
        it.close()


def test_a_run_that_does_not_end_is_none_that_is_not_compiled(
        program: Program, tmp_path: Path) -> None:
    """The kernel that its worker compiled is there for the next one."""
    it = Remote(program, "pocl", limit=TimeLimit(first=2.0))
    with pytest.raises(RunStopped, match=TOO_LONG) as stopped:
        it.timing("slow", it.place([np.int64(1 << 50)]))
    assert not isinstance(stopped.value, SlowBuild)
    assert list((tmp_path / "pocl").rglob("*.so"))
    it.close()


# In one process

class Heard(BuildWatch):
    """A watch that keeps what it hears of launches."""

    def __init__(self) -> None:
        self.launches: list[str] = []
        self.under_way = 0

    def begins(self, program: Sequence[str], *, needed: bool) -> None:
        """Note the begin of a build."""
        self.under_way += 1
        if " in groups of " in program[-1]:
            self.launches.append(program[-1])

    def ends(self, program: Sequence[str]) -> None:
        """Note the end of a build."""
        self.under_way -= 1


def follow(program: Program, entry: str, policy: CallPolicy) -> Any:
    """The executable of an entry point, under a policy."""
    executable = program.loaded.executable(entry)
    executable.follow(policy)
    return executable


def run(program: Program, executable: Any, values: Any, *, record: bool) -> Any:
    """Run ``scaled`` on the values, as measurements do."""
    args = bound(program, "scaled", [values])
    call = call_of(executable, args, {}, {})
    return call.record(dict(args)) if record else call.perform(dict(args))


def test_the_first_launch_with_each_size_is_told(program: Program) -> None:
    """PoCL compiles for groups of a size, and twice: for few work-items and for many."""
    heard = Heard()
    executable = follow(program, "scaled", CallPolicy(captures_first=True, watch=heard))
    told = []
    for count in (10, 11, NARROW + 1, NARROW + 2, 12):
        before = executable.build_seconds, len(heard.launches)
        run(program, executable, np.arange(count, dtype=np.int32), record=False)
        told.append(len(heard.launches) - before[1])
        if told[-1]:
            assert executable.build_seconds > before[0]
    assert told == [1, 0, 1, 0, 0]
    assert heard.under_way == 0


def test_runs_of_users_ask_for_nothing(program: Program) -> None:
    executable = follow(program, "scaled", CallPolicy(watch=(heard := Heard())))
    run(program, executable, np.arange(10, dtype=np.int32), record=False)
    assert (heard.launches, executable.launched) == ([], set())


def test_commands_are_submitted_only_if_their_kernels_are_compiled(program: Program) -> None:
    """Else a run is captured, which tells that the driver compiles."""
    heard = Heard()
    executable = follow(program, "scaled", CallPolicy(captures_first=True, watch=heard))
    values = np.arange(10, dtype=np.int32)
    run(program, executable, values, record=True)
    launches = len(heard.launches)
    executable.launched.clear()
    call = call_of(executable, args := bound(program, "scaled", [values]), {}, {})
    call.prepare(args)
    assert call.commands is None
    call.perform(dict(args))
    assert call.commands is not None
    assert len(heard.launches) == 2 * launches


def test_kernels_that_compare_results_are_told_too(program: Program) -> None:
    for known in (compare_results._kernel, compare_results._launched):
        known.cache_clear()
    begun: list[str] = []

    class Watch(Heard):
        def begins(self, program: Sequence[str], *, needed: bool) -> None:
            super().begins(program, needed=needed)
            begun.append(program[0])

    heard = Watch()
    device = program.device
    differences = compare_results.Differences(device, device.plain, heard)
    one, other = (device.pool.allocate(40) for _ in range(2))
    pair = compare_results.VersionPair("site", 0, 1)
    for _ in range(2):
        differences.arrays(pair, compare_results.Prim.I32, one, other, 10, rounded=False)
    assert begun == [files(compare_results.__package__).joinpath(
        "compare_integers.cl").read_text("utf-8")]
    assert heard.under_way == 0
