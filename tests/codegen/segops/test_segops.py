"""Segmented reductions, scans, scatters and histograms of the grid, at awkward sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runelift
from runelift.codegen.plan import plan
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.syntax import (
    Convert,
    Dest,
    ForLoop,
    HistOp,
    Index,
    Level,
    Loop,
    LoopParam,
    Map,
    Operator,
    Param,
    SegDim,
    SegHist,
    SegRed,
    SegScan,
    SegScatter,
)
from runelift.ir.types import ArrayType, Type, array_of, i64
from tests.codegen.harness import CHUNK, COHERENT, PATIENCE, STAGED, WINDOW, Builder, agree, rows

I64 = Prim.I64
SHAPES = [(0,), (1,), (3,), (17,), (100,), (3, 0), (0, 3), (5, 2), (2, 40), (9, 9), (1, 100),
          (2, 3, 7)]


class Points:
    """An index space of the given shape, and an i64 ``x`` at each of its points."""

    def __init__(self, shape: tuple[int, ...], low: int = -9, high: int = 10) -> None:
        self.builder = b = Builder()
        self.sizes = tuple(b.fresh("n") for _ in shape)
        self.space = tuple(SegDim(b.fresh("i"), n) for n in self.sizes)
        xs = b.fresh("xs")
        data = np.random.default_rng(sum(shape)).integers(low, high, shape)
        self.args: dict[Param, Any] = {Param(n, I64): s
                                       for n, s in zip(self.sizes, shape, strict=True)}
        self.args[Param(xs, self.all(I64))] = data
        self.body = b.inner()
        self.x: VName = self.body.let(I64, Index(xs, tuple(d.index for d in self.space)))

    def all(self, prim: Prim) -> Type:
        return array_of(self.sizes, prim)

    def segments(self, prim: Prim) -> Type:
        return array_of(self.sizes[:-1], prim)


@pytest.mark.parametrize("comm", [True, False])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reduction_with_a_map(shape: tuple[int, ...], comm: bool) -> None:
    p = Points(shape)
    op = p.builder.operator("max", I64, -2**63, comm=comm)
    body = p.body.body(p.x, p.body.mul(p.x, p.x))
    agree(SegRed(Level.GRID, p.space, (op,), body, (I64, I64)),
          [p.segments(I64), p.all(I64)], p.args, p.builder.names)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reduction_of_pairs_in_order(shape: tuple[int, ...]) -> None:
    p = Points(shape)
    ops = (p.builder.affine(), p.builder.operator("min", I64, 2**62))
    body = p.body.body(p.x, p.body.add(p.x, i64(3)), p.x, p.x)
    agree(SegRed(Level.GRID, p.space, ops, body, (I64,) * 4),
          [p.segments(I64)] * 3 + [p.all(I64)], p.args, p.builder.names)


@pytest.mark.parametrize("shape", [(17,), (100,), (1, 3000), (2, 777)], ids=str)
def test_reduction_that_the_last_group_finishes(shape: tuple[int, ...]) -> None:
    """On a device whose groups see each other's writes; Oclgrind knows no fences."""
    p = Points(shape)
    ops = (p.builder.affine(), p.builder.operator("min", I64, 2**62))
    body = p.body.body(p.x, p.body.add(p.x, i64(3)), p.x, p.x)
    agree(SegRed(Level.GRID, p.space, ops, body, (I64,) * 4),
          [p.segments(I64)] * 3 + [p.all(I64)], p.args, p.builder.names,
          {COHERENT: 1, plan.NUM_GROUPS: 16}, on="Portable")


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_scan_of_pairs_in_order(shape: tuple[int, ...]) -> None:
    p = Points(shape)
    ops = (p.builder.affine(), p.builder.operator("min", I64, 2**62))
    body = p.body.body(p.x, p.body.add(p.x, i64(3)), p.x, p.x)
    agree(SegScan(Level.GRID, p.space, ops, body, (I64,) * 4), [p.all(I64)] * 4,
          p.args, p.builder.names)


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize(("group", "chunk", "staged"), [
    (1, 1, 0), (1, 7, 0), (2, 3, 0), (1, 2, 1), (5, 3, 1), (8, 1, 1), (8, 16, 1)])
@pytest.mark.parametrize(
    "shape", [(7,), (41,), (3, 14), (100,), (2, 3, 9), (40, 1), (23, 2), (9, 5)], ids=str)
