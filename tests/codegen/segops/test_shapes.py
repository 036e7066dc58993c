"""Matrices with short sides, and reductions without input: few launches, and right results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runelift
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.versions.forest import plans

TEXT = """
entry made (n: i64) (m: i64): [n]T =
  tabulate n (\\i -> reduce (+) (T.i64 0) (tabulate m (\\j -> T.i64 (i ^ j))))
entry vectors (n: i64) (m: i64): [n]T =
  reduce (map2 (+)) (replicate n (T.i64 0)) (tabulate m (\\j -> tabulate n (\\i -> T.i64 (i ^ j))))
entry equal (n: i64) (m: i64): [n]T =
  tabulate n (\\i -> reduce (+) (T.i64 0) (replicate m (T.i64 i)))
entry added (n: i64) (m: i64): [n][m]T =
  let a = tabulate_2d n m (\\i j -> T.i64 (i * 7 + j)) in map (map (+ T.i64 1)) (copy a)
entry scans (n: i64) (m: i64): [n][m]T =
  map (scan (+) (T.i64 0)) (tabulate_2d n m (\\i j -> T.i64 (i ^ j)))
"""
SHAPES = [(1, 70), (70, 1), (2, 33), (33, 2), (5, 9), (100, 3), (3, 100), (0, 4), (4, 0)]


def expected(entry: str, n: int, m: int, dtype: str) -> Any:
    i, j = np.mgrid[:n, :m]
    match entry:
        case "made" | "vectors":
            return (i ^ j).astype(dtype).sum(axis=1, dtype=dtype)
        case "equal":
            return (i.astype(dtype)).sum(axis=1, dtype=dtype)
        case "added":
            return (i * 7 + j).astype(dtype) + np.ones((), dtype)
    return np.cumsum((i ^ j).astype(dtype), axis=1, dtype=dtype)


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("device", ["oclgrind", "Portable"])
@pytest.mark.parametrize("prim", ["i8", "i32", "f64"])
def test_every_shape(device: str, prim: str) -> None:
    program = runelift.compile(TEXT.replace("T", prim), device=device)
    dtype = {"i": "int", "f": "float"}[prim[0]] + prim[1:]
    forests = {forest.entry: forest for forest in program.tree.entries}
    for entry in program.entries:
        for n, m in SHAPES:
            right = expected(entry, n, m, dtype)
            for force in plans(forests[entry]) if entry in forests else ({},):
                (found,), _ = program.run(entry, [np.int64(n), np.int64(m)], force=force)
                np.testing.assert_array_equal(np.asarray(found), right, err_msg=f"{entry} {n} {m}")


@pytest.mark.parametrize("entry", ["made", "vectors", "equal"])
def test_reductions_of_made_numbers_are_one_launch(entry: str) -> None:
    """Neither checks of sizes nor vectors need another."""
    program = runelift.compile(TEXT.replace("T", "i32"), device="oclgrind")
    measured = MeasuredProgram(program)
    for n, m in [(70, 1), (33, 2)]:
        assert measured.record(entry, [np.int64(n), np.int64(m)]).launches == 1
