"""Loops that one persistent kernel finishes, on CPU devices with a single work-group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from runelift.codegen.plan.parameters import Quantity
from runelift.codegen.plan.plan import Branch, CountedLoop, Fill, WhileLoop, all_steps
from runelift.ir.base.errors import ProgramFailure
from runelift.ir.base.source import Source
from runelift.ir.imp import Kernel
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.cost.peaks import Peaks
from runelift.runtime.devices.context import Device
from runelift.runtime.devices.info import DeviceInfo
from runelift.runtime.devices.kernel import BoundKernel
from runelift.runtime.devices.limits import LEAST_ITERATIONS
from runelift.runtime.execution import persistent_loops
from runelift.runtime.execution.commands import Launch
from runelift.runtime.execution.loop_scalars import ScalarColumn, ScalarTable
from runelift.runtime.execution.persistent_loops import meeting_groups
from runelift.runtime.execution.probes.on_demand import PROBES
from runelift.runtime.execution.run import Run
from runelift.runtime.geometry.parameter_space import ParameterSpace, Setting
from runelift.runtime.programs.program import Program
from runelift.runtime.tools.profiling.profile import profile_of
from runelift.runtime.tools.profiling.session import runs_of
from runelift.runtime.tools.profiling.way import Call
from runelift.runtime.tuner.trials.protocol import Search, UpcomingSettings
from runelift.runtime.tuner.trials.trial_run import NO_KERNEL, TrialRun
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.versions.forest import plans
from tests import programs

STENCIL = """
entry main [n] (k: i64) (xs: [n]i32): [n]i32 =
  loop xs for i < k do
    tabulate n (\\j -> xs[j] + 2 * xs[i64.max 0 (j - 1)] - i32.i64 i)
"""
PAIR = """
entry main [n] (k: i64) (xs: [n]f64): ([n]f64, [n]f64) =
  loop (xs, ys) = (xs, replicate n 1f64) for _i < k do
    let total = f64.sum xs / f64.i64 n
    let zs = map (\\x -> x / 2 - total) xs
    in (map2 (+) zs ys, map (\\z -> z * z / 9) zs)
"""
SWAP = """
entry main [n] (k: i64) (xs: [n]i32): ([n]i32, [n]i32) =
  loop (xs, ys) = (xs, map (+ 1) xs) for _i < k do (ys, map2 (\\x y -> x + 2 * y) xs ys)
"""
IN_PLACE = """
entry main [n] (_k: i64) (xs: [n]i32): [n]i32 =
  loop xs = copy xs for i < n do
    let s = reduce i32.max i32.lowest xs
    in xs with [i] = s - i32.i64 i
"""
KEPT = """
entry main [n] (k: i64) (xs: [n]i32): ([n]i32, [n]i32, [n]i32) =
  loop (a, b, c) = (xs, map (* 2) xs, xs) for _i < k do
    let b = map2 (+) a b
    in (a, b, b)
"""

RINGS = """
entry main [n] (k: i64) (xs: [n]i32): ([n]i32, [n]i32, [n]i32, [n]i32) =
  loop (a, b, c, d) = (xs, map (* 2) xs, map (* 3) xs, xs) for i < k do
    (b, c, map2 (\\x y -> x - y + i32.i64 i) a (rotate 1 c), map2 (+) d b)
"""
PARTING = """
entry main [n] (k: i64) (xs: [n]i32): ([n]i32, [n]i32) =
  loop (a, b) = (xs, xs) for i < k do
    let c = map2 (+) a (rotate 1 b)
    in if i % 2 == 0 then (c, b) else (a, c)
