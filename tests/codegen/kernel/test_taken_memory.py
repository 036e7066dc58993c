"""Results that are made where the loops and updates before them begin."""

from __future__ import annotations

import re

import numpy as np
import pytest

import runelift
from runelift.codegen.plan import plan
from runelift.runtime.versions.forest import plans
from tests.codegen.harness import in_lockstep_or_not
from tests.programs import expected, program
from tests.replays import results_agree

STEPS = """
def fill [m] (k: i64) (xs: [m]i32): *[m]i32 =
  let ys = replicate m 1i32
  let ys[0] = xs[m - 1]
  in loop ys for i < m - 1 do ys with [i + 1] = ys[i] + xs[(i + k) % m]

def steps [m] (ys: *[m]i32): *[m]i32 =
  loop ys for i < m - 1 do
    let j = m - 1 - i
    in ys with [j] = ys[j] - 2 * ys[j - 1]
"""
ENTRIES = {
    "rows": ("[n][m] (xss: [n][m]i32) (k: i64): [n][2][m]i32 = #[sequential_inner] "
             "map (\\xs -> map (\\t -> steps (fill (k + t) xs)) (iota 2)) xss"),
    "last": ("[n][m] (xss: [n][m]i32) (k: i64): [n]i32 = #[sequential_inner] "
             "map (\\xs -> let yss = map (\\t -> steps (fill (k + t) xs)) (iota m) "
             "in i32.sum (flatten (map reverse yss))) xss"),
    # the first loop's result is used afterwards, too
    "kept": ("[n][m] (xss: [n][m]i32) (k: i64): [n][2][m]i32 = #[sequential_inner] "
             "map (\\xs -> map (\\t -> let ys = fill (k + t) xs "
             "let zs = steps (copy ys) let zs[0] = ys[m / 2] in zs) (iota 2)) xss"),
    # both results of a map
    "pairs": ("[n][m] (xss: [n][m]i32) (k: i64): ([n][2][m]i32, [n][2][m]i32) = "
              "#[sequential_inner] map (\\xs -> map (\\t -> let ys = fill (k + t) xs "
              "in (steps (copy ys), ys)) (iota 2) |> unzip) xss |> unzip"),
    # rows are read while they are overwritten
    "consumed": ("[n][m] (xss: *[n][m]i32) (k: i64): *[n][m]i32 = #[sequential_inner] "
                 "let rows = map (\\xs -> steps (fill k xs)) xss[1:] in xss with [1:] = rows"),
    "consumed_parts": ("[n][m] (xss: *[n][m]i32) (k: i64): *[n][m]i32 = "
                       "let rows = map (\\xs -> loop ys = map (* 2) xs for i < m - 1 do "
                       "ys with [i] = ys[i + 1] - xs[i]) (copy xss) in xss with [0:n] = rows"),
}
SOURCE = STEPS + "".join(f"entry {name} {text}\n" for name, text in ENTRIES.items())


@pytest.fixture(scope="module")
def programs() -> dict[str, runelift.Program]:
    return in_lockstep_or_not(SOURCE)


@pytest.mark.parametrize("device", ["oclgrind", "Portable", "as it is"])
@pytest.mark.parametrize("entry", ENTRIES)
def test_results(programs: dict[str, runelift.Program], device: str, entry: str) -> None:
    for shape in ((3, 5), (2, 91)):
        xss = np.random.default_rng(7).integers(-9, 9, shape).astype(np.int32)
        args = [xss, np.int64(2)]
        results_agree(programs[device], entry, [xss.copy(), np.int64(2)],
                      [np.asarray(e) for e in expected(SOURCE, entry, args)])


def test_both_loops_run_in_the_row_of_the_result() -> None:
    program = runelift.compile(SOURCE, device="interpreter")
    steps = list(plan.all_steps(program.compiled.plan("last", interleave=True).steps))
    made = {step.name for step in steps if isinstance(step, plan.Alloc)}
    launches = [step for step in steps if isinstance(step, plan.Launch)]
    assert launches
    # the rows of a point, and the result
    assert max(sum(p.name in made for p in each.kernel.params) for each in launches) == 2


TWICE = """
def quarters [n] (xs: [n]i64): [n]f64 = map (\\x -> f64.i64 x / 4) xs
def bent (x: f64) = x / (1 + x * x)
def both [n] (is: [n]i64) (vs: [n]f64) (xs: [n]f64): [n]f64 =
  let bins = reduce_by_index (copy (map bent xs)) (*) 1 is xs
  in map (+ reduce (\\x y -> x * y + x + y) 0 bins) vs
entry main [m][n] (is: [n]i64) (vs: [n]i64) (xss: [m][n]i64) (yss: [m][n]i64) =
  vjp2 (\\(vs, xss) -> map (both is vs) xss) (quarters vs, map quarters xss) (map quarters yss)
"""
"""The derivative runs the histogram again.  Both join: one statement updates one array twice."""


@pytest.mark.parametrize("device", ["oclgrind", "Portable", "as it is"])
def test_an_array_is_changed_in_place_once(device: str) -> None:
    source = program(TWICE, "interpreter").source("opt")
    assert re.search(r"into \((\w+)\).*?into \(\1\)", source, re.S)
    args = [np.array([-1, 2, 0, 1]), np.array([0, 4, 3, -3]),
            np.array([[-1, -4, -2, 0], [-3, 4, 0, 3], [2, 4, -4, -2]]),
            np.array([[-3, 2, 0, 1], [-3, -3, 1, -3], [-4, -2, 4, 1]])]
    wanted, found_by = expected(TWICE, "main", args), in_lockstep_or_not(TWICE)[device]
    for force in plans(found_by.tree.entry("main")):
        found, _ = found_by.run("main", args, force=force)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other)
