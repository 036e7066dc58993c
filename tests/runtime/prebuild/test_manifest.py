"""What an earlier tuning wanted built: it is loaded, not found out again."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.runtime.devices.build import cache_name
from runelift.runtime.devices.driver.build import KERNELS
from runelift.runtime.execution.kernels import Kernels
from runelift.runtime.execution.policy import CallPolicy
from runelift.runtime.prebuild.kernel_collector import KernelCollector
from runelift.runtime.prebuild.manifest import ForcedVersions, has_manifest, read_manifests
from runelift.runtime.processes.build_pool import Builders
from runelift.runtime.programs.program import Program
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.tuner.workers.requests import OpenProgram
from runelift.runtime.tuner.workers.runners import Runners
from runelift.runtime.tuner.workers.worker import Session
from runelift.runtime.versions.forest import plans
from tests.runtime.tuner.replay.test_replay_run import NESTED

CUBE = np.random.default_rng(3).random((4, 6, 8), np.float32)
ARGS = CUBE, np.int64(2)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that somebody has tuned: its kernels are in the cache."""
    monkeypatch.setenv("RUNELIFT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("RUNELIFT_KEEP", raising=False)
    (found := tmp_path / "nested.fut").write_text(NESTED)
    assert not has_manifest(found, "all")
    program = opened(found)
    assert MeasuredProgram(program).prebuild_all("main", [ARGS], forces(program))
    MeasuredProgram(program).prebuild("main", MeasuredProgram(program).place(ARGS), forces(program))
    assert has_manifest(found, "all")
    assert not has_manifest(found, "classic")
    return found


def opened(path: Path) -> Program:
    """The program; others build its kernels, who take their time."""
    program: Program = runelift.compile(path, device="pocl", tuning={})
    program.loaded.executable("main").follow(CallPolicy(outside=lambda sources, waits: None))
    return program


def kernel_of(path: Path) -> Path:
    """Where a kernel lies that some runs want."""
    program = opened(path)
    executable, known = program.loaded.executable("main"), read_manifests(program.compiled)["main"]
    info = executable.device.info
    whole = executable.kernels._whole(known.sources[-1])
    return path.parent / "cache" / KERNELS / cache_name(info, *whole)


def forces(program: Program) -> list[dict[str, int]]:
    return [{}, *plans(program.tree.entry("main"))]


def counted(program: Program, monkeypatch: pytest.MonkeyPatch, args: Sequence[Any] = ARGS
            ) -> tuple[bool, int]:
    """Whether anything is to be built for runs, and how many of them were rehearsed."""
    dry_runs, collect = [], KernelCollector.collect
    with monkeypatch.context() as patch:
        patch.setattr(KernelCollector, "collect", lambda self, bound: (
            dry_runs.append(self), collect(self, bound))[1])
        builds = MeasuredProgram(program).prebuild_all("main", [args], forces(program))
        placed = MeasuredProgram(program).place(args)
        items = [MeasuredProgram(program).prebuild("main", placed, *some) for some in (
            ([{}], forces(program)[-1:]), ([], forces(program)))]
    assert all(each and each > 0 for each in items)
    return builds, len(dry_runs)


def test_what_was_wanted_is_loaded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = opened(path)
    executable = program.loaded.executable("main")
    made, build = [], Kernels._made
    monkeypatch.setattr(Kernels, "_made", lambda self, *source, needed: (
        made.append(source), build(self, *source, needed=needed))[1])
    assert counted(program, monkeypatch) == (False, 0)
    known = read_manifests(program.compiled)["main"]
    assert set(made) == set(executable.kernels._ready) == set(known.sources)
    for force in forces(program):
        MeasuredProgram(program).record("main", MeasuredProgram(program).place(ARGS), force=force)
    assert len(made) == len(set(made)) == len(known.sources)


def test_kernels_that_were_written_before_are_not_written_again(
        path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the tuning that wrote them was over, or at its end."""
    for _ in range(2):
        program = opened(path)
        with monkeypatch.context() as patch:
            for name in "program_text", "persistent_text":
                patch.setattr(f"runelift.runtime.execution.kernels.{name}",
                              lambda *_: pytest.fail("is written again"))
            MeasuredProgram(program).prebuild_all("main", [ARGS], forces(program))
            for force in forces(program):
                MeasuredProgram(program).record("main", MeasuredProgram(program).place(ARGS),
                                                force=force)
                MeasuredProgram(program).timing("main", MeasuredProgram(program).place(ARGS),
                                                force=force)
        MeasuredProgram(program).prebuild_all("main", [(CUBE[:, :3].copy(), np.int64(2))],
                                              forces(program)[1:])
        MeasuredProgram(program).save_manifest()


def test_a_worker_loads_what_is_coming(path: Path) -> None:
    """Before it is given the program."""
    own, other = multiprocessing.Pipe()
    program = opened(path)
    for contract in False, True:
        session = Session(program.device_info, own)
        session.source = str(path), "all"
        session.deferred.append(session.expect)
        session.rest(0.0)
        expected = session._expected
        assert expected is not None
        loading = expected.loaded.executable("main").kernels._loading
        assert loading.keys() == set(read_manifests(program.compiled)["main"].sources)
        assert session.open(OpenProgram(program.compiled.snapshot, "all", contract, {"t": 1}, True))
        assert (session.program is expected) == (not contract)
        assert session.program.thresholds == {"t": 1}
        assert session.program.loaded.fp_contract == contract
    other.close()


def test_other_runs_are_foreseen_anew(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what is wanted by later ones only does not take the place of what all want."""
    program = opened(path)
    other = CUBE[:, :3].copy(), np.int64(2)
    MeasuredProgram(program).prebuild_all("main", [other], forces(program)[1:])
    assert counted(program, monkeypatch) == (False, 0)
    before = read_manifests(program.compiled)
    program = opened(path)
    assert counted(program, monkeypatch, other)[1] == len(forces(program))
    assert read_manifests(program.compiled) != before


def test_what_is_gone_is_built_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel_of(path).unlink()
    program = opened(path)
    assert counted(program, monkeypatch) == (True, len(forces(program)))


def test_what_was_never_built_is_not_waited_for(
        path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tuning that came to its end did without; after one that did not, builders have it built."""
    kernel = kernel_of(path)
    kernel.unlink()
    program = opened(path)
    for ends in False, True:
        assert MeasuredProgram(program).prebuild_all("main", [ARGS], forces(program))
        wanted = len(read_manifests(program.compiled)["main"].sources)
        if ends:
            MeasuredProgram(program).save_manifest()
    assert len(read_manifests(program.compiled)["main"].sources) == wanted - 1
    program = opened(path)
    builds, rehearsed = counted(program, monkeypatch)
    assert not builds
    assert 0 < rehearsed <= len(forces(program))  # those that want it
    assert kernel.exists()


def test_what_later_runs_wanted_is_remembered(path: Path, monkeypatch: pytest.MonkeyPatch
                                              ) -> None:
    later = CUBE[:, :3].copy(), np.int64(2)
    dry_runs, collect = [], KernelCollector.collect
    monkeypatch.setattr(KernelCollector, "collect", lambda self, bound: (
        dry_runs.append(self), collect(self, bound))[1])
    for _ in range(3):
        program = opened(path)
        MeasuredProgram(program).prebuild_all("main", [ARGS], forces(program))
        MeasuredProgram(program).prebuild_all("main", [later], forces(program)[1:])
        assert MeasuredProgram(program).prebuild("main", MeasuredProgram(program).place(later), [],
                                                 forces(program)[1:])
        MeasuredProgram(program).prebuild("main", MeasuredProgram(program).place(later),
                                          forces(program)[1:])
        MeasuredProgram(program).save_manifest()
        assert len(dry_runs) == len(forces(program)) - 1


def test_runs_show_others_that_force_the_same_versions(
        path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = opened(path)
    rows = plans(program.tree.entry("main"))
    mixed = {site: min(each[site] for each in rows if site in each)
             for site in dict.fromkeys(chain.from_iterable(rows))}
    assert mixed not in rows
    monkeypatch.setattr(KernelCollector, "collect", lambda self, bound: pytest.fail("is known"))
    MeasuredProgram(program).prebuild_all("main", [ARGS], forces(program))
    args = MeasuredProgram(program).place(ARGS)
    assert MeasuredProgram(program).prebuild("main", args, [mixed]) is None
    assert MeasuredProgram(program).prebuild("main", args, [], [mixed]) is None
    executable = program.loaded.executable("main")
    executable.kernels.finish_loading()
    monkeypatch.setattr(Kernels, "_made", lambda self, *source, needed: pytest.fail(
        "is built anew"))
    MeasuredProgram(program).record("main", args, force=mixed)


def test_kernels_that_stand_for_loops_are_of_all_versions_inside() -> None:
    one, other, mixed = {"s": 0, "t": 0}, {"s": 1, "t": 1}, {"s": 0, "t": 1}
    for merges in False, True:
        versions = ForcedVersions().add(one, merges=False).add(other, merges=merges)
        assert versions.cover(mixed, recorded=True)
        assert versions.cover(mixed, recorded=False) == (not merges)
        assert not versions.cover({"s": 2, "t": 1}, recorded=True)
        assert not versions.cover({}, recorded=True)  # nobody knows what the default is


def test_another_text_is_foreseen_anew(path: Path) -> None:
    path.write_text(f"{NESTED}\n-- another one")
    assert not has_manifest(path, "all")
    assert not read_manifests(opened(path).compiled)


def test_builders_start_when_there_is_something_to_build(
        path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a program has been tuned before; elsewhere at once."""
    builders = Builders("pocl", 1, on_demand=True)
    assert builders.count == 1
    assert not builders._processes
    builders.build([("kernel void f(global int *x) { x[0] = 7; }", "-w")], seconds=60.0)
    assert len(builders._processes) == 1
    builders.close()
    builders = Builders("pocl", 1, on_demand=True)
    assert builders.take_worker() is None
    assert not builders.started
    builders.close()
    asked: list[bool] = []
    monkeypatch.setattr("runelift.runtime.tuner.workers.runners.Builders",
                        lambda device, count, first, on_demand, **_: (
                            asked.append(on_demand), first(), Builders(device, 0))[-1])
    info = runelift.compile(path, device="pocl").device_info
    monkeypatch.setattr(
        "runelift.runtime.tuner.workers.runners.select_comparable",
        lambda *_, **__: (object.__setattr__(info, "locked_compiler", True), [info])[1])
    for program in (str(path), "all"), (str(path), "classic"), ("missing.fut", "all"), None:
        with Runners(["pocl"], program=program):
            pass
    assert asked == [True, False, False, False]
