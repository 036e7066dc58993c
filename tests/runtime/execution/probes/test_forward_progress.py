"""Whole programs with scans in one pass, and the probe that lets a device do them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyopencl as cl
import pytest

import runelift
from runelift.ir.base.errors import ProgramFailure
from runelift.ir.base.source import Source
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.devices.context import LOOK_BACK, Device
from runelift.runtime.devices.info import DeviceInfo
from runelift.runtime.devices.memory import Buffer
from runelift.runtime.devices.probe_results import proven
from runelift.runtime.devices.scan_status import EPOCHS, ScanStatus
from runelift.runtime.execution.probes import forward_progress, subgroups
from runelift.runtime.execution.probes.on_demand import PROBES, plan_probes
from runelift.runtime.programs.program import Program
from runelift.runtime.versions.forest import plans

SCANS = """
entry sums [n] (xs: [n]i32): [n]i32 = scan (+) 0 (map (* 3) xs)
entry both [n] (xs: [n]i32): ([n]i32, [n]i64) =
  (scan i32.max i32.lowest xs, scan (+) 0 (map i64.i32 xs))
entry last [n] (xs: [n]i32): ([n]i32, [n]i64) =
  unzip (scan (\\(a, i) (b, j) -> if a > b then (a, i) else (b, j)) (i32.lowest, -1)
              (zip xs (indices xs)))
entry flagged [n] (xs: [n]i32): ([n]bool, [n]i32) =
  unzip (scan (\\(f, x) (g, y) -> (f || g, if g then y else x + y)) (false, 0)
              (map (\\x -> (x % 7 == 0, x)) xs))
entry after [n] (xs: [n]i32): [n]i32 = map (\\s -> s / 2) (scan (+) 0 xs)
entry costly [n] (xs: [n]i32): [n]i32 =
  scan (+) 0 (map (\\x -> loop a = x for i < 5 do a * 3 + i) xs)
"""
LOOP = """
entry main [n] (k: i64) (xs: [n]i32): [n]i32 =
  loop xs for i < k do map (+ i32.i64 i) (scan (+) 0 (scan i32.max 0 xs))
