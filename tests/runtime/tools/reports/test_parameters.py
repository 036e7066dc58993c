"""Results of trials of parameters as text and facts: which parameters matter."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from random import Random

import pytest

from runelift.runtime.tools.reports.parameters import (
    importances,
    parameter_facts,
    render_parameters,
)
from runelift.runtime.tuner.kernel_parameters.search import Trial
from runelift.runtime.tuner.kernel_parameters.tune import OperationResult, ParameterTuning


def tuning(log_seconds: Callable[[int, int], float], most: int = 6) -> ParameterTuning:
    """Trials of an operation with two parameters, each on two executions; some cannot run."""
    trials = [Trial("d", {"main.r.group": a, "main.r.chunk": b},
                    None if a == b == 5 else scale * math.exp(log_seconds(a, b)), scale)
              for a, b in product(range(most), range(most)) for scale in (1.0, 3.0)]
    return ParameterTuning("main", (OperationResult(
        "main.r", 36, 36, {"main.r.group": 0}, 0.5, 1.0, {}, tuple(trials)),))


def importance_lines(found: ParameterTuning) -> list[str]:
    lines = render_parameters(found).splitlines()
    (head,) = [k for k, line in enumerate(lines) if "most important parameters" in line]
    return lines[head:]


def test_the_text_ranks_parameters_by_their_importance() -> None:
    random = Random(1)
    found = tuning(lambda a, b: 0.1 * a + 0.4 * b + random.gauss(0, 0.01))
    parts = importances(found)["main.r"].parts
    assert parts["main.r.chunk"] > 5 * parts["main.r.group"] > 0
    head, row, *method = importance_lines(found)
    assert head.split() == ["operation", "most", "important", "parameters", "together", "fit"]
    assert row.split()[:4] == ["main.r", "chunk", f"{100 * parts['main.r.chunk']:.0f}", "%,"]
    assert f"group {100 * parts['main.r.group']:.0f} %" in row
    assert "part of the variance" in " ".join(method)
    (facts,) = parameter_facts(found)["importance"].values()
    assert facts["parts"] == parts


def test_noise_has_no_important_parameters() -> None:
    random = Random(2)
    _, row, *_ = importance_lines(tuning(lambda a, b: random.gauss(0, 0.1)))
    assert "none: times are mostly noise" in row


@pytest.mark.parametrize("found", [tuning(lambda a, b: a, most=3), ParameterTuning("main")])
def test_few_trials_have_no_table(found: ParameterTuning) -> None:
    assert "important" not in render_parameters(found)
    assert parameter_facts(found)["importance"] == {}
