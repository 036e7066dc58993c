"""The epilogue of a host plan: the steps left when everything has been issued.

It reads results back and computes with them on the host, but launches nothing.  A run that submits
a recorded command buffer (:mod:`runelift.runtime.execution.submitting`) needs only the epilogue
of the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from runelift.codegen.plan import plan
from runelift.ir.imp.traverse import variables
from runelift.ir.names import VName
from runelift.ir.types import Atom


def split_epilogue(host: plan.Plan) -> tuple[tuple[plan.Step, ...], tuple[plan.Step, ...]]:
    """The steps that issue commands, then the steps after them, which begin with a Read if any."""
    begin = len(host.steps)
    while begin and _is_late(host.steps[begin - 1]):
        begin -= 1
    reads = (n for n, step in enumerate(host.steps) if n >= begin and isinstance(step, plan.Read))
    begin = next(reads, begin)
    late = tuple(s for s in host.steps[begin:] if not isinstance(s, plan.Release))
    return host.steps[:begin], late


def epilogue_inputs(steps: tuple[plan.Step, ...],
                    results: tuple[plan.ValueSpec, ...]) -> tuple[VName, ...]:
    """The names that an epilogue and the results take from the steps before, in order."""
    known: set[VName] = set()
    found: dict[VName, None] = {}
    for step in steps:
        found |= dict.fromkeys(name for name in _used(step) if name not in known)
        if name := plan.set_by(step):
            known.add(name)
    for spec in results:
        atoms: tuple[Atom, ...] = (spec.name, *(spec.shape or ()))
        found |= dict.fromkeys(a for a in atoms if isinstance(a, VName) and a not in known)
    return tuple(found)


def _is_late(step: plan.Step) -> bool:
    return isinstance(step, plan.Read | plan.Compute | plan.ConvertScalar | plan.ComputeSize
                      | plan.Bind | plan.Check | plan.Release)


def _used(step: plan.Step) -> Iterator[VName]:
    atoms: tuple[Atom, ...] = ()
    match step:
        case plan.Read(_, _, buffer, index):
            yield buffer
            yield from _sorted(variables(index))
        case plan.ComputeSize(_, size):
            yield from _sorted(size.variables())
        case plan.Compute(args=args):
            atoms = args
        case plan.ConvertScalar(arg=atom) | plan.Bind(source=atom):
            atoms = (atom,)
        case plan.Check(cond, _, args):
            atoms = cond, *args
    yield from (atom for atom in atoms if isinstance(atom, VName))


def _sorted(names: frozenset[VName] | set[VName]) -> list[VName]:
    return sorted(names, key=lambda name: name.tag)
