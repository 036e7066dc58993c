"""Rehearsals: they foresee what runs build, and touch nothing."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.codegen.emit.phases import PersistentKernel
from runelift.ir.base.errors import CompilerLimitation
from runelift.ir.base.source import Source
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.devices.info import select
from runelift.runtime.execution.calls import Call
from runelift.runtime.execution.kernels import Kernels
from runelift.runtime.execution.policy import CallPolicy
from runelift.runtime.execution.run import Run
from runelift.runtime.prebuild.kernel_collector import KernelCollector
from runelift.runtime.programs.program import Program
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.versions.forest import plans
from tests.runtime.tuner.replay.test_replay_run import NESTED

CUBE = np.random.default_rng(3).random((4, 6, 8), np.float32)
MATRIX = np.random.default_rng(4).integers(0, 9, (12, 12)).astype(np.int32)


@pytest.mark.parametrize(("entry", "args", "foreseen"), [
    ("main", (CUBE, np.int64(2)), True),
    ("checked", (MATRIX.astype(np.int64), np.int64(0)), True),
    ("waits", (MATRIX,), False)])
def test_runs_find_their_kernels_built(entry: str, args: tuple[Any, ...], foreseen: bool,
                                       monkeypatch: pytest.MonkeyPatch) -> None:
    program = runelift.compile(NESTED, device="pocl", tuning={})
    made: list[Any] = []
    build = Kernels._made
    monkeypatch.setattr(Kernels, "_made",
                        lambda self, *source, needed: (
                            made.append(source), build(self, *source, needed=needed))[1])
    placed = MeasuredProgram(program).place(args)
    forces = [{}, *plans(program.tree.entry(entry))]
    items = MeasuredProgram(program).prebuild(entry, placed, forces)
    assert (items is not None and items > 0) == foreseen
    before = len(made)
    for force in forces:
        MeasuredProgram(program).record(entry, placed, force=force)
    assert (0 < before == len(made)) == foreseen
    assert len(set(made)) == len(made)
    for given, there in zip(args, placed, strict=True):
        if isinstance(given, np.ndarray):
            np.testing.assert_array_equal(given, there.get())


def test_what_is_measured_first_is_built_first(tmp_path: Path,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    """The default and the last version on the first inputs, and then all on all of them."""
    monkeypatch.setenv("RUNELIFT_CACHE", str(tmp_path))
    program = runelift.compile(NESTED, device="pocl", tuning={})
    begun: list[list[Any]] = []
    executable = program.loaded.executable("main")
    executable.follow(CallPolicy(outside=lambda sources, waits: begun.append(list(sources))))
    forces, other = [{}, *plans(program.tree.entry("main"))], CUBE[:, :3]
    inputs = [(CUBE, np.int64(2)), (other.copy(), np.int64(2))]
    assert MeasuredProgram(program).prebuild_all("main", inputs, forces)
    wanted = dict[Any, None]()
    for force in forces[0], forces[-1]:
        program.loaded.prebuilder.collect("main", inputs[0], force, wanted)
    assert begun[0] == [(text, *executable.kernels.options) for text in dict.fromkeys(
        source for each in wanted for source in executable.kernels._source_of(each) or ())]
    assert len(begun) > 1
    assert not {source for sources in begun[1:] for source in sources} & set(begun[0])


def test_what_is_in_the_cache_is_loaded_before_it_is_asked_for(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others are to build only what is not there; a run takes what a thread has loaded."""
    monkeypatch.setenv("RUNELIFT_CACHE", str(tmp_path))
    args = CUBE, np.int64(2)
    before = runelift.compile(NESTED, device="pocl", tuning={})
    forces = [{}, *plans(before.tree.entry("main"))]
    MeasuredProgram(before).prebuild("main", MeasuredProgram(before).place(args), forces)

    program = runelift.compile(NESTED, device="pocl", tuning={})
    executable = program.loaded.executable("main")
    executable.follow(CallPolicy(outside=lambda sources, waits: pytest.fail("all is there")))
    made: list[Any] = []
    build = Kernels._made
    monkeypatch.setattr(Kernels, "_made", lambda self, *source, needed: (
        made.append((source, threading.current_thread())), build(self, *source, needed=needed))[1])
    assert not MeasuredProgram(program).prebuild_all("main", [args], forces)
    MeasuredProgram(program).record("main", MeasuredProgram(program).place(args), force=forces[0])
    MeasuredProgram(program).prebuild("main", MeasuredProgram(program).place(args), forces[1:])
    for force in forces[1:]:
        MeasuredProgram(program).record("main", MeasuredProgram(program).place(args), force=force)
    assert made
    assert len({source for source, _ in made}) == len(made)
    assert threading.main_thread() not in {thread for _, thread in made}


