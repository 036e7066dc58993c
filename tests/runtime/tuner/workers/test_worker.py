"""Programs in a worker process: what they cost, and that the tuner survives what they do."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pyopencl
import pytest

import runelift
from runelift.ir.base.errors import CompilerBug, RuneliftError, UserError
from runelift.ir.imp import Kernel, check
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.data.dataset import Generator, RandomArray, parse_spec
from runelift.runtime.devices import build as building
from runelift.runtime.devices import context
from runelift.runtime.devices.context import Device
from runelift.runtime.execution.probes import forward_progress
from runelift.runtime.execution.probes.on_demand import PROBES
from runelift.runtime.host import channel, gc_policy, interrupts
from runelift.runtime.processes import process
from runelift.runtime.processes.build_pool import PROBE_REQUESTS, Builders, Source
from runelift.runtime.processes.process import Process
from runelift.runtime.programs.program import Program
from runelift.runtime.tools.reports.text import render
from runelift.runtime.tuner.job import TuningJob
from runelift.runtime.tuner.measure.measuring import measure_by
from runelift.runtime.tuner.measure.protocols import Dataset, MeasuringMethod, Replay
from runelift.runtime.tuner.measure.time_limits import RunStopped, TimeLimit, parse_time_limit
from runelift.runtime.tuner.replay.racing import Race
from runelift.runtime.tuner.thresholds import tune_thresholds
from runelift.runtime.tuner.workers import remote
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.tuner.workers.remote import Remote
from runelift.runtime.tuner.workers.worker import Session
from runelift.runtime.versions.forest import plans

TEXT = """
entry main [n][m] (xss: [n][m]i32): [n]i32 = map (\\xs -> reduce (+) 0 (map (* 3) xs)) xss

entry slow (n: i64): i32 =
  (map (\\j -> loop s = 0 for i < n do s * 3 + i32.i64 (i ^ j)) (iota 2))[1]

entry get [n] (xs: [n]i32) (i: i64): i32 = xs[i]
"""
MATRIX = np.random.default_rng(4).integers(0, 9, (12, 40)).astype(np.int32)
METHODS = None, MeasuringMethod(replay=Replay(rounds=1))
BAD = """
from runelift.runtime.execution.run import Run
import os, time
enqueue = Run._enqueue
def bad(self, site, *what):
    if site.version == {version!r}:
        {does}
    enqueue(self, site, *what)
Run._enqueue = bad
"""


@pytest.fixture(scope="module")
def program() -> Program:
    return runelift.compile(TEXT, device="pocl", tuning={})


def job_for(remote: Remote, program: Program, method: MeasuringMethod) -> TuningJob:
    return TuningJob(remote, program.tree, [Dataset("a", "main", lambda: [MATRIX])],
                     method=method, repeats=1)


@pytest.fixture(scope="module")
def built(program: Program) -> None:
    """All that tuning runs has been built: PoCL does that while kernels seem to run."""
    for method in METHODS:
        with closing(Remote(program, "pocl", limit=TimeLimit(least=30.0))) as it:
            tune_thresholds(job_for(it, program, method or MeasuringMethod()))


@pytest.fixture(scope="module")
def shared(program: Program) -> Iterator[Remote]:
    """A program in a worker that does as it should."""
    found = Remote(program, "pocl", limit=TimeLimit(least=30.0))
    yield found
    found.close()


def test_it_does_what_the_program_does(program: Program, shared: Remote) -> None:
    args = shared.place([MATRIX])
    forces = plans(program.tree.entry("main"))
    shared.prebuild("main", args, forces)
    for force in forces:
        here, there = MeasuredProgram(program).record("main", [MATRIX], force=force), shared.record(
            "main", args, force=force)
        assert [e.chosen for e in there.encounters] == [e.chosen for e in here.encounters]
        assert there.launches == here.launches
    assert shared.timing("main", args).issue > 0
    replayed = shared.replay("main", args, race := Race(rounds=1))
    assert len(race._states) == 1
    assert {k for m in replayed.outermost for k in m.attempts} == set(range(len(forces)))
    assert shared.difference("main", args, {}, {"main.suff_outer_par_0": 1}) is None
    assert [s.operation.name for s in shared.spaces("main")] == [
        s.operation.name for s in program.spaces("main")]
    assert not shared.stops


def test_random_arrays_are_made_by_the_worker(program: Program, shared: Remote,
                                             monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither is the tuner's own memory needed, nor are they sent."""
    values = Generator(1).values([parse_spec("[50][70]i32")])
    drawn = Generator(1).recipes([parse_spec("[50][70]i32")])
    np.testing.assert_array_equal(MeasuredProgram(program).place(drawn)[0].get(), values[0])
    monkeypatch.setattr(RandomArray, "__array__", lambda self: pytest.fail("it was made here"))
    datasets = [Dataset("drawn", "main", lambda: drawn)]
    tuned = tune_thresholds(TuningJob(shared, program.tree, datasets, repeats=1))
    (entry,) = tuned.entries
    assert all(run.record is not None for run in entry.measurements.runs)


