"""Rehearsals: they foresee what runs build, and touch nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runelift
from runelift.ir.errors import CompilerLimitation
from runelift.runtime.executable import Executable
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
