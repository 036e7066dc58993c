"""Probe of sub-groups: do their work-items hand each other values, and wait for each other?

Kernels are written in OpenCL C 1.2, which has no sub-groups.  Where the device says how many
work-items run together, kernels use other means (``prelude.cl``).  So the results of scans and sums
of rows are compared before kernels rely on them.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pyopencl as cl

from runelift.codegen.plan.plan import Plan
from runelift.ir.base.errors import RuneliftError
from runelift.runtime.devices.context import Device
from runelift.runtime.execution.executable import Executable
from runelift.runtime.execution.probes.plans import rows_plan
from runelift.runtime.execution.run import Run

LENGTHS = (5, 100, 3000)
"""Rows of several to a sub-group, of one, and of several."""
ELEMENTS = 1 << 18
"""The number of elements, about, in the rows of each length."""


def works(device: Device) -> bool:
    """True if sub-groups of the device work as it says."""
    executable = Executable(probe_plan(), device)
    return all(_succeeds(executable, length) for length in LENGTHS)


@cache
def probe_plan() -> Plan:
    """The plan of the probe."""
    return rows_plan()


def _succeeds(executable: Executable, length: int) -> bool:
    """True if scans and sums of rows of a length are right."""
    device, plan = executable.device, executable.plan
    values = np.random.default_rng(length).integers(
        -(1 << 40), 1 << 40, (ELEMENTS // length + 1, length))
    source = device.pool.allocate(values.nbytes)
    cl.enqueue_copy(device.plain, source.handle, values)
    sizes = dict(zip(map(str, plan.sizes), values.shape, strict=True))
    try:
        ((sums, *_), (totals, *_)), *_ = Run(executable, {}, {}, record=False).call(
            executable.forms.main, {**sizes, str(plan.params[0].name): source})
    except RuneliftError:
        return False
    scans = np.cumsum(values, axis=1)
    expected = scans, (scans * np.arange(length)).sum(axis=1)
    found = [np.empty_like(each) for each in expected]
    for each, buffer in zip(found, (sums, totals), strict=True):
        cl.enqueue_copy(device.plain, each, buffer.handle)
    return all(map(np.array_equal, found, expected))
