"""Padded arrays: stored where reductions read them again, views elsewhere."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import runelift
from runelift.codegen.hostplan.margins import store_margins
from runelift.codegen.plan.plan import Fill, Launch, all_steps, kernels
from runelift.ir.base.source import Source
from runelift.ir.check import check
from runelift.ir.syntax import Copy, Pad, Program
from runelift.ir.traverse import statements_inside
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.data.outline import outline
from runelift.runtime.tools.testing.test_blocks import datasets_of

ROOT = Path(__file__).parents[3]
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


CONVOLUTION = """
entry main [c][n][k] (xss: [c][n]f32) (ws: [k][c][3]f32): [k][]f32 =
  map (\\w -> map (\\is -> f32.sum (map2 (\\xs ws -> f32.sum (map2 (*) xs ws)) is w))
                 (transpose (map (\\xs -> lift.slide 3 1 (lift.pad 1 1 0 xs)) xss))) ws
"""


def lazily(text: str) -> runelift.Program:
    """A program as it is compiled for GPUs, where products test margins."""
    program = runelift.compile(text, device="pocl", tuning={})
    assert program.device_info is not None
    program.loaded.info = replace(program.device_info, interleaves=True)
    return program


def test_versions_fill_a_margin_with_one_kernel() -> None:
    plan = lazily(CONVOLUTION).loaded.plan("main")
    fills = [step for step in all_steps(plan.steps) if isinstance(step, Fill)
             and step.name.base == "ps"]
    launched = {each.kernel.name for step in fills for each in all_steps(step.steps)
                if isinstance(each, Launch)}
    assert len(fills) > 2
    assert len(launched) == 1
    names = [each.name for each in kernels(plan.steps)]
    assert len(names) == len(set(names))


def test_margins_of_versions_that_are_only_followed_do_not_count() -> None:
    program = lazily(CONVOLUTION)
    xss, ws = np.zeros((64, 4096), np.float32), np.zeros((8, 64, 3), np.float32)
    found = program.estimate_memory("main", [xss, ws])
    needs = [need for each in found.encounters for need in each.needs.values()]
    assert len(needs) > 3
    for alive in (found.alive, *(need.alive for need in needs)):
        assert sum(each.name.startswith("ps") for each in alive) <= 1


@pytest.mark.parametrize(("layer", "times"), [("layer 2", 5.0), ("layer 7", 4.0)])
def test_direct_convolutions_need_a_fraction_of_the_memory_of_stored_windows(
        layer: str, times: float) -> None:
    """By blocks on GPUs, inputs and results included."""
    path = ROOT / "examples/vgg.fut"
    program = runelift.compile(path, device="pocl", tuning={},
                               schedule=path.with_suffix(".schedule").read_text())
    assert program.device_info is not None
    program.loaded.info = replace(program.device_info, interleaves=True, max_alloc=1 << 32,
                                  global_bytes=1 << 34)  # PoCL's depend on what else runs
    sizes = {"side": 16, "rows": 8, "columns": 4, "depth": 8}
    blocks = {name: sizes[kind] for name in program.kernel_parameters()
              if (kind := name.rpartition(".")[2]) in sizes}
    (case,) = (each for each in datasets_of(program.compiled.source, "main")
               if each.dataset == layer)
    inputs = outline(case.recipes(None, [each.prim for each in program.interface("main").params]))
    found = program.estimate_memory("main", inputs, thresholds=blocks)
    inside = {each.site: min(each.needs, key=lambda k: each.needs[k].bytes or math.inf)
              for each in found.encounters if each.site != "main.schedules_0"}
    found = program.estimate_memory("main", inputs, thresholds=blocks, force=inside)
    stored, direct = (found.need_of("main.schedules_0", version) for version in (0, 1))
    assert stored is not None
    assert direct is not None
    assert not any(each.name.startswith("ts") for each in direct.alive)
    assert stored.bytes >= times * direct.bytes
    assert found.bytes == direct.bytes