"""

STRIDES = """
entry main [n] (k: i64) (xs: [n]i32): ([n]i32, i64, f32) =
  loop (xs, stride, weight) = (xs, 1, 0.5f32) for i < k do
    let weight' = f32.sqrt (weight + f32.i64 i)
    let next = stride * 3 + i
    in (tabulate n (\\j -> xs[(j + stride) % n] + i32.i64 (i + next) - i32.f32 (8 * weight)),
        next, weight')
"""
FLAGS = """
entry main [n] (k: i64) (xs: [n]i32): ([n]i32, bool, u8, i16) =
  loop (xs, up, wide, narrow) = (xs, false, 250u8, 7i16) for _i < k do
    let ys = map (\\x -> if up then x + i32.u8 wide else x - i32.i16 narrow) xs
    in (rotate 1 ys, !up, wide + 3, i16.u8 wide - narrow)
"""
UNUSED_SCALAR = """
entry main [n] (k: i64) (xs: [n]i32): ([n]i32, i64) =
  loop (xs, count) = (xs, 5) for i < k do (map (\\x -> 3 - 2 * x) (rotate 1 xs), count * 2 + i)
"""
COUNTS = """
entry main [n] (k: i64) (xs: [n]i32): ([n]i32, [n]i32) =
  loop (xs, ys) = (copy xs, xs) for i < k do
    let m = i64.max 0 ((i * 37 + 3) % (n + 2) - 1)
    let place j = (j * 3 + i) % n
    let zs = map2 (\\x y -> x - 2 * y) xs ys
    in (scatter xs (map place (iota m)) (map (\\j -> i32.i64 (i + 2 * place j)) (iota m)), zs)
"""
SHRINKING = """
entry main [n] (k: i64) (xs: [n]i32): ([n]i32, i64) =
  loop (xs, m) = (xs, n) for i < k do
    (map2 (+) xs (replicate n (i32.sum (tabulate m (\\j -> xs[j] % 5)))), i64.max 1 (m - 1))
"""

MIXED = """
entry main [n] (k: i64) (xss: [n][n]i32): [n][n]i32 =
  loop xss for i < k do
    map (scan (+) 0) (transpose xss) |> transpose |> map (map (\\x -> x % 1000 + i32.i64 i))
"""

ROWS = """
entry main [n][m] (k: i64) (xss: [n][m]i32) (yss: [m][n]i32): ([n][m]i32, [m][n]i32) =
  loop (xss, yss) for i < k do
    (map (\\xs -> map (\\x -> x % 1000 + i32.i64 i) (scan (+) 0 xs)) xss,
     map (\\ys -> map (% 100) (scan (+) 0 ys)) yss)
"""

CHOOSING = """
entry main [n][m] (k: i64) (xss: [n][m]i32): [n][m]i32 =
  loop xss for _i < k do
    map (\\xs -> let s = reduce (+) 0 xs in map (+ s) xs) xss
"""


MARGIN = """
def once [c][n][k] (xss: [c][n]f32) (ws: [k][c][3]f32): [k][]f32 =
  map (\\w -> map (\\is -> f32.sum (map2 (\\xs ws -> f32.sum (map2 (*) xs ws)) is w))
                 (transpose (map (\\xs -> lift.slide 3 1 (lift.pad 1 1 0 xs)) xss))) ws

entry main [c][n][k] (steps: i64) (xss: [c][n]f32) (ws: [k][c][3]f32): [k][c][3]f32 =
  loop ws for _i < steps do
    map2 (\\w ys -> map (map (\\x -> x * 0.5 + f32.sum ys * 1e-3)) w) ws (once xss ws)
"""


class Spied(Device):
    """A device of which one work-group is all that surely runs at a time."""

    persistent = 0

    def resident_groups(self, group: int, room: int) -> int:
        self.persistent += 1
        return 1


@pytest.fixture(scope="module")
def device(installed: DeviceInfo) -> Spied:
    return Spied(replace(installed, coherent=True, optimised_size=0), PROBES)


@pytest.mark.sweep(every=5)
@pytest.mark.parametrize(("text", "fused"), [
    (STENCIL, True), (PAIR, True), (SWAP, True), (IN_PLACE, True), (KEPT, False),
    (RINGS, True), (PARTING, False), (STRIDES, True), (FLAGS, True), (UNUSED_SCALAR, True),
    (SHRINKING, False), (COUNTS, True),
], ids=["stencil", "pair", "swap", "in-place", "kept", "rings", "parting", "strides", "flags",
        "unused", "shrinking", "counts"])
@pytest.mark.parametrize("k", [7, 8, 9, 10, 11, 12, 13, 20])
def test_iterations(device: Spied, text: str, fused: bool, k: int) -> None:
    compiled = compile_source(Source("loop", text))
    program = Program(compiled, device.info)
    program.loaded._device = device
    reference = programs.program(text, "interpreter")
    data = np.random.default_rng(k).integers(-9, 9, k)
    xs = data.astype(np.float64 if "f64" in text else np.int32)
    expected, _ = reference.run("main", [np.int64(k), xs])
    for force in plans(program.tree.entry("main")):
        before = device.persistent
        actual, _ = program.run("main", [np.int64(k), xs], force=force)
        for want, got in zip(expected, actual, strict=True):
            np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-9)
        assert device.persistent == before + (fused and k >= 8)


def test_a_loop_whose_kernels_fill_a_margin_in_a_branch(device: Spied,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    """On GPUs, blocks of products test margins and other kernels store them when they first run."""
    monkeypatch.setattr(device, "info", replace(device.info, interleaves=True))
    program = Program(programs.compiled(MARGIN), device.info)
    program.loaded._device = device
    steps = program.loaded.plan("main").steps
    branches = [step for loop in all_steps(steps) if isinstance(loop, CountedLoop)
                for step in all_steps(loop.body) if isinstance(step, Branch)]
    assert any(isinstance(step, Fill) for step in all_steps(branches))
    rng = np.random.default_rng(1)
    args = [np.int64(12), rng.random((5, 33), np.float32), rng.random((3, 5, 3), np.float32)]
    (expected,), _ = programs.program(MARGIN, "interpreter").run("main", args)
    before = device.persistent
    for force in plans(program.tree.entry("main")):
        (actual,), _ = program.run("main", args, force=force)
        np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=1e-4)
    assert device.persistent > before


@pytest.mark.parametrize(("before", "after", "rings"), [
    ("a", "b", ["ab"]),
    ("ab", "bc", ["abc"]),
    ("kad", "kbe", ["ab", "de"]),
    ("abb", "acc", ["bc"]),
    ("k", "k", []),
    ("ab", "aa", None),
    ("aa", "ba", None),
    ("ab", "ba", None),
    ("aB", "Bc", None),
])
def test_rings_of_buffers(before: str, after: str, rings: list[str] | None) -> None:
    """Each letter is a buffer; capital ones are larger."""
    buffers: dict[str, Any] = {letter: SimpleNamespace(handle=letter * 2, size=letter.isupper())
                               for letter in before + after}
    found = persistent_loops.rings([buffers[letter] for letter in before],
                             [buffers[letter] for letter in after])
    assert rings == (None if found is None else
                     sorted("".join(b.handle[0] for b in ring) for ring in found))


@pytest.mark.sweep(keep=["Portable"])
def test_kernels_that_map_join_groups_of_any_size(
        device: Spied, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(programs.compiled(MIXED, "full"), device.info)
    program.loaded._device = device
    args = [np.int64(12), np.random.default_rng(0).integers(-9, 9, (100, 100), np.int32)]
    (expected,), _ = programs.program(MIXED, "interpreter").run("main", args)
    groups: set[int] = set()

    def noted(fixed: Sequence[tuple[Launch, Kernel]],
              launches: Sequence[Launch]) -> int | None:
        groups.update(launched.group for launched in launches)
        return group(fixed, launches)

    group = persistent_loops.common_group
    monkeypatch.setattr(persistent_loops, "common_group", noted)
    before = device.persistent
    (actual,), _ = program.run("main", args, force={"main.versions_0": 1, "main.versions_1": 2})
    np.testing.assert_array_equal(np.asarray(actual), np.asarray(expected))
    assert len(groups) == 2
    assert device.persistent == before + 1


@pytest.mark.parametrize(("units", "groups", "times", "larger"), [
    (1, 3, 1, True), (1, 1, 1, False), (4, 8, 1, True), (4, 7, 1, False), (1, 3, 0.5, False),
    (1, 6, 2, False)])
def test_maps_in_a_loop_have_large_groups(
        device: Spied, monkeypatch: pytest.MonkeyPatch, units: int, groups: int, times: float,
        larger: bool) -> None:
    """Twice as large as usual, if there are enough for all units and nobody chose another size."""
    program = Program(programs.compiled(STENCIL), device.info)
    program.loaded._device = device
    usual, found = device.info.group_size, list[int]()
    monkeypatch.setattr(device, "info", replace(device.info, units=units))

    def noted(run: Run, kernel: BoundKernel, groups: int, group: int) -> None:
        found.append(group)
        enqueue(run, kernel, groups, group)

    enqueue = Run.enqueue_persistent
    monkeypatch.setattr(Run, "enqueue_persistent", noted)
    args = [np.int64(20), np.arange(groups * usual - 3, dtype=np.int32)]
    (space,) = program.spaces("main")
    thresholds = {each.parameter.name: int(times * usual) for each in space.ranges
                  if each.parameter.quantity is Quantity.GROUP}
    (actual,), _ = program.run("main", args, thresholds=thresholds)
    np.testing.assert_array_equal(np.asarray(actual), expected_of(STENCIL, args)[0])
    assert found == [2 * usual if larger else times * usual]


@pytest.mark.parametrize(("sizes", "groups"), [
    ([5000, *[600] * 99], 4), ([5000] * 100, 16), ([600] * 100, 3), ([256 * 16] * 100, 16),
    ([0, 1, 5000, *[256 * 4] * 97], 4), ([256 * 5] * 100, 5)])
def test_few_groups_meet_where_most_iterations_are_small(sizes: list[int], groups: int) -> None:
    """Of a device of four units, which have room for sixteen groups."""
    table = ScalarTable(None, [(-(-size // 64),) for size in sizes])
    changing = Launch(0, (), max(-(-size // 256) for size in sizes), 256, (), (),
                      count=(ScalarColumn(0), 64))
    steady = Launch(1, (), 1, 256, (), ())
    assert meeting_groups([steady, changing], table, 16, 4) == groups
    assert meeting_groups([steady, replace(changing, count=None)], None, 16, 4) == min(
        16, changing.groups)


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("teams", [(1, 1), (4, 1), (1, 8), (2, 8)])
def test_rows_side_by_side_make_groups_of_one_size(device: Spied, teams: tuple[int, int]) -> None:
    """Rows of 200 and of 21 elements, with so many side by side as they are launched."""
    program = Program(programs.compiled(ROWS), device.info)
    program.loaded._device = device
    data = np.random.default_rng(0).integers(-9, 9, (21, 200), np.int32)
    args = [np.int64(12), data, data.T.copy()]
    expected, _ = programs.program(ROWS, "interpreter").run("main", args)
    names = [name for name in program.kernel_parameters()
             if ".ys_" in name and name.endswith(".teams")]
    assert len(names) in (2, 4)  # some devices have them for scans with post-maps, too
    names = names[::len(names) // 2]
    before = device.persistent
    actual, _ = program.run("main", args, thresholds=dict(zip(names, teams, strict=True)),
                               force={"main.versions_0": 1, "main.versions_1": 1})
    for got, want in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
    assert device.persistent == before + 1


def test_a_recorded_loop_without_choices_is_one_kernel_too(device: Spied) -> None:
    """So a record says what runs without one cost."""
    program = Program(programs.compiled(STENCIL), device.info)
    program.loaded._device = device
    _, record = program.run("main", [np.int64(20), np.arange(9, dtype=np.int32)], record=True)
    assert record is not None
    assert record.launches < 8


def test_a_recorded_run_takes_every_iteration_in_which_something_is_chosen(device: Spied) -> None:
    program = Program(programs.compiled(CHOOSING), device.info)
    program.loaded._device = device
    args = [np.int64(20), np.ones((3, 9), np.int32)]
    before = device.persistent
    program.run("main", args)
    assert device.persistent == before + 1
    _, record = program.run("main", args, record=True)
    assert device.persistent == before + 1
    assert record is not None
    assert len(record.encounters) == 20
    assert all(e.launches and e.issue > 0 for e in record.encounters)
    assert record.issue >= sum(e.issue for e in record.encounters)


def test_no_more_groups_than_surely_fit(device: Spied) -> None:
    """By work-items, by groups, and by local memory with what the device reserves of it."""
    info = replace(device.info, resident_items=1024, resident_groups=16, local_bytes=48 << 10)
    real = Device(info, PROBES)
    units = info.units
    assert real.resident_groups(256, 0) == 4 * units
    assert real.resident_groups(32, 0) == 16 * units
    assert real.resident_groups(32, 3 << 10) == 12 * units
    assert real.resident_groups(256, 48 << 10) == units
    assert real.resident_groups(256, 49 << 10) == 0


FAILING = """
entry main [n] (k: i64) (by: i64) (late: [n]i64): [n]i64 =
  loop xs = late for i < k do
    let share = 1000 / (by - i)
    in map2 (\\x l -> x % 997 + share + 12 / (i - l)) xs late
"""


@pytest.mark.parametrize(("by", "late", "line"), [
    (12, 40, "4:17"), (40, 40, ""), (2, 40, "4:17"), (12, 11, "5:40"), (12, 13, "4:17"),
    (40, 13, "5:40"),
])
def test_scalars_fail_when_it_is_their_turn(
        device: Spied, by: int, late: int, line: str) -> None:
    """Not before the kernels of earlier iterations have run, one of which may have failed."""
    args = [np.int64(20), np.int64(by), np.full(5, late)]
    program = Program(compile_source(Source("loop", FAILING)), device.info)
    program.loaded._device = device
    if line:
        with pytest.raises(ProgramFailure, match=f"loop:{line}: .*Division by zero"):
            program.run("main", args)
    else:
        (actual,), _ = program.run("main", args)
        assert np.asarray(actual).tolist() == expected_of(FAILING, args)[0]


# Loops without a count

WHILE = """
entry main [n] (most: i32) (xs: [n]i32): ([n]i32, i32) =
  loop (xs, k) = (xs, 0) while i32.sum xs < most do (map (+ 1) xs, k + 1)
"""
FLAGGED = """
entry main [n] (most: i32) (xs: [n]i32): ([n]i32, bool, i32) =
  loop (xs, more, k) = (xs, true, 0) while more && k < most do
    let ys = map2 (\\i x -> i32.max x xs[i64.max 0 (i - 1)]) (iota n) xs
    in (ys, or (map2 (!=) xs ys), k + 1)
"""
ON_THE_HOST = """
entry main [n] (most: i32) (xs: [n]i32): i64 =
  (loop (xs, k) = (xs, 0) while i32.sum xs < most do
     (map (+ 1) (if k % 2 == 0 then xs else reverse xs), k + 1)).1
"""


def run_with(device: Spied, text: str, args: Sequence[object]) -> tuple[list[object], int]:
    """The results of a program, and how many of its loops asked for a persistent kernel."""
    program = Program(programs.compiled(text), device.info)
    program.loaded._device = device
    before = device.persistent
    results, _ = program.run("main", args)
    return [np.asarray(result).tolist() for result in results], device.persistent - before


def expected_of(text: str, args: Sequence[object]) -> list[object]:
    results, _ = programs.program(text, "interpreter").run("main", args)
    return [np.asarray(result).tolist() for result in results]


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("rounds", [0, 1, 3, 4, 5, 6, 7, 67, 68, 69, 70, 210, 400])
def test_the_device_says_when_a_loop_ends(device: Spied, rounds: int) -> None:
    """After an odd or even number of iterations, in one launch or several."""
    args = [np.int32(5 * rounds + 10), np.arange(5, dtype=np.int32)]
    results, launches = run_with(device, WHILE, args)
    assert results == expected_of(WHILE, args) == [[rounds + k for k in range(5)], rounds]
    assert launches == (rounds > LEAST_ITERATIONS // 2)


@pytest.mark.parametrize("rounds", [5, 20, 68, 69, 200])
def test_a_profile_counts_the_iterations_that_the_device_decides_on(device: Spied, rounds: int
                                                                    ) -> None:
    """The work of each is that of an iteration of the host; a last launch may have none to run."""
    program = Program(programs.compiled(WHILE), device.info)
    program.loaded._device = device
    call = Call(program, "main", [np.int32(5 * rounds + 10), np.arange(5, dtype=np.int32)])
    runs, _ = runs_of(call, 1, warms=False)
    by_host = LEAST_ITERATIONS // 2
    found, each = dict[str, float](), Counter[str]()
    for kernel in profile_of(runs, [1.0], "d", Peaks(1e10, {})).kernels:
        if kernel.work is not None and kernel.launches == by_host:
            each["operations"] += kernel.operations or 0.0
            each["bytes"] += kernel.work.bytes
        elif kernel.name == "loop in one kernel":
            assert kernel.work is not None
            found = {"operations": kernel.operations or 0.0, "bytes": kernel.work.bytes}
    assert each["operations"]
    assert each["bytes"]
    assert found == {name: count / by_host * (rounds - by_host) for name, count in each.items()}


@pytest.mark.parametrize("most", [0, 6, 1000])
def test_a_loop_that_may_end_for_two_reasons(device: Spied, most: int) -> None:
    args = [np.int32(most), np.array([9, *range(40)], np.int32)]
    results, launches = run_with(device, FLAGGED, args)
    assert results == expected_of(FLAGGED, args)
    assert launches == (most > 0)


def test_a_loop_whose_iterations_the_host_must_know_is_asked_each_time(device: Spied) -> None:
    args = [np.int32(100), np.arange(5, dtype=np.int32)]
    results, launches = run_with(device, ON_THE_HOST, args)
    assert results == expected_of(ON_THE_HOST, args)
    assert launches == 0


def test_a_loop_that_the_host_can_run_alone_stays_there(device: Spied) -> None:
    text = """
entry main [n] (most: i64) (xs: [n]i64): [n]i64 =
  let (_, steps) = loop (left, steps) = (most, 0) while left > 1 do (left / 2, steps + 1)
  in loop xs for _i < steps do map (+ 1) xs
"""
    host = compile_source(Source("loop", text)).plan("main", coherent=True)
    loops = [step for step in all_steps(host.steps) if isinstance(step, WhileLoop)]
    assert [loop.in_buffer for loop in loops] == [False]
    results, _ = run_with(device, text, [np.int64(40), np.arange(3)])
    assert results == [[5, 6, 7]]


def test_a_recorded_loop_takes_every_iteration_that_chooses(device: Spied) -> None:
    text = """
entry main [n][m] (most: i32) (xss: [n][m]i32): [n][m]i32 =
  loop xss while i32.sum (flatten xss) < most do
    map (\\xs -> let s = reduce i32.max 0 xs in map (\\x -> x + s) xs) xss
"""
    program = Program(programs.compiled(text), device.info)
    program.loaded._device = device
    args = [np.int32(1 << 20), np.ones((3, 4), np.int32)]
    before = device.persistent
    (expected,), _ = program.run("main", args)
    assert device.persistent == before + 1
    (actual,), record = program.run("main", args, record=True)
    assert device.persistent == before + 1
    np.testing.assert_array_equal(np.asarray(actual), np.asarray(expected))
    assert record is not None
    assert len(record.encounters) > LEAST_ITERATIONS


# Trials


@pytest.mark.parametrize(("text", "args", "operations"), [
    (STENCIL, [np.int64(30), np.arange(8, dtype=np.int32)], 1),
    (STENCIL, [np.int64(31), np.arange(8, dtype=np.int32)], 1),
    (PAIR, [np.int64(90), np.arange(20.0)], 2),
    (IN_PLACE, [np.int64(0), np.arange(30, dtype=np.int32) * 7 % 31], 2),
    (WHILE, [np.int32(4000), np.arange(20, dtype=np.int32)], 2),
    (FLAGGED, [np.int32(25), np.arange(30, dtype=np.int32)[::-1].copy()], 2),
], ids=["stencil", "odd", "pair", "in-place", "while", "flagged"])
def test_settings_are_tried_in_the_kernel_of_a_loop(
        device: Spied, text: str, args: Sequence[object], operations: int) -> None:
    """With each of them the loop is one kernel, and the run goes on as if nothing had happened."""
    program = Program(programs.compiled(text), device.info)
    program.loaded._device = device
    spaces = {space.operation.name: space for space in program.spaces("main")}
    met = Counter(operation for operation, _ in MeasuredProgram(program).try_settings("main", args))
    assert set(met.values()) == {1}
    last = {name: index for name, index in sorted(met)}
    in_loop = [name for name, index in last.items() if index > 0]
    assert len(in_loop) == operations
    apart = 0
    for name in in_loop:
        sent: dict[Setting, float | Setting | str | None] = {}

        def search(space: ParameterSpace = spaces[name], sent: dict[Setting, Any] = sent) -> Search:
            settings = [s for s in space.settings() if s[0] == space.default[0]][:3]
            yield UpcomingSettings(tuple(settings))
            for setting in settings:
                sent[setting] = yield setting

        before = device.persistent
        run = TrialRun(program.loaded.executable("main"), {}, {}, {(name, last[name]): search})
        plan = program.loaded.plan("main")
        results = run.call(run.executable.forms.main_of_trials,
                           program.loaded.bind(plan, list(args))).results
        assert isinstance(sent[spaces[name].default], float)
        assert {found for found in sent.values() if isinstance(found, str)} <= {NO_KERNEL}
        apart += sum(isinstance(found, float) for found in sent.values()) - 1
        assert device.persistent == before + 1 + 2 * len(sent)
        for value, spec, want in zip(results, plan.results, expected_of(text, args), strict=True):
            got = np.asarray(program._result(value, spec, False))
            np.testing.assert_allclose(got, want, rtol=1e-9)
    assert apart or operations == 1


def test_a_setting_may_make_a_loop_too_large_for_one_kernel(device: Spied) -> None:
    """Where one group is all that the device is sure of, as many as eight wait their turn."""
    program = Program(programs.compiled(STENCIL), device.info)
    program.loaded._device = device
    args = [np.int64(30), np.arange(300, dtype=np.int32)]
    (space,) = program.spaces("main")
    group = next(k for k, each in enumerate(space.ranges)
                 if each.parameter.quantity is Quantity.GROUP)
    sent: dict[int, object] = {}

    def search() -> Search:
        for size in (64, 4):
            sent[size] = yield (*space.default[:group], size, *space.default[group + 1:])

    MeasuredProgram(program).try_settings("main", args,
                                          thresholds={space.ranges[group].parameter.name: 64},
                         searches={(space.operation.name, 1): search})
    assert isinstance(sent[64], float)
    assert sent[4] == NO_KERNEL


def test_a_loop_that_is_no_kernel_has_operations_of_its_own(device: Spied) -> None:
    program = Program(programs.compiled(PARTING), device.info)
    program.loaded._device = device
    args = [np.int64(20), np.arange(9, dtype=np.int32)]
    met = [operation for operation, _ in MeasuredProgram(program).try_settings("main", args)]
    assert max(index for _, index in met) == 19
    assert len(met) == len(set(met))


# Conditions of the device

SIEVE = """
entry main (n: i64): [n]bool =
  loop ps = replicate n true for i < 12 do
    let p = i + 2
    in if ps[p] then scatter ps (map (\\k -> (k + 2) * p) (iota (n / p - 1)))
                             (replicate (n / p - 1) false)
       else ps
"""
EITHER = """
entry main [n] (k: i64) (xs: [n]i32): [n]i32 =
  loop xs = copy xs for i < k do
    if xs[i] % 2 == 0 then xs
    else scatter xs (map (\\j -> n - 1 - j) (iota (i + 1))) (replicate (i + 1) 4)
"""
NEGATIVE = """
entry main [n] (k: i64) (xs: [n]i32): [n]i32 =
  loop xs = copy xs for i < k do
    if xs[i] > 3 then scatter xs (iota (7 - i)) (replicate (7 - i) 1) else xs
"""


@pytest.mark.parametrize("n", [14, 100, 1000])
def test_work_items_look_at_a_condition(device: Spied, n: int) -> None:
    results, launches = run_with(device, SIEVE, [np.int64(n)])
    assert results == expected_of(SIEVE, [np.int64(n)])
    assert launches == 1


def test_either_branch_may_write(device: Spied) -> None:
    args = [np.int64(20), np.random.default_rng(0).integers(0, 9, 25, np.int32)]
    results, launches = run_with(device, EITHER, args)
    assert results == expected_of(EITHER, args)
    assert launches == 1


@pytest.mark.parametrize("late", [7, 8, 15, 20])
def test_what_a_branch_asserts_fails_only_there(device: Spied, late: int) -> None:
    """If its condition holds; from the eighth on every iteration would assert what is wrong."""
    xs = np.zeros(20, np.int32)
    if late < 20:
        xs[late] = 9
    args = [np.int64(20), xs]
    if 7 < late < 20:
        with pytest.raises(ProgramFailure, match=f"The size {7 - late} is negative"):
            run_with(device, NEGATIVE, args)
    else:
        results, _ = run_with(device, NEGATIVE, args)
        assert results == expected_of(NEGATIVE, args)
