"""Probe of forward progress: can work-groups of a device wait for each other?

See :mod:`runelift.codegen.segops.segscan_single_pass`.  OpenCL does not promise that a group goes
on while other groups wait for it, nor that these groups see its writes.  So the results of some
scans are compared before such scans are used.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pyopencl as cl

from runelift.codegen.plan.plan import Plan
from runelift.ir.base.errors import RuneliftError
from runelift.runtime.devices.context import Device
from runelift.runtime.execution.executable import Executable
from runelift.runtime.execution.probes.plans import scan_plan
from runelift.runtime.execution.run import Run

PROBE_POLLS = 1 << 20
"""The number of times that a group of the probe asks for the total of another one."""
WAVES = 8
"""The probe has so many times the groups that the device usually runs."""
PROBES = 3


def works(device: Device) -> bool:
    """True if groups of the device can wait for each other."""
    device.patience = min(device.info.shares.patience, PROBE_POLLS)
    executable = Executable(probe_plan(), device)
    return all(_succeeds(executable, seed) for seed in range(PROBES))


@cache
def probe_plan() -> Plan:
    """The plan of the probe."""
    return scan_plan()


def _succeeds(executable: Executable, seed: int) -> bool:
    """True if a scan over many more groups than the device runs at a time is right."""
    device, plan = executable.device, executable.plan
    info = device.info
    count = WAVES * info.num_groups * info.shares.group + 1
    values = np.random.default_rng(seed).integers(-(1 << 40), 1 << 40, count)
    source = device.pool.allocate(values.nbytes)
    cl.enqueue_copy(device.plain, source.handle, values)
    size, param = str(plan.sizes[0]), str(plan.params[0].name)
    try:
        ((sums, *_),), *_ = Run(executable, {}, {}, record=False).call(
            executable.forms.main, {size: count, param: source})
    except RuneliftError:
        return False
    found = np.empty_like(values)
    cl.enqueue_copy(device.plain, found, sums.handle)
    return bool(np.array_equal(found, np.cumsum(values)))
