"""Fused kernels: one launch that does the work of several.

Where programs compute with few elements, a launch costs the host more than the device.  Launches
of a single work-group that follow each other can be *phases* of one kernel for one work-group,
with a barrier in between.  Launches that do not depend on each other can be phases *side by side*.
Then each group of the kernel does the work of a group of one of them.
:mod:`runelift.runtime.execution.fused_launches` finds both in command buffers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runelift.codegen.emit.opencl import group_attributes
from runelift.codegen.emit.phase_calls import (
    FAILURE_PARAMS,
    LOCAL_MEMORY,
    common_params,
    phase_call,
    phase_functions,
)
from runelift.codegen.emit.phases import FUSED_KERNEL, CopyPhase, FusedPhase, Phase
from runelift.codegen.emit.prelude import linked
from runelift.ir.prim import Prim


def fused_source(phases: Sequence[FusedPhase], buffers: int, scalars: Sequence[Prim],
                  group: int, bases: Mapping[str, int]) -> str:
    """A kernel that a single group of ``group`` work-items runs; ``bases`` as for programs."""
    lines = _heading([p for p in phases if isinstance(p, Phase)], buffers, scalars, group, bases)
    for number, phase in enumerate(phases):
        if number:
            lines.append("    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);")
        lines.append(f"    {phase_call(phase, '0', '1')}" if isinstance(phase, Phase)
                     else _copy(phase))
    return linked("\n".join([*lines, "}", ""]))


def beside_source(phases: Sequence[tuple[Phase, str]], buffers: int, scalars: Sequence[Prim],
                  group: int, bases: Mapping[str, int]) -> str:
    """A kernel that runs phases side by side, each with a C expression for its groups."""
    lines = _heading([phase for phase, _ in phases], buffers, scalars, group, bases)
    lines.append("    long group = get_group_id(0);")
    for phase, groups in phases:
        lines += [f"    if (group >= 0 && group < {groups}) {{",
                  f"        {phase_call(phase, 'group', groups)}",
                  "    }",
                  f"    group -= {groups};"]
    return linked("\n".join([*lines, "}", ""]))


def _heading(phases: Sequence[Phase], buffers: int, scalars: Sequence[Prim], group: int,
             bases: Mapping[str, int]) -> list[str]:
    """The C lines of the phases' functions, and of the kernel up to its body."""
    params = [*FAILURE_PARAMS, *common_params(buffers, scalars), LOCAL_MEMORY]
    return [*phase_functions(phases, bases), group_attributes(group, subgroups=True),
            f"__kernel void {FUSED_KERNEL}(\n    " + ",\n    ".join(params) + ")\n{"]


def _copy(phase: CopyPhase) -> str:
    return (f"    for (long k = get_local_id(0); k < {phase.size}; k += get_local_size(0))\n"
            f"        ({phase.target})[k] = ({phase.source})[{phase.offset} + k];")
