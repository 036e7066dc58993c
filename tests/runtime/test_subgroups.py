"""The trial that lets work-items of a device hand each other values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from runelift.codegen import opencl
from runelift.ir.source import Source
from runelift.runtime import subgroups
from runelift.runtime.compiler import compile_source
from runelift.runtime.device import DeviceInfo
from runelift.runtime.opened import Device
from runelift.runtime.program import Program

ROWS = """
entry main [n][m] (xss: [n][m]i32): [n][m]i32 = map (\\xs -> scan (+) 0 (scan i32.max 0 xs)) xss
"""
OWN_VALUES = """
#define SUBGROUP 32
#define MEET_TEAM(ITEMS) barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define shuffle_uint(x, source, size) (x)
#define shuffle_ulong(x, source, size) (x)
"""


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial that suits a simulator."""
    monkeypatch.setattr(subgroups, "LENGTHS", (5, 100))
    monkeypatch.setattr(subgroups, "ELEMENTS", 1 << 9)


@pytest.fixture
def claims(installed: DeviceInfo) -> DeviceInfo:
    """A device that says that 32 work-items run together, though they do not."""
    return replace(installed, shares=replace(installed.shares, subgroup=32))


def test_a_device_without_sub_groups_is_not_tried(
        installed: DeviceInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(subgroups, "work")
    device = Device(installed)
    device.prove_subgroups()
    assert device.shares == installed.shares


def test_programs_of_the_trial_are_right_without(installed: DeviceInfo) -> None:
    assert subgroups.work(Device(installed))


def test_kernels_that_do_not_build_are_not_used(claims: DeviceInfo) -> None:
    program = Program(compile_source(Source("rows", ROWS)), claims)
    program._device = Device(claims)
    xss = np.random.default_rng(0).integers(-9, 9, (5, 70), np.int32)
    (actual,), _ = program.run("main", [xss])
    np.testing.assert_array_equal(
        np.asarray(actual), np.cumsum(np.maximum(np.maximum.accumulate(xss, 1), 0), 1))
    assert program.device.shares.subgroup == 1


def test_wrong_values_are_noticed(claims: DeviceInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work-items that get their own value back."""
    before, _, rest = opencl.prelude().partition("#ifdef SUBGROUP")
    after = rest.partition("#endif")[2]
    monkeypatch.setattr(opencl, "prelude", lambda: before + "#undef SUBGROUP" + OWN_VALUES + after)
    device = Device(claims)
    device.prove_subgroups()
    assert device.shares.subgroup == 1
