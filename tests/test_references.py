"""The examples against NumPy, at sizes that do not divide by any tile or work-group.

Only the flat version runs here: `test_examples.py` compares all of them, on less data.  Examples
that are also flattened by hand have an entry point `by_hand`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.runtime.data.lengths import draw
from runelift.runtime.versions.forest import plans
from tests import numpy_references as references

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


def poisson_inputs(rng: np.random.Generator) -> list[Any]:
    return [1e-9, np.int32(1000), rng.random((21, 35))]


def tpacf_inputs(rng: np.random.Generator) -> list[Any]:
    return [*40 * rng.random((2, 61)), *40 * rng.random((2, 3, 45))]


def locvolcalib_inputs(rng: np.random.Generator) -> list[Any]:
    return [20, 49, 34, 12, *map(np.float32, (0.03, 5, 0.2, 0.6, 0.5))]


def optionpricing_inputs(rng: np.random.Generator) -> list[Any]:
    bits = np.arange(30)
    odd = 2 * (rng.random((6, 2, 30)) * (1 << bits)).astype(np.int32) + 1
    directions = (odd << (29 - bits)).astype(np.int32)
    factor = np.array([[1, 0], [0.6, 0.8]], np.float32)
    return [np.int64(45), directions, np.cumsum(uniform(rng, 6)), factor,
            np.array([0.2, 0.4], np.float32), np.float32(0.05), np.float32(0.9)]


def lavamd_inputs(rng: np.random.Generator) -> list[Any]:
    return [np.int64(3), np.float32(0.5), *(uniform(rng, 27, 19) for _ in range(5))]


def bfast_inputs(rng: np.random.Generator) -> list[Any]:
    pixels = uniform(rng, 37, 71)
    pixels[::2, 55:] += 1
    pixels[rng.random(pixels.shape) < 0.2] = np.nan
    return [np.int64(2), np.int64(50), *map(np.float32, (12, 0.25, 1.7)), pixels]


def heston_inputs(rng: np.random.Generator) -> list[Any]:
    strikes, maturities = 80 + 40 * rng.random(3), 0.25 + 2 * rng.random(3)
    return [np.int32(7), 8, 3, 96, 100.0, 0.02, strikes, maturities, 20 * rng.random(3)]


def syrk_inputs(rng: np.random.Generator) -> list[Any]:
    return [np.float32(0.5), uniform(rng, 65, 37), np.float32(2), uniform(rng, 65, 65)]


def syr2k_inputs(rng: np.random.Generator) -> list[Any]:
    return [np.float32(0.5), uniform(rng, 65, 37), uniform(rng, 65, 37), np.float32(2),
            uniform(rng, 65, 65)]


def coulomb_inputs(rng: np.random.Generator) -> list[Any]:
    return [7, 9, 5, np.float32(0.3), *(uniform(rng, 41) for _ in range(4))]


def lcs_inputs(rng: np.random.Generator) -> list[Any]:
    return [*rng.integers(0, 256, (2, 131), dtype=np.uint8)]


def knapsack_inputs(rng: np.random.Generator) -> list[Any]:
    return [*rng.integers(-10 ** 6, 10 ** 6, (2, 11)), np.int64(2500)]


def csr_inputs(rng: np.random.Generator) -> list[Any]:
    length = draw(97, "power", 70)
    return [np.cumsum(length) - length, length, rng.integers(0, 31, length.sum()),
            uniform(rng, length.sum()), uniform(rng, 31)]


def words_inputs(rng: np.random.Generator) -> list[Any]:
    text = bytearray(b" ")
    for length in draw(151, "geometric", 64, 1):
        half = bytes(rng.integers(97, 123, length // 2, dtype=np.uint8))
        text += half + b"x" * (length % 2) + half[::-1 if rng.random() < 0.6 else 1]
        text += b" "
    return [np.frombuffer(bytes(text), np.uint8)]


def cells_inputs(rng: np.random.Generator) -> list[Any]:
    counts = draw(36, "power", 30, 2) * rng.integers(0, 2, 36)
    cells = np.repeat(np.arange(36), counts)
    return [6, counts, *((corner + rng.random(len(cells))).astype(np.float32)
                         for corner in (cells % 6, cells // 6))]


def bfs_inputs(rng: np.random.Generator) -> list[Any]:
    edges = rng.integers(0, 131, (2, 150))
    near, others = np.hstack([edges, edges[::-1]])
    length = np.bincount(near, minlength=131)
    return [np.cumsum(length) - length, length, others[np.argsort(near, kind="stable")], 5]


def gmm_inputs(rng: np.random.Generator) -> list[Any]:
    shapes = [(5,), (5, 4), (5, 4), (5, 6), (67, 4)]
    return [uniform(rng, *shape) - np.float32(0.5) for shape in shapes]


def bundle_inputs(rng: np.random.Generator) -> list[Any]:
    points = rng.random((13, 3)) + np.array([0, 0, 3])
    return [rng.random((5, 11)), points, rng.random(37), *rng.integers(0, 50, (2, 37)),
            rng.random((37, 2))]


def lstm_inputs(rng: np.random.Generator) -> list[Any]:
    shapes = [(5, 7, 3), (7, 6), (4, 6, 3), (4, 6, 6), (4, 6)]
    return [uniform(rng, *shape) - np.float32(0.5) for shape in shapes]


def network_inputs(rng: np.random.Generator) -> list[Any]:
    shapes = [(17, 5), (17,), (3, 17), (3,), (131, 5)]
    return [*(uniform(rng, *shape) - np.float32(0.5) for shape in shapes),
            rng.integers(0, 3, 131)]


INPUTS: dict[str, Callable[[np.random.Generator], list[Any]]] = {
    "hotspot": hotspot_inputs,
    "sgemm": sgemm_inputs,
    "backprop": backprop_inputs,
    "nw": nw_inputs,
    "mri-q": mriq_inputs,
    "stencil": stencil_inputs,
    "poisson": poisson_inputs,
    "tpacf": tpacf_inputs,
    "LocVolCalib": locvolcalib_inputs,
    "OptionPricing": optionpricing_inputs,
    "lavaMD": lavamd_inputs,
    "bfast": bfast_inputs,
    "heston": heston_inputs,
    "conv1d": lambda rng: [uniform(rng, 301), uniform(rng, 70)],
    "conv2d": lambda rng: [uniform(rng, 39, 75), uniform(rng, 9, 34)],
    "conv3d": lambda rng: [uniform(rng, 9, 13, 37), uniform(rng, 3, 5, 7)],
    "windows": lambda rng: [uniform(rng, 5, 19, 33), uniform(rng, 7, 5, 3, 3)],
    "attention": lambda rng: [*(uniform(rng, 3, 4, 9, 5) for _ in range(3)),
                              uniform(rng, 11, 20), uniform(rng, 20, 11)],
    "vgg": lambda rng: [uniform(rng, 6, 14, 23), uniform(rng, 9, 6, 3, 3)],
    "coulomb": coulomb_inputs,
    "syrk": syrk_inputs,
    "syr2k": syr2k_inputs,
    "radix": lambda rng: [rng.integers(0, 1 << 32, 1001, dtype=np.uint32)],
    "fft": lambda rng: [uniform(rng, 512), uniform(rng, 512)],
    "lcs": lcs_inputs,
    "knapsack": knapsack_inputs,
    "csr": csr_inputs,
    "words": words_inputs,
    "triangle": lambda rng: [rng.random(70 * 71 // 2), rng.random(70)],
    "cells": cells_inputs,
    "bfs": bfs_inputs,
    "gmm": gmm_inputs,
    "bundle": bundle_inputs,
    "lstm": lstm_inputs,
    "newton": lambda rng: [7, np.int32(3), uniform(rng, 301, 5)],
    "heat": lambda rng: [19, *rng.random((3, 67))],
    "network": network_inputs,
    "sieve": lambda rng: [2001],
    "quicksort": lambda rng: [rng.integers(-300, 300, 1001, dtype=np.int32)],
    "quickhull": lambda rng: [*rng.standard_normal((2, 501))],
    "integral": lambda rng: [-0.25, 1.0, 1e-8],
}


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("name", INPUTS)
def test_flat_version_agrees_with_numpy(name: str) -> None:
    arguments = INPUTS[name](np.random.default_rng(1))
    expected = getattr(references, name.replace("-", "").lower())(*arguments)
    if not isinstance(expected, tuple):
        expected = (expected,)
    program = runelift.compile(EXAMPLES / f"{name}.fut", device="pocl", tuning={})
    for entry in sorted({"main", "by_hand"} & {*program.entries}):
        *_, flat = plans(program.tree.entry(entry))
        found, _ = program.run(entry, arguments, force=flat)
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=2e-4)