def test_what_cannot_be_built_is_left_to_the_run() -> None:
    program = runelift.compile(NESTED, device="pocl", tuning={})
    executable = program.loaded.executable("checked")
    executable.kernels.options = ["-no-such-option"]
    args = MeasuredProgram(program).place((MATRIX.astype(np.int64), np.int64(0)))
    MeasuredProgram(program).prebuild("checked", args, plans(program.tree.entry("checked")))
    with pytest.raises(CompilerLimitation, match="do not build"):
        MeasuredProgram(program).record("checked", args)


SCANS = """
entry main [n][m] (k: i64) (xss: [n][m]i32): [n][m]i32 =
  loop xss for _i < k do
    map (scan (+) 0) xss |> transpose |> map (scan i32.max 0) |> transpose |> map (map (% 1000))
"""


def test_kernels_of_loops_are_foreseen(monkeypatch: pytest.MonkeyPatch) -> None:
    info = select("pthread")
    assert info is not None
    compiled = runelift.compile(SCANS, device="pocl", tuning={}).compiled
    program = Program(compiled, replace(info, coherent=True))
    built, wanted = set[Any](), dict[Any, None]()

    def persistent(self: Kernels, kernel: PersistentKernel) -> None:
        built.add(self._persistent_source(kernel))

    monkeypatch.setattr(Kernels, "persistent", persistent)
    args = MeasuredProgram(program).place([np.int64(20), np.ones((30, 40), np.int32)])
    executable = program.loaded.executable("main")
    for force in plans(program.tree.entry("main")):
        program.loaded.prebuilder.collect("main", args, force, wanted)
        MeasuredProgram(program).timing("main", args, force=force)
    assert built
    assert {executable.kernels._persistent_source(each) for each in wanted
            if isinstance(each, PersistentKernel)} >= built
    count = len(wanted)
    program.loaded.prebuilder.collected.clear()
    for force in plans(program.tree.entry("main")):
        program.loaded.prebuilder.collect("main", args, force, wanted)
    assert len(wanted) == count, "what is made anew is known to be the same"


def test_records_need_no_kernels_for_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a device where one kernel can run all iterations."""
    info = select("pthread")
    assert info is not None
    compiled = runelift.compile(SCANS, device="pocl", tuning={}).compiled
    program = Program(compiled, replace(info, coherent=True))
    prepared: list[list[Any]] = []
    monkeypatch.setattr(Kernels, "prepare", lambda self, wanted: prepared.append(list(wanted)))
    args, forces = [np.int64(20), np.ones((30, 40), np.int32)], plans(program.tree.entry("main"))
    items = MeasuredProgram(program).prebuild("main", args, forces)
    assert MeasuredProgram(program).prebuild("main", args, [], forces) == items
    whole, recorded = prepared
    assert any(isinstance(each, PersistentKernel) for each in whole)
    assert [each for each in whole if not isinstance(each, PersistentKernel)] == recorded


def test_scans_have_the_same_buffer_in_runs_and_rehearsals() -> None:
    """Which buffers are the same is in the text of a loop's kernel."""
    executable = runelift.compile(SCANS, device="pocl", tuning={}).loaded.executable("main")
    for run in (Run(executable, {}, {}, False), KernelCollector(executable, {}, {}, {})):
        assert run.statuses(5).handle is run.statuses(3).handle


