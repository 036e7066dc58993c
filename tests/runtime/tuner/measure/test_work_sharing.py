"""Datasets that several devices of one make share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runelift import compile
from runelift.ir.base.errors import CompilerBug, UserError
from runelift.runtime.devices.comparable import model_of, place_of, select_comparable
from runelift.runtime.devices.info import select, spec_of
from runelift.runtime.host import interrupts
from runelift.runtime.records.record import Record, Timing
from runelift.runtime.tuner.costs.cost_model import costs_of
from runelift.runtime.tuner.costs.log import Log, LoggedRun, Measurements, read_log
from runelift.runtime.tuner.measure.forced_runs import measure
from runelift.runtime.tuner.measure.measuring import measure_by
from runelift.runtime.tuner.measure.protocols import Dataset, Job, MeasuringMethod, Progress
from runelift.runtime.tuner.policy import NORMAL, RepetitionPolicy, TuningPolicy
from runelift.runtime.tuner.workers.local_devices import LocalDevices
from runelift.runtime.versions.forest import entry_forest, plans
from runelift.runtime.versions.size_guards import GuardedThresholds, Leaf
from tests.runtime.tuner.simulated import Simulated, fun, nested

ALIKE = {**os.environ, "POCL_DEVICES": "basic basic"}
"""Two devices of one make."""
EAGER = """
import sys
from dataclasses import replace
from runelift.runtime.tools.commands.tuning_options import EFFORTS
from runelift.runtime.tuner.policy import NORMAL, RepetitionPolicy
from runelift.runtime.tuner.workers import local_devices
local_devices.JOIN_SECONDS = 0.0
EFFORTS["normal"] = replace(EFFORTS["normal"], policy=replace(
    NORMAL, repetition=RepetitionPolicy(divide_seconds=0.0)))
