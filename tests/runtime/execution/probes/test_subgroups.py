"""The probe that lets work-items of a device hand each other values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyopencl as cl
import pytest

from runelift.codegen.emit import opencl
from runelift.codegen.emit.prelude import linked
from runelift.ir.base.source import Source
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.devices.context import Device
from runelift.runtime.devices.info import DeviceInfo, find_devices, limits_of
from runelift.runtime.devices.subgroup_support import (
    INTEL,
    KHRONOS,
    ShuffleMethod,
    by_assembly,
    offered,
)
from runelift.runtime.execution import kernels
from runelift.runtime.execution.probes import subgroups
from runelift.runtime.execution.probes.on_demand import PROBES
from runelift.runtime.programs.program import Program
from runelift.runtime.versions.forest import plans

ROWS = """
entry main [n][m] (xss: [n][m]i32): [n][m]i32 = map (\\xs -> scan (+) 0 (scan i32.max 0 xs)) xss
"""
OWN_VALUES = """
#undef MEET_TEAM
#define MEET_TEAM(ITEMS) barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define shuffle_uint(x, source, size) (x)
#define shuffle_ulong(x, source, size) (x)
"""
WHOLE = """
entry both [n] (xs: [n]i64): (i64, [n]i64) =
  let (a, b) = reduce (\\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0) (map (\\x -> (x, x + 1)) xs)
  in (a + b, scan (\\x y -> x * 3 + y) 0 (map (% 5) xs))
entry rows [n][m] (xss: [n][m]i64): [n]i64 = map i64.maximum xss
entry counts [n] (xs: [n]i64): [4]i64 = hist i64.max 0 4 (map (% 4) xs) xs
"""


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial that suits a simulator."""
    monkeypatch.setattr(subgroups, "LENGTHS", (5, 100))
    monkeypatch.setattr(subgroups, "ELEMENTS", 1 << 9)


@pytest.fixture
def claims(installed: DeviceInfo) -> DeviceInfo:
    """A device that says that 32 work-items run together, though they do not."""
    return replace(installed, shuffles=(by_assembly(32),))


def test_a_device_without_sub_groups_is_not_tried(
        installed: DeviceInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(subgroups, "works")
    device = Device(installed, PROBES)
    device.probe_subgroups()
    assert device.shares == installed.shares


def test_programs_of_the_trial_are_right_without(installed: DeviceInfo) -> None:
    assert subgroups.works(Device(installed, PROBES))


def test_kernels_that_do_not_build_are_not_used(claims: DeviceInfo) -> None:
    program = Program(compile_source(Source("rows", ROWS)), claims)
    program.loaded._device = Device(claims, PROBES)
    xss = np.random.default_rng(0).integers(-9, 9, (5, 70), np.int32)
    (actual,), _ = program.run("main", [xss])
    np.testing.assert_array_equal(
        np.asarray(actual), np.cumsum(np.maximum(np.maximum.accumulate(xss, 1), 0), 1))
    assert program.device.shares.subgroup == 1


@pytest.mark.parametrize("offer", [INTEL, KHRONOS])
def test_sub_groups_that_the_compiler_does_not_know_are_not_used(
        installed: DeviceInfo, offer: ShuffleMethod) -> None:
    device = Device(replace(installed, shuffles=(offer,)), PROBES)
    device.probe_subgroups()
    if offer not in offered(limits_of(cl, installed.handle)):
        assert device.shuffles is None
        assert device.build_options == installed.build_options


def test_wrong_values_are_noticed(claims: DeviceInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work-items that get their own value back."""
    monkeypatch.setattr(opencl, "linked", lambda kernels: linked(OWN_VALUES + kernels))
    device = Device(claims, PROBES)
    device.probe_subgroups()
    assert device.shares.subgroup == 1


# Devices that have sub-groups, in every way that they offer

OFFERS = [(info, offer) for info in find_devices() if info.problem is None
          for offer in offered(limits_of(cl, info.handle))]


@pytest.mark.skipif(not OFFERS, reason="no device has sub-groups")
@pytest.mark.parametrize(("info", "offer"), OFFERS)
@pytest.mark.parametrize("holds", [True, False])
def test_whole_arrays_by_sub_groups(info: DeviceInfo, offer: ShuffleMethod, holds: bool,
                                    monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a kernel turns out to have other sub-groups than it was generated for."""
    program = Program(compile_source(Source("whole", WHOLE)), replace(info, shuffles=(offer,)))
    program.loaded._device = Device(replace(info, shuffles=(offer,)), PROBES)
    reference = Program(program.compiled, None)
    program.device.probe_subgroups()
    assert program.device.shares.subgroup > 1
    if not holds:
        monkeypatch.setattr(kernels, "hold_in", lambda *_: False)
    for count in (0, 1, 100, 5000):
        xs = np.random.default_rng(count).integers(-99, 99, count)
        for entry, args in (("both", [xs]), ("counts", [abs(xs)]), ("rows", [xs.reshape(-1, 20)])):
            for force in plans(forest) if (forest := next((
                    f for f in program.tree.entries if f.entry == entry), None)) else ({},):
                actual, _ = program.run(entry, args, force=force)
                expected, _ = reference.run(entry, args)
                for one, other in zip(actual, expected, strict=True):
                    np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
