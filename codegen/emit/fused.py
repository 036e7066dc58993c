"""Fused kernels: one launch that does the work of several.

Where programs compute with few elements, a launch costs the host more than the device.  Launches
of a single work-group that follow each other can be *phases* of one kernel for one work-group,
with a barrier in between.  Launches that do not depend on each other can be phases *side by side*.
Then each group of the kernel does the work of a group of one of them.
:mod:`runelift.runtime.execution.fused_launches` finds both in command buffers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from runelift.codegen.emit.opencl import LOCAL_CELL, group_attributes, phase_function, phase_name
from runelift.codegen.emit.phases import FUSED_KERNEL, CopyPhase, FusedPhase, Phase
from runelift.codegen.emit.prelude import TYPES, linked
from runelift.ir.prim import Prim

FAILURE_PARAMS = ("volatile __global int *failure_code", "__global long *failure_args")
"""The first parameters of a kernel of phases, as of every kernel."""
LOCAL_MEMORY = f"__local {LOCAL_CELL} *local_memory"
"""The last parameter of a kernel of phases, which all phases share."""


def phase_functions(phases: Iterable[Phase], bases: Mapping[str, int]) -> list[str]:
    """The functions that phases call, each once."""
    return [phase_function(kernel, bases[kernel.name], constants)
            for kernel, constants in dict.fromkeys((p.kernel, p.constants) for p in phases)]


def common_params(buffers: int, scalars: Sequence[Prim]) -> list[str]:
    """The parameters of a fused kernel through which its phases get their arguments."""
    return [*(f"__global uchar *buffer_{n}" for n in range(buffers)),
            *(f"const {TYPES[prim]} scalar_{n}" for n, prim in enumerate(scalars))]


def phase_call(phase: Phase, group: str, groups: str) -> str:
    """The C call by which work-items run ``phase`` as group ``group`` of ``groups``."""
    given = [f"local_memory + {cell}" for cell in phase.offsets]
    args = [group, groups, "failure_code", "failure_args", *phase.args, *given]
    return f"{phase_name(phase.kernel, phase.constants)}({', '.join(args)});"


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
