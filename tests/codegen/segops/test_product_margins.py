"""Margins of products: tested where blocks fetch elements, stored where other kernels read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from runelift.codegen.emit.python import python_source
from runelift.codegen.plan import plan
from runelift.ir.base.errors import VersionUnavailable
from runelift.runtime.devices.info import DeviceInfo
from runelift.runtime.programs.program import Program
from tests.codegen.harness import ROWS, SLABS
from tests.codegen.segops.test_product_tiles import (
    CONVOLUTION,
    STRIDED,
    Blocks,
    by_point_or_row,
    inputs,
)
from tests.codegen.test_programs import Choices, modelled
from tests.programs import agree, compiled, expected

WIDE = """
entry main [n][c][h][w][m] (xs: [n][c][h][w]i32) (ker: [m][c][3][2]i32): [n][m][h][w]i32 =
  let padded = map (map (lift.pad2d 1 1 5 0 (-3))) xs
  in map (\\x -> tabulate_3d m h w (\\o i j ->
    2 * i32.sum (tabulate c (\\k ->
      i32.sum (tabulate 3 (\\di ->
        i32.sum (tabulate 2 (\\dj -> x[k, i + di, j + 2 * dj] * ker[o, k, di, dj])))))))) padded
"""
OVERWRITTEN = """
entry main [n][c][h][w][m] (xs: *[n][c][h][w]i32) (ker: [m][c][3][2]i32)
    : ([n][m][h][w]i32, [n][c][h][w]i32) =
  let padded = map (map (lift.pad2d 1 1 1 0 7)) xs
  let xs = xs with [0, 0, 0] = replicate w 100
  let ys = map (\\x -> tabulate_3d m h w (\\o i j ->
    i32.sum (tabulate c (\\k ->
      i32.sum (tabulate 3 (\\di ->
        i32.sum (tabulate 2 (\\dj -> x[k, i + di, j + dj] * ker[o, k, di, dj])))))))) padded
  in (ys, xs)
"""
BOTH_VALUES = """
entry main [n][c][h][w][m] (xs: [n][c][h][w]i32) (ker: [m][c][3][2]i32): [n][m][h][w]i32 =
  let padded = map (map (\\p ->
    transpose (map (lift.pad 1 1 2) (transpose (map (lift.pad 1 0 9) p))))) xs
  in map (\\x -> tabulate_3d m h w (\\o i j ->
    i32.sum (tabulate c (\\k ->
      i32.sum (tabulate 3 (\\di ->
        i32.sum (tabulate 2 (\\dj -> x[k, i + di, j + dj] * ker[o, k, di, dj])))))))) padded
"""
TEXTS = {"convolution": CONVOLUTION, "strided": STRIDED, "wide": WIDE, "overwritten": OVERWRITTEN,
         "values": BOTH_VALUES}
TILED = ("segmap_tiled", "segmap_pieces")


@pytest.mark.parametrize("name", ["convolution", "strided", "wide", "overwritten"])
def test_blocks_read_the_array_itself(name: str) -> None:
    """No step on the way to their kernels stores the margin; the other kernels have it stored."""
    code = compiled(TEXTS[name]).plan("main", interleave=True)
    tiled = [k for k in plan.kernels(code.steps) if k.kind in TILED]
    margins = {step.name for step in plan.all_steps(code.steps) if isinstance(step, plan.Fill)}
    lazy = {step.name for step in plan.all_steps(code.steps) if isinstance(step, plan.LazyCopy)}
    assert tiled
    assert margins
    assert margins <= lazy
    for kernel in tiled:
        assert margins.isdisjoint(param.name for param in kernel.params)
    for version in (v for step in plan.all_steps(code.steps) if isinstance(step, plan.Choose)
                    for v in step.versions):
        if any(k.kind in TILED for step in version.steps if isinstance(step, plan.Operation)
               for k in plan.kernels(step.steps)):
            assert all(not _fills(step.steps) for step in version.steps
                       if isinstance(step, plan.Operation))
            assert not _fills(version.steps)


def _fills(steps: Sequence[plan.Step]) -> bool:
    """True if there is a fill outside of branches."""
    return any(isinstance(step, plan.Fill) for step in steps)


@pytest.mark.parametrize("size", [(1, 1, 1, 1, 4), (1, 2, 3, 5, 5), (2, 1, 1, 3, 4)])
@pytest.mark.parametrize("name", ["convolution", "strided", "wide"])
def test_no_place_outside_is_read(name: str, size: tuple[int, ...]) -> None:
    """The interpreter of kernels fails at places outside of arrays."""
    code = compiled(TEXTS[name]).plan("main", interleave=True)
    args = inputs(size)
    wanted, *_ = expected(TEXTS[name], "main", args)
    for kind, slabs in (("segmap_tiled", 1), ("segmap_tiled", 2)):
        found = modelled(code, args, Choices(0, kind=kind), {ROWS: 2, SLABS: slabs})
        np.testing.assert_array_equal(found, np.asarray(wanted))


@pytest.mark.sweep(every=7)
@pytest.mark.parametrize("blocks", [Blocks(2, 2, 2, 2, 2, 1, 1), Blocks(2, 2, 2, 1, 2, 2, 3),
                                    Blocks(2, 4, 2, 2, 2, 1, 1)])
@pytest.mark.parametrize("name", TEXTS)
def test_versions_agree_with_the_interpreter(name: str, blocks: Blocks,
                                             installed: DeviceInfo,
                                             monkeypatch: pytest.MonkeyPatch) -> None:
    blocks.force(monkeypatch)
    program = Program(compiled(TEXTS[name]), replace(installed, interleaves=True))
    for size in ((1, 1, 1, 1, 1), (2, 3, 5, 4, 3), (2, 0, 3, 4, 5), (2, 4, 3, 0, 2)):
        if name == "overwritten" and 0 in size:
            continue
        args = inputs(size)
        agree(program, "main", args, expected(TEXTS[name], "main", args), by_point_or_row(program),
              but=(VersionUnavailable,))


def test_trials_store_margins_before() -> None:
    """So each setting of an operation finds the margin, and is not timed with it."""
    code = compiled(CONVOLUTION).plan("main", interleave=True)
    depth = None
    for line in python_source(code, trials=True).source.splitlines():
        indent = len(line) - len(line.lstrip())
        if depth is not None and indent <= depth and not line.lstrip().startswith("except"):
            depth = None
        if "in rt.trials(" in line:
            assert depth is None, "trials inside of trials"
            depth = indent