def test_runs_are_told_of_while_others_are_made(program: Program, shared: Remote) -> None:
    args, forces = shared.place([MATRIX]), plans(program.tree.entry("main"))
    found = [made for made in shared.measure_all("main", args, forces)
             if not isinstance(made, RuneliftError)]
    assert [[each.chosen for each in record.encounters] for record, _ in found] == [
        [force[each.site] for each in record.encounters]
        for force, (record, _) in zip(forces, found, strict=True)]
    assert all(timing.seconds >= timing.issue > 0 for _, timing in found)
    assert args.quickest == min(min(record.wall, timing.seconds) for record, timing in found)
    assert len(shared.time_all("main", args, [{}, {"main.suff_outer_par_0": 1}, {}])) == 3
    wrong = shared.place([np.arange(3, dtype=np.int32), np.int64(7)])
    errors = list(shared.measure_all("get", wrong, [{}, {}]))
    assert ["out of bounds" in str(error) for error in errors] == [True, True]
    assert not shared.stops


def test_who_stops_listening_ends_the_worker(program: Program) -> None:
    """It may be at the next run; what is asked for then is another one's."""
    it = Remote(program, "pocl")
    args = it.place([MATRIX])
    told = it.measure_all("main", args, plans(program.tree.entry("main")))
    assert not isinstance(next(told), RuneliftError)
    told.close()  # type: ignore[attr-defined]
    assert it._worker is None
    assert it.timing("main", args).seconds > 0
    it.close()


