"""Loops that look for something, on devices that run work-items in lockstep."""

from __future__ import annotations

import numpy as np
import pytest

import runelift
from runelift.codegen.kernel.searches import STEPS
from runelift.codegen.plan.plan import kernels
from runelift.ir import imp
from runelift.ir.imp.traverse import expressions, statements, subexpressions
from tests.codegen.harness import lockstep
from tests.replays import results_agree

SOURCE = """
entry first [n][m] (xs: [n]i32) (us: [m]i32) (_: i64): [m]i64 =
  map (\\u -> loop i = 0 while i < n && u < #[unsafe] xs[i] do i + 1) us

entry back [n][m] (xs: [n]i32) (us: [m]i32) (_: i64): [m](i64, i64) =
  map (\\u -> (loop (i, k) = (n - 1, 0) while i >= 0 && u != #[unsafe] xs[i] do (i - 2, k + i))) us

entry words [n][m] (xs: [n]i32) (us: [m]i32) (_: i64): [n]i64 =
  map (\\j -> loop i = 0
              while i < m && i + j < n && #[unsafe] xs[i + j] == #[unsafe] us[i] do i + 1) (iota n)

entry rows [n][m] (xs: [n]i32) (us: [m]i32) (k: i64): [m]i64 =
  let xss = tabulate_2d k n (\\i j -> xs[j] + i32.i64 i)
  in map (\\u -> loop i = 0
                 while i < k && n > 0 && (if i % 2 == 0 then #[unsafe] xss[i, n - 1] > u else i < 5)
                 do i + 1) us

entry leaps [n][m] (xs: [n]i32) (us: [m]i32) (k: i64): [m]i64 =
  map (\\u -> loop i = 0 while i < n && u < #[unsafe] xs[i] do i + i64.max 1 k) us

entry chase [n][m] (xs: [n]i32) (us: [m]i32) (k: i64): [m](i64, i64) =
  map (\\u -> loop (i, t) = (0, 0) while i < n && t < k && u < #[unsafe] xs[i] do
             (i64.i32 (#[unsafe] xs[i]) & 7, t + 1)) us

entry halves [n][m] (xs: [n]i32) (us: [m]i32) (_: i64): [m](i64, i64) =
  map (\\u -> loop (low, high) = (0, n) while low < high do
             let mid = (low + high) / 2
             in if #[unsafe] xs[mid] < u then (mid + 1, high) else (low, mid)) us
"""
SEARCHES = {"first": 1, "back": 1, "words": 2}
OTHERS = ["rows", "leaps", "chase", "halves"]


@pytest.fixture(scope="module")
def programs() -> dict[str, runelift.Program]:
    return {name: lockstep(SOURCE, name) for name in ("oclgrind", "Portable")}


@pytest.mark.parametrize("device", ["oclgrind", "Portable"])
@pytest.mark.parametrize("entry", [*SEARCHES, *OTHERS])
def test_results(programs: dict[str, runelift.Program], device: str, entry: str) -> None:
    meaning = runelift.compile(SOURCE, device="interpreter")
    for n, m, k in ((0, 3, 4), (1, 5, 1), (7, 4, 0), (23, 9, 6)):
        xs = np.sort(np.random.default_rng(n).integers(0, 9, n))[::-1].astype(np.int32)
        args = [xs, np.random.default_rng(m).integers(-1, 9, m).astype(np.int32), np.int64(k)]
        expected, _ = meaning.run(entry, args)
        results_agree(programs[device], entry, args, [np.asarray(e) for e in expected])


@pytest.mark.parametrize("entry", [*SEARCHES, *OTHERS])
def test_only_searches_look_ahead(entry: str) -> None:
    program = runelift.compile(SOURCE, device="interpreter")
    found = set()
    for kernel in kernels(program.compiled.plan(entry, interleave=True).steps):
        for stm in statements(kernel.body):
            if isinstance(stm, imp.While):
                found.add(sum(isinstance(exp, imp.Load) for inner in statements(stm.body)
                              for part in expressions(inner) for exp in subexpressions(part)))
    assert found
    for count in found:
        assert count == STEPS * SEARCHES[entry] if entry in SEARCHES else count < STEPS
