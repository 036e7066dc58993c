"""Probe of sub-groups: do their work-items hand each other values, and wait for each other?

Kernels are written in OpenCL C 1.2, which has no sub-groups.  Where the device says how many
work-items run together, kernels use other means (``prelude.cl``).  So the results of scans and sums
of rows are compared before kernels rely on them.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pyopencl as cl

from runelift.codegen.hostplan.host import plan_fun
from runelift.codegen.plan.plan import Plan
from runelift.ir.base.errors import RuneliftError
from runelift.ir.names import Names
from runelift.ir.parse import parse
from runelift.runtime.devices.context import Device
from runelift.runtime.execution.executable import Executable
from runelift.runtime.execution.run import Run

LENGTHS = (5, 100, 3000)
"""Rows of several to a sub-group, of one, and of several."""
ELEMENTS = 1 << 18
"""The number of elements, about, in the rows of each length."""

ROWS = """
entry main [n_1] [m_2] (xss_3 : [n_1][m_2]i64) : (sums_4 : [n_1][m_2]i64, totals_5 : [n_1]i64) =
  let (sums_6 : [n_1][m_2]i64, totals_7 : [n_1]i64) = segmap.group <i_8 < n_1> : ([m_2]i64, i64)
      {
        let (row_9 : [m_2]i64) = segscan.local <j_10 < m_2> : (i64)
            operator (0i64)
              (\\(x_11 : i64) (y_12 : i64) : (i64) ->
                let (t_13 : i64) = add.i64(x_11, y_12)
                in (t_13)
              )
            {
              let (e_14 : i64) = xss_3[i_8, j_10]
              in (e_14)
            }
        let (total_15 : i64) = segred.local <j_16 < m_2> : (i64)
            operator (0i64)
              (\\(x_17 : i64) (y_18 : i64) : (i64) ->
                let (t_19 : i64) = add.i64(x_17, y_18)
                in (t_19)
              )
            {
              let (e_20 : i64) = row_9[j_16]
              let (t_21 : i64) = mul.i64(e_20, j_16)
              in (t_21)
            }
        in (row_9, total_15)
      }
  in (sums_6, totals_7)
"""


def works(device: Device) -> bool:
    """True if sub-groups of the device work as it says."""
    executable = Executable(probe_plan(), device)
    return all(_succeeds(executable, length) for length in LENGTHS)


@cache
def probe_plan() -> Plan:
    """The plan of the probe."""
    (fun,) = parse(ROWS).funs
    return plan_fun(fun, Names(100), interleave=True)


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
