"""Loops whose iterations only launch, the same kernels in each of them.

One kernel can run such a loop (:mod:`runelift.codegen.emit.persistent`).
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from runelift.codegen.plan import plan
from runelift.codegen.plan.shapes import Shape
from runelift.ir.names import VName
from runelift.ir.sizes import Size


def may_persist(steps: Sequence[plan.Step], changing: Set[VName] = frozenset()) -> bool:
    """True if an iteration only launches, and ``changing`` scalars are arguments of kernels only.

    So all iterations take equal decisions on the host.
    """
    inside = list(plan.all_steps(steps))
    return (any(isinstance(step, plan.Launch) for step in inside)
            and all(_is_steady(changing, step) for step in inside))


def _is_steady(changing: Set[VName], step: plan.Step) -> bool:
    match step:
        case (plan.Read() | plan.CopyBuffer() | plan.WhileLoop() | plan.CountedLoop()
              | plan.Call() | plan.Recursion() | plan.SlabSize()):
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
        case Shape():
            return changing.isdisjoint(step.inputs())
        case plan.AllocScanStatus(_, words):
            return not _mention(changing, [words])
        case plan.Choose(_, versions, sizes):
            guards = [v.guard.par for v in versions if v.guard is not None]
            return changing.isdisjoint(sizes) and not _mention(changing, guards)
        case plan.Release() | plan.Commit() | plan.Operation():
            return True
        case plan.Fill():  # the first iterations have filled what is promised
            return True
        case plan.LazyCopy():
            return False


def _mention(changing: Set[VName], sizes: Sequence[Size]) -> bool:
    return any(not changing.isdisjoint(size.variables()) for size in sizes)
