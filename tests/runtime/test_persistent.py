"""Loops that one persistent kernel finishes, on CPU devices with a single work-group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import runelift
from runelift.ir.imp import Kernel
from runelift.ir.source import Source
from runelift.runtime import persistent
from runelift.runtime.compiler import compile_source
from runelift.runtime.device import DeviceInfo
from runelift.runtime.opened import Device
from runelift.runtime.persistent import Launched
from runelift.runtime.program import Program
from runelift.runtime.tuner.forest import plans

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

MIXED = """
entry main [n] (k: i64) (xss: [n][n]i32): [n][n]i32 =
  loop xss for i < k do
    map (scan (+) 0) (transpose xss) |> transpose |> map (map (\\x -> x % 1000 + i32.i64 i))
"""

ROWS = """
entry main [n][m] (k: i64) (xss: [n][m]i32): [n][m]i32 =
  loop xss for i < k do
    let yss = map (\\xs -> map (\\x -> x % 1000 + i32.i64 i) (scan (+) 0 xs)) xss
    in transpose (map (\\ys -> map (% 100) (scan (+) 0 ys)) (transpose yss))
"""

CHOOSING = """
entry main [n][m] (k: i64) (xss: [n][m]i32): [n][m]i32 =
  loop xss for _i < k do
    map (\\xs -> let s = reduce (+) 0 xs in map (+ s) xs) xss
"""


class Spied(Device):
    """A device of which one work-group is all that surely runs at a time."""

    persistent = 0

    def resident_groups(self, group: int, room: int) -> int:
        self.persistent += 1
        return 1


@pytest.fixture(scope="module")
def device(installed: DeviceInfo) -> Spied:
    return Spied(replace(installed, coherent=True))


@pytest.mark.parametrize(("text", "fused"), [
    (STENCIL, True), (PAIR, True), (SWAP, False), (IN_PLACE, True), (KEPT, False),
], ids=["stencil", "pair", "swap", "in-place", "kept"])
@pytest.mark.parametrize("k", [7, 8, 9, 20])
def test_iterations(device: Spied, text: str, fused: bool, k: int) -> None:
    compiled = compile_source(Source("loop", text))
    program = Program(compiled, device.info)
    program._device = device
    reference = runelift.compile(text, device="interpreter")
    data = np.random.default_rng(k).integers(-9, 9, k)
    xs = data.astype(np.float64 if "f64" in text else np.int32)
    expected, _ = reference.run("main", [np.int64(k), xs])
    for force in plans(program.tree.entry("main")):
        before = device.persistent
        actual, _ = program.run("main", [np.int64(k), xs], force=force)
        for want, got in zip(expected, actual, strict=True):
            np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-9)
        assert device.persistent == before + (fused and k >= 8)


def test_kernels_that_map_join_groups_of_any_size(
        device: Spied, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(compile_source(Source("loop", MIXED)), device.info)
    program._device = device
    args = [np.int64(12), np.random.default_rng(0).integers(-9, 9, (150, 150), np.int32)]
    (expected,), _ = runelift.compile(MIXED, device="interpreter").run("main", args)
    groups: set[int] = set()

    def noted(fixed: Sequence[tuple[Launched, Kernel]], launches: Sequence[Launched]) -> int | None:
        groups.update(launched.group for launched in launches)
        return group(fixed, launches)

    group = persistent._group
    monkeypatch.setattr(persistent, "_group", noted)
    before = device.persistent
    (actual,), _ = program.run("main", args, force={"main.versions_0": 1, "main.versions_1": 2})
    np.testing.assert_array_equal(np.asarray(actual), np.asarray(expected))
    assert len(groups) == 2
    assert device.persistent == before + 1


@pytest.mark.parametrize("teams", [(1, 1), (4, 1), (1, 8), (2, 8)])
def test_rows_side_by_side_make_groups_of_one_size(device: Spied, teams: tuple[int, int]) -> None:
    """Rows of 200 and of 21 elements, with so many beside each other as they are launched."""
    program = Program(compile_source(Source("loop", ROWS)), device.info)
    program._device = device
    args = [np.int64(12), np.random.default_rng(0).integers(-9, 9, (21, 200), np.int32)]
    (expected,), _ = runelift.compile(ROWS, device="interpreter").run("main", args)
    names = [name for name in program.kernel_parameters() if name.endswith(".teams")]
    assert len(names) == 2
    before = device.persistent
    (actual,), _ = program.run("main", args, thresholds=dict(zip(names, teams, strict=True)),
                               force={"main.versions_0": 1, "main.versions_1": 1})
    np.testing.assert_array_equal(np.asarray(actual), np.asarray(expected))
    assert device.persistent == before + 1


def test_a_recorded_loop_without_choices_is_one_kernel_too(device: Spied) -> None:
    """So a record says what runs without one cost."""
    program = Program(compile_source(Source("loop", STENCIL)), device.info)
    program._device = device
    _, record = program.run("main", [np.int64(20), np.arange(9, dtype=np.int32)], record=True)
    assert record is not None
    assert record.launches < 8


def test_a_recorded_run_takes_every_iteration_in_which_something_is_chosen(device: Spied) -> None:
    program = Program(compile_source(Source("loop", CHOOSING)), device.info)
    program._device = device
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
    real = Device(info)
    units = info.handle.max_compute_units
    assert real.resident_groups(256, 0) == 4 * units
    assert real.resident_groups(32, 0) == 16 * units
    assert real.resident_groups(32, 3 << 10) == 12 * units
