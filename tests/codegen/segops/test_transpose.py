"""Interleaved results and transposed copies, on the simulator of a GPU and on a CPU."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import runelift
from runelift.codegen.plan import plan
from runelift.ir.errors import VersionUnavailable
from runelift.runtime.program import Program
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.versions.forest import plans

SOURCE = r"""
entry sums [n][m] (xss: [n][m]i32): [n][m]i32 =
  map (\xs -> loop acc = copy xs for i < m - 1 do acc with [i + 1] = acc[i] + acc[i + 1]) xss
entry swap [n][m] (xss: [n][m]i32): [m][n]i32 = copy (transpose xss)
entry swaps [n][m] (xss: [n][m]i32): [2][m][n]i32 =
  map (\k -> map (map (+ k)) (transpose xss)) (iota 2 |> map i32.i64)
entry batch [n][m] (xss: [n][m]i32): [n][2][m]i32 =
  let both = map (\xs -> loop acc = replicate m [0, 1] for i < m do acc with [i, 0] = xs[i]) xss
  in map transpose both
entry drift [n][m] (xss: [n][m]i32): [n]i32 =
  loop acc = replicate n 1 for _t < 5 do
    map2 (\xs a -> loop s = a for i < m do s * 3 + xs[i]) xss acc
entry spread [n][m] (xss: [n][m]i32): [n]i32 =
  loop acc = replicate n 1 for _t < 3 do
    map2 (\xs a -> a + i32.sum (map (\x -> x * a % 7) xs)) xss acc
"""

SHAPES = [(1, 1), (5, 40), (40, 5), (33, 65), (70, 31), (0, 4), (4, 0), (130, 16),
          (12, 70), (10, 9)]


def launched(program: Program, entry: str) -> str:
    steps: Sequence[plan.Step] = program.compiled.plan(entry, interleave=True).steps
    return " ".join(kernel.name for kernel in plan.kernels(steps))


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("device", ["oclgrind", "Portable"])
@pytest.mark.parametrize("entry", ["sums", "swap", "swaps", "batch", "drift", "spread"])
def test_layouts_do_not_change_results(device: str, entry: str) -> None:
    """In no version, and in a second run neither."""
    program = runelift.compile(SOURCE, device=device)
    reference = runelift.compile(SOURCE, device="interpreter")
    forest = next((f for f in program.tree.entries if f.entry == entry), None)
    for shape in SHAPES:
        xss = np.random.default_rng(sum(shape)).integers(-9, 9, shape).astype(np.int32)
        expected = getattr(reference, entry)(xss)
        for force in plans(forest) if forest else ({},):
            try:
                (found,), _ = program.run(entry, [xss], force=force)
            except VersionUnavailable:
                continue  # no work-group is large enough
            assert found.shape == expected.shape
            assert (found == expected).all()


def test_arrays_of_neighbours_are_interleaved_and_copied_back_by_tiles() -> None:
    program = runelift.compile(SOURCE, device="interpreter")
    assert "transpose_" in launched(program, "sums")
    assert "transpose_" in launched(program, "swap")


@pytest.mark.parametrize(("n", "m", "height", "width"), [
    (100, 100, 32, 32), (1000, 16, 16, 64), (9, 1000, 64, 16), (17, 1000, 32, 32),
    (16, 16, 32, 32)])
def test_tiles_are_long_where_an_array_has_a_short_side(n: int, m: int, height: int,
                                                        width: int) -> None:
    """Its elements lie side by side along the height; the copy's, along the width."""
    program = runelift.compile(SOURCE, device="interpreter")
    steps = plan.all_steps(program.compiled.plan("swap", interleave=True).steps)
    given = {"n": n, "m": m, "group_size": 256}
    found: dict[str, int] = {}
    for step in steps:
        if isinstance(step, plan.ComputeSize) and step.name.base in ("height", "width"):
            found[step.name.base] = step.size.value(
                {name: given[name.base] for name in step.size.variables()})
    assert (found["height"], found["width"]) == (height, width)


def test_what_a_loop_reads_across_rows_is_transposed_once() -> None:
    program = runelift.compile(SOURCE, device="oclgrind")
    xss = np.arange(2400, dtype=np.int32).reshape(60, 40)
    record = MeasuredProgram(program).record("drift", [xss], force={"drift.versions_0": 0})
    assert "is None" in program.source("host", "drift")
    assert record.launches == 1 + 1 + 5  # replicate, the copy, and the iterations
