"""Interleaved results and transposed copies, on the simulator of a GPU and on a CPU."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from runelift.codegen.plan import plan
from runelift.ir.base.errors import VersionUnavailable
from runelift.runtime.programs.program import Program
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.versions.forest import plans
from tests import programs

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
    program = programs.program(SOURCE, device)
    forest = next((f for f in program.tree.entries if f.entry == entry), None)
    for shape in SHAPES:
        xss = np.random.default_rng(sum(shape)).integers(-9, 9, shape).astype(np.int32)
        (wanted,) = programs.expected(SOURCE, entry, [xss])
        expected = np.asarray(wanted)
        for force in plans(forest) if forest else ({},):
            try:
                (found,), _ = program.run(entry, [xss], force=force)
            except VersionUnavailable:
                continue  # no work-group is large enough
            assert found.shape == expected.shape
            assert (found == expected).all()


def test_arrays_of_neighbours_are_interleaved_and_copied_back_by_tiles() -> None:
    program = programs.program(SOURCE, "interpreter")
    assert "transpose_" in launched(program, "sums")
    assert "transpose_" in launched(program, "swap")


@pytest.mark.parametrize("device", ["oclgrind", "Portable"])
@pytest.mark.parametrize("prim", ["i8", "i16", "f32", "f64"])
def test_tiles_of_any_element(prim: str, device: str) -> None:
    """Sides of one element, short ones, and those that tiles do not divide."""
    source = (f"entry swap [n][m] (xss: [n][m]{prim}): [m][n]{prim} = transpose xss\n"
              f"entry swaps [k][n][m] (xss: [k][n][m]{prim}): [k][m][n]{prim} = map transpose xss")
    program = programs.program(source, device)
    for n, m in [(1, 70), (70, 1), (2, 300), (300, 2), (5, 100), (100, 5), (16, 33), (65, 130),
                 (64, 36), (40, 32), (16, 48)]:
        xss = (np.arange(2 * n * m) % 101).reshape(2, n, m).astype(dtype_of(prim))
        assert (program.swap(xss[0]) == xss[0].T).all()
        assert (program.swaps(xss) == xss.transpose(0, 2, 1)).all()


@pytest.mark.parametrize("prim", ["i8", "f16", "bool"])
def test_words_in_groups_of_any_size(prim: str) -> None:
    program = programs.program(f"entry swap [n][m] (xss: [n][m]{prim}): [m][n]{prim} ="
                               " transpose xss", "oclgrind")
    names = [name for name in program.kernel_parameters() if name.endswith(".group")]
    for n, m in [(64, 36), (40, 100)]:
        xss = (np.arange(n * m) % 101).reshape(n, m).astype(
            "bool" if prim == "bool" else dtype_of(prim))
        for group in (8, 64):
            (found,), _ = program.run("swap", [xss], thresholds=dict.fromkeys(names, group))
            np.testing.assert_array_equal(np.asarray(found), xss.T)


def dtype_of(prim: str) -> str:
    return {"i": "int", "f": "float"}[prim[0]] + prim[1:]


def test_a_side_of_one_element_needs_no_kernel() -> None:
    program = programs.program(SOURCE, "oclgrind")
    row = np.arange(1000, dtype=np.int32)
    for shape, launches in [((1, 1000), 0), ((1000, 1), 0), ((2, 500), 1)]:
        record = MeasuredProgram(program).record("swap", [row.reshape(shape)])
        assert record.launches == launches


def test_what_a_loop_reads_across_rows_is_transposed_once() -> None:
    program = programs.program(SOURCE, "oclgrind")
    xss = np.arange(2400, dtype=np.int32).reshape(60, 40)
    record = MeasuredProgram(program).record("drift", [xss], force={"drift.versions_0": 0})
    assert "is None" in program.source("host", "drift")
    assert record.launches == 1 + 1 + 5  # replicate, the copy, and the iterations
