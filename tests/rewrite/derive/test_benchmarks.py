"""The programs of the benchmark of derivatives: derived is what a person writes by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runelift.frontend.load import load
from runelift.ir.base.source import Source
from runelift.ir.interpret import interpret
from runelift.ir.names import Names
from runelift.ir.syntax import Program
from runelift.rewrite.pipeline import optimise

PROGRAMS = Path(__file__).parents[3] / "benchmarks" / "programs"
RNG = np.random.default_rng(5)
COUNTS = np.array([2, 0, 3, 1, 2])
STARTS = np.array([0, 2, 2, 5, 6])
CENTRES = RNG.normal(size=(3, 4)).astype(np.float32)
ARGUMENTS = {
    "kmeans": [RNG.normal(size=(9, 4)).astype(np.float32), CENTRES],
    "kmeans_sparse": [RNG.normal(size=8).astype(np.float32), np.array([0, 3, 1, 2, 3, 0, 2, 3]),
                      STARTS, COUNTS, CENTRES],
}


def program(name: str) -> Program:
    names = Names()
    text = (PROGRAMS / f"{name}.fut").read_text()
    return optimise(load(Source(name, text), names), names)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_second_derivatives_are_those_by_hand(name: str) -> None:
    found = program(name)
    derived, by_hand = (interpret(found, entry, ARGUMENTS[name])
                        for entry in ("derived", "by_hand"))
    for one, two in zip(derived, by_hand, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-5)


def test_the_jacobian_of_the_hand_is_that_of_differences() -> None:
    found, pose = program("hand"), RNG.random(26)
    fixed: list[Any] = [RNG.random((5, 4, 3)), RNG.random((2, 21, 3)), RNG.random((2, 21)),
                        np.array([1, 0, 1]), RNG.random((3, 3))]
    (jacobian,) = interpret(found, "jacobian", [*fixed, pose])
    for place in range(0, 26, 5):
        step = 1e-6 * np.eye(26)[place]
        (after,), (before,) = (interpret(found, "residuals", [*fixed, at])
                               for at in (pose + step, pose - step))
        np.testing.assert_allclose(jacobian[place], (after - before) / 2e-6, atol=1e-6)
