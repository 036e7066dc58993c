"""Loops that only a failing check ends: each kind of kernel leaves them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import runelift
from runelift.codegen.plan import plan
from runelift.ir import imp
from runelift.ir.base.errors import ProgramFailure
from runelift.ir.imp.traverse import statements
from runelift.runtime.tools.races.checks import RaceChecks

ROOT = Path(__file__).parents[3]
SOURCE = r"""
entry before [n] (ks: [n]i64): [n]i64 =
  map (\k -> let k = assert (k > 0) k in loop s = 20 while s > 0 do s - k) ks
entry access [n] (ks: [n]i64): [n]i64 =
  map (\k -> loop s = 20 while s > 0 do
               let x = ks[k] in s - (if k < n then 1 else i64.min x 0)) ks
entry within [n] (ks: [n]i64): [n]i64 =
  map (\k -> loop s = 20 while s > 0 do
               (loop s while s > 9 do s - (assert (k > 0) k)) - 1) ks
entry group [n] (ks: [n]i64): [n]i64 = map (\k -> loop s = 20 while s > 0 do
  s - i64.sum (map (\x -> assert (k > 0) (x * k)) (iota 40))) ks
entry elements [n] (ks: [n]i64): [n]i64 = map (\k -> (loop (s, xs) = (20, iota 40) while s > 0 do
  let ys = map (\x -> assert (x != k) (if k == 3 then 0 else 1)) xs
  in (s - i64.sum ys, map (+ 4) ys)).0) ks

def long (fails: bool): i64 = i64.bool fails << 50
entry for_index [n] (ks: [n]i64): [n]i64 =
  map (\k -> let x = ks[k] in loop s = 0 for i < x + long (k == 99) do s * 3 + i) ks
entry for_slice [n] (ks: [n]i64): [n]i64 =
  map (\k -> loop s = 0 for x in ks[:k % 3 + long (k == 99)] do s * 3 + x) ks
entry for_assertion [n] (ks: [n]i64): [n]i64 =
  map (\k -> let k = assert (k < 9) k in loop s = 0 for i < k + long (k == 99) do s * 3 + i) ks
entry for_division [n] (ks: [n]i64): [n]i64 =
  map (\k -> loop s = 0 for i < (k + long (k == 0)) / k do s * 3 + i) ks
entry for_nested [n] (ks: [n]i64): [n]i64 =
  map (\k -> (loop (x, s) = (1, k) for i < 3 do
                (ks[k + i] + long (k + i >= n), loop s for j < x do s * 3 + j)).1) ks
entry for_fold [n] (ks: [n]i64): [n]i64 =
  map (\k -> let x = ks[k] + long (k == 99)
             in #[sequential] i64.sum (map (\i -> i * i ^ k) (iota x))) ks
entry for_bins [n] (ks: [n]i64): [n][4]i64 = map (\k ->
  #[sequential] reduce_by_index (replicate 4 0) (+) 0 (map (% 4) (iota (ks[k] + long (k == 99))))
                                (map (^ k) (iota (ks[k] + long (k == 99))))) ks
entry for_group [n] (ks: [n]i64): [n]i64 = map (\k -> let x = ks[k] in
  loop s = 0 for i < x + long (k == 99) do i64.sum (map (\j -> j * s ^ i) (iota 40))) ks
entry for_elements [n] (ks: [n]i64): [n]i64 = map (\k ->
  let x = i64.sum (map (\j -> assert (j != k) (long (j == k))) (iota 40))
  in loop s = 0 for i < x + 2 do i64.sum (map (\j -> j * s ^ i) (iota 40))) ks

entry rows_slice [n] (ks: [n]i64): [n]i64 =
  map (\k -> i64.sum ks[k % 3:k % 3 + long (k == 99)]) ks
entry rows_assertion [n] (ks: [n]i64): [n]i64 =
  map (\k -> i64.sum (map (^ k) (iota (assert (k < 9) (k + long (k == 99)))))) ks
entry rows_access [n] (ks: [n]i64): [n]i64 =
  map (\k -> i64.sum (map (^ k) (iota (ks[k] + long (k == 99))))) ks
entry rows_of_two_lengths [n] (ks: [n]i64): [n]i64 =
  map (\k -> i64.sum (map (^ k) (iota (k % 5))) + i64.sum ks[k % 3:k % 3 + long (k == 99)]) ks
entry rows_scanned [n] (ks: [n]i64): [n]i64 =
  map (\k -> i64.sum (map i64.abs (scan (+) 0 ks[k % 3:k % 3 + long (k == 99)]))) ks
entry rows_filtered [n] (ks: [n]i64): [n]i64 =
  map (\k -> length (filter (> 2) ks[k % 3:k % 3 + long (k == 99)])) ks
entry rows_inside [n] (ks: [n]i64): [n]i64 =
  map (\k -> i64.sum (map (\j -> i64.sum ks[j:j + long (k == 99)]) (iota (k % 5)))) ks
entry rows_joined [n] (ks: [n]i64): i64 =
  let [m] (_, _, _, data: [m]i64) = flatmap' (\k ->
    let e = k % 3 + long (k == 99) in filter (!= k) ks[k % 3:e]) ks
  in i64.sum data
