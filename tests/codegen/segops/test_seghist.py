"""Histograms of whole programs: virtual destinations, several operators, the last group."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.codegen.plan import plan
from runelift.runtime.devices.info import select
from runelift.runtime.programs.program import Program

SOURCE = """
entry sums [n] (k: i64) (is: [n]i64) (xs: [n]f32) (ys: [n]f32) =
  let counts = hist (+) 0 k is (replicate n 1i32)
  let (us, vs) = unzip (hist (\\(a, b) (c, d) -> (a + c, b + d)) (0, 0) k is (zip xs ys))
  in (counts, us, vs)
entry most [n] (k: i64) (is: [n]i64) (xs: [n]f32) (_: [n]f32) =
  unzip (hist (\\(a, i) (b, j) -> if a > b || (a == b && i < j) then (a, i) else (b, j))
              (-f32.inf, -1i64) k is (zip xs (iota n)))
entry rows [n] (k: i64) (is: [n]i64) (xs: [n]f32) (ys: [n]f32) =
  (map (\\zs -> hist (+) 0 k is zs) [xs, ys], map (\\zs -> hist f32.max (-1) k is zs) [ys, xs])
entry onto [n] (k: i64) (is: [n]i64) (xs: [n]f32) (ys: [n]f32) =
  (reduce_by_index (tabulate k f32.i64) (+) 0 is xs, reduce_by_index (replicate k 3) (+) 0 is ys)
"""


def expected(entry: str, k: int, places: Any, xs: Any, ys: Any) -> list[Any]:
    """The results, from NumPy."""
    inside = (places >= 0) & (places < k)
    at = places[inside]

    def added(start: Any, values: Any) -> Any:
        out = np.array(start, np.float32)
        np.add.at(out, at, values[inside])
        return out

    def greatest(start: float, values: Any) -> Any:
        out = np.full(k, start, np.float32)
        np.maximum.at(out, at, values[inside])
        return out

    match entry:
        case "sums":
            return [np.bincount(at, minlength=k), added(np.zeros(k), xs), added(np.zeros(k), ys)]
        case "most":
            best = greatest(-np.inf, xs)
            first = [np.flatnonzero(inside & (places == bin_) & (xs == best[bin_]))
                     for bin_ in range(k)]
            return [best, [found[0] if len(found) else -1 for found in first]]
        case "rows":
            return [[added(np.zeros(k), xs), added(np.zeros(k), ys)],
                    [np.maximum(greatest(-1, ys), -1), np.maximum(greatest(-1, xs), -1)]]
    return [added(np.arange(k), xs), added(np.full(k, 3), ys)]


CASES = [*(("pocl", coherent, n, k) for coherent in (False, True) for n, k in (
    (0, 3), (1, 1), (40, 5), (900, 5), (900, 70), (300, 9000), (5, 0))),
    ("Oclgrind", False, 100, 5), ("Oclgrind", True, 150, 3)]


@pytest.mark.parametrize(("device", "coherent", "n", "k"), CASES)
def test_all_strategies(device: str, coherent: bool, n: int, k: int) -> None:
    info = select(device)
    if info is None:
        pytest.skip(f"{device} is not installed")
    made = runelift.compile(SOURCE, device=device, tuning={})
    program = Program(made.compiled, replace(info, coherent=coherent))
    numbers = np.random.default_rng(n + k)
    places = numbers.integers(-1, k + 1, n)
    xs, ys = numbers.integers(0, 9, (2, n)).astype(np.float32)
    groups = [name for name in program.kernel_parameters() if name.endswith(".group")]
    for settings in ({}, dict.fromkeys(groups, 8)):
        program = Program(made.compiled, replace(info, coherent=coherent), settings)
        for entry in program.entries:
            found = program[entry](k, places, xs, ys)
            for one, other in zip(found, expected(entry, k, places, xs, ys), strict=True):
                np.testing.assert_array_equal(one, np.asarray(other), f"{entry} {settings}")


def test_a_virtual_destination_costs_no_launch() -> None:
    """A group that has all elements writes the result, whatever the destination holds."""
    made = runelift.compile(SOURCE, device="pocl", tuning={}).compiled
    launches = [step.kernel.name for step in plan.all_steps(made.plan("sums").steps)
                if isinstance(step, plan.Launch)]
    assert not [name for name in launches if name.startswith("segmap")]
