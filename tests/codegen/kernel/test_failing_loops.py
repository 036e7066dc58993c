"""Loops that only a failing check ends: each kind of kernel leaves them."""

from __future__ import annotations

import subprocess
import sys

import runelift
from runelift.codegen.plan import plan
from runelift.ir import imp
from runelift.ir.imp.traverse import statements

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
"""
RUN = f"""
import numpy as np
import runelift
from runelift.ir.base.errors import ProgramFailure
from runelift.runtime.versions.forest import plans
program = runelift.compile({SOURCE!r}, device="oclgrind")
for entry in program.entries:
    for force in plans(program.tree.entry(entry)):
        try:
            found = program.run(entry, [np.array([3, 0, 99, 1])], force=force)
            print(entry, force, found, flush=True)
        except ProgramFailure:
            print(entry, "failed", flush=True)
"""


def test_a_loop_is_left_where_a_check_fails(simulator: str) -> None:
    """In a process with a limit of time, as the loops would not end otherwise."""
    done = subprocess.run([sys.executable, "-c", RUN], capture_output=True, text=True,
                          timeout=100, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) > 6
    assert {tuple(line.split()[1:]) for line in lines} == {("failed",)}


def test_loops_without_checks_stay_as_they_are() -> None:
    compiled = runelift.compile(
        "entry main [n] (ks: [n]i64) = map (\\k -> loop s = k while s > 0 do s / 2) ks",
        device="interpreter").compiled
    (kernel,) = plan.kernels(compiled.plan("main").steps)
    (loop,) = (s for s in statements(kernel.body) if isinstance(s, imp.While))
    assert not any(isinstance(s, imp.Declare) and s.name.base == "fine"
                   for s in statements(kernel.body))
    assert sum(isinstance(s, imp.Assign) for s in loop.body) == 2
