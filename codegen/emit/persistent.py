"""Persistent kernels: one launch that runs many iterations of a loop of kernels.

A loop of small kernels costs the host a launch for each of them.  Where an iteration does nothing
but launch the same kernels on the same buffers, up to an exchange of those that iterations hand
on, the work-groups of one kernel can stay on the device and go through all iterations
themselves, as many groups as fit on the device at once, with a barrier for all of them after each
of the loop's kernels: its *phases* (Gupta, Stuart and Owens 2012, "A study of persistent threads
style GPU programming for GPGPU workloads"; Xiao and Feng 2010, "Inter-block GPU communication via
fast barrier synchronization").

This module says which loops qualify and writes the kernel;
:mod:`runelift.runtime.execution.persistent_loops` finds the phases when the loop runs, since sizes
decide about versions and work-groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from runelift.codegen.emit.opencl import LOCAL_CELL, phase_function, phase_name
from runelift.codegen.emit.prelude import TYPES, linked
from runelift.codegen.plan import distribution, plan
from runelift.ir import imp
from runelift.ir.imp.traverse import asked, has_barriers
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size

# Which loops


def may_persist(steps: Sequence[plan.Step], changing: Set[VName] = frozenset()) -> bool:
    """Whether an iteration only launches, and ``changing`` scalars are arguments of kernels only.

    So all iterations take the same decisions on the host.
    """
    inside = list(plan.all_steps(steps))
    return (any(isinstance(step, plan.Launch) for step in inside)
            and all(_is_steady(changing, step) for step in inside))


def _is_steady(changing: Set[VName], step: plan.Step) -> bool:
    match step:
        case plan.Read() | plan.CopyBuffer() | plan.WhileLoop() | plan.CountedLoop():
            return False
        case plan.Launch(kernel, _, groups, group):
            sizes = [groups, group, *(a.length for a in kernel.local_memory)]
            return not _mention(changing, sizes) and changing.isdisjoint(kernel.built_for)
        case plan.Alloc(_, _, count):
            return not _mention(changing, [count])
        case plan.ComputeSize(_, size):
            return not _mention(changing, [size])
        case plan.Compute(args=args) | plan.Check(args=args):
            cond = [step.cond] if isinstance(step, plan.Check) else []
            return changing.isdisjoint((*args, *cond))
        case plan.ConvertScalar(arg=arg) | plan.Bind(source=arg) | plan.Branch(cond=arg):
            return arg not in changing
        case distribution.GroupShape():
            return not _mention(changing, step.sizes())
        case distribution.TeamCount(groups=groups, bytes=size):
            return not _mention(changing, [groups, size])
        case distribution.GroupSize(points=size):
            return not _mention(changing, [size])
        case distribution.MapWidth(points=points, rows=rows, beside=beside):
            return not _mention(changing, [points, rows, beside])
        case distribution.ScanTileShape(points=tiled):
            return tiled not in changing
        case plan.AllocScanStatus(_, words):
            return not _mention(changing, [words])
        case (distribution.ProductTileShape(height=height, width=width, batch=batch, length=length)
              | distribution.SegmentBlockShape(height=height, width=width, batch=batch,
                                               length=length)):
            return not _mention(changing, [height, width, batch, length])
        case distribution.StripShape(width=width, batch=batch, length=length):
            return not _mention(changing, [width, batch, length])
        case plan.Choose(_, versions, sizes):
            guards = [v.guard.par for v in versions if v.guard is not None]
            return changing.isdisjoint(sizes) and not _mention(changing, guards)
        case plan.Release() | plan.Commit() | plan.Operation() | distribution.SubGroupSize():
            return True
        case plan.Fill():  # the first iterations have filled what is promised
            return True
        case plan.LazyCopy():
            return False


def _mention(changing: Set[VName], sizes: Sequence[Size]) -> bool:
    return any(not changing.isdisjoint(size.variables()) for size in sizes)


def is_free(kernel: imp.Kernel) -> bool:
    """Whether groups of every size do the same: work-items ask for their place in the grid only."""
    return (set(asked(kernel.body)) <= {imp.Id.GLOBAL_ID} and not kernel.locals
            and kernel.group is None
            and not has_barriers(kernel.body))


# The kernel


@dataclass(frozen=True, slots=True)
class Phase:
    """One kernel of the loop: its build constants and, per parameter, the C expression for it.

    ``offsets``: where its local arrays lie in the local memory of the group, in its cells.
    ``groups``: a C expression for how many groups it has, if iterations differ in that.
    """

    kernel: imp.Kernel
    constants: tuple[int, ...]
    args: tuple[str, ...]
    offsets: tuple[int, ...]
    groups: str = ""


NAME = "persistent"


@dataclass(frozen=True, slots=True)
class Merged:
    """A kernel that runs iterations of a loop: its phases, buffers and scalars.

    ``cond``: a C expression for a pointer to what says whether there is another iteration, if it
    is not the host that says how many there are.  ``periods``: after how many iterations buffers
    that take turns are the same again; whose :func:`turn` it is decides which one is meant.
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
        """What tells it from other kernels of its program."""
        return (*((p.kernel.name, p.constants, p.args, p.offsets, p.groups) for p in self.phases),
                self.scalars, self.cond)


