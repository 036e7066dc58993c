"""Padded arrays: stored where reductions read them again, views elsewhere."""

from __future__ import annotations

from copy import copy

import numpy as np
import pytest

import runelift
from runelift.codegen.hostplan.margins import store_margins
from runelift.ir.check import check
from runelift.ir.source import Source
from runelift.ir.syntax import Copy, Pad, Program
from runelift.ir.traverse import statements_inside
from runelift.runtime.compilation.pipeline import compile_source

AGAIN = """
entry main [n][m][k] (xss: [n][m]f32) (ys: [k]f32): [n][]f32 =
  map (\\xs -> map (\\w -> f32.sum (map2 (*) w ys)) (lift.slide k 1 (lift.pad 1 1 0 xs))) xss
"""
LOOPED = """
entry main [n][m] (steps: i64) (xss: [n][m]f32): [n][m]f32 =
  loop xss for _i < steps do
    map (\\xs -> map (\\w -> f32.sum (map (\\k -> w[0] * f32.i64 k) (iota steps)) + w[2])
                    (lift.slide 3 1 (lift.pad 1 1 0 xs)) :> [m]f32) xss
"""
ONCE = """
entry main [n] (xs: [n]f32): []f32 = map (* 2) (lift.pad 3 4 1 xs)
"""


@pytest.mark.parametrize(("text", "stored"), [(AGAIN, True), (LOOPED, True), (ONCE, False)])
def test_margins_are_stored_where_reductions_read_them(text: str, stored: bool) -> None:
    compiled = compile_source(Source("t", text))
    (fun,) = compiled.versioned.funs
    found = store_margins(fun, copy(compiled.names))
    check(Program((found,)), "versioned")
    copied = {stm.exp.array for stm in statements_inside([found.body])
              if isinstance(stm.exp, Copy)}
    pads = {stm.pat[0].name for stm in statements_inside([found.body]) if isinstance(stm.exp, Pad)}
    assert pads
    assert bool(copied & pads) is stored


@pytest.mark.parametrize("text", [AGAIN, LOOPED, ONCE])
def test_results_are_those_of_the_interpreter(text: str) -> None:
    xss, ys = np.arange(35, dtype=np.float32).reshape(5, 7), np.arange(3, dtype=np.float32)
    args = [xss, ys] if text is AGAIN else [np.int64(3), xss] if text is LOOPED else [ys]
    expected = runelift.compile(text, device="interpreter").main(*args)
    found = runelift.compile(text, device="pocl", tuning={}).main(*args)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))
