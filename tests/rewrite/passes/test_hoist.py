"""Arrays that are the same for all elements of a map are made once, or never."""

from __future__ import annotations

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import ProgramFailure
from runelift.runtime.versions.choose import RequiredVersions
from runelift.runtime.versions.forest import plans
from tests.programs import expected, program

KNOWN = """
entry main [m] [n] (f: f32) (xss: [m][n]f32): [m]f32 =
  map (\\xs ->
         let weights = scan (+) 0 (map (\\i -> f32.sin (f32.i64 i * f)) (iota n))
         let parts = map2 (*) weights xs
         let sums = scan (+) 0 parts
         in f32.sum (map2 (*) sums (reverse weights)))
      xss
"""
"""``n`` is the size of an array: no negative number."""

ASSERTED = """
def table (k: i64) (n: i64) (f: f32) =
  [replicate n 1, map f32.i64 (iota n)]
  ++ map (\\i -> map (\\j -> f32.cos (f32.i64 (i * j) / f)) (iota n)) (iota k)

entry main [m] [n] (k: i64) (f: f32) (xss: [m][n]f32): [m][]f32 =
  map (\\xs -> let rows = table k n f
              in map (\\row -> f32.sum (map2 (*) row xs)) rows) xss
"""
"""``k`` is no negative number where ``m`` is not 0."""


def _arguments(text: str, m: int, k: int) -> list[object]:
    xss = np.random.default_rng(m).random((m, 7), np.float32)
    return [np.float32(3), xss] if text is KNOWN else [np.int64(k), np.float32(3), xss]


@pytest.mark.parametrize(("text", "invariant"), [(KNOWN, "sin"), (ASSERTED, "cos")],
                         ids=["known", "asserted"])
def test_the_array_is_made_outside(text: str, invariant: str) -> None:
    kernels = [each for each in program(text).source("kernels").split("__kernel ")
               if f"{invariant}(" in each.partition("{")[2]]
    assert kernels
    assert not any("xss_" in each for each in kernels[1:])


@pytest.mark.parametrize("text", [KNOWN, ASSERTED], ids=["known", "asserted"])
@pytest.mark.parametrize("m", [0, 1, 5])
def test_all_versions(text: str, m: int) -> None:
    args = _arguments(text, m, 3)
    wanted, hoisted = expected(text, "main", args), program(text)
    for force in [None, *map(RequiredVersions, plans(hoisted.tree.entry("main")))]:
        actual, _ = hoisted.run("main", args, force=force)
        np.testing.assert_allclose(np.asarray(actual[-1]), np.asarray(wanted[-1]), rtol=1e-4)


@pytest.mark.parametrize("device", ["pocl", "interpreter"])
def test_a_negative_size_fails_only_where_there_are_elements(device: str) -> None:
    program = runelift.compile(ASSERTED, device=device, tuning={})
    with pytest.raises(ProgramFailure, match="negative"):
        program.run("main", _arguments(ASSERTED, 2, -3))
    found, _ = program.run("main", _arguments(ASSERTED, 0, -1))
    assert np.asarray(found[-1]).shape[0] == 0


WIDER = """
entry main [n] [k] (is: [k]i32) (xs: [n]i32): ([k]i32, [k]i64) =
  let js = map i64.i32 is
  in (map2 (\\j i -> xs[j] + i32.i64 js[(i + 1) % k]) js (iota k), map (* 3) (rotate 1 js))
"""


def test_wider_integers_are_read_where_they_are() -> None:
    program = runelift.compile(WIDER, device="pocl", tuning={})
    assert program.source("host").count("rt.allocate") == 2  # the results
    args = [np.array([3, 0, 2, 3], np.int32), np.arange(5, 9, dtype=np.int32)]
    expected, _ = runelift.compile(WIDER, device="interpreter").run("main", args)
    found, _ = program.run("main", args)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