@pytest.mark.parametrize("patience", [0, 1 << 20])
def test_scan_with_tiles_of_any_size(shape: tuple[int, ...], group: int, chunk: int,
                                     staged: int, patience: int) -> None:
    p = Points(shape, -2, 3)
    ops = (p.builder.affine(), p.builder.operator("add", I64, 0))
    body = p.body.body(p.x, p.body.add(p.x, i64(3)), p.x)
    agree(SegScan(Level.GRID, p.space, ops, body, (I64,) * 3), [p.all(I64)] * 3, p.args,
          p.builder.names, {plan.GROUP_SIZE: group, CHUNK: chunk, STAGED: staged,
                            WINDOW: max(1, group // 2), PATIENCE: patience})


@pytest.mark.parametrize("shape", [(1,), (41,), (3, 14)], ids=str)
def test_scan_of_what_is_costly_to_compute(shape: tuple[int, ...]) -> None:
    p = Points(shape)
    inner, power = p.body.inner(), p.builder.fresh("power")
    loop = Loop((LoopParam(Param(power, I64), p.x),), ForLoop(p.builder.fresh("t"), i64(3)),
                inner.body(inner.mul(power, p.x)))
    body = p.body.body(p.body.let(I64, loop), p.x)
    agree(SegScan(Level.GRID, p.space, (p.builder.operator("add", I64, 0),), body, (I64, I64)),
          [p.all(I64)] * 2, p.args, p.builder.names)


@pytest.mark.parametrize("prim", [Prim.I32, Prim.F32, Prim.BOOL, Prim.U8], ids=str)
@pytest.mark.parametrize("shape", [(0,), (20,), (4, 5)], ids=str)
def test_scatter_ignores_what_is_outside(shape: tuple[int, ...], prim: Prim) -> None:
    p = Points(shape)
    total = int(np.prod(shape))
    keys = next(a for a in p.args if isinstance(a.type, ArrayType))
    p.args[keys] = np.random.default_rng(1).permutation(total + 6)[:total].reshape(shape) - 3
    dest, width = p.builder.fresh("dest"), p.builder.fresh("w")
    type_ = ArrayType(prim, (width,))
    p.args |= {Param(width, I64): total + 1, Param(dest, type_): np.ones(total + 1)}
    value = p.body.let(prim, Convert(I64, prim, p.x))
    agree(SegScatter(Level.GRID, p.space, (Dest(dest, 1),), p.body.body(p.x, value)), [type_],
          p.args, p.builder.names)


def test_scatter_of_rows_and_of_points_in_a_matrix() -> None:
    r = rows()
    b, table, square, w = r.body, *(r.body.fresh(base) for base in ("table", "square", "w"))
    types = [ArrayType(I64, (w, r.m)), ArrayType(I64, (w, w))]
    r.args |= {Param(w, I64): 9, Param(table, types[0]): np.arange(54).reshape(9, 6),
               Param(square, types[1]): np.arange(81).reshape(9, 9)}
    place = b.op("sub", I64, b.mul(r.i, i64(2)), i64(1))
    body = b.body(place, r.row, place, r.i, r.i)
    agree(SegScatter(Level.GRID, r.space(), (Dest(table, 1), Dest(square, 2)), body), types,
          r.args, b.names)


OPERATORS = [
    ("add", Prim.I32, 0), ("max", Prim.I64, -2**63), ("min", Prim.U32, 2**32 - 1),
    ("or", Prim.U64, 0), ("add", Prim.F32, 0.0), ("max", Prim.F64, -np.inf),
    ("mul", Prim.I64, 1), ("add", Prim.U8, 0), ("or", Prim.BOOL, False),
]


@pytest.mark.parametrize("count", [1, 5, 17, 70], ids="bins-{}".format)
@pytest.mark.parametrize(("name", "prim", "neutral"), OPERATORS, ids=str)
@pytest.mark.parametrize("shape", [(0,), (30,), (3, 10)], ids=str)
def test_histogram(shape: tuple[int, ...], name: str, prim: Prim, neutral: float,
                   count: int) -> None:
    p = Points(shape, -2, count + 3)
    dest, bins = p.builder.fresh("dest"), p.builder.fresh("bins")
    type_ = ArrayType(prim, (*p.sizes[:-1], bins))
    p.args |= {Param(bins, I64): count, Param(dest, type_): np.ones((*shape[:-1], count))}
    value = p.body.let(prim, Convert(I64, prim, p.x))
    op = HistOp(bins, (dest,), p.builder.operator(name, prim, neutral))
    agree(SegHist(Level.GRID, p.space, (op,), p.body.body(p.x, value)), [type_], p.args,
          p.builder.names)


@pytest.mark.parametrize("count", [3, 70])
@pytest.mark.parametrize("shape", [(30,), (3, 10), (1, 300), (0, 5), (2, 0)], ids=str)
def test_histogram_of_pairs(shape: tuple[int, ...], count: int) -> None:
    p = Points(shape, -2, count + 3)
    b, inner = p.builder, p.builder.inner()
    least, added, bins = (b.fresh(base) for base in ("least", "added", "bins"))
    x, y, z, w = (b.fresh(base) for base in "xyzw")
    lam = inner.lam([(v, I64) for v in (x, y, z, w)], [I64, I64],
                    inner.op("min", I64, x, z), inner.add(y, w))
    op = HistOp(bins, (least, added), Operator(lam, (i64(2**62), i64(0)), True))
    type_ = ArrayType(I64, (*p.sizes[:-1], bins))
    p.args |= {Param(bins, I64): count} | {
        Param(d, type_): np.zeros((*shape[:-1], count)) for d in (least, added)}
    agree(SegHist(Level.GRID, p.space, (op,), p.body.body(p.x, p.x, p.x)), [type_] * 2, p.args,
          b.names)


def test_histogram_of_rows() -> None:
    r = rows(9, 4)
    b, inner = r.body, r.body.inner()
    dest, bins, zeros, u, v = (b.fresh(base) for base in ("dest", "bins", "zeros", "u", "v"))
    type_ = ArrayType(I64, (bins, r.m))
    r.args |= {Param(bins, I64): 5, Param(dest, type_): np.ones((5, 4)),
               Param(zeros, r.row_type): np.zeros(4)}
    added = inner.let(r.row_type, Map(r.m, b.function(lambda k, x, y: k.add(x, y), 2), (u, v)))
    lam = inner.lam([(u, r.row_type), (v, r.row_type)], [r.row_type], added)
    op = HistOp(bins, (dest,), Operator(lam, (zeros,), True))
    body = b.body(b.op("quot", I64, r.i, i64(2)), r.row)
    agree(SegHist(Level.GRID, r.space(), (op,), body), [type_], r.args, b.names)


@pytest.mark.parametrize(("text", "shape"), [
    ("entry main (xs: []i32): i32 = i32.sum xs", (30_000,)),
    ("entry main (xs: []i32): i32 = i32.sum (map (\\x -> x * x) xs)", (1_000,)),
    ("entry main (xs: []i32): (i32, i32) = (i32.sum xs, i32.maximum xs)", (30_000,)),
    ("entry main [n] (xs: [n]i32): [n]i32 = scan (+) 0 xs", (3,)),
    ("entry main [n] (xs: [n]i32): [n]i32 = scan (+) 0 (map (* 3) xs)", (4_000,)),
    ("entry main [n][m] (xss: [n][m]i32): [n][m]i32 = map (scan (+) 0) xss", (3, 1_300))])
def test_what_a_core_does_quickly_is_one_launch(text: str, shape: tuple[int, ...]) -> None:
    """Another launch would take longer than what it divides."""
    program = runelift.compile(text, device="pocl", tuning={})
    xs = np.random.default_rng(1).integers(-99, 99, shape, np.int32)
    results, record = program.run("main", [xs], record=True)
    expected, _ = runelift.compile(text, device="interpreter").run("main", [xs])
    for got, want in zip(results, expected, strict=True):
        np.testing.assert_array_equal(got, want)
    assert record is not None
    assert record.launches == 1


SIDE_BY_SIDE = """
entry sums [n][m] (xss: [n][m]i32) = map (reduce (+) 0) xss
entry scans [n][m] (xss: [n][m]i32) = map (scan (+) 0) xss
entry pairs [n][m] (xss: [n][m]i32) =
  map (\\xs -> unzip (scan (\\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0)
                         (zip (map (% 3) xs) xs))) xss |> unzip
"""


@pytest.fixture(scope="module")
def rows_side_by_side(simulator: str) -> runelift.Program:
    return runelift.compile(SIDE_BY_SIDE, device=simulator, tuning={})


@pytest.mark.parametrize("length", [1, 4, 5, 33, 200, 1025])
def test_short_segments_lie_side_by_side_in_groups(rows_side_by_side: runelift.Program,
                                                   length: int) -> None:
    xss = np.random.default_rng(length).integers(-5, 5, (5, length)).astype(np.int32)
    oracle = runelift.compile(SIDE_BY_SIDE, device="interpreter", tuning={})
    for entry in ("sums", "scans", "pairs"):
        results, record = rows_side_by_side.run(
            entry, [xss], force={f"{entry}.versions_0": 2}, record=True)
        for found, wanted in zip(results, oracle.run(entry, [xss])[0], strict=True):
            np.testing.assert_array_equal(found, wanted)
        assert record is not None
        assert record.launches <= 1 or length > 1024
