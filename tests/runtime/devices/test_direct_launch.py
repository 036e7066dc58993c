"""Launches that go past PyOpenCL."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

from runelift.runtime.devices import direct_launch
from runelift.runtime.devices.context import Device
from runelift.runtime.devices.info import DeviceInfo
from runelift.runtime.execution.probes.on_demand import PROBES

COUNT = "__kernel void count(__global int *xs) { xs[get_global_id(0)] += get_group_id(0) + 1; }"


def _counted(info: DeviceInfo, items: int, group: int) -> Any:
    device = Device(info, PROBES)
    kernel = cl.Kernel(cl.Program(device.context, COUNT).build(), "count")
    xs = np.zeros(24, np.int32)
    buffer = cl.Buffer(device.context, cl.mem_flags.COPY_HOST_PTR, hostbuf=xs)
    kernel.set_args(buffer)
    launch = direct_launch.launcher(device.plain, kernel, items, group)
    direct_launch.make(launch)
    direct_launch.make(launch)
    reads = direct_launch.DirectReads(device.plain)
    for first in (0, 8, 0):
        reads.read(buffer, xs[first:], 4 * first)
    device.plain.finish()
    return xs


@pytest.mark.parametrize("missing", [None, OSError, AttributeError])
def test_launches(installed: DeviceInfo, missing: type[Exception] | None,
                  monkeypatch: pytest.MonkeyPatch) -> None:
    if missing is not None:
        def fail(_: str) -> None:
            raise missing

        direct_launch._function.cache_clear()
        monkeypatch.setattr(ctypes, "CDLL", fail)
    try:
        expected = [2 * (k // 8 + 1) if k < 16 else 0 for k in range(24)]
        np.testing.assert_array_equal(_counted(installed, 16, 8), expected)
        assert (direct_launch._function("clEnqueueNDRangeKernel") is None) == (missing is not None)
    finally:
        direct_launch._function.cache_clear()


def test_what_does_not_launch_says_so(installed: DeviceInfo) -> None:
    with pytest.raises(cl.Error):
        _counted(installed, 16, 7)
