"""Host cells: buffers of one element that kernels only write, and the host only reads.

They can be in memory of the host, so that no copy is needed to read them
(:mod:`runelift.runtime.devices.host_cells`).  Only kernels in which one work-item writes the
element qualify: many writes would cross the bus one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from runelift.codegen.plan import plan
from runelift.ir import imp
from runelift.ir.imp.traverse import loaded
from runelift.ir.names import VName

SINGLE_WRITERS = ("segred", "segscan", "segmap")
"""How the kinds of kernels begin that write each element of a result once."""


def with_host_cells(host: plan.Plan) -> plan.Plan:
    """The plan, with all buffers marked that can be host cells."""
    steps = list(plan.all_steps(host.steps))
    single = {step.name for step in steps
              if isinstance(step, plan.Alloc) and step.count.constant == 1}
    read = {step.buffer for step in steps if isinstance(step, plan.Read)}
    cells = (single & read).difference(
        (spec.name for spec in host.results if spec.shape is not None),
        *map(_other_uses, steps))
    return replace(host, steps=_marked(host.steps, cells)) if cells else host


def _other_uses(step: plan.Step) -> Iterator[VName]:
    """The buffers that a step itself uses in a way that no cell allows."""
    match step:
        case plan.Launch(kernel, args):
            taken = loaded(kernel.body)
            single = kernel.kind.startswith(SINGLE_WRITERS)
            yield from (arg for param, arg in zip(kernel.params, args, strict=True)
                        if isinstance(arg, VName) and isinstance(param, imp.BufferParam)
                        and (not single or param.name in taken))
        case plan.Bind(target, source):
            yield target
            if isinstance(source, VName):
                yield source
        case plan.CopyBuffer(target, source):
            yield from (target, source)
        case plan.LazyCopy(name) | plan.Fill(name):
            yield name
        case plan.WhileLoop(cond, carried=carried):
            yield from (cond, *(carried or ()))
        case plan.CountedLoop(carried=carried):
            yield from carried or ()
        case plan.Choose(results=results):
            yield from (spec.name for spec in results)


def _marked(steps: tuple[plan.Step, ...], cells: set[VName]) -> tuple[plan.Step, ...]:
    return tuple(_mark(step, cells) for step in steps)


def _mark(step: plan.Step, cells: set[VName]) -> plan.Step:
    """The step with the cells among its buffers marked, and those inside of it."""
    match step:
        case plan.Alloc(name):
            return replace(step, is_cell=True) if name in cells else step
        case plan.Branch(cond, then_, else_):
            return plan.Branch(cond, _marked(then_, cells), _marked(else_, cells))
        case plan.CountedLoop() | plan.WhileLoop():
            return replace(step, body=_marked(step.body, cells))
        case plan.Fill() | plan.Operation():
            return replace(step, steps=_marked(step.steps, cells))
        case plan.Choose():
            return replace(step, versions=tuple(
                replace(v, steps=_marked(v.steps, cells)) for v in step.versions))
    return step
