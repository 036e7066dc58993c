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


LOCAL = """__kernel void turned(__global int *xs, __local int *kept) {
  int n = get_local_size(0), i = get_local_id(0);
  kept[i] = xs[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  xs[i] = kept[n - 1 - i];
}"""


@pytest.mark.parametrize("is_direct", [True, False])
def test_local_memory_is_set(installed: DeviceInfo, monkeypatch: pytest.MonkeyPatch, *,
                             is_direct: bool) -> None:
    if not is_direct:
        monkeypatch.setattr(direct_launch, "_function", lambda _: None)
    device = Device(installed, PROBES)
    kernel = cl.Kernel(cl.Program(device.context, LOCAL).build(), "turned")
    xs = np.arange(32, dtype=np.int32)
    buffer = cl.Buffer(device.context, cl.mem_flags.COPY_HOST_PTR, hostbuf=xs)
    kernel.set_arg(0, buffer)
    for group in (32, 8):
        direct_launch.make(direct_launch.local_setter(kernel, 1, 4 * group))
        direct_launch.make(direct_launch.launcher(device.plain, kernel, group, group))
        xs[:group] = xs[:group][::-1]
    got = np.empty_like(xs)
    cl.enqueue_copy(device.plain, got, buffer)
    np.testing.assert_array_equal(got, xs)
    with pytest.raises(cl.Error):
        direct_launch.make(direct_launch.local_setter(kernel, 2, 16))


def test_what_does_not_launch_says_so(installed: DeviceInfo) -> None:
    with pytest.raises(cl.Error):
        _counted(installed, 16, 7)
