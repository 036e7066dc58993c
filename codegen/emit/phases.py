"""Phases: kernels as functions, for kernels that do the work of several launches.

A persistent kernel (:mod:`~runelift.codegen.emit.persistent`) and a fused one
(:mod:`~runelift.codegen.emit.fused`) call each of their phases for a work-group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from runelift.codegen.emit.opencl import LOCAL_CELL, phase_function, phase_name
from runelift.codegen.emit.prelude import STORED, TYPES
from runelift.ir import imp
from runelift.ir.prim import Prim

FAILURE_PARAMS = ("volatile __global int *failure_code", "__global long *failure_args")
"""The first parameters of a kernel of phases, as of every kernel."""
LOCAL_MEMORY = f"__local {LOCAL_CELL} *local_memory"
"""Its last parameter, which all phases share."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A kernel as a phase: its build constants and, per parameter, the C expression for it.

    ``offsets``: where its local arrays lie in the local memory of the group, in its cells.
    ``groups``: a C expression for how many groups it has, if iterations differ in that.
    """

    kernel: imp.Kernel
    constants: tuple[int, ...]
    args: tuple[str, ...]
    offsets: tuple[int, ...]
    groups: str = ""


def phase_functions(phases: Iterable[Phase], bases: Mapping[str, int]) -> list[str]:
    """The functions that phases call, each once."""
    return [phase_function(kernel, bases[kernel.name], constants)
            for kernel, constants in dict.fromkeys((p.kernel, p.constants) for p in phases)]


def common_params(buffers: int, scalars: Sequence[Prim]) -> list[str]:
    """Parameters of a kernel for what its phases are given."""
    return [*(f"__global uchar *buffer_{n}" for n in range(buffers)),
            *(f"const {TYPES[prim]} scalar_{n}" for n, prim in enumerate(scalars))]


def phase_call(phase: Phase, group: str, groups: str) -> str:
    """The call of a phase by a work-item of a group, of so many groups."""
    given = [f"local_memory + {cell}" for cell in phase.offsets]
    args = [group, groups, "failure_code", "failure_args", *phase.args, *given]
    return f"{phase_name(phase.kernel, phase.constants)}({', '.join(args)});"


def argument(param: imp.KernelParam, value: str) -> str:
    """A C expression as an argument for ``param``."""
    if isinstance(param, imp.ScalarParam):
        return value
    return f"(__global {STORED[param.prim]} *)({value})"
