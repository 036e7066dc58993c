"""Where values arrive that the host reads."""

from __future__ import annotations

import numpy as np
import pyopencl as cl

from runelift.ir.prim import Prim
from runelift.runtime.devices.context import Device
from runelift.runtime.devices.info import DeviceInfo
from runelift.runtime.devices.readback import CELLS
from runelift.runtime.execution.probes.on_demand import PROBES


def test_values_do_not_get_in_each_others_way(installed: DeviceInfo) -> None:
    device = Device(installed, PROBES)
    prims = [prim for prim in Prim if prim is not Prim.BOOL]
    numbers = [*range(CELLS - 3, CELLS + 3), *range(CELLS - 3)]
    sent, got = [], []
    for number in numbers:
        prim = prims[number % len(prims)]
        sent.append(np.array([number + 1], prim.dtype))
        buffer = cl.Buffer(device.context, cl.mem_flags.COPY_HOST_PTR, hostbuf=sent[-1])
        got.append(device.readback.cell(number, prim))
        cl.enqueue_copy(device.plain, got[-1], buffer, is_blocking=False)
    device.plain.finish()
    for want, found in zip(sent, got, strict=True):
        assert (found.dtype, found.item()) == (want.dtype, want.item())
