"""Joined kernels: one launch that does what several launches of one work-group each would do.

Where programs compute with few elements, a launch costs the host more than the device.  Launches
of a single work-group that follow each other can be *phases* of one kernel for one work-group,
with a barrier in between.  :mod:`runelift.runtime.joining` finds them on tapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from runelift.codegen.opencl import LOCAL_CELL, TYPES, phase_function, phase_name, prelude
from runelift.codegen.persistent import Phase
from runelift.ir.prim import Prim

NAME = "joined"


@dataclass(frozen=True, slots=True)
class CopyPhase:
    """A copy of ``size`` bytes, from ``offset`` on; all are C expressions."""

    target: str
    source: str
    size: str
    offset: str


JoinedPhase: TypeAlias = Phase | CopyPhase


def joined_source(phases: Sequence[JoinedPhase], buffers: int, scalars: Sequence[Prim],
                  group: int, bases: dict[str, int]) -> str:
    """A kernel that a single group of ``group`` work-items runs; ``bases`` as for programs."""
    functions = dict.fromkeys((p.kernel, p.constants) for p in phases if isinstance(p, Phase))
    lines = [prelude()]
    for kernel, constants in functions:
        lines.append(phase_function(kernel, bases[kernel.name], constants))
    params = ["volatile __global int *failure_code", "__global long *failure_args"]
    params += [f"__global uchar *buffer_{n}" for n in range(buffers)]
    params += [f"const {TYPES[prim]} scalar_{n}" for n, prim in enumerate(scalars)]
    params.append(f"__local {LOCAL_CELL} *local_memory")
    lines.append(f"__attribute__((reqd_work_group_size({group}, 1, 1)))")
    lines.append(f"__kernel void {NAME}(\n    " + ",\n    ".join(params) + ")\n{")
    for number, phase in enumerate(phases):
        if number:
            lines.append("    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);")
        lines.append(_call(phase) if isinstance(phase, Phase) else _copy(phase))
    return "\n".join([*lines, "}", ""])


def _call(phase: Phase) -> str:
    given = [f"local_memory + {cell}" for cell in phase.offsets]
    args = ["0", "1", "failure_code", "failure_args", *phase.args, *given]
    return f"    {phase_name(phase.kernel, phase.constants)}({', '.join(args)});"


def _copy(phase: CopyPhase) -> str:
    return (f"    for (long k = get_local_id(0); k < {phase.size}; k += get_local_size(0))\n"
            f"        ({phase.target})[k] = ({phase.source})[{phase.offset} + k];")
