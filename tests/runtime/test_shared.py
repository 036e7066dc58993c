"""Datasets that several devices of one make share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from runelift.ir.errors import CompilerBug, UserError
from runelift.runtime import interrupts
from runelift.runtime.alike import make_of, place_of, select_alike, spec_of
from runelift.runtime.device import select
from runelift.runtime.records import Record
from runelift.runtime.tuner.crew import LocalCrew
from runelift.runtime.tuner.forest import entry_forest
from runelift.runtime.tuner.log import Log, Run, read_log
from runelift.runtime.tuner.measure import Dataset, Forced, Progress
from runelift.runtime.tuner.shared import Shared
from tests.runtime.simulated import Simulated, fun, nested

ALIKE = {**os.environ, "POCL_DEVICES": "basic basic"}
"""Two devices of one make."""


def cost(where: str, index: int, par: int) -> float:
    return 1e-3 * (par + index)


def datasets(count: int) -> list[Dataset]:
    return [Dataset(f"d{n}", "main", lambda n=n: [4 + n]) for n in range(count)]  # type: ignore[misc]


class Watched(Simulated):
    """A program whose first dataset waits for that of another device."""

    barrier: threading.Barrier | None = None

    def place(self, args: Sequence[Any]) -> Sequence[Any]:
        if self.barrier is not None:
            self.barrier.wait(10)
            self.barrier = None
        return args


def crew() -> tuple[dict[str, Watched], LocalCrew]:
    programs = {name: Watched(entry_forest(fun(*nested())), cost) for name in ("x:0", "x:1")}
    return programs, LocalCrew(programs)


def meet(programs: dict[str, Watched]) -> None:
    """Have each device do a dataset."""
    barrier = threading.Barrier(len(programs))
    for program in programs.values():
        program.barrier = barrier


def places(runs: Sequence[Run]) -> dict[str, set[str | None]]:
    return {name: {run.place for run in runs if run.dataset == name}
            for name in {run.dataset for run in runs}}


def test_each_dataset_is_measured_by_one_device(tmp_path: Path) -> None:
    programs, both = crew()
    meet(programs)
    forest = programs["x:0"].forest
    log, steps = Log(tmp_path / "log"), list[Progress]()
    found = Shared(Forced(), both).measure(programs["x:0"], forest, datasets(5), repeats=2,
                                           log=log, progress=steps.append)
    log.close()
    alone = Forced().measure(programs["x:0"], forest, datasets(5), repeats=2)
    logged = read_log(tmp_path / "log")["main"].runs
    assert found.datasets == alone.datasets
    assert [(run.dataset, run.force) for run in found.runs] == [
        (run.dataset, run.force) for run in alone.runs]
    by = places(found.runs)
    assert all(len(each) == 1 for each in by.values())
    assert set().union(*by.values()) == {"x:0", "x:1"}
    assert places(logged) == by
    assert len(logged) == len(found.runs)
    assert steps[-1].done == steps[-1].total
    assert sorted(steps, key=lambda step: step.done) == steps


def test_a_device_goes_on_with_what_it_began(tmp_path: Path) -> None:
    """And a dataset whose device is not there is begun anew."""
    programs, both = crew()
    forest = programs["x:0"].forest
    runs = Forced().measure(programs["x:0"], forest, datasets(3), repeats=2).runs
    log = Log(tmp_path / "log", "it")
    for name, count, place in ("d0", 3, "x:1"), ("d1", 3, "gone:0"), ("d2", len(runs), "gone:0"):
        for run in [run for run in runs if run.dataset == name][:count]:
            log.append("main", Run(name, run.force, run.record, time=run.time, place=place))
    log.close()
    log = Log(tmp_path / "log", "it", resume=True)
    found = Shared(Forced(), both).measure(programs["x:0"], forest, datasets(3), repeats=2,
                                           log=log)
    log.close()
    by = places(found.runs)
    assert by["d0"] == {"x:1"}
    assert len(by["d1"]) == 1
    assert not by["d1"] & {"gone:0"}
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
    found = Shared(Forced(), both).measure(programs["x:0"], programs["x:0"].forest,
                                           datasets(50), repeats=300)
    assert found.interrupted
    assert len(found.datasets) < 40
    assert not found.left_out
    interrupts.check()  # nothing waits any more


def test_a_bug_is_not_swallowed() -> None:
    programs, both = crew()
    meet(programs)

    def failing(*args: Any, **options: Any) -> Record:
        raise CompilerBug("no way")

    programs["x:1"].record = failing  # type: ignore[method-assign]
    with pytest.raises(CompilerBug, match="no way"):
        Shared(Forced(), both).measure(programs["x:0"], programs["x:0"].forest, datasets(9),
                                       repeats=2)


def test_time_is_shared_out() -> None:
    programs, both = crew()
    method = Shared(Forced(), both).within(10.0)
    assert method.within(30.0).seconds == 10.0
    assert method._parts(1) == 10.0
    assert method._parts(3) == method._parts(4) == 5.0
    assert Shared(Forced(), both)._parts(4) == float("inf")
    found = method.within(0.0).measure(programs["x:0"], programs["x:0"].forest, datasets(2),
                                       repeats=2)
    assert sum(run.record is not None for run in found.runs) <= 2


def test_unlike_devices_are_refused(simulator: str) -> None:
    with pytest.raises(UserError, match=r"unlike.*must not be mixed"):
        select_alike(["pocl", simulator])
    with pytest.raises(UserError, match="twice"):
        select_alike(["pocl", "pocl:0"])
    with pytest.raises(UserError, match="interpreter"):
        select_alike(["pocl", "interpreter"])
    assert select_alike(["interpreter"]) == []
    (one,) = select_alike(["pocl"], every=True)
    found = select(spec_of(one))
    assert found is not None
    assert found.handle == one.handle
    assert make_of(found) == make_of(one)


def test_two_devices_tune_a_program(path: Path) -> None:
    """For real; what comes after measuring, on the first."""
    command = [sys.executable, "-m", "runelift", "autotune", str(path), "--device", "basic",
               "--no-parameters"]
    done = subprocess.run([*command, "--all-devices"], check=True, env=ALIKE, text=True,
                          capture_output=True)
    assert "measured on 2 devices" in done.stdout
    runs = read_log(path.with_name("rows.fut.tuning.log"))["main"].runs
    by = places(runs)
    assert set(by) == {"wide", "tall"}
    assert by["wide"] != by["tall"]
    assert not any(run.error for run in runs)
    subprocess.run([*command, "--device", "basic:1", "--resume"], check=True, env=ALIKE,
                   capture_output=True)
    assert read_log(path.with_name("rows.fut.tuning.log"))["main"].runs == runs
    facts = json.loads(path.with_name("rows.fut.tuning.json").read_text())
    assert set(facts["entries"]["main"]["datasets"]) == {"wide", "tall"}


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
