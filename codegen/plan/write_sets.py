"""Write sets: the buffers from before a choice that its versions overwrite.

Replay restores them before it runs the next version.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Set

from runelift.codegen.plan import plan
from runelift.ir import imp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.types import Atom


def given_lengths(host: plan.Plan) -> frozenset[VName]:
    """The parameters with lengths that the plan finds facts about, and that nothing overwrites."""
    return _kept(host, {step.args[step.facts.source] for step in plan.all_steps(host.steps)
                        if isinstance(step, plan.Launch) and step.facts is not None})


def given_elements(host: plan.Plan) -> frozenset[VName]:
    """The parameters of which the plan reads i64s on the host, and that nothing overwrites."""
    return _kept(host, {step.buffer for step in plan.all_steps(host.steps)
                        if isinstance(step, plan.Read) and step.prim is Prim.I64})


def _kept(host: plan.Plan, asked: Set[Atom]) -> frozenset[VName]:
    """The parameters among these atoms that nothing overwrites."""
    given = {param.name for param in host.params if param.name in asked}
    return frozenset(given.difference(overwritten_buffers(host.steps))) if given else frozenset()


def overwritten_buffers(steps: Iterable[plan.Step]) -> list[VName]:
    """The names from before some steps whose buffers the steps may write into.

    The order of steps is ignored, so the result may be too large, but never too small.
    """
    written: set[VName] = set()
    made: set[VName] = set()
    sources: dict[VName, set[VName]] = defaultdict(set)
    for step in plan.all_steps(steps):
        match step:
            case plan.Launch(kernel, args):
                written |= {arg for param, arg in zip(kernel.params, args, strict=True)
                            if isinstance(param, imp.BufferParam) and param.written
                            and isinstance(arg, VName)}
            case plan.CopyBuffer(target):
                written.add(target)
            case plan.Bind(target, VName() as source):
                sources[target].add(source)
                made.add(target)
            case plan.Call(outs=outs) | plan.Recursion(call=plan.Call(outs=outs)):
                made |= {out.name for out in outs}
            case plan.Alloc(name) | plan.LazyCopy(name) | plan.AllocScanStatus(name):
                made.add(name)
    waiting = list(written)
    while waiting:
        for source in sources[waiting.pop()] - written:
            written.add(source)
            waiting.append(source)
    return sorted(written - made - {plan.COUNTERS}, key=lambda name: name.tag)