"""
ROWS = ("rows_slice", "rows_assertion", "rows_access", "rows_of_two_lengths", "rows_scanned",
        "rows_filtered", "rows_inside", "rows_joined")
LOOPS = tuple(name for name in re.findall(r"entry (\w+)", SOURCE) if name not in ROWS)
RUN = f"""
import sys
import numpy as np
import runelift
from runelift.ir.base.errors import ProgramFailure
from runelift.runtime.versions.forest import plans
from tests import pocl_builds
pocl_builds.install()
program = runelift.compile({SOURCE!r}, device=sys.argv[1])
for entry in sys.argv[2:]:
    for force in plans(program.tree.entry(entry)):
        try:
            found = program.run(entry, [np.array([3, 0, 99, 1])], force=force)
            print(entry, force, found, flush=True)
        except ProgramFailure:
            print(entry, "failed", flush=True)
"""


@pytest.mark.parametrize(("device", "entries", "runs"), [
    ("oclgrind", LOOPS, 21), ("pocl", ("for_group", "for_elements"), 5), ("pocl", ROWS, 27)])
def test_a_loop_is_left_where_a_check_fails(simulator: str, device: str,
                                            entries: tuple[str, ...], runs: int) -> None:
    """In a process with a limit of time, as the loops would not end otherwise.

    Rows of wrong lengths fail before any version runs on them.
    """
    done = subprocess.run([sys.executable, "-c", RUN, device, *entries], capture_output=True,
                          text=True, timeout=100, check=True, cwd=ROOT)
    lines = done.stdout.splitlines()
    assert len(lines) == runs
    assert {tuple(line.split()[1:]) for line in lines} == {("failed",)}


def test_wrong_lengths_end_in_each_form_of_kernel_without_races() -> None:
    checks = RaceChecks(runelift.compile(SOURCE, tuning={}, runs=False))
    for entry in ("group", "for_index", "for_nested", "for_fold", "for_group", "for_elements"):
        for form in checks.forms(entry):
            for _, force in checks.versions(entry, each=True):
                with pytest.raises(ProgramFailure, match=r"out of bounds|Assertion"):
                    form.run([np.array([3, 0, 99, 1])], force, 30.0)


@pytest.mark.parametrize(("count", "asks"), [
    ("n", False), ("x", True), ("y", False), ("k", False), ("i64.min x n", True)])
def test_only_loops_whose_length_a_check_may_change_ask(count: str, asks: bool) -> None:
    """Another value ``y`` of memory is right whatever has failed, and so are sizes."""
    compiled = runelift.compile(f"""
        entry main [n] (k: i64) (ks: [n]i64) (ys: [n]i64) =
          map2 (\\x y -> loop s = ks[x + 1] for i < {count} do s * 3 + i) ks ys""",
        device="interpreter").compiled
    (kernel,) = plan.kernels(compiled.plan("main").steps)
    found = [s.name.base for s in statements(kernel.body) if isinstance(s, imp.Declare)]
    assert ("length" in found, "fine" in found) == (asks, asks)


def test_loops_without_checks_stay_as_they_are() -> None:
    compiled = runelift.compile(
        "entry main [n] (ks: [n]i64) = map (\\k -> loop s = k while s > 0 do s / 2) ks",
        device="interpreter").compiled
    (kernel,) = plan.kernels(compiled.plan("main").steps)
    (loop,) = (s for s in statements(kernel.body) if isinstance(s, imp.While))
    assert not any(isinstance(s, imp.Declare) and s.name.base == "fine"
                   for s in statements(kernel.body))
    assert sum(isinstance(s, imp.Assign) for s in loop.body) == 2
