"""The text of phases: functions, and calls of them by a work-group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from runelift.codegen.emit.opencl import LOCAL_CELL, phase_function, phase_name
from runelift.codegen.emit.phases import Phase
from runelift.codegen.emit.prelude import TYPES
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
