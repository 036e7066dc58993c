"""Products that work-groups compute in blocks, and in pieces: the same answers at all sizes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runelift.runtime.devices.limits import ShareLimits
from runelift.runtime.geometry.launch_geometry import SHAPES
from runelift.runtime.geometry.product_tile import (
    LEAST_SLABS,
    PARTIAL_BYTES,
    PRODUCT_TILE,
    SLAB_PADDING,
    ProductTileAnswer,
    ProductTileRequest,
    choose,
    fastest,
)
from runelift.runtime.geometry.shape import GeometryLimits
from runelift.runtime.programs.program import Program
from runelift.runtime.versions.forest import plans
from tests import programs
from tests.codegen.harness import ACROSS, DEPTH, ROWS, SLABS
from tests.codegen.test_programs import Choices, modelled
from tests.programs import agree, kernel_names

GPU = GeometryLimits(ShareLimits(32, 256, 1024, 16, 32, True, 1))
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


class Blocks(NamedTuple):
    """Blocks of products: work-items, their points, the depth of slabs, and pieces."""

    side: int
    across: int
    rows: int
    columns: int
    depth: int
    slabs: int
    pieces: int

    def force(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let the runtime answer all requests with these blocks."""
        down, along = self.depth * self.rows // self.across, self.depth * self.columns // self.side
        assert min(down, along) > 0
        answer = ProductTileAnswer(
            self.side * self.across, self.side, self.across, self.rows, self.columns, self.depth,
            down, along, self.rows * self.columns, self.slabs, self.pieces, min(2, self.pieces))
        monkeypatch.setitem(SHAPES, "ProductTileShape",
                            replace(PRODUCT_TILE, choose=lambda asked, limits: answer))


NOT_SQUARE = [Blocks(2, 4, 2, 2, 2, 1, 1), Blocks(4, 2, 1, 2, 4, 2, 1), Blocks(1, 4, 4, 1, 1, 2, 3),
              Blocks(2, 2, 2, 2, 1, 2, 1), Blocks(2, 2, 1, 1, 4, 2, 2), Blocks(2, 1, 2, 4, 2, 1, 2)]
"""Groups that are not square, and slabs that are not as deep as groups have rows."""


@pytest.mark.sweep(every=7)
@pytest.mark.parametrize("blocks", [
    Blocks(2, 2, 2, 2, 2, 1, 1), Blocks(2, 2, 1, 4, 2, 2, 1), Blocks(4, 4, 4, 1, 4, 2, 1),
    Blocks(2, 2, 1, 1, 2, 1, 2), Blocks(2, 2, 2, 8, 2, 2, 3), Blocks(2, 2, 1, 2, 2, 1, 9),
    *NOT_SQUARE[:3]])
@pytest.mark.parametrize("size", [(1, 1, 1), (8, 4, 8), (9, 7, 10), (17, 3, 5), (4, 0, 4)])
@pytest.mark.parametrize("text", [PRODUCT, SCALED, BATCHED, ORDERED],
                         ids=["product", "scaled", "batched", "ordered"])
def test_blocks(text: str, size: tuple[int, int, int], blocks: Blocks,
                monkeypatch: pytest.MonkeyPatch) -> None:
    blocks.force(monkeypatch)
    program = programs.program(text, "oclgrind")
    for kernel in ("segmap_tiled", "segmap_pieces", "segmap_combined"):
        assert _has(program, kernel)
    n, m, p = size
    right = (p, m) if text is SCALED else (m, p)
    shapes = [(n, m), right, *([(n, p)] if text is SCALED else [])]
    if text is BATCHED:
        shapes = [(2, n, m), (2, *right), (m,)]
    dtype = {BATCHED: np.float64, ORDERED: np.int32}.get(text, np.float32)
    rng = np.random.default_rng(0)
    args = [rng.integers(-5, 6, shape).astype(dtype) for shape in shapes]
    agree(program, "main", args, programs.expected(text, "main", args))


@pytest.mark.parametrize(("across", "depth"), [(2, 2), (4, 2), (1, 2), (2, 4)])
@pytest.mark.parametrize("slabs", [1, 2])
@pytest.mark.parametrize("size", [(4, 6, 5), (5, 7, 4), (3, 1, 2)])
def test_nobody_overwrites_what_others_combine(size: tuple[int, int, int], slabs: int, across: int,
                                               depth: int) -> None:
    """The interpreter of kernels finds it if there is a barrier too few."""
    code = programs.compiled(PRODUCT).plan("main")
    n, m, p = size
    rng = np.random.default_rng(n)
    xss, yss = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((n, m), (m, p)))
    found = modelled(code, (xss, yss), Choices(0, kind="segmap_tiled"),
                     {ROWS: 2, SLABS: slabs, ACROSS: across, DEPTH: depth})
    np.testing.assert_array_equal(found, xss @ yss)


