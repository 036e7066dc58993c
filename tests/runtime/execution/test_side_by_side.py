"""Launches that share one launch because they do not depend on each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from runelift.runtime.devices.info import DeviceInfo, DeviceKind
from runelift.runtime.execution.commands import FUSED, Copy, Expect, Launch
from runelift.runtime.execution.side_by_side import independent_launches
from runelift.runtime.execution.submitting import SUBMITS_BEFORE_FUSION
from runelift.runtime.programs.program import Program
from tests import programs

SEPARATE = r"""
entry separate [n] (xs: [n]i32) (ys: [n + 1]i64): ([n]i32, [n + 1]i64, i32) =
  (map (* 3) xs, map (+ 2) ys, i32.sum xs)
entry scaled [n] [m] (k: f32) (xs: [n]f32) (ys: [m]f32): ([n]f32, [m]f32) =
  (map (* k) xs, map (+ 2 * k) ys)
entry chained [n] (xs: [n]i32): [n]i32 =
  let ys = map (* 3) (rotate 1 xs) in scatter (copy ys) (map i64.i32 xs) (rotate 2 ys)
entry marks [n] (xs: [n]i64) (at: [n]bool): ([n]bool, [n]i64, [1]bool) =
  let seen = map2 (\a i -> if a then i else -1) at (indices at)
  in (scatter (map (> 3) xs) seen (map (const true) at),
      scatter (copy xs) seen (map (* 2) (rotate 1 xs)),
      scatter [false] (map (\s -> if s >= 0 then 0 else -1) seen) (map (const true) at))
entry rounds [n] (xs: [n]i64): ([n]i64, i64) =
  let (xs, _, count, _) =
    loop (xs, live, count, go) = (xs, map (> 50) xs, 0, true) while go do
      let places = map (.1) (filter (.0) (zip live (indices live)))
      let halves = map (\i -> xs[i] / 2) places
      let xs = scatter (copy xs) places halves
      let live = scatter (map (const false) live) 
        (map2 (\i h -> if h > 50 then i else -1) places halves) (map (const true) places)
      in (xs, live, count + length places, or live)
  in (xs, count)
"""


@pytest.fixture
def program(installed: DeviceInfo) -> Program:
    """The programs on a device that is said to be a GPU, for which launches are expensive."""
    info = replace(installed, kind=DeviceKind.GPU, handle=installed.handle, interleaves=True,
                   num_groups=8 if installed.is_simulator else 1000, group_size=64)
    return Program(programs.compiled(SEPARATE), info)


def _arguments(entry: str, n: int) -> list[Any]:
    random = np.random.default_rng(n)
    match entry:
        case "separate":
            return [random.integers(0, 99, n, np.int32), random.integers(0, 99, n + 1)]
        case "chained":
            return [random.permutation(n).astype(np.int32)]
        case "marks":
            return [random.integers(0, 9, n), random.random(n) < 0.3]
    return [random.integers(0, 1000, n)]


def _commands(program: Program, entry: str) -> list[Any]:
    found = program.loaded.executable(entry).decisions.under(program.thresholds, {})
    (buffer,) = (call.commands for call in found.calls.values() if call.commands is not None)
    return buffer._commands


def _shared(program: Program, entry: str) -> int:
    return sum(isinstance(each, Launch) and each.number == FUSED and each.groups > 1
               for each in _commands(program, entry))


@pytest.mark.parametrize(("entry", "shared"),
                         [("separate", True), ("chained", False), ("marks", True)])
def test_shared_launches_have_right_results(program: Program, entry: str, shared: bool) -> None:
    _has_right_results(program, entry)
    assert bool(_shared(program, entry)) is shared


def test_rounds_of_a_loop_share_launches(program: Program) -> None:
    """Side by side, or as phases of one group where the scan of a filter has one."""
    _has_right_results(program, "rounds")
    assert any(isinstance(each, Launch) and each.number == FUSED
               for each in _commands(program, "rounds"))


def _has_right_results(program: Program, entry: str) -> None:
    reference = programs.program(SEPARATE, "interpreter")
    args = _arguments(entry, 200)
    expected = reference.run(entry, [np.copy(each) for each in args])[0]
    for _ in range(SUBMITS_BEFORE_FUSION + 4):
        for got, want in zip(program.run(entry, args)[0], expected, strict=True):
            np.testing.assert_array_equal(got, want)


def test_free_scalars_may_be_new_in_shared_launches(program: Program) -> None:
    xs, ys = np.arange(200, dtype=np.float32), np.arange(300, dtype=np.float32)
    for number in range(SUBMITS_BEFORE_FUSION + 6):
        k = np.float32(number)
        scaled, moved = program.run("scaled", [k, xs, ys])[0]
        np.testing.assert_array_equal(scaled, xs * k)
        np.testing.assert_array_equal(moved, ys + 2 * k)
    assert _shared(program, "scaled") == 1


def test_new_data_run_the_plan_again(program: Program) -> None:
    args = _arguments("rounds", 200)
    for _ in range(SUBMITS_BEFORE_FUSION + 4):
        program.run("rounds", args)
    other = [each // 3 for each in args]
    expected = programs.program(SEPARATE, "interpreter").run("rounds", other)[0]
    for got, want in zip(program.run("rounds", other)[0], expected, strict=True):
        np.testing.assert_array_equal(got, want)


def test_commands_keep_the_order_of_what_depends_on_them(program: Program) -> None:
    args = _arguments("rounds", 200)
    for _ in range(3):
        program.run("rounds", args)
    commands = _commands(program, "rounds")
    executable = program.loaded.executable("rounds")
    parts = list(independent_launches(executable, commands))
    order = [each for part in parts for each in part]
    assert sorted(map(id, order)) == sorted(map(id, commands))
    waits = [place for place, each in enumerate(commands) if isinstance(each, Expect)]
    assert [place for place, each in enumerate(order) if isinstance(each, Expect)] == waits
    for part in parts:
        assert len(part) == 1 or all(isinstance(each, Launch) for each in part)
        written = [_slots(executable, each, written=True) for each in part]
        for place, each in enumerate(part):
            others = set().union(*written[:place], *written[place + 1:])
            assert others.isdisjoint(_slots(executable, each, written=False))


def _slots(executable: Any, command: Any, *, written: bool) -> set[Any]:
    if isinstance(command, Copy | Expect):
        return set()
    kernel = executable.sites[command.number].launch.kernel
    return {arg for param, arg in zip(kernel.params, command.args, strict=True)
            if hasattr(param, "written") and (param.written or not written)}