def test_a_timed_run_that_builds_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    program = runelift.compile(NESTED, device="pocl", tuning={})
    args, runs = MeasuredProgram(program).place((MATRIX.astype(np.int64),
                                                 np.int64(0))), list[None]()
    real = Call.perform
    monkeypatch.setattr(Call, "perform",
                        lambda *given, **how: (runs.append(None), real(*given, **how))[1])
    MeasuredProgram(program).timing("checked", args)
    assert len(runs) == 2
    MeasuredProgram(program).timing("checked", args)
    assert len(runs) == 3


ROUNDS = """
entry plain [n] (k: i64) (xs: [n]i32): [n]i32 =
  loop xs = map (% 5) xs for i < k do
    tabulate n (\\j -> xs[j] + 2 * xs[i64.max 0 (j - 1)] - i32.i64 i)
entry doubled [n] (k: i64) (xs: [n]i32): [n]i32 =
  let (ys, _) = loop (ys, c) = (map (% 5) xs, 1i64) for _i < k do
    (tabulate n (\\j -> ys[(j + c) % n] + i32.sum ys[:4]), c * 2 % 97)
  in ys
entry both [n] [m] (k: i64) (xss: [m][n]i32): [m][n]i32 =
  loop xss = xss for _i < k do
    map (\\xs -> loop xs = xs for _j < k do map (+ i32.sum xs) xs) xss
"""


@pytest.mark.parametrize("coherent", [False, True])
@pytest.mark.parametrize("entry", ["plain", "doubled", "both"])
def test_a_few_iterations_tell_what_all_of_them_build(
        entry: str, coherent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where scalars change from one to the next, all are gone through."""
    installed = select("pthread")
    assert installed is not None
    program = Program(compile_source(Source("rounds", ROUNDS)),
                      replace(installed, coherent=coherent))
    xs = np.arange(30, dtype=np.int32)
    args = [np.int64(40), xs if entry != "both" else xs.reshape(5, 6)]
    launched, note = [], KernelCollector._note
    monkeypatch.setattr(KernelCollector, "_note", lambda self, *given: (
        launched.append(given), note(self, *given))[1])

    def rehearsed(force: dict[str, int]) -> tuple[int | None, dict[Any, None], int]:
        launched.clear()
        program.loaded.prebuilder.collected.clear()
        wanted = dict[Any, None]()
        items = program.loaded.prebuilder.collect(entry, args, force, wanted)
        return items, wanted, len(launched)

    fewer = []
    for force in [{}, *plans(program.tree.entry(entry))]:
        *few, noted = rehearsed(force)
        with monkeypatch.context() as patch:
            patch.setattr(KernelCollector, "rounds", Run.rounds)
            *every, all_noted = rehearsed(force)
        assert few == every
        fewer.append(noted < all_noted)
    assert any(fewer) == (entry != "doubled")


SHRINKING = """
entry main [m] [n] (xss: *[m][n]f32): [m][n]f32 =
  loop xss for i < n / 32 do
    let k = n - 32 * i
    in xss with [:, :k] = map (\\xs -> scan (+) 0 (xs[:k] :> [k]f32)) xss
"""


def test_rows_that_change_in_a_loop_need_no_kernels_of_their_own_where_they_come_out_even() -> None:
    """All that come in chunks of a length have one; rows of 128 or 256 come out even."""
    program = runelift.compile(SHRINKING, device="pocl", tuning={})
    args = MeasuredProgram(program).place([np.ones((4, 512), np.float32)])
    (force,) = (plan for plan in plans(program.tree.entry("main")) if 1 in plan.values())
    wanted = dict[Any, None]()
    program.loaded.prebuilder.collect("main", args, force, wanted)
    executable = program.loaded.executable("main")
    rows = {each.constants for each in wanted if not isinstance(each, PersistentKernel)
            and each.number is not None and "chunk" in str(
                executable.sites[each.number].launch.kernel.built_for)}
    names = [name.base for name in next(
        site.launch.kernel.built_for for site in executable.sites
        if any(name.base == "chunk" for name in site.launch.kernel.built_for))]
    shapes = [dict(zip(names, constants, strict=True)) for constants in rows]
    assert shapes
    assert {shape["whole"] for shape in shapes} == {0}
    assert len({(shape["group"], shape["chunk"]) for shape in shapes}) == len(shapes)
