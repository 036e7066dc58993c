"""Interleaved results and transposed copies, on the simulator of a GPU and on a CPU."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import runelift
from runelift.codegen import plan
from runelift.runtime.program import Program

SOURCE = r"""
entry sums [n][m] (xss: [n][m]i32): [n][m]i32 =
  map (\xs -> loop acc = copy xs for i < m - 1 do acc with [i + 1] = acc[i] + acc[i + 1]) xss
entry swap [n][m] (xss: [n][m]i32): [m][n]i32 = copy (transpose xss)
entry swaps [n][m] (xss: [n][m]i32): [2][m][n]i32 =
  map (\k -> map (map (+ k)) (transpose xss)) (iota 2 |> map i32.i64)
entry batch [n][m] (xss: [n][m]i32): [n][2][m]i32 =
  let both = map (\xs -> loop acc = replicate m [0, 1] for i < m do acc with [i, 0] = xs[i]) xss
  in map transpose both
"""

SHAPES = [(1, 1), (5, 40), (40, 5), (33, 65), (70, 31), (0, 4), (4, 0)]


def launched(program: Program, entry: str) -> str:
    steps: Sequence[plan.Step] = program.compiled.plan(entry, interleave=True).steps
    return " ".join(kernel.name for kernel in plan.kernels(steps))


@pytest.mark.parametrize("device", ["oclgrind", "Portable"])
@pytest.mark.parametrize("entry", ["sums", "swap", "swaps", "batch"])
def test_layouts_do_not_change_results(device: str, entry: str) -> None:
    program = runelift.compile(SOURCE, device=device)
    reference = runelift.compile(SOURCE, device="interpreter")
    for shape in SHAPES:
        xss = np.random.default_rng(sum(shape)).integers(-9, 9, shape).astype(np.int32)
        expected = getattr(reference, entry)(xss)
        found = getattr(program, entry)(xss)
        assert found.shape == expected.shape
        assert (found == expected).all()


def test_arrays_of_neighbours_are_interleaved_and_copied_back_by_tiles() -> None:
    program = runelift.compile(SOURCE, device="interpreter")
    assert "transpose_" in launched(program, "sums")
    assert "transpose_" in launched(program, "swap")
