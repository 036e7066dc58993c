"""Importance of parameters, and convergence of a tuning."""

from __future__ import annotations

import math
from itertools import product
from random import Random

import pytest

from runelift.runtime.tools.reports.html.results import convergence
from runelift.runtime.tuner.analysis.importance import importance
from runelift.runtime.tuner.costs.log import LoggedRun, Measurements
from runelift.runtime.tuner.measure.forced_runs import measure
from tests.runtime.tuner.simulated import CHAIN, Simulated, inputs


def test_importance_is_the_part_of_the_variance() -> None:
    """Logarithms add up, so the parts are those of the two sums; the third has none."""
    random = Random(1)
    times = {(("a", a), ("b", b), ("c", c)): math.exp(0.4 * a + 0.2 * b + random.gauss(0, 0.01))
             for a, b, c in product(range(6), range(6), range(3))}
    found = importance(times)
    assert found is not None
    assert found.parts["a"] == pytest.approx(0.8, abs=0.06)
    assert found.parts["b"] == pytest.approx(0.2, abs=0.06)
    assert found.parts["c"] < 0.01
    assert found.together < 0.1
    assert found.fit > 0.9


def test_parameters_that_matter_together_only() -> None:
    random = Random(2)
    times = {(("a", a), ("b", b)): math.exp(float(a != b) + random.gauss(0, 0.01) + 0 * k)
             for k, (a, b) in enumerate(product(range(2), repeat=2))} | {
                 (("a", a), ("b", b)): math.exp(float(a // 4 != b // 4) + random.gauss(0, 0.01))
                 for a, b in product(range(8), repeat=2)}
    found = importance(times)
    assert found is not None
    assert found.together > 0.6


def test_noise_is_not_explained_and_few_settings_say_nothing() -> None:
    random = Random(3)
    times = {(("a", a), ("b", b)): math.exp(random.gauss(0, 0.1))
             for a, b in product(range(6), range(6))}
    found = importance(times)
    assert found is not None
    assert found.fit < 0.3
    assert importance(dict(list(times.items())[:5])) is None


def test_the_best_so_far_falls_to_the_best() -> None:
    sim = Simulated.of(CHAIN, lambda where, index, par: [1.0, 2.0, 3.0][index])
    found = convergence(measure(sim, sim.forest, inputs(a=[16], b=[16]), repeats=1))
    steps = [step.score for step in found["a"]]
    assert steps == sorted(steps, reverse=True)
    assert steps[0] > steps[-1] == 1.5
    assert found["b"][0].runs > found["a"][-1].runs
    assert found["b"][-1].seconds > found["b"][0].seconds > 0


def test_failed_and_replayed_runs_are_no_steps() -> None:
    runs = [LoggedRun("a", {"s": 0}, None, "no memory")]
    assert convergence(Measurements("main", runs)) == {}
