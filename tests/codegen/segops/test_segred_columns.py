"""Reductions down columns, in strips of neighbours and in pieces: the same answers at all sizes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from runelift.codegen.plan.plan import Launch, all_steps
from runelift.codegen.segops.segred_columns import columns_of_reduction
from runelift.ir.prim import Prim
from runelift.ir.syntax import Index, Level, Param, SegDim, SegRed
from runelift.ir.types import ArrayType
from runelift.runtime.geometry.launch_geometry import SHAPES
from runelift.runtime.geometry.strip import STRIP, StripAnswer
from runelift.runtime.versions.forest import plans
from tests.codegen.harness import MODEL, Builder, agree
from tests.programs import agree as versions_agree
from tests.programs import expected, program

SUMS = """
entry main [n][m] (xss: [n][m]i32): [m]i32 = map i32.sum (transpose xss)
"""
WEIGHTED = """
entry main [n][m] (xss: [n + 1][m]f64) (ws: [n]f64): [m]f64 =
  let rest = xss[1:] :> [n][m]f64
  in map2 (\\first xs -> 2 * first + f64.sum (map2 (*) xs ws)) xss[0] (transpose rest)
"""
PRODUCT = """
entry main [n][m][p] (xss: [n][m]f64) (yss: [m][p]f64): [n][p]f64 =
  map (\\xs -> map (\\ys -> f64.sum (map2 (*) xs ys)) (transpose yss)) xss
"""
ORDERED = """
entry main [n][m] (xss: [n][m]i32) (yss: [n][m]i32): [m](i32, i32) =
  map2 (\\xs ys -> reduce (\\(a, b) (c, d) -> (c * a, c * b + d)) (1, 0) (zip xs ys))
       (transpose xss) (transpose yss)
"""
PICKED = """
entry main [n][m] (xss: [n][m]i32) (is: [n]i64): [m]i32 =
  map (\\xs -> i32.sum (map (\\i -> xs[i]) is)) (transpose xss)
"""
PROGRAMS = {"sums": SUMS, "weighted": WEIGHTED, "product": PRODUCT, "ordered": ORDERED,
            "picked": PICKED}


def arguments(name: str, n: int, m: int) -> list[np.ndarray[Any, Any]]:
    """Small whole numbers."""
    rng = np.random.default_rng(n + m)

    def matrix(rows: int, columns: int, dtype: Any = np.int32) -> np.ndarray[Any, Any]:
        return rng.integers(-4, 5, (rows, columns)).astype(dtype)

    return {"sums": [matrix(n, m)],
            "weighted": [matrix(n + 1, m, np.float64), matrix(1, n, np.float64)[0]],
            "product": [matrix(3, n, np.float64), matrix(n, m, np.float64)],
            "ordered": [matrix(n, m), matrix(n, m)],
            "picked": [matrix(n, m), rng.integers(0, max(n, 1), n)]}[name]


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("strip", [
    (1, 1, 1, 1, 1), (1, 2, 3, 6, 1), (1, 4, 2, 8, 3)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_strips(name: str, strip: tuple[int, int, int, int, int],
                monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SHAPES, "StripShape",
                        replace(STRIP, choose=lambda asked, limits: StripAnswer(*strip)))
    strips = program(PROGRAMS[name])
    steps = list(all_steps(strips.compiled.plan("main").steps))
    kinds = {s.kernel.name.rsplit("_", 2)[0] for s in steps if isinstance(s, Launch)}
    assert {"columns", "column_pieces", "columns_combined"} <= kinds
    for n, m in [(7, 4), (5, 9), (1, 6), (0, 5), (3, 19)]:
        args = arguments(name, n, m)
        versions_agree(strips, "main", args, expected(PROGRAMS[name], "main", args))


@pytest.mark.parametrize("shape", [(1, 5, 4), (3, 7, 2), (2, 3, 3), (1, 0, 4), (2, 4, 1)])
def test_work_items_have_different_columns(shape: tuple[int, int, int]) -> None:
    """The interpreter of kernels finds two work-items that write the same place."""
    b = Builder()
    sizes, indices = ([b.fresh(base) for base in names] for names in ("bnm", "ikj"))
    batch, row, column = (SegDim(*each) for each in zip(indices, sizes, strict=True))
    xs, body = b.fresh("xs"), b.inner()
    space = (batch, column, row)
    x = body.let(Prim.I64, Index(xs, tuple(indices)))
    exp = SegRed(Level.GRID, space, (b.operator("add", Prim.I64, 0),), body.body(x), (Prim.I64,))
    assert columns_of_reduction(exp) is not None
    data = np.random.default_rng(1).integers(-9, 10, shape)
    args = {Param(name, Prim.I64): size for name, size in zip(sizes, shape, strict=True)}
    agree(exp, [ArrayType(Prim.I64, (sizes[0], sizes[2]))],
          {**args, Param(xs, ArrayType(Prim.I64, tuple(sizes))): data}, b.names, on=MODEL)


INSIDE = """
entry main [b][n][m] (xsss: [b][n][m]f64) (ysss: [b][m][n]f64) (cs: [n]f64): [b][n]f64 =
  map2 (\\xss yss -> map2 (\\c xs -> c + f64.maximum xs) cs (transpose yss)
                     |> map2 (+) (map f64.sum xss)) xsss ysss
"""


@pytest.mark.parametrize("shape", [(2, 16, 3), (1, 35, 4), (2, 15, 3), (2, 20, 0)])
def test_a_work_item_goes_through_strips(shape: tuple[int, int, int]) -> None:
    strips = program(INSIDE)
    assert "own_" in strips.source("imp")
    b, n, m = shape
    rng = np.random.default_rng(3)
    args = [rng.integers(-9, 10, each).astype(np.float64) for each in ((b, n, m), (b, m, n), n)]
    versions_agree(strips, "main", args, expected(INSIDE, "main", args))


def test_rows_are_no_columns() -> None:
    rows = "entry main [n][m] (xss: [n][m]i32): [n]i32 = map i32.sum xss"
    both = """entry main [n] (xss: [n][n]i32): [n]i32 =
        map2 (\\xs ys -> i32.sum (map2 (*) xs ys)) xss (transpose xss)"""
    for text in (rows, both):
        assert "kernel columns" not in program(text).source("imp")


@pytest.mark.parametrize("shape", [(130, 5), (200, 33), (64, 9), (1, 4), (0, 5), (300, 2)])
def test_columns_side_by_side_where_work_items_run_together(shape: tuple[int, int]) -> None:
    sums = program("entry sums [n][m] (xss: [n][m]i32): [m]i32 = map i32.sum (transpose xss)",
                   "oclgrind")
    xss = np.random.default_rng(7).integers(-99, 99, shape).astype(np.int32)
    versions_agree(sums, "sums", [xss], [xss.sum(axis=0, dtype=np.int32)])
    pieces = "column_pieces" in sums.source("kernels", "sums")
    assert pieces


def test_columns_may_begin_with_different_elements() -> None:
    source = ("entry main [n][m] (zs: [m]i32) (xss: [n][m]i32): [m]i32 = "
              "map2 (\\z xs -> reduce (+) z xs) zs (transpose xss)")
    xss = np.arange(200 * 40, dtype=np.int32).reshape(200, 40)
    sums = program(source)
    versions_agree(sums, "main", [np.zeros(40, np.int32), xss], [xss.sum(0)],
                   [{}, *plans(sums.tree.entry("main"))])