from runelift.runtime.tools.commands.cli import main
sys.exit(main())
"""
"""The command line where devices share whatever there is."""


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """All devices take part from the beginning."""
    monkeypatch.setattr("runelift.runtime.tuner.workers.local_devices.JOIN_SECONDS", 0.0)


def cost(where: str, index: int, par: int) -> float:
    return 1e-3 * (par + index)


def datasets(count: int) -> list[Dataset]:
    return [Dataset(f"d{n}", "main", lambda n=n: [4 + n]) for n in range(count)]  # type: ignore[misc]


class Watched(Simulated):
    """A program whose first version waits for that of another device."""

    barrier: threading.Barrier | None = None

    def record(self, entry: str, args: Sequence[Any], *, force: Mapping[str, int] | None = None,
               thresholds: Mapping[str, int] | None = None) -> Record:
        if self.barrier is not None and force:
            self.barrier.wait(10)
            self.barrier = None
        return super().record(entry, args, force=force, thresholds=thresholds)


def crew() -> tuple[dict[str, Watched], LocalDevices]:
    programs = {name: Watched(entry_forest(fun(*nested())), cost) for name in ("x:0", "x:1")}
    return programs, LocalDevices(programs)


def meet(programs: dict[str, Watched]) -> None:
    """Have each device do a dataset."""
    barrier = threading.Barrier(len(programs))
    for program in programs.values():
        program.barrier = barrier


def places(runs: Sequence[LoggedRun]) -> dict[str, set[str | None]]:
    return {name: {run.place for run in runs if run.dataset == name}
            for name in {run.dataset for run in runs}}


def measured(programs: dict[str, Watched], both: LocalDevices, count: int, log: Log | None = None,
             policy: TuningPolicy = NORMAL) -> Measurements:
    return measure_by(MeasuringMethod(policy=policy, pool=both), programs["x:0"],
                      programs["x:0"].forest, datasets(count), repeats=2, log=log)


def forces(runs: Sequence[LoggedRun]) -> Counter[tuple[Any, ...]]:
    return Counter((run.dataset, *run.force.items()) for run in runs if not run.reference)


def test_devices_take_datasets_and_then_parts_of_them(tmp_path: Path) -> None:
    """The costs are those that one device would have found."""
    programs, both = crew()
    meet(programs)
    forest = programs["x:0"].forest
    log, steps = Log(tmp_path / "log"), list[Progress]()
    found = measure_by(MeasuringMethod(pool=both), programs["x:0"], forest, datasets(5),
                                                        repeats=2,
                                                        log=log, progress=steps.append)
    log.close()
    alone = measure(programs["x:0"], forest, datasets(5), repeats=2)
    logged = read_log(tmp_path / "log")["main"].runs
    assert found.datasets == alone.datasets
    assert forces(found.runs).keys() == forces(alone.runs).keys()
    assert set().union(*places(found.runs).values()) == {"x:0", "x:1"}
    assert places(logged) == places(found.runs)
    assert len(logged) == len(found.runs)
    assert found.program_runs == alone.program_runs
    assert steps[-1].done == steps[-1].total
    assert sorted(steps, key=lambda step: step.done) == steps
    assert costs_of(forest, found).datasets[0].total(programs["x:0"].default) == pytest.approx(
        costs_of(forest, alone).datasets[0].total(programs["x:0"].default))


def slow(program: Watched, factor: float) -> None:
    """Have a device take so many times as long."""
    made = program._record

    def record(*args: Any) -> Record:
        found = made(*args)
        return replace(found, span=factor * found.span, busy=factor * found.busy, encounters=tuple(
            each._replace(time=factor * each.time, busy=factor * each.busy)
            for each in found.encounters))

    program._record = record  # type: ignore[method-assign]


def test_versions_of_one_dataset_are_shared_out(tmp_path: Path) -> None:
    """Both devices run the default; the times of the second are told as those of the first."""
    programs, both = crew()
    meet(programs)
    slow(programs["x:1"], 1.1)
    forest, log = programs["x:0"].forest, Log(tmp_path / "log")
    found = measured(programs, both, 1, log)
    log.close()
    assert {place for run in found.runs if run.reference for place in [run.place]} == {
        "x:0", "x:1"}
    by = {tuple(run.force.items()): run.place for run in found.runs if not run.reference}
    assert Counter(by.values()).keys() == {"x:0", "x:1"}
    assert max(Counter(by.values()).values()) <= len(by) - 2
    (ours,) = costs_of(forest, found).datasets
    (alone,) = costs_of(forest, measure(Simulated(forest, cost), forest, datasets(1),
                                        repeats=2)).datasets
    for plan in plans(forest):
        forced = GuardedThresholds(programs["x:0"].default,
                                   {site: Leaf(k) for site, k in plan.items()})
        assert ours.total(forced) == pytest.approx(alone.total(forced))
    (logged,) = costs_of(forest, read_log(tmp_path / "log")["main"]).datasets
    assert logged.least() == pytest.approx(ours.least())


def test_a_dataset_that_takes_little_time_is_not_divided() -> None:
    """Where each device has had another one, these say how long it takes; else a run of it does."""
    programs, both = crew()
    for program in programs.values():
        timing = program.timing
        program.timing = lambda *args, made=timing, **options: (  # type: ignore[method-assign]
            Timing(0.01, made(*args, **options).issue))
    for count in (1, 3):
        found = measured(programs, both, count)
        assert all(len(where) == 1 for where in places(found.runs).values())
        assert forces(found.runs).keys() == forces(measure(
            programs["x:0"], programs["x:0"].forest, datasets(count), repeats=2).runs).keys()
    assert {run.dataset for run in found.runs if run.reference} == set()


def test_short_tunings_are_for_the_first_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others have not even to be ready; what they began before is for them all the same."""
    monkeypatch.setattr("runelift.runtime.tuner.workers.local_devices.JOIN_SECONDS", 3600.0)
    programs, both = crew()
    for count in (2, 3):
        assert set().union(*places(measured(programs, both, count).runs).values()) == {"x:0"}
    assert not programs["x:1"].runs
    job = Job(programs["x:0"].forest, datasets(1)[0], MeasuringMethod(), 1, place="x:1")
    ((_, found),) = both.measure([job], lambda *_: None, lambda *_: None)
    assert {run.place for run in found.runs} == {"x:1"}


def test_one_dataset_more_than_devices_is_divided_if_the_others_took_long() -> None:
    policy = replace(NORMAL, repetition=RepetitionPolicy(divide_seconds=0.0))
    programs, both = crew()
    meet(programs)
    found = measured(programs, both, 2, policy=policy)
    assert sorted(map(len, places(found.runs).values())) == [1, 1]
    programs, both = crew()
    jobs = list[list[str]]()
    measure = both.measure
    both.measure = lambda some, *rest: (  # type: ignore[method-assign]
        jobs.append([job.dataset.name for job in some]), measure(some, *rest))[1]
    measured(programs, both, 3, policy=policy)
    assert jobs[:2] == [["d0", "d1"], ["d2", "d2"]]