"""
ROWS = """
entry main [n][m] (xss: [n][m]i32): [n][m]i32 = map (scan (+) 0) xss
"""
FAILING = """
entry main [n] (xs: [n]i32): [n]i64 = scan (+) 0 (map (\\x -> i64.i32 xs[x]) xs)
"""


@pytest.fixture(scope="module")
def info(installed: DeviceInfo) -> DeviceInfo:
    """A device whose tiles are small."""
    return replace(installed, num_groups=2, shares=replace(
        installed.shares, tile=32, patience=1 << 30))


class Narrow(Device):
    """A device of which one work-group is all that surely runs at a time."""

    def resident_groups(self, group: int, room: int) -> int:
        return 1


@pytest.fixture
def device(info: DeviceInfo) -> Device:
    return Narrow(info, PROBES)


def program(text: str, device: Device) -> Program:
    opened = Program(compile_source(Source("scan", text)), device.info)
    opened.loaded._device = device
    return opened


@pytest.mark.sweep(keep=["Oclgrind"])
@pytest.mark.parametrize("patience", [0, 1 << 30])
def test_scans_of_all_kinds_by_both_strategies(info: DeviceInfo, patience: int) -> None:
    reference = runelift.compile(SCANS, device="interpreter")
    patient = replace(info, shares=replace(info.shares, patience=patience))
    tested = program(SCANS, Device(patient, PROBES))
    for n in (0, 1, 31, 32, 33, 64, 65, 500):
        xs = np.random.default_rng(n).integers(-9, 10, n).astype(np.int32)
        for entry in tested.entries:
            expected, _ = reference.run(entry, [xs])
            for _ in range(2):
                actual, _ = tested.run(entry, [xs])
                for want, got in zip(expected, actual, strict=True):
                    np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
    assert tested.device.patience == patience


def test_many_elements(info: DeviceInfo) -> None:
    tile, count = (64, 5_001) if info.is_simulator else (4096, 3_000_001)
    tested = program(SCANS, Device(replace(info, shares=replace(info.shares, tile=tile)), PROBES))
    xs = np.random.default_rng(0).integers(-9, 10, count).astype(np.int32)
    for _ in range(2):
        np.testing.assert_array_equal(tested.sums(xs), np.cumsum(3 * xs, dtype=np.int32))


@pytest.mark.parametrize("shape", [(1, 500), (3, 130), (40, 33), (200, 9)], ids=str)
def test_rows_in_every_version(device: Device, shape: tuple[int, int]) -> None:
    tested = program(ROWS, device)
    xss = np.random.default_rng(3).integers(-9, 10, shape).astype(np.int32)
    for force in plans(tested.tree.entry("main")):
        (actual,), _ = tested.run("main", [xss], force=force)
        np.testing.assert_array_equal(np.asarray(actual), np.cumsum(xss, axis=1, dtype=np.int32))


@pytest.mark.parametrize("coherent", [False, True])
def test_loops_also_where_one_kernel_finishes_them(info: DeviceInfo, coherent: bool) -> None:
    tested = program(LOOP, Narrow(replace(info, coherent=coherent), PROBES))
    xs = np.random.default_rng(5).integers(0, 3, 300).astype(np.int32)
    expected = runelift.compile(LOOP, device="interpreter").run("main", [np.int64(13), xs])[0][0]
    for record in (False, True):
        (actual,), _ = tested.run("main", [np.int64(13), xs], record=record)
        np.testing.assert_array_equal(np.asarray(actual), expected)


def test_after_a_failure_scans_go_on(device: Device) -> None:
    tested = program(FAILING, device)
    good = np.arange(200, dtype=np.int32)[::-1].copy()
    bad = np.full(200, 200, np.int32)
    for _ in range(2):
        with pytest.raises(ProgramFailure, match="out of bounds"):
            tested.main(bad)
        np.testing.assert_array_equal(tested.main(good), np.cumsum(good[good], dtype=np.int64))


def test_statuses_grow_and_are_cleared_before_epochs_come_again(device: Device) -> None:
    statuses = ScanStatus(device.context, device.plain)
    first = statuses.begin(10)
    assert statuses.begin(20) is first
    larger = statuses.begin(1 << 20)
    assert larger.size >= 8 << 20
    assert statuses.begin(10) is larger
    statuses.repeat(EPOCHS)
    cleared = statuses.begin(10)
    words = np.ones(10, np.uint64)
    cl.enqueue_copy(device.plain, words, cleared.handle)
    assert cleared is not larger
    assert not words.any()


class Disordered(ScanStatus):
    """ScanStatus that say that somebody has taken a tile, and will not come back."""

    def begin(self, words: int) -> Buffer:
        self.forget()
        held = super().begin(words)
        cl.enqueue_fill_buffer(self._queue, held.handle, np.ones(1, np.uint64), 0, 8)
        return held


def test_a_device_that_fails_the_trial_scans_in_two_passes(
        device: Device, monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("RUNELIFT_CACHE", str(tmp_path))
    monkeypatch.setattr(forward_progress, "PROBE_POLLS", 100)
    device.scan_status = Disordered(device.context, device.plain)
    tested = program(SCANS, device)
    xs = np.arange(500, dtype=np.int32)
    for _ in range(2):
        np.testing.assert_array_equal(tested.sums(xs), np.cumsum(3 * xs, dtype=np.int32))
    assert device.patience == 0


def test_success_in_the_trial_is_remembered(info: DeviceInfo, monkeypatch: pytest.MonkeyPatch,
                                            tmp_path: object) -> None:
    monkeypatch.setenv("RUNELIFT_CACHE", str(tmp_path))
    first, again = Device(info, PROBES), Device(info, PROBES)
    first.probe_forward_progress()
    assert first.patience == info.shares.patience
    monkeypatch.setattr(forward_progress, "_succeeds", lambda *_: False)
    again.probe_forward_progress()
    assert again.patience == (info.shares.patience if not info.is_simulator else 0)


def test_plans_of_trials_are_made_unless_it_is_known_how_they_end(
        info: DeviceInfo, monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("RUNELIFT_CACHE", str(tmp_path))
    made = list[object]()
    for each in forward_progress, subgroups:
        monkeypatch.setattr(each, "probe_plan", lambda each=each: made.append(each))
    plan_probes(info)
    assert made == [forward_progress, subgroups]
    if not info.is_simulator:
        assert proven(Device(info, PROBES), LOOK_BACK, lambda: True)
        plan_probes(info)
        assert len(made) == 2


def _trusting(device: Device) -> Device:
    """The device, in the state in which it is tried."""
    device._proved, device.patience = True, forward_progress.PROBE_POLLS
    return device
