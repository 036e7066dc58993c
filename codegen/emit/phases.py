"""Phases: kernels as functions, for kernels that do the work of several launches.

A persistent kernel (:mod:`~runelift.codegen.emit.persistent`) and a fused one
(:mod:`~runelift.codegen.emit.fused`) call each of their phases for a work-group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from runelift.codegen.emit.prelude import STORED
from runelift.ir import imp
from runelift.ir.prim import Prim

PERSISTENT_KERNEL = "persistent"
"""The name of a persistent kernel in OpenCL C."""
FUSED_KERNEL = "joined"
"""The name of a fused kernel in OpenCL C."""


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


@dataclass(frozen=True, slots=True)
class CopyPhase:
    """A copy of ``size`` bytes, from byte ``offset`` of ``source`` on; all are C expressions."""

    target: str
    source: str
    size: str
    offset: str


FusedPhase: TypeAlias = Phase | CopyPhase


@dataclass(frozen=True, slots=True)
class PersistentKernel:
    """A kernel that runs iterations of a loop: its phases, buffers and scalars.

    ``cond``: a C expression for a pointer to the condition of the loop, if it is on the device.
    ``periods``: the numbers of iterations after which buffers that take turns have their roles
    again.  The variable :func:`turn` decides which buffer is meant.
    """

    phases: tuple[Phase, ...]
    buffers: int
    scalars: tuple[Prim, ...]
    cond: str | None = None
    periods: tuple[int, ...] = ()

    def __hash__(self) -> int:
        return hash(self.key)  # that of all that is in its kernels takes long

    @property
    def key(self) -> tuple[object, ...]:
        """The properties by which this kernel differs from other kernels of its program."""
        return (*((p.kernel.name, p.constants, p.args, p.offsets, p.groups) for p in self.phases),
                self.scalars, self.cond)


def turn(period: int) -> str:
    """The variable of a persistent kernel that counts its iterations modulo ``period``.

    It is counted, not computed: Oclgrind 19.10 is wrong about the remainder by 4 in a choice.
    """
    return f"turn_{period}"


def argument(param: imp.KernelParam, value: str) -> str:
    """A C expression as an argument for ``param``."""
    if isinstance(param, imp.ScalarParam):
        return value
    return f"(__global {STORED[param.prim]} *)({value})"