def test_devices_that_differ_too_much_do_not_share_a_dataset(tmp_path: Path) -> None:
    programs, both = crew()
    meet(programs)
    slow(programs["x:1"], 2.0)
    log = Log(tmp_path / "log")
    found = measured(programs, both, 1, log)
    log.close()
    assert len(found.places) == 1
    assert not any(run.reference for run in found.runs)
    assert forces(found.runs).keys() == forces(measured(*crew(), 1).runs).keys()
    assert places(read_log(tmp_path / "log")["main"].runs) == places(found.runs)


@pytest.mark.parametrize("lines", range(1, 40, 3))
def test_a_dataset_that_was_shared_is_gone_on_with(tmp_path: Path, lines: int) -> None:
    """Wherever the tuner was killed: nothing is measured twice, and nothing is lost."""
    programs, both = crew()
    meet(programs)
    path, log = tmp_path / "log", Log(tmp_path / "log", "it")
    whole = measured(programs, both, 1, log)
    log.close()
    before = path.read_text().splitlines(keepends=True)[:lines]
    path.write_text("".join(before))
    programs, both = crew()
    log = Log(path, "it", resume=True)
    found = measured(programs, both, 1, log)
    log.close()
    assert path.read_text().startswith("".join(before))
    assert forces(found.runs).keys() == forces(whole.runs).keys()
    again = read_log(path, "it")["main"].runs
    assert sorted(map(repr, again)) == sorted(map(repr, found.runs))
    for plan, count in forces(found.runs).items():
        assert count <= forces(whole.runs)[plan]
        assert len({run.place for run in found.runs
                    if (run.dataset, *run.force.items()) == plan}) == 1


def test_a_device_goes_on_with_what_it_began(tmp_path: Path) -> None:
    """And a dataset whose device is not there is begun anew."""
    programs, both = crew()
    forest = programs["x:0"].forest
    runs = measure(programs["x:0"], forest, datasets(3), repeats=2).runs
    log = Log(tmp_path / "log", "it")
    for name, count, place in ("d0", 3, "x:1"), ("d1", 3, "gone:0"), ("d2", len(runs), "gone:0"):
        for run in [run for run in runs if run.dataset == name][:count]:
            log.append("main", LoggedRun(name, run.force, run.record, time=run.time, place=place))
    log.close()
    log = Log(tmp_path / "log", "it", resume=True)
    found = measure_by(MeasuringMethod(pool=both), programs["x:0"], forest, datasets(3),
                                                        repeats=2,
                                                        log=log)
    log.close()
    by = places(found.runs)
    begun = [run.force for run in runs if run.dataset == "d0"][:3]
    assert {run.place for run in found.runs if run.dataset == "d0" and run.force in begun
            } == {"x:1"}
    assert by["d1"] <= {"x:0", "x:1"}
    assert by["d2"] == {"gone:0"}
    after = read_log(tmp_path / "log", "it")["main"].runs
    assert places(after) == by
    assert len(after) == len(found.runs)
    assert "forgotten" in (tmp_path / "log").read_text()


def test_ctrl_c_ends_all() -> None:
    programs, both = crew()
    record = programs["x:0"].record

    def interrupting(*args: Any, **options: Any) -> Record:
        if programs["x:0"].runs > 3:
            interrupts.request()
            interrupts.check()
        return record(*args, **options)

    programs["x:0"].record = interrupting  # type: ignore[method-assign]
    programs["x:1"].record = lambda *a, **k: (  # type: ignore[method-assign]
        interrupts.check(), Simulated.record(programs["x:1"], *a, **k))[1]
    found = measure_by(MeasuringMethod(pool=both), programs["x:0"], programs["x:0"].forest,
                                                        datasets(50), repeats=300)
    assert found.interrupted
    assert len(found.datasets) < 40
    assert not found.left_out
    interrupts.check()  # nothing waits any more


