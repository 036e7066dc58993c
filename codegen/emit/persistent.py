"""Persistent kernels: one launch that runs many iterations of a loop of kernels.

A loop of small kernels costs the host a launch for each of them.  Often all iterations launch equal
kernels on equal buffers, up to an exchange of the buffers that are carried on.  Then the
work-groups of one kernel can stay on the device and go through all iterations themselves.  There
are as many groups as fit on the device at once.  All of them meet at a barrier after each of the
loop's kernels, its *phases*.

See Gupta, Stuart and Owens 2012, "A study of persistent threads style GPU programming for GPGPU
workloads".  For the barrier, see Xiao and Feng 2010, "Inter-block GPU communication via fast
barrier synchronization".

:mod:`runelift.codegen.plan.steady_loops` says which loops qualify.
:mod:`runelift.runtime.execution.persistent_loops` finds the phases when the loop runs, since sizes
decide about versions and work-groups.
"""

from __future__ import annotations

from collections.abc import Mapping

from runelift.codegen.emit.fused import (
    FAILURE_PARAMS,
    LOCAL_MEMORY,
    common_params,
    phase_call,
    phase_functions,
)
from runelift.codegen.emit.phases import PERSISTENT_KERNEL, PersistentKernel, Phase, turn
from runelift.codegen.emit.prelude import linked


def persistent_source(kernel: PersistentKernel, bases: Mapping[str, int], late: int) -> str:
    """A kernel that runs ``iterations`` of the phases, the loop's index from ``first`` on.

    With a condition it runs fewer when that is false, and stores their number in ``done``.
    ``arrived`` counts the groups that came to barriers, modulo 2³², from one launch to the next.
    ``before`` is its value when this launch begins, so nothing need be cleared.  ``late`` is the
    failure code for a barrier that not all groups came to.
    """
    phases = kernel.phases
    lines = [f"#define LATE {late}", BARRIER, *phase_functions(phases, bases)]
    params = [*FAILURE_PARAMS, "volatile __global uint *arrived", "const uint before",
              "const long iterations", "const long first"]
    params += common_params(kernel.buffers, kernel.scalars)
    params += [f"const long groups_{n}" for n in range(len(phases))]
    again = "round < iterations"
    if kernel.cond is not None:  # a loop with one exit: compilers know how to put barriers into it
        params.append("__global long *done")
        again = f"({again}) & *(volatile __global uchar *)({kernel.cond})"
    params.append(LOCAL_MEMORY)
    lines += [f"IN_SUBGROUPS __kernel void {PERSISTENT_KERNEL}(\n    "
              + ",\n    ".join(params) + ")\n{",
              "    uint target = before;",
              "    long round = 0;",
              *(f"    int {turn(period)} = 0;" for period in kernel.periods),
              f"    for (; {again}; round++) {{",
              "        const long index = first + round;"]
    for n, phase in enumerate(phases):
        lines += _phase(n, phase)
    lines += [f"        {turn(p)} = {turn(p)} + 1 < {p} ? {turn(p)} + 1 : 0;"
              for p in kernel.periods]
    lines.append("    }")
    if kernel.cond is not None:
        lines.append("    if (get_global_id(0) == 0) *done = round;")
    return linked("\n".join([*lines, "}", ""]))


def _phase(number: int, phase: Phase) -> list[str]:
    again = ["            barrier(CLK_LOCAL_MEM_FENCE);"] if phase.offsets else []
    count = f"groups_{number}"
    if phase.groups:
        count = f"count_{number}"
    return [
        *([f"        const long {count} = {phase.groups};"] if phase.groups else []),
        f"        for (long group = get_group_id(0); group < {count};"
        " group += get_num_groups(0)) {",
        f"            {phase_call(phase, 'group', count)}", *again,
        "        }",
        "        target += get_num_groups(0);",
        "        meet(arrived, target, failure_code);",
    ]


BARRIER = """
// All groups meet; a group that waits in vain reports it and lets everybody go on.
inline void meet(volatile __global uint *arrived, uint target, volatile __global int *failure_code)
{
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        fence_device();
        atomic_inc(arrived);
        for (long polls = 0; (int)(*arrived - target) < 0; polls++) {
            if (polls == 1L << 27) {
                atomic_cmpxchg(failure_code, -1, LATE);
                atomic_add(arrived, 1u << 30);
            }
        }
        fence_device();
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
}
"""
