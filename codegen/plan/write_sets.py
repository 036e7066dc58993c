"""Write sets: the buffers from before a choice that its versions overwrite.

Replay restores them before it runs the next version.
"""

from __future__ import annotations

from collections import defaultdict

from runelift.codegen.plan import plan
from runelift.ir import imp
from runelift.ir.names import VName


def overwritten_buffers(choice: plan.Choose) -> list[VName]:
    """The names from before a choice whose buffers its versions may write into.

    The order of steps is ignored, so the result may be too large, but never too small.
    """
    written: set[VName] = set()
    made: set[VName] = set()
    sources: dict[VName, set[VName]] = defaultdict(set)
    for step in plan.all_steps([choice]):
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
