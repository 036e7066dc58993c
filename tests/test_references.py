"""The examples against NumPy, at sizes that do not divide by any tile or work-group.

Only the outermost and the flat version run here: `test_examples.py` has all of them, on less data.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy_references as references
import pytest

import runelift
from runelift.runtime.tuner.forest import plans

EXAMPLES = Path(__file__).parent.parent / "examples"


def uniform(rng: np.random.Generator, *shape: int) -> references.Floats:
    return rng.random(shape, dtype=np.float32)


def hotspot_inputs(rng: np.random.Generator) -> list[Any]:
    return [20, 320 + 10 * uniform(rng, 67, 45), uniform(rng, 67, 45) / 100]


def sgemm_inputs(rng: np.random.Generator) -> list[Any]:
    return [np.float32(0.5), uniform(rng, 65, 70), uniform(rng, 70, 33), np.float32(2),
            uniform(rng, 65, 33)]


def backprop_inputs(rng: np.random.Generator) -> list[Any]:
    shapes = [(301,), (2,), (302, 17), (18, 2), (302, 17), (18, 2)]
    return [uniform(rng, *shape) - np.float32(0.5) for shape in shapes]


def nw_inputs(rng: np.random.Generator) -> list[Any]:
    return [np.int32(10), rng.integers(-4, 12, (75, 41), dtype=np.int32)]


def mriq_inputs(rng: np.random.Generator) -> list[Any]:
    return [uniform(rng, 97) for _ in range(5)] + [uniform(rng, 131) for _ in range(3)]


def stencil_inputs(rng: np.random.Generator) -> list[Any]:
    return [np.int32(5), np.float32(1 / 6), np.float32(1 / 36), uniform(rng, 9, 31, 37)]


def tpacf_inputs(rng: np.random.Generator) -> list[Any]:
    return [*40 * rng.random((2, 61)), *40 * rng.random((2, 3, 45))]


def locvolcalib_inputs(rng: np.random.Generator) -> list[Any]:
    return [20, 49, 34, 12, *map(np.float32, (0.03, 5, 0.2, 0.6, 0.5))]


INPUTS: dict[str, Callable[[np.random.Generator], list[Any]]] = {
    "hotspot": hotspot_inputs,
    "sgemm": sgemm_inputs,
    "backprop": backprop_inputs,
    "nw": nw_inputs,
    "mri-q": mriq_inputs,
    "stencil": stencil_inputs,
    "tpacf": tpacf_inputs,
    "LocVolCalib": locvolcalib_inputs,
}


@pytest.mark.parametrize("name", INPUTS)
def test_versions_agree_with_numpy(name: str) -> None:
    arguments = INPUTS[name](np.random.default_rng(1))
    expected = getattr(references, name.replace("-", "").lower())(*arguments)
    if not isinstance(expected, tuple):
        expected = (expected,)
    program = runelift.compile(EXAMPLES / f"{name}.fut", device="pocl", tuning={})
    versions = list(plans(program.tree.entry("main")))
    for force in (versions[0], versions[-1]):
        found, _ = program.run("main", arguments, force=force)
        assert len(found) == len(expected)
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=2e-4)
