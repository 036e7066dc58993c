"""Runs with replayed versions, and what they compute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from runelift.runtime.programs.program import Program
from runelift.runtime.tuner.replay.racing import Race
from runelift.runtime.tuner.replay.replay_records import ReplayRecord
from runelift.runtime.tuner.replay.replay_run import replay


def replayed(program: Program, entry: str, args: Sequence[Any], race: Race | None = None
             ) -> tuple[list[Any], ReplayRecord]:
    """The results of a run in which all versions are replayed, and what it found out."""
    plan = program.loaded.plan(entry)
    outcome, found = replay(program.loaded.executable(entry),
                            program.loaded.bind(plan, list(args)), {},
                            race or Race(rounds=2))
    results = [program._result(value, spec, False)
               for value, spec in zip(outcome.results, plan.results, strict=True)]
    return results, found


def results_agree(program: Program, entry: str, args: Sequence[Any], expected: Sequence[Any]
                  ) -> None:
    """Check that replaying changes no result, and that no version is taken for a wrong one."""
    results, found = replayed(program, entry, args)
    for got, want in zip(results, expected, strict=True):
        np.testing.assert_array_equal(got, want)
    assert found.banned == {}
