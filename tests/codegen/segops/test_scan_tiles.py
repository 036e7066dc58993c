"""Tiles of scans of rows: what elements are computed from, and where rows start in a tile."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runelift
from runelift.codegen.plan import plan
from runelift.ir import imp
from runelift.ir.imp.traverse import evaluated, statements
from tests.gpus import gpu

TEXT = r"""
def sums [m] (xs: [m]i32): [m]i32 = scan (+) 0 xs
entry plain [a][n][m] (xs: [a][n][m]i32) = map (map sums) xs
entry weighted [a][n][m] (xs: [a][n][m]i32) =
  map (\x -> map (\row -> sums (map2 (*) row x[0])) x) xs
entry placed [a][n][m] (xs: [a][n][m]i32) =
  map2 (\k -> map2 (\i row -> sums (map2 (\j x -> x * i32.i64 (i + k) + i32.i64 j) (iota m) row))
                   (iota n)) (iota a) xs
entry turned [a][n][m] (xs: [a][n][m]i32) = map (\x -> map sums (transpose x)) xs
entry backwards [a][n][m] (xs: [a][n][m]i32) = map (map (\row -> sums (reverse row))) xs
entry others [a][n][m] (xs: [a][n][m]i32) =
  unzip (map (\x -> unzip (map (\row -> let ys = map (+ 1) row in (ys, sums ys)) x)) xs)
"""
ENTRIES = ["plain", "weighted", "placed", "turned", "backwards", "others"]


@pytest.fixture(scope="module")
def program() -> runelift.Program:
    return gpu(TEXT)


@pytest.fixture(scope="module")
def oracle() -> runelift.Program:
    return runelift.compile(TEXT, device="interpreter")


@pytest.mark.parametrize("shape", [(1, 1, 2500), (2, 3, 1031), (1, 2, 1025), (1030, 1, 2),
                                   (0, 2, 3)], ids=str)
@pytest.mark.parametrize("entry", ENTRIES)
def test_elements_of_long_rows(program: runelift.Program, oracle: runelift.Program, entry: str,
                               shape: tuple[int, ...]) -> None:
    xs = np.random.default_rng(shape[-1]).integers(-9, 10, shape).astype(np.int32)
    wanted = oracle.run(entry, [xs])[0]
    sites = {site: len(versions) - 1 for site, versions in _sites(program, entry).items()}
    for one, other in zip(program.run(entry, [xs], force=sites)[0], wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def _sites(program: runelift.Program, entry: str) -> dict[str, Any]:
    return {step.site: step.versions
            for step in plan.all_steps(program.compiled.plan(entry, interleave=True).steps)
            if isinstance(step, plan.Choose)}


def test_simple_elements_need_no_indices(program: runelift.Program) -> None:
    """A tile finds its column, and a work-item the start of a row; others count rows, too."""
    assert _divisions(program, "plain") == 2
    assert _divisions(program, "weighted") > 2


def _divisions(program: runelift.Program, entry: str) -> int:
    """The divisions by the length of a row in the kernel that scans tiles."""
    (kernel,) = (k for k in plan.kernels(program.compiled.plan(entry, interleave=True).steps)
                 if k.kind == "segscan")
    return sum(isinstance(exp, imp.Apply) and exp.op in ("quot", "rem")
               and isinstance(exp.args[1], imp.Var) and exp.args[1].name.base == "m"
               for exp in evaluated(statements(kernel.body)))
