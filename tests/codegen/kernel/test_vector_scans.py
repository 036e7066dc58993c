"""Scans of vectors in a work-item, on devices that run work-items in lockstep."""

from __future__ import annotations

import numpy as np
import pytest

import runelift
from runelift.codegen.plan import plan
from tests.codegen.harness import in_lockstep_or_not
from tests.replays import results_agree

SOURCE = """
entry rows [k][n][m] (xsss: [k][n][m]i32): [k][n][m]i32 =
  #[sequential_inner] map (\\xss -> scan (map2 (+)) (replicate m 0) xss) xsss

entry made [k][n][m] (xsss: [k][n][m]i32): [k]i32 =
  #[sequential_inner]
  map (\\xss ->
         let yss = scan (map2 i32.max) (replicate m i32.lowest)
                        (map (\\xs -> map3 (\\j x y -> x * i32.i64 j - y) (iota m) xs (reverse xs))
                             xss)
         in i32.sum (map (\\ys -> i32.sum (map2 (*) ys (reverse ys))) yss)) xsss

entry pairs [k][n][m] (xsss: [k][n][m]i32): [k][n][m]i32 =
  #[sequential_inner]
  map (\\xss ->
         let op (a, b) (c, d) = (a * c, b * c + d)
         let pairs = scan (map2 op) (replicate m (1, 0)) (map (map (\\x -> (x % 3, x))) xss)
         in map (map (\\(a, b) -> a + b)) pairs) xsss

entry nested [k][n][m] (xsss: [k][n][m]i32): [k][n][m][2]i32 =
  #[sequential_inner]
  map (\\xss -> scan (map2 (map2 (+))) (replicate m (replicate 2 0))
                    (map (map (\\x -> [x, x + 1])) xss)) xsss
"""
ENTRIES = ["rows", "made", "pairs", "nested"]


@pytest.fixture(scope="module")
def programs() -> dict[str, runelift.Program]:
    return in_lockstep_or_not(SOURCE)


@pytest.mark.parametrize("device", ["oclgrind", "Portable", "as it is"])
@pytest.mark.parametrize("entry", ENTRIES)
def test_results(programs: dict[str, runelift.Program], device: str, entry: str) -> None:
    meaning = runelift.compile(SOURCE, device="interpreter")
    for shape in ((3, 4, 5), (2, 7, 33), (1, 0, 3), (2, 3, 0)):
        xsss = np.random.default_rng(7).integers(-9, 9, shape).astype(np.int32)
        expected, _ = meaning.run(entry, [xsss])
        results_agree(programs[device], entry, [xsss], [np.asarray(e) for e in expected])


def test_only_the_scanned_rows_are_stored() -> None:
    program = runelift.compile(SOURCE, device="interpreter")
    steps = list(plan.all_steps(program.compiled.plan("made", interleave=True).steps))
    made = {step.name for step in steps if isinstance(step, plan.Alloc)}
    launches = [step for step in steps if isinstance(step, plan.Launch)
                and step.kernel.name.startswith("segmap_")]
    # the rows, and the result
    assert max(sum(p.name in made for p in each.kernel.params) for each in launches) == 2
