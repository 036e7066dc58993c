"""Rehearsals: they foresee what runs build, and touch nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.codegen.persistent import Merged
from runelift.ir.errors import CompilerLimitation
from runelift.runtime import tape
from runelift.runtime.device import select
from runelift.runtime.executable import Executable
from runelift.runtime.executor import Run
from runelift.runtime.program import Program
from runelift.runtime.rehearsal import Rehearsal
from runelift.runtime.tuner.forest import plans
from tests.runtime.test_replay import NESTED

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
    build = Executable._made
    monkeypatch.setattr(Executable, "_made",
                        lambda self, *source: (made.append(source), build(self, *source))[1])
    placed = program.place(args)
    forces = [{}, *plans(program.tree.entry(entry))]
    items = program.prepare(entry, placed, forces)
    assert (items is not None and items > 0) == foreseen
    before = len(made)
    for force in forces:
        program.record(entry, placed, force=force)
    assert (0 < before == len(made)) == foreseen
    assert len(set(made)) == len(made)
    for given, there in zip(args, placed, strict=True):
        if isinstance(given, np.ndarray):
            np.testing.assert_array_equal(given, there.get())


def test_what_cannot_be_built_is_left_to_the_run() -> None:
    program = runelift.compile(NESTED, device="pocl", tuning={})
    executable = program._executable("checked")
    executable.options = ["-no-such-option"]
    args = program.place((MATRIX.astype(np.int64), np.int64(0)))
    program.prepare("checked", args, plans(program.tree.entry("checked")))
    with pytest.raises(CompilerLimitation, match="do not build"):
        program.record("checked", args)


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

    def persistent(self: Executable, merged: Merged) -> None:
        built.add(self._persistent_source(merged))

    monkeypatch.setattr(Executable, "persistent", persistent)
    args = program.place([np.int64(20), np.ones((30, 40), np.int32)])
    executable = program._executable("main")
    for force in plans(program.tree.entry("main")):
        program._rehearse("main", args, force, wanted)
        program.timing("main", args, force=force)
    assert built
    assert {executable._persistent_source(each) for each in wanted if isinstance(each, Merged)
            } >= built


def test_scans_have_the_same_buffer_in_runs_and_rehearsals() -> None:
    """Which buffers are the same is in the text of a loop's kernel."""
    executable = runelift.compile(SCANS, device="pocl", tuning={})._executable("main")
    for run in (Run(executable, {}, {}, False), Rehearsal(executable, {}, {}, {})):
        assert run.statuses(5).handle is run.statuses(3).handle


def test_a_timed_run_that_builds_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    program = runelift.compile(NESTED, device="pocl", tuning={})
    args, runs = program.place((MATRIX.astype(np.int64), np.int64(0))), list[None]()
    real = tape.perform
    monkeypatch.setattr(tape, "perform",
                        lambda *given, **how: (runs.append(None), real(*given, **how))[1])
    program.timing("checked", args)
    assert len(runs) == 2
    program.timing("checked", args)
    assert len(runs) == 3
