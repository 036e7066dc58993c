"""The order of forced runs: those that are predicted to take least come first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.runtime.predictions.predict import predict_call
from runelift.runtime.tuner.measure.forced_runs import measure
from runelift.runtime.tuner.measure.measurable import Force, Thresholds
from runelift.runtime.tuner.replay.racing import Race
from runelift.runtime.tuner.replay.replay_run import ReplayRun
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.tuner.workers.runners import running
from runelift.runtime.versions.forest import plans
from tests.runtime.tuner.simulated import CHAIN, Simulated, close, inputs

ROWS = """
entry main [n][m] (xss: [n][m]f32): [n]f32 =
  map (\\xs -> f32.maximum (map2 (-) (scan f32.max f32.lowest xs) xs)) xss
"""


class Predicted(Simulated):
    """A simulated program whose versions are predicted to take so long."""

    seconds: Sequence[float] = ()

    def predicted(self, entry: str, args: Any, forces: Sequence[Force],
                  thresholds: Thresholds | None = None) -> Sequence[float]:
        return [self.seconds[force["s"]] for force in forces]


@pytest.mark.parametrize(("seconds", "order"), [
    ([3.0, 1.0, 2.0], [1, 2, 0]),
    ([1.0, 2.0, float("inf")], [0, 1, 2]),
    ([1.0, 1.0, 1.0], [2, 1, 0]),  # the ones with most parallelism first
])
def test_plans_run_in_the_order_of_predicted_times(seconds: list[float], order: list[int]) -> None:
    program = Predicted.of(CHAIN, close)
    program.seconds = seconds
    measure(program, program.forest, inputs(a=[64]))
    assert [force["s"] for force in program.forced[:3]] == order


def test_predicted_times_of_plans_are_those_of_calls() -> None:
    program = runelift.compile(ROWS, device="pocl", tuning={})
    args = [np.ones((40, 300), np.float32)]
    forces: Sequence[Mapping[str, int]] = [{}, *plans(program.tree.entry("main"))]
    found = MeasuredProgram(program).predicted("main", args, forces)
    assert found == [predict_call(program.loaded, "main", args, {}, force).totals.seconds
                     for force in forces]
    assert found[0] == min(found)
    with running(program, None) as runner:
        assert runner.predicted("main", runner.place(args), forces) == found


def test_replay_goes_on_with_the_versions_that_are_predicted_to_take_least() -> None:
    program = runelift.compile(ROWS, device="pocl", tuning={})
    loaded, ran = program.loaded, dict[int, None]()

    class Noting(ReplayRun):
        """A replay that notes which versions run."""

        def leave_replayed(self, number: int, results: Sequence[Any]) -> None:
            ran[self._attempts[-1].version] = None
            super().leave_replayed(number, results)

    executable = loaded.executable("main")
    args = [np.ones((40, 300), np.float32)]
    run = Noting(executable, {}, Race(rounds=1))
    run.call(executable.forms.replaying, loaded.bind(loaded.plan("main"), args))
    (choice,) = predict_call(loaded, "main", args).choices
    seconds = [each.seconds for each in choice.versions]
    order = list(ran)
    assert len(order) == len(seconds)
    assert order[0] == choice.chosen
    assert order == sorted(order, key=lambda version: seconds[version])
