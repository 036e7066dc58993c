"""Tuning by other ways than ``autotune`` runs programs in worker processes, too."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import UserError
from runelift.runtime.processes import process
from runelift.runtime.programs.program import Program
from runelift.runtime.tuner.job import TuningJob
from runelift.runtime.tuner.measure.protocols import Dataset
from runelift.runtime.tuner.strategies import parse_strategy
from runelift.runtime.tuner.strategies.tune_by_search import tune_by_search
from runelift.runtime.tuner.workers.remote import Remote
from runelift.runtime.tuner.workers.runners import running
from tests.runtime.tuner.workers.test_worker import BAD, MATRIX, TEXT


@pytest.fixture
def program() -> Program:
    return runelift.compile(TEXT, device="pocl", tuning={})


def crashes(program: Program, version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a version end the worker that runs it."""
    bad = f"{program.tree.entry('main').trees[0].name}/{version}"
    *lines, last = process.RUN.strip().splitlines()
    monkeypatch.setattr(process, "RUN", "\n".join(
        [*lines, BAD.format(version=bad, does="os.kill(os.getpid(), 9)"), last]))


def test_a_program_tunes_itself_whatever_crashes(program: Program,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    """Arguments may lie on the device already."""
    crashes(program, 0, monkeypatch)
    tuning = program.tune({"a": [MATRIX], "b": [program.to_device(MATRIX.T.copy())]}, repeats=1)
    for dataset in tuning.entries[0].costs.datasets:
        own = dataset.points[0].own
        assert math.isinf(own[0].device)
        assert math.isfinite(own[2].device)
        assert dataset.points[0].choose(program.thresholds) != 0
    assert np.array_equal(program.main(MATRIX), MATRIX.sum(axis=1, dtype=np.int32) * 3)


def test_it_may_run_here(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "Process", None)
    tuning = program.tune({"a": [MATRIX]}, repeats=1, time_limit="none")
    assert tuning.entries[0].costs.datasets
    with pytest.raises(UserError, match="no time limit"):
        program.tune({"a": [MATRIX]}, time_limit="soon")
    with pytest.raises(UserError, match="Unknown entry point"):
        program.tune({"a": [MATRIX]}, entry="none")


def test_a_search_survives_a_crash(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    crashes(program, 1, monkeypatch)
    with running(program) as runner:
        assert isinstance(runner, Remote)
        datasets = [Dataset("a", "main", lambda: [MATRIX])]
        (found,) = tune_by_search(TuningJob(runner, program.tree, datasets, repeats=1),
                                  parse_strategy("simple"))
        assert runner.stops
    assert found.search.finished
    assert runner._worker is None


def test_processes_end_with_an_error(program: Program) -> None:
    workers: list[int] = []

    def fail() -> None:
        with running(program) as runner:
            assert isinstance(runner, Remote)
            runner.place([MATRIX])
            assert runner._worker is not None
            workers.append(runner._worker._process.pid)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with pytest.raises(ProcessLookupError):
        os.kill(workers[0], 0)