def persistent_source(merged: Merged, bases: dict[str, int], late: int) -> str:
    """A kernel that runs ``iterations`` of the phases, the loop's index from ``first`` on.

    With a condition it runs fewer when that is false, and says in ``done`` how many.
    ``arrived`` counts the groups that came to barriers, modulo 2³², from one launch to the next:
    ``before`` is what it counts when this one begins, so nothing need be cleared.  ``late`` is the
    failure code for a barrier that not all groups came to.
    """
    phases = merged.phases
    lines = [f"#define LATE {late}", BARRIER, *phase_functions(phases, bases)]
    params = ["volatile __global int *failure_code", "__global long *failure_args",
              "volatile __global uint *arrived", "const uint before", "const long iterations",
              "const long first"]
    params += common_params(merged.buffers, merged.scalars)
    params += [f"const long groups_{n}" for n in range(len(phases))]
    again = "round < iterations"
    if merged.cond is not None:  # a loop with one exit: compilers know how to put barriers into it
        params.append("__global long *done")
        again = f"({again}) & *(volatile __global uchar *)({merged.cond})"
    params.append(f"__local {LOCAL_CELL} *local_memory")
    lines += [f"IN_SUBGROUPS __kernel void {NAME}(\n    " + ",\n    ".join(params) + ")\n{",
              "    uint target = before;",
              "    long round = 0;",
              *(f"    int {turn(period)} = 0;" for period in merged.periods),
              f"    for (; {again}; round++) {{",
              "        const long index = first + round;"]
    for n, phase in enumerate(phases):
        lines += _phase(n, phase)
    lines += [f"        {turn(p)} = {turn(p)} + 1 < {p} ? {turn(p)} + 1 : 0;"
              for p in merged.periods]
    lines.append("    }")
    if merged.cond is not None:
        lines.append("    if (get_global_id(0) == 0) *done = round;")
    return linked("\n".join([*lines, "}", ""]))


def turn(period: int) -> str:
    """The variable of a persistent kernel that counts its iterations modulo ``period``.

    It is counted, not computed: Oclgrind 19.10 is wrong about the remainder by 4 in a choice.
    """
    return f"turn_{period}"


def phase_functions(phases: Iterable[Phase], bases: dict[str, int]) -> list[str]:
    """The functions that phases call, each once."""
    return [phase_function(kernel, bases[kernel.name], constants)
            for kernel, constants in dict.fromkeys((p.kernel, p.constants) for p in phases)]


def common_params(buffers: int, scalars: Sequence[Prim]) -> list[str]:
    """Parameters of a kernel for what its phases are given."""
    return [*(f"__global uchar *buffer_{n}" for n in range(buffers)),
            *(f"const {TYPES[prim]} scalar_{n}" for n, prim in enumerate(scalars))]


def call_of(phase: Phase, group: str, groups: str) -> str:
    """What a work-item of a group, of so many in the phase, calls."""
    given = [f"local_memory + {cell}" for cell in phase.offsets]
    args = [group, groups, "failure_code", "failure_args", *phase.args, *given]
    return f"{phase_name(phase.kernel, phase.constants)}({', '.join(args)});"


def _phase(number: int, phase: Phase) -> list[str]:
    again = ["            barrier(CLK_LOCAL_MEM_FENCE);"] if phase.offsets else []
    count = f"groups_{number}"
    if phase.groups:
        count = f"count_{number}"
    return [
        *([f"        const long {count} = {phase.groups};"] if phase.groups else []),
        f"        for (long group = get_group_id(0); group < {count};"
        " group += get_num_groups(0)) {",
        f"            {call_of(phase, 'group', count)}", *again,
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


def argument(param: imp.KernelParam, value: str) -> str:
    """A C expression as an argument for ``param``."""
    if isinstance(param, imp.ScalarParam):
        return value
    return f"(__global {TYPES[param.prim]} *)({value})"
