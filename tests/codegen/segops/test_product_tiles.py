"""Products that work-groups compute in blocks, and in pieces: the same answers at all sizes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import runelift
from runelift.ir.files import read_source
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.devices.limits import ShareLimits, ceil_div
from runelift.runtime.geometry import launch_geometry
from runelift.runtime.geometry.tiles import LEAST_SLABS as LEAST_SLABS
from runelift.runtime.geometry.tiles import SLAB_PADDING, block
from runelift.runtime.versions.forest import plans
from tests.codegen.harness import ROWS, SLABS
from tests.codegen.test_programs import Choices, modelled

GPU = ShareLimits(32, 256, 1024, 16, 32, True, 1)
PRODUCT = """
entry main [n][m][p] (xss: [n][m]f32) (yss: [m][p]f32): [n][p]f32 =
  map (\\xs -> map (\\ys -> f32.sum (map2 (*) xs ys)) (transpose yss)) xss
"""
SCALED = """
entry main [n][m][p] (xss: [n][m]f32) (yss: [p][m]f32) (css: [n][p]f32): [n][p]f32 =
  map2 (\\xs cs -> map2 (\\ys c -> 2 * f32.sum (map2 (*) xs ys) + 3 * c) yss cs) xss css
"""
BATCHED = """
entry main [b][n][m][p] (xsss: [b][n][m]f64) (ysss: [b][m][p]f64) (ws: [m]f64): [b][n][p]f64 =
  map2 (\\xss yss -> map (\\xs -> map (\\ys ->
    f64.sum (map3 (\\x y w -> x * y * w) xs ys ws)) (transpose yss)) xss) xsss ysss
"""
ORDERED = """
entry main [n][m][p] (xss: [n][m]i32) (yss: [m][p]i32): [n][p](i32, i32) =
  map (\\xs -> map (\\ys -> reduce (\\(a, b) (c, d) -> (c * a, c * b + d)) (1, 0) (zip xs ys))
                  (transpose yss)) xss
"""


@pytest.mark.sweep(every=7)
@pytest.mark.parametrize("blocks", [(4, 2, 2, 2, 2, 4, 1, 1), (4, 2, 1, 4, 2, 4, 2, 1),
                                    (16, 4, 4, 1, 4, 4, 2, 1), (4, 2, 1, 1, 2, 1, 1, 2),
                                    (4, 2, 2, 8, 2, 16, 2, 3), (4, 2, 1, 2, 2, 2, 1, 9)])
@pytest.mark.parametrize("size", [(1, 1, 1), (8, 4, 8), (9, 7, 10), (17, 3, 5), (4, 0, 4)])
@pytest.mark.parametrize("text", [PRODUCT, SCALED, BATCHED, ORDERED],
                         ids=["product", "scaled", "batched", "ordered"])
def test_blocks(text: str, size: tuple[int, int, int], blocks: tuple[int, ...],
                monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch_geometry, "block", lambda *_: blocks)
    program = runelift.compile(text, device="oclgrind", tuning={})
    for kernel in ("segmap_tiled", "segmap_pieces", "segmap_combined"):
        assert f"kernel {kernel}" in program.source("imp")
    n, m, p = size
    right = (p, m) if text is SCALED else (m, p)
    shapes = [(n, m), right, *([(n, p)] if text is SCALED else [])]
    if text is BATCHED:
        shapes = [(2, n, m), (2, *right), (m,)]
    dtype = {BATCHED: np.float64, ORDERED: np.int32}.get(text, np.float32)
    rng = np.random.default_rng(0)
    args = [rng.integers(-5, 6, shape).astype(dtype) for shape in shapes]
    expected, _ = runelift.compile(text, device="interpreter").run("main", args)
    for force in plans(program.tree.entry("main")):
        actual, _ = program.run("main", args, force=force)
        for want, got in zip(expected, actual, strict=True):
            np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


@pytest.mark.parametrize("slabs", [1, 2])
@pytest.mark.parametrize("size", [(4, 6, 5), (5, 7, 4), (3, 1, 2)])
def test_nobody_overwrites_what_others_combine(size: tuple[int, int, int], slabs: int,
                                               tmp_path: Path) -> None:
    """The interpreter of kernels finds it if there is a barrier too few."""
    (tmp_path / "product.fut").write_text(PRODUCT)
    code = compile_source(read_source(tmp_path / "product.fut"), policy="all").plan("main")
    n, m, p = size
    rng = np.random.default_rng(n)
    xss, yss = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((n, m), (m, p)))
    found = modelled(code, (xss, yss), Choices(0, kind="segmap_tiled"), {ROWS: 2, SLABS: slabs})
    np.testing.assert_array_equal(found, xss @ yss)


@given(st.integers(1, 5000), st.integers(1, 5000), st.integers(0, 1 << 20), st.integers(1, 200),
       st.sampled_from([(4, 4), (8, 4), (8, 8), (16, 8)]))
def test_shapes_of_blocks(height: int, width: int, length: int, units: int,
                          sizes: tuple[int, int]) -> None:
    """Blocks are no larger than the product, fit into local memory, and leave few units idle."""
    group, side, rows, columns, depth, cells, slabs, pieces = block(
        GPU, height, width, 1, length, units, sizes, 48 << 10)
    assert group == side * side
    assert cells == rows * columns
    if min(height, width) < side:
        assert rows == 0
        return
    assert side * rows <= height
    assert side * columns <= width
    assert slabs * depth * sum(size * (side * count + SLAB_PADDING) for size, count in zip(
        sizes, (rows, columns), strict=True)) <= 48 << 10
    blocks = ceil_div(height, side * rows) * ceil_div(width, side * columns)
    assert (2 * blocks * pieces >= units or (rows, columns) == (1, 1)
            or length < LEAST_SLABS * side * (pieces + 1))