def test_a_bug_is_not_swallowed() -> None:
    programs, both = crew()
    meet(programs)

    barrier = programs["x:1"].barrier
    assert barrier is not None

    def failing(*args: Any, **options: Any) -> Record:
        barrier.wait(10)
        raise CompilerBug("no way")

    programs["x:1"].record = failing  # type: ignore[method-assign]
    with pytest.raises(CompilerBug, match="no way"):
        measure_by(MeasuringMethod(pool=both), programs["x:0"], programs["x:0"].forest,
                                                    datasets(9),
                                                    repeats=2)


def test_time_is_shared_out() -> None:
    programs, both = crew()
    method = MeasuringMethod(pool=both).within(10.0)
    assert method.within(30.0).budget == 10.0
    found = measure_by(method.within(0.0), programs["x:0"], programs["x:0"].forest, datasets(2),
                                       repeats=2)
    assert sum(run.record is not None for run in found.runs) <= 2


def test_unlike_devices_are_refused(simulator: str) -> None:
    with pytest.raises(UserError, match=r"unlike.*must not be mixed"):
        select_comparable(["pocl", simulator])
    with pytest.raises(UserError, match="twice"):
        select_comparable(["pocl", "pocl:0"])
    with pytest.raises(UserError, match="interpreter"):
        select_comparable(["pocl", "interpreter"])
    assert select_comparable(["interpreter"]) == []
    (one,) = select_comparable(["pocl"], every=True)
    found = select(spec_of(one))
    assert found is not None
    assert found.handle == one.handle
    assert model_of(found) == model_of(one)


def test_two_devices_tune_a_program(path: Path) -> None:
    """For real; what comes after measuring, on the first."""
    command = [sys.executable, "-c", EAGER, "autotune", str(path), "--device", "basic",
               "--no-parameters", "--verbose"]
    done = subprocess.run([*command, "--all-devices"], check=True, env=ALIKE, text=True,
                          capture_output=True)
    assert "measured on 2 devices" in done.stdout
    runs = read_log(path.with_name("rows.fut.tuning.log"))["main"].runs
    by = places(runs)
    assert set(by) == {"wide", "tall"}
    assert len(set().union(*by.values())) == 2
    assert not any(run.error for run in runs)
    subprocess.run([*command, "--device", "basic:1", "--resume"], check=True, env=ALIKE,
                   capture_output=True)
    assert read_log(path.with_name("rows.fut.tuning.log"))["main"].runs == runs
    facts = json.loads(path.with_name("rows.fut.tuning.json").read_text())
    assert set(facts["entries"]["main"]["datasets"]) == {"wide", "tall"}


def test_a_killed_tuning_of_one_dataset_goes_on(path: Path) -> None:
    """For real: killed when both devices have measured versions of it, however short they are."""
    log = path.with_name("rows.fut.tuning.log")
    command = [sys.executable, "-c", EAGER, "autotune", str(path), "--device", "basic",
               "--no-parameters", "--all-devices", "--only", "tall", "--runs", "9"]
    tuner = subprocess.Popen(command, env=ALIKE, stdout=subprocess.DEVNULL)
    while tuner.poll() is None and not (log.exists() and all(
            f":{number}\"}}\n" in log.read_text() for number in (0, 1))):
        time.sleep(0.01)
    tuner.kill()
    assert tuner.wait() == -9
    before = read_log(log)["main"].runs
    subprocess.run([*command, "--resume"], check=True, env=ALIKE, stdout=subprocess.DEVNULL)
    after = read_log(log)["main"]
    if "forgotten" not in log.read_text():  # the devices' times differed too much to be compared
        assert after.runs[:len(before)] == before
        assert len(after.places) == 2
    counts = Counter(tuple(run.force.items()) for run in after.runs if not run.reference)
    assert set(counts) == {tuple(plan.items()) for plan in plans(
        compile(path, device="interpreter", tuning={}).tree.entry("main"))}
    assert max(counts.values()) <= NORMAL.repetition.short_factor * 9


@pytest.mark.parametrize("options", [["--replay", "LOG"], ["--strategy", "binary"],
                                     ["--scheduler", "tcp://127.0.0.1:1"]])
def test_what_devices_cannot_share(path: Path, options: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", "runelift", "autotune", str(path), "--device",
                           "basic", "--all-devices", *options], text=True, capture_output=True)
    assert done.returncode == 1
    assert "devices" in done.stderr


def test_places_are_of_machines(simulator: str) -> None:
    info = select(simulator)
    assert info is not None
    assert place_of(info).endswith(f"/{info.name}:0")