def test_runs_after_one_that_crashes_are_made(program: Program,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    site = program.tree.entry("main").trees[0].name
    lines = process.RUN.strip().splitlines()
    monkeypatch.setattr(process, "RUN", "\n".join([*lines[:-1], BAD.format(
        version=f"{site}/2", does="os._exit(3)"), lines[-1]]))
    it = Remote(program, "pocl")
    made = list(it.measure_all("main", it.place([MATRIX]), [{site: k} for k in (0, 2, 1, 2, 1)]))
    assert [isinstance(each, RunStopped) for each in made] == [False, True, False, True, False]
    assert it.stops == 2
    it.close()


def test_a_worker_reads_the_program_that_is_kept(tmp_path: Path,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    """If that is the same, it is not sent; its plan is not made again."""
    monkeypatch.setenv("RUNELIFT_CACHE", str(tmp_path))
    monkeypatch.setenv("RUNELIFT_KEEP", "1")
    path = tmp_path / "p.fut"
    path.write_text(TEXT)
    asked = list[object]()
    tell = remote.send
    monkeypatch.setattr(remote, "send", lambda connection, message: (
        asked.append(message), tell(connection, message)))

    def opened(program: Program) -> list[type]:
        asked.clear()
        it = Remote(program, "pocl", worker=Process("pocl", program=(str(path), "all")))
        args = it.place([MATRIX])
        it.prebuild("main", args, [{}])
        assert it.difference("main", args, {}, {"main.suff_outer_par_0": 1}) is None
        it.finish()
        it.close()
        return [type(each[1].compiled) for each in asked
                if isinstance(each, tuple) and each[0] == "open"]

    first = runelift.compile(path, device="pocl", tuning={})
    assert opened(first) == [Compiled]
    again = runelift.compile(path, device="pocl", tuning={})
    assert again.compiled.plans.keys() == first.compiled.plans.keys()
    assert opened(again) == [str]
    path.write_text(TEXT.replace("* 3", "* 4"))
    assert opened(again) == [str, Compiled]


def test_builders_fill_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if one of them ends."""
    monkeypatch.setenv("RUNELIFT_CACHE", str(tmp_path))
    program = runelift.compile(TEXT, device="pocl", tuning={})
    builders = Builders("pocl", 2)
    it = Remote(program, "pocl", builders=builders)
    assert it.builders == 2
    asked: list[int] = []
    build = builders.build
    monkeypatch.setattr(builders, "build", lambda sources, seconds: (
        asked.append(len(sources)), build(sources, seconds))[1])
    os.kill(builders._processes[0]._process.pid, signal.SIGKILL)
    args = it.place([MATRIX])
    it.prebuild("main", args, plans(program.tree.entry("main")))
    assert builders.count == 1
    assert asked[0] > 1
    assert len(list((tmp_path / "kernels").iterdir())) == asked[0]
    assert it.difference("main", args, {}, {"main.suff_outer_par_0": 1}) is None
    it.prebuild("main", args, plans(program.tree.entry("main")))
    assert len(asked) == 1
    it.close()


def test_kernels_of_all_inputs_are_begun_together(tmp_path: Path,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    """From their shapes alone; who needs them waits for them, and has nothing else built."""
    monkeypatch.setenv("RUNELIFT_CACHE", str(tmp_path))
    program = runelift.compile(TEXT, device="pocl", tuning={})
    it = Remote(program, "pocl", builders=(builders := Builders("pocl", 2)))
    begun, waited = list[Source](), list[Source]()
    begin, build = builders.begin, builders.build
    monkeypatch.setattr(builders, "begin", lambda sources: (begun.extend(sources), begin(sources)))
    monkeypatch.setattr(builders, "build", lambda sources, seconds: (
        waited.extend(sources), build(sources, seconds))[1])
    forces = [{}, *plans(program.tree.entry("main"))]
    it.prebuild_all("main", [[MATRIX], [MATRIX.T.copy()]], forces)
    assert len(begun) > 1
    for values in MATRIX, MATRIX.T.copy():
        args = it.place([values])
        it.prebuild("main", args, forces)
        assert it.difference("main", args, {}, {"main.suff_outer_par_0": 1}) is None
    assert set(waited) <= set(begun)
    assert len(list((tmp_path / "kernels").iterdir())) == len(set(begun))
    it.close()


def test_plans_come_while_kernels_are_built(tmp_path: Path,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNELIFT_CACHE", str(tmp_path))
    monkeypatch.setattr(Remote, "_take_plans", lambda self: None)  # nobody asks for them
    program = runelift.compile(TEXT, device="pocl", tuning={})
    it = Remote(program, "pocl", builders=Builders("pocl", 1))
    assert not program.compiled.plans
    it.prebuild("main", it.place([MATRIX]), [{}])
    assert [entry for entry, *_ in program.compiled.plans] == ["main"]
    it.close()


def test_what_is_waited_for_is_built_first(monkeypatch: pytest.MonkeyPatch) -> None:
    builders = Builders("pocl", 0)  # nobody takes anything away
    sources = [("a" * length,) for length in (3, 5, 4)]
    monkeypatch.setattr(builders, "_hand_out", lambda: None)
    builders.begin(sources)
    assert [len(source[0]) for source in builders._queue] == [5, 4, 3]
    builders.begin([sources[0], ("b" * 9,)])
    builders.build([sources[0], ("c" * 7,)], seconds=1.0)
    assert [len(source[0]) for source in builders._queue] == [7, 3, 5, 4, 9]
    builders.close()


def test_a_busy_builder_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNELIFT_CACHE", str(tmp_path))
    builders = Builders("pocl", 1)
    text = "kernel void f(global int *x) { x[0] = 7; }"
    first, second = (text, "-w"), (f"{text} ", "-w")
    builders.begin([first, second])
    while not builders._busy:
        threading.Event().wait(0.01)
    (busy,) = builders._processes
    taken = builders.take_worker()
    assert taken is busy
    assert taken.is_there
    assert builders._done == {second}  # the longer one
    builders.build([first], seconds=60.0)
    assert len(list((tmp_path / "kernels").iterdir())) == 2
    taken.kill()
    builders.close()


def test_a_lost_worker_is_replaced_by_a_builder(program: Program, tmp_path: Path,
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    """Which has everything that the other one has worked out, told while kernels were built."""
    monkeypatch.setenv("RUNELIFT_CACHE", str(tmp_path))
    it = Remote(program, "pocl", builders=(builders := Builders("pocl", 1)),
                limit=TimeLimit(least=0.1))
    quick = it.place([MATRIX])
    it.prebuild("main", quick, [{}])
    assert program.compiled.plans
    (builder,), slow = builders._processes, it.place([np.int64(1 << 40)])
    slow.quickest = 1e-3
    with pytest.raises(RunStopped):
        it.timing("slow", slow)
    assert it.timing("main", quick).seconds > 0
    assert it._worker is builder
    assert builders.count == 1
    it.close()


def test_a_spare_worker_is_kept_where_builders_have_not_started(
        program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """As there was nothing to build: to start them all takes longer than to start one process."""
    it = Remote(program, "pocl", builders=(builders := Builders("pocl", 1, on_demand=True)))
    monkeypatch.setattr(Remote, "out_of_process", True)
    args = it.place([MATRIX])
    assert it._spare is None
    it._lose()
    assert it.timing("main", args).seconds > 0
    assert it._spare is not None
    spare = it._spare
    it._lose()
    assert it.timing("main", args).seconds > 0
    assert it._worker is spare
    assert not builders.started
    it.close()


def test_a_device_is_tried_in_a_thread(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    tried, turns = list[str](), sys.getswitchinterval()
    monkeypatch.setattr(Device, "probe_forward_progress",
                        lambda device: tried.append("probe_forward_progress"))
    monkeypatch.setattr(Device, "probe_subgroups", lambda device: tried.append("subgroups"))
    assert program.device_info is not None
    session = Session(program.device_info, multiprocessing.Pipe()[0])
    session.begin_probes(program.device_info)
    assert sys.getswitchinterval() < turns
    session._await_probes()
    session._await_probes()
    assert tried == ["probe_forward_progress", "subgroups"]
    assert sys.getswitchinterval() == pytest.approx(turns)


def test_the_driver_has_what_was_built_from_its_source(
        tmp_path: Path, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """NVIDIA's: it must translate our binaries, but keeps what it makes of sources."""
    monkeypatch.setenv("RUNELIFT_CACHE", str(tmp_path))
    monkeypatch.setenv("POCL_KERNEL_CACHE", "0")
    source, texts = ("kernel void f(global int *x) { x[0] = 7; }", "-w"), list[object]()
    assert program.device_info is not None
    session = Session(program.device_info, multiprocessing.Pipe()[0])
    for _ in range(2):  # PoCL's binaries are kept when a program is built a second time
        session.build(source)
    assert len(list((tmp_path / "kernels").iterdir())) == 1
    build = pyopencl.Program
    monkeypatch.setattr(pyopencl, "Program", lambda *what: (
        texts.append(what[1]), build(*what))[1])
    monkeypatch.setattr(program.device, "info", replace(program.device.info, locked_compiler=True))
    for keeps in False, True:
        monkeypatch.setattr(building, "driver_has_cache", lambda keeps=keeps: keeps)
        building.build_program(program.device, *source)
    assert [text == source[0] for text in texts] == [False, True]


def test_settings_are_tried_there(program: Program, shared: Remote) -> None:
    args, space = shared.place([MATRIX]), program.spaces("main")[0]
    met = shared.try_settings("main", args)
    (operation,) = [each for each, _ in met if each[0] == space.operation.name] or [
        met[0][0]]
    space = next(s for s in program.spaces("main") if s.operation.name == operation[0])
    found: list[float] = []

    def search():  # type: ignore[no-untyped-def]
        for setting in [space.default, *space.settings()][:4]:
            found.append((yield setting))

    assert shared.try_settings("main", args, searches={operation: search})
    assert len(found) == 4
    assert isinstance(found[0], float)


def test_errors_of_the_program_are_told(shared: Remote) -> None:
    args = shared.place([np.arange(3, dtype=np.int32), np.int64(7)])
    with pytest.raises(UserError, match="out of bounds"):
        shared.timing("get", args)
    assert not shared.stops


def test_what_takes_too_long_is_stopped(program: Program) -> None:
    with_limit = Remote(program, "pocl", limit=TimeLimit(least=0.1))
    quick = with_limit.place([MATRIX])
    with_limit.timing("main", quick)
    slow = with_limit.place([np.int64(1 << 40)])
    slow.quickest = 1e-3
    with pytest.raises(RunStopped, match=r"timeout: not over after 0\.1 s"):
        with_limit.timing("slow", slow)
    assert with_limit.timing("main", quick).seconds > 0
    assert with_limit.stops == 1
    with_limit.close()


def test_what_ends_its_process_is_told(program: Program) -> None:
    """One that is killed once is tried again, and one that is killed twice is at fault."""
    it = Remote(program, "pocl")
    slow, quick = it.place([np.int64(1 << 40)]), it.place([MATRIX])

    def kill_twice() -> None:
        killed = None
        for _ in range(2):
            while it._worker is None or it._worker is killed:
                threading.Event().wait(0.05)
            threading.Event().wait(0.5)
            killed = it._worker
            os.kill(killed._process.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_twice)
    killer.start()
    with pytest.raises(RunStopped, match=r"crash: .* SIGKILL"):
        it.timing("slow", slow)
    killer.join()
    assert it.stops == 2
    assert it.timing("main", quick).seconds > 0
    it.close()


@pytest.mark.parametrize(("does", "why"), [
    ("time.sleep(60)", "timeout: not over after 2"),
    ("os._exit(3)", "crash: the process that ran it ended with status 3")])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.usefixtures("built")
def test_bad_versions_are_never_chosen(program: Program, method: MeasuringMethod | None, does: str,
                                       why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A version hangs or crashes: the others are measured all the same, and one of them holds."""
    bad = f"{program.tree.entry('main').trees[0].name}/2"
    lines = process.RUN.strip().splitlines()
    monkeypatch.setattr(process, "RUN", "\n".join(
        [*lines[:-1], BAD.format(version=bad, does=does), lines[-1]]))
    it = Remote(program, "pocl", limit=TimeLimit(least=2.0))  # others may need the processor
    tuning = tune_thresholds(job_for(it, program, method or MeasuringMethod()))
    it.close()
    (entry,) = tuning.entries
    (dataset,) = entry.costs.datasets
    assert math.isinf(dataset.points[0].own[2].device)
    assert all(math.isfinite(dataset.points[0].own[k].device) for k in (0, 1))
    assert dataset.points[0].choose(tuning.thresholds) != 2
    assert why in render(tuning)
    assert it.stops == 1


KILLED_ONCE = """
import pathlib
if not pathlib.Path({mark!r}).exists():
    pathlib.Path({mark!r}).touch()
    os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.usefixtures("built")
def test_no_version_is_at_fault_if_a_worker_is_killed_from_outside(
        program: Program, method: MeasuringMethod | None, tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch) -> None:
    """Its run is made again."""
    version = f"{program.tree.entry('main').trees[0].name}/2"
    lines, mark = process.RUN.strip().splitlines(), str(tmp_path / "killed")
    does = KILLED_ONCE.format(mark=mark).strip().replace("\n", "\n        ")
    monkeypatch.setattr(process, "RUN", "\n".join(
        [*lines[:-1], BAD.format(version=version, does=does), lines[-1]]))
    it = Remote(program, "pocl", limit=TimeLimit(least=30.0))
    tuning = tune_thresholds(job_for(it, program, method or MeasuringMethod()))
    it.close()
    (dataset,) = tuning.entries[0].costs.datasets
    assert Path(mark).exists()
    assert it.stops == 1
    assert all(math.isfinite(cost.device) for cost in dataset.points[0].own.values())
    assert len(dataset.points[0].own) == 3
    assert "crash" not in render(tuning)


def test_a_worker_that_is_killed_between_requests_is_replaced(program: Program) -> None:
    """Or while it is given arguments; who is killed again and again has a fault."""
    it = Remote(program, "pocl")
    args = it.place([MATRIX])
    forces = plans(program.tree.entry("main"))
    for ask in (lambda: it.timing("main", args), lambda: it.place([MATRIX]),
                lambda: it.spaces("main"), lambda: list(it.measure_all("main", args, forces))):
        assert it._worker is not None
        os.kill(it._worker._process.pid, signal.SIGKILL)
        assert not any(isinstance(each, RuneliftError) for each in ask())
    assert it.stops == 4
    it.close()


@pytest.mark.parametrize("kills", [1, 2])
def test_a_setting_is_tried_again_if_its_worker_is_killed(
        program: Program, kills: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once: a setting whose worker is killed twice is at fault."""
    it = Remote(program, "pocl")
    args = it.place([MATRIX])
    operation = it.try_settings("main", args)[0][0]
    space = next(s for s in program.spaces("main") if s.operation.name == operation[0])
    setting, found, left, tell = space.default, list[object](), [None] * kills, remote.send

    def kill_first(connection: Connection, message: object) -> None:
        if message == setting and left:
            left.pop()
            assert it._worker is not None
            os.kill(it._worker._process.pid, signal.SIGKILL)
            it._worker._process.wait()
        tell(connection, message)

    def search():  # type: ignore[no-untyped-def]
        found.append((yield setting))

    monkeypatch.setattr(remote, "send", kill_first)
    it.try_settings("main", args, searches={operation: search})
    assert [isinstance(each, float) for each in found] == [kills == 1]
    it.close()


def test_workers_seldom_look_for_garbage(program: Program, tmp_path: Path,
                                          monkeypatch: pytest.MonkeyPatch) -> None:
    lines = process.RUN.strip().splitlines()
    told = f"import gc, pathlib; pathlib.Path({str(tmp_path / 'told')!r}).write_text(" \
           "str(gc.get_threshold()))"
    monkeypatch.setattr(process, "RUN", "\n".join([*lines[:-1], told, lines[-1]]))
    it = Remote(program, "pocl")
    it.prebuild("main", it.place([MATRIX]), [{}])
    it.close()
    assert (tmp_path / "told").read_text() == str(gc_policy.THRESHOLDS)


def test_a_version_that_was_stopped_is_not_tried_again(program: Program,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where a dataset is measured once more without a race."""
    bad = f"{program.tree.entry('main').trees[0].name}/2"
    lines = process.RUN.strip().splitlines()
    monkeypatch.setattr(process, "RUN", "\n".join(
        [*lines[:-1], BAD.format(version=bad, does="time.sleep(60)"), lines[-1]]))
    it = Remote(program, "pocl", limit=TimeLimit(least=1.0))
    method = MeasuringMethod(replay=Replay(rounds=1))
    forest, datasets = program.tree.entry("main"), [Dataset("a", "main", lambda: [MATRIX])]
    first = measure_by(method, it, forest, datasets)
    again = measure_by(method.surely(first).within(60.0), it, forest, datasets)
    it.close()
    assert list(first.stopped["a"]) == [bad]
    for found in (first, again):
        assert [run.error is None for run in found.runs[:3]] == [True, True, False], found.runs
    assert it.stops == 1


def test_ctrl_c_does_not_wait_for_a_run(program: Program) -> None:
    it = Remote(program, "pocl")
    slow = it.place([np.int64(1 << 40)])
    with interrupts.between_runs():
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            it.timing("slow", slow)
    assert it._worker is None
    it.close()


def test_a_worker_ends_with_its_tuner() -> None:
    """Also while it runs something that would take for ever."""
    tuner = subprocess.Popen([sys.executable, "-c", f"""
import runelift, numpy, os
from runelift.runtime.tuner.workers.remote import Remote
it = Remote(runelift.compile({TEXT!r}, device="pocl", tuning={{}}), "pocl")
args = it.place([numpy.int64(1 << 40)])
print(it._worker._process.pid, flush=True)
it.timing("slow", args)
"""], stdout=subprocess.PIPE, text=True)
    assert tuner.stdout is not None
    worker = int(tuner.stdout.readline())
    tuner.kill()
    tuner.wait()
    for _ in range(100):
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return
        threading.Event().wait(0.05)
    assert "State:\tZ" in Path(f"/proc/{worker}/status").read_text()


def test_trials_are_left_to_builders(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker waits for them, or makes them if nobody does."""
    begin = "from runelift.runtime.processes.child_main import main"
    assert begin in process.RUN
    monkeypatch.setattr(process, "RUN", process.RUN.replace(begin, f"""
import dataclasses
from runelift.runtime.devices.info import register_runtimes
register_runtimes()
from runelift.runtime.tuner.workers import worker
select = worker.select
worker.select = lambda spec, tells: dataclasses.replace(select(spec), locked_compiler=True)
{begin}"""))
    program = runelift.compile(TEXT, device="pocl", tuning={})
    for builders in (None, Builders("pocl", 0, probes=PROBE_REQUESTS),
                     Builders("pocl", 2, probes=PROBE_REQUESTS)):
        it = Remote(program, "pocl", builders=builders)
        assert it.time("main", it.place([MATRIX])) > 0
        if builders is not None:
            assert {*builders._done} == {*PROBE_REQUESTS}
            builders.close()
        it.close()


@pytest.mark.parametrize("holds", [True, False])
def test_what_others_try_is_presumed_until_something_runs(
        holds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was prepared is forgotten if it turns out to be wrong."""
    program = runelift.compile("entry main [n] (xs: [n]i64): [n]i64 = scan (+) 0 xs",
                               device="pocl", tuning={})
    assert program.device_info is not None
    info = replace(program.device_info, shares=replace(
        program.device_info.shares, tile=32, patience=1 << 20))
    program.loaded.info, program.loaded._device = info, (device := Device(info, PROBES))
    monkeypatch.setattr(context, "_opened", {(info.handle.int_ptr, info): device})
    monkeypatch.setattr(forward_progress, "works", lambda _: holds)
    monkeypatch.setattr(context, "proven", lambda device, what, trial: trial())
    asked, answers = multiprocessing.Pipe()
    session = Session(info, asked)
    session.program, session.outside, session.others_probe = program, True, True
    inputs = [[np.zeros(1 << 12, np.int64)]]
    session.answer(("prebuild_all", "main", inputs, [{}]))
    presumed = program.loaded.executable("main")
    assert device.patience == 1 << 20
    channel.send(answers, None)
    session.answer(("place_arguments", 0, inputs[0]))
    assert device.patience == (1 << 20 if holds else 0)
    assert (program.loaded.executable("main") is presumed) == holds


def test_kernels_are_checked_while_others_build_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are asked for first; one that is not well formed is found out before it runs."""
    program = runelift.compile("entry main [n] (xs: [n]i64): [n]i64 = map (+ 1) xs",
                               device="pocl", tuning={})
    asked, answers = multiprocessing.Pipe()
    session = Session(program.device_info, asked)
    session.program, session.outside = program, True

    def bad(kernel: Kernel) -> None:
        raise CompilerBug(f"{kernel.name} is bad")

    monkeypatch.setattr(check, "check", bad)
    with pytest.raises(CompilerBug, match=r"segmap_.* is bad"):
        session.answer(("prebuild_all", "main", [[np.zeros(1 << 12, np.int64)]], [{}]))
    assert [channel.receive(answers)[0] for _ in range(2)] == ["begun", "wanted"]
    session.answer(("place_arguments", 0, []))
    with pytest.raises(CompilerBug, match="is bad"):
        session.answer(("call", "timing", "main", 0))
    monkeypatch.undo()
    session.answer(("prebuild_all", "main", [[np.zeros(1 << 12, np.int64)]], [{}]))
    assert not program.compiled.unchecked


def test_an_ended_process_is_gone_some_time() -> None:
    worker = Process("pocl")
    worker.end()
    for _ in range(200):
        try:
            os.kill(worker._process.pid, 0)
        except ProcessLookupError:
            break
        threading.Event().wait(0.05)
    else:
        pytest.fail("it is still there")
    worker.kill()


def test_a_worker_that_cannot_start() -> None:
    program = runelift.compile(TEXT, device="pocl", tuning={})
    it = Remote(program, "pocl", worker=Process("no such device"))
    with pytest.raises(RunStopped, match="status 1"):
        it.place([MATRIX])


@pytest.mark.parametrize(("text", "quickest", "seconds"), [
    ("5s", 1e-3, 5.0), ("500ms", 10.0, 0.5), ("2min", None, 120.0), ("3x", 2.0, 6.0),
    ("3x", 1e-3, 2.0), ("none", 1e9, math.inf)])
def test_limits_have_units(text: str, quickest: float | None, seconds: float) -> None:
    assert parse_time_limit(text).after(quickest) == seconds


@pytest.mark.parametrize("text", ["5", "x", "-1s", "0s", "5 hours", ""])
def test_limits_without_units_are_refused(text: str) -> None:
    with pytest.raises(UserError, match="no time limit"):
        parse_time_limit(text)