@given(st.integers(1, 5000), st.integers(1, 5000), st.integers(0, 1 << 20), st.integers(1, 200),
       st.sampled_from([(4, 4), (8, 4), (8, 8), (16, 8)]))
def test_shapes_of_blocks(height: int, width: int, length: int, units: int,
                          sizes: tuple[int, int]) -> None:
    """Blocks are no larger than the product, and fit into local memory with their slabs."""
    group, side, across, rows, columns, depth, down, along, cells, slabs, pieces, split = choose(
        ProductTileRequest(height, width, 1, length, sizes), GPU._replace(units=units))
    if min(height, width) < 16:
        assert rows == 0
        return
    assert group == side * across
    assert depth in (8, 16)
    assert group % depth == 0
    assert (side, across) in ((16, 16), (8, 16), (16, 8))
    assert (down * across, along * side) == (depth * rows, depth * columns)
    assert cells == rows * columns
    assert side * rows <= height
    assert across * columns <= width
    assert slabs * depth * sum(size * (items * count + SLAB_PADDING) for size, items, count in zip(
        sizes, (side, across), (rows, columns), strict=True)) <= 48 << 10
    assert pieces == 1 or pieces * LEAST_SLABS * depth <= length
    assert split == 1 or 2 * split <= pieces
    assert group % split == 0
    assert pieces * height * width * max(sizes) <= PARTIAL_BYTES or pieces == 1


@pytest.mark.parametrize("sizes", [(64, 64, 0, 100), (16, 16, 1, 0), (5, 5, 0, 0)])
def test_blocks_of_nothing(sizes: tuple[int, int, int, int]) -> None:
    """No matrix at all, or no steps."""
    found = choose(ProductTileRequest(*sizes, (4, 4)), GPU)
    assert (found.pieces, found.split) == (1, 1)


@pytest.mark.parametrize(("height", "width", "length", "more"), [
    (512, 784, 4608, True), (256, 256, 8192, True), (64, 4096, 4096, True),
    (2048, 2048, 2048, False), (4096, 4096, 64, False), (1024, 1024, 1024, False)])
def test_long_products_of_few_points_are_cut(height: int, width: int, length: int,
                                             more: bool) -> None:
    """Pieces take half the time on a device with 132 units, or would take longer."""
    found = choose(ProductTileRequest(height, width, 1, length, (4, 4)), GPU)
    assert (found.pieces > 1) == more


@given(st.integers(1, 600), st.integers(1, 600), st.integers(0, 5000),
       st.sampled_from([1 << 10, 1 << 12, 48 << 10]), st.sampled_from([4, 8, 16, 32]),
       st.lists(st.sampled_from([0, 1, 2, 4, 8, 16]), min_size=2, max_size=2),
       st.lists(st.sampled_from([0, 4, 8, 16, 32]), min_size=2, max_size=2))
def test_every_work_item_fetches_a_part_of_a_slab(
        height: int, width: int, length: int, local_bytes: int, side: int, points: list[int],
        others: list[int]) -> None:
    """A group fetches every element of a slab exactly once, whatever is wanted."""
    group, tall, across, rows, columns, depth, down, along, cells, _, pieces, _ = fastest(
        ProductTileRequest(height, width, 1, length, (4, 4), side, *points, *others),
        GPU._replace(local_bytes=local_bytes))
    if rows == 0:
        return
    assert (group, tall, across) == (side * across, side, others[0] or side)
    assert group % depth == 0
    assert down * group == depth * tall * rows
    assert along * group == depth * across * columns
    assert cells == rows * columns
    assert tall * rows <= height
    assert across * columns <= width
    assert pieces == 1 or pieces * LEAST_SLABS * depth <= length
    assert depth >= min(others[1], group)


