"""Programs that are called again and again take no more memory."""

from __future__ import annotations

import gc
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import ProgramFailure
from runelift.runtime.programs.program import Program
from runelift.runtime.versions.forest import plans

CALLS = 1000
WARM = 100
"""After so many of the calls, all that is made once has been made."""
GROWTH = 1 << 20
"""Bytes by which the process may grow afterwards, for other reasons: some hundred a call."""

SCANS = """
entry main [n][m] (xss: [n][m]i32) (k: i64): ([n][m]i32, i32) =
  let yss = loop xss for _i < k do map (\\xs -> scan (+) 0 xs |> map (% 1000)) xss
  in (yss, i32.sum (flatten yss))
"""
WAITING = """
entry main [n] (xs: *[n]i64): ([n]i64, i64) =
  loop (xs, steps) = (xs, 0) while steps < 20 && i64.maximum xs > 1 do
    let places = map (% 5) xs
    let counts = hist (+) 0 5 places (replicate n 1)
    in (scatter xs (iota 5) (map (\\c -> c / 2) counts), steps + 1)
"""
KEPT = """
type state = {xs: [9]f32, sum: f32}
entry start (xs: [9]f32): state = {xs, sum = f32.sum xs}
entry next (s: state): state =
  let xs = map (/ s.sum) s.xs in {xs = map (+ 1) xs, sum = f32.sum xs}
"""
FAILING = """
entry main [n] (xs: [n]i64) (is: [n]i64): []i64 =
  let ys = map (+ 1) xs in filter (> 0) (map (\\i -> ys[i]) is)
"""


def scans(program: Program) -> Callable[[int], Any]:
    forces = [{}, *plans(program.tree.entry("main"))]
    xss = np.arange(12, dtype=np.int32).reshape(3, 4)
    return lambda i: program.run("main", [xss, 3], force=forces[i % len(forces)],
                                 record=i % 3 == 0, device_arrays=i % 2 == 0)


def waiting(program: Program) -> Callable[[int], Any]:
    return lambda i: program.main(np.arange(5 + i % 20) % 7)


def kept(program: Program) -> Callable[[int], Any]:
    states = [program.start(np.ones(9, np.float32))]

    def call(i: int) -> None:
        states.append(program.next(states[-1]))
        del states[:-3]

    return call


def failing(program: Program) -> Callable[[int], Any]:
    xs = np.arange(6)

    def call(i: int) -> None:
        with pytest.raises(ProgramFailure):
            program.main(xs, xs + 1)
        program.main(xs, xs)

    return call


def resident() -> int:
    """How much memory the process has."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


@pytest.mark.parametrize(("text", "prepare"), [
    (SCANS, scans), (WAITING, waiting), (KEPT, kept), (FAILING, failing)])
def test_calls_leave_nothing_behind(text: str,
                                    prepare: Callable[[Program], Callable[[int], Any]]) -> None:
    program = runelift.compile(text, device="pocl", tuning={})
    call, pool = prepare(program), program.device.pool
    before: list[int] = []
    for i in range(CALLS):
        if i == WARM:
            gc.collect()
            before = [pool.live, pool.allocated, resident()]
        call(i)
    gc.collect()
    assert pool.live <= before[0]
    assert pool.allocated <= before[1]
    assert resident() <= before[2] + GROWTH
