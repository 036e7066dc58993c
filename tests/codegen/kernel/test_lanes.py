"""Reductions whose elements processors fold in lanes: neighbours, or contiguous parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runelift
from runelift.codegen.plan import plan
from runelift.ir import imp
from runelift.ir.imp.traverse import statements

TEXT = r"""
def first_greatest [m] (xs: [m]i32): (i32, i64) =
  reduce (\(a, i) (b, j) -> if a < b then (b, j) else (a, i)) (i32.lowest, -1) (zip xs (iota m))
entry halves [n][m] (xss: [n][m]i32) = map (\xs -> reduce (+) 0 (map f16.i32 xs)) xss
entry places [n][m] (xss: [n][m]i32) = unzip (map first_greatest xss)
entry lines [n][m] (xss: [n][m]i32) =
  unzip (map (\xs -> reduce (\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0)
                            (map (\x -> (x % 3, x)) xs)) xss)
entry nested [n][m] (xss: [n][m]i32) =
  map (\xs -> map (\y -> (reduce (\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0)
                                 (map (\x -> (x % 3 + y, x)) xs)).1) xs) xss
entry counted [n][m] (xss: [n][m]i32) =
  unzip (map (\xs -> let ys = map (* 2) xs
                     in (ys, (first_greatest ys).1)) xss)
"""
ENTRIES = ["halves", "places", "lines", "nested", "counted"]


@pytest.fixture(scope="module")
def processor() -> runelift.Program:
    return runelift.compile(TEXT, device="Portable", tuning={})


@pytest.fixture(scope="module")
def oracle() -> runelift.Program:
    return runelift.compile(TEXT, device="interpreter")


@pytest.mark.parametrize("length", [0, 1, 3, 15, 16, 17, 63, 64, 65, 67, 131, 257])
@pytest.mark.parametrize("entry", ENTRIES)
def test_lanes_give_what_one_element_after_the_other_gives(
        processor: runelift.Program, oracle: runelift.Program, entry: str, length: int) -> None:
    xss = np.random.default_rng(length).integers(-4, 5, (3, length)).astype(np.int32)
    wanted = oracle.run(entry, [xss])[0]
    site = f"{entry}.versions_0"
    for version in (0, 1, 2):
        found = processor.run(entry, [xss], force={site: version})[0]
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("entry", "lanes"), [("halves", 16), ("places", 4), ("lines", 4)])
def test_such_reductions_have_totals_for_each_lane(processor: runelift.Program, entry: str,
                                                   lanes: int) -> None:
    kernels = [each for each in plan.kernels(processor.compiled.plan(entry).steps)
               if each.kind in ("segmap", "segred_small")]
    assert len(kernels) == 2
    for kernel in kernels:
        arrays: list[Any] = [s.length for s in statements(kernel.body)
                             if isinstance(s, imp.DeclareArray)]
        assert set(arrays) == {lanes}


def test_simple_sums_are_left_to_the_compiler() -> None:
    program = runelift.compile("entry main [n][m] (xss: [n][m]f32) = map (reduce (+) 0) xss",
                               device="Portable", tuning={})
    for kernel in plan.kernels(program.compiled.plan("main").steps):
        if kernel.kind in ("segmap", "segred_small"):
            assert not any(isinstance(s, imp.DeclareArray) for s in statements(kernel.body))