CONVOLUTION = """
entry main [n][c][h][w][m] (xs: [n][c][h][w]i32) (ker: [m][c][3][2]i32): [n][m][h][w]i32 =
  let padded = map (map (lift.pad2d 1 1 1 0 7)) xs
  in map (\\x -> tabulate_3d m h w (\\o i j ->
    i32.sum (tabulate c (\\k ->
      i32.sum (tabulate 3 (\\di ->
        i32.sum (tabulate 2 (\\dj -> x[k, i + di, j + dj] * ker[o, k, di, dj])))))))) padded
"""
STRIDED = """
entry main [n][c][h][w][m] (xs: [n][c][h][w]i32) (ker: [m][c][3][2]i32): [m][n][h][w]i32 =
  let padded = map (map (lift.pad2d (h + 1) 2 (w + 1) 1 0)) xs
  in tabulate_3d m n h (\\o b i -> tabulate w (\\j -> 3 + 2 * i32.maximum (tabulate c (\\k ->
      i32.maximum (tabulate 3 (\\di -> i32.maximum (tabulate 2 (\\dj ->
        padded[b, k, 2 * i + di, 2 * j + dj] - ker[o, k, 2 - di, dj]))))))))
"""
GATHERED = """
entry main [n][c][h][w][m] (xs: [n][c][h][w]i32) (ker: [m][c][3][2]i32): [m][h][n][w]i32 =
  let places = tabulate c (\\k -> (5 * k + 1) % c)
  in tabulate_3d m h n (\\o i b -> tabulate w (\\j -> i32.sum (tabulate c (\\k ->
      i32.sum (tabulate 3 (\\di -> xs[b, places[k], i, j] * ker[o, k, di, 1] + i32.i64 o))))))
"""


@pytest.mark.sweep(every=30)
@pytest.mark.parametrize("blocks", [
    Blocks(2, 2, 2, 2, 2, 1, 1), Blocks(2, 2, 1, 4, 2, 2, 1), Blocks(4, 4, 4, 1, 4, 2, 1),
    Blocks(2, 2, 2, 1, 2, 2, 3), *NOT_SQUARE[3:]])
@pytest.mark.parametrize("size", [(1, 1, 1, 1, 1), (2, 3, 5, 4, 3), (3, 5, 2, 7, 4),
                                  (2, 0, 3, 4, 5), (2, 4, 3, 0, 2), (1, 9, 4, 4, 2)])
@pytest.mark.parametrize("text", [CONVOLUTION, STRIDED, GATHERED],
                         ids=["convolution", "strided", "gathered"])
def test_blocks_of_several_dimensions(text: str, size: tuple[int, ...], blocks: Blocks,
                                      monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows, columns and steps of a product may each have several dimensions."""
    blocks.force(monkeypatch)
    program = programs.program(text, "oclgrind")
    for kernel in ("segmap_tiled", "segmap_pieces"):
        assert _has(program, kernel) == (text is not GATHERED)
    _compare(program, text, size)


@pytest.mark.sweep(every=4)
@pytest.mark.parametrize("size", [(1, 1, 1, 1, 1), (2, 3, 5, 14, 3), (2, 5, 2, 35, 6),
                                  (2, 0, 3, 16, 5), (1, 140, 3, 4, 9)])
@pytest.mark.parametrize("text", [CONVOLUTION, STRIDED, GATHERED],
                         ids=["convolution", "strided", "gathered"])
def test_strips_of_several_rows(text: str, size: tuple[int, ...]) -> None:
    """On processors, a strip has several rows of a product."""
    program = programs.program(text, "Portable")
    assert _has(program, "columns") == (text is not GATHERED)
    _compare(program, text, size)


@pytest.mark.parametrize("slabs", [1, 2])
def test_nobody_overwrites_steps_of_several_dimensions(slabs: int) -> None:
    """The interpreter of kernels finds it if there is a barrier too few."""
    code = programs.compiled(CONVOLUTION).plan("main")
    rng = np.random.default_rng(0)
    x, ker = (rng.integers(-4, 5, shape).astype(np.int32)
              for shape in ((1, 2, 3, 5), (5, 2, 3, 2)))
    found = modelled(code, (x, ker), Choices(0, kind="segmap_tiled"), {ROWS: 2, SLABS: slabs})
    (expected,) = programs.expected(CONVOLUTION, "main", [x, ker])
    np.testing.assert_array_equal(found, np.asarray(expected))


def _has(program: Program, kernel: str) -> bool:
    """True if a kernel of the program has a name that begins so."""
    return any(name.startswith(kernel) for name in kernel_names(program))


def inputs(size: tuple[int, ...]) -> list[np.ndarray[Any, Any]]:
    """Images and filters of small integers."""
    n, c, h, w, m = size
    rng = np.random.default_rng(0)
    return [rng.integers(-5, 6, shape).astype(np.int32) for shape in ((n, c, h, w), (m, c, 3, 2))]


def by_point_or_row(program: Program) -> list[dict[str, int]]:
    """The versions with a work-item for each row or point."""
    return [force for force in plans(program.tree.entry("main"))
            if not [*force.values()][-1] and len(force) <= 4]


def _compare(program: Program, text: str, size: tuple[int, ...]) -> None:
    """The results of the versions with a work-item per row or point are the interpreter's."""
    args = inputs(size)
    agree(program, "main", args, programs.expected(text, "main", args), by_point_or_row(program))
