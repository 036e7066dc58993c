"""Uses of facts about lengths: what a run does differently if a fact is another one.

A repeated run may compare facts in the end only if nothing that it issues before depends on them
(:mod:`runelift.runtime.execution.capturing`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from runelift.codegen.plan import plan
from runelift.codegen.plan.free_scalars import names_in
from runelift.codegen.plan.shapes import SegmentTeamShape, Shape
from runelift.ir import imp
from runelift.ir.imp.traverse import expressions, statements, variables
from runelift.ir.names import VName

MERGES = "merge_"
"""Kinds of kernel with this prefix stay within arrays if lengths have another total.

The results that they have then are not used.
"""


def decides(host: plan.Plan, site: str, version: int, fact: VName, *, merging: bool) -> bool:
    """True if a fact decides what a run does that chooses a version at a site.

    Its predicted time and the shape of teams do not count: all of them give the same results.  If
    ``merging``, kernels along merge paths, and what they alone use, do not count.
    """
    steps = list(_run(host.steps, site, version))
    found = {fact}
    while more := {name for step in steps for name in _given(step, found)} - found:
        found |= more
    return not found.isdisjoint(names_in(host.results)) or any(
        _differs(step, found, site, merging) for step in steps)


def _run(steps: Sequence[plan.Step], site: str, version: int) -> Iterator[plan.Step]:
    """The steps of a run, with steps inside, but without other versions at the site."""
    for step in steps:
        yield step
        if isinstance(step, plan.Choose) and step.site == site:
            yield from _run(step.versions[version].steps, site, version)
        else:
            for inner in plan.bodies(step):
                yield from _run(inner, site, version)


def _given(step: plan.Step, found: Set[VName]) -> Iterator[VName]:
    """The names whose values or sizes a step changes if the values of ``found`` change."""
    match step:
        case SegmentTeamShape():
            return
        case plan.Alloc(name, _, count) | plan.AllocScanStatus(name, count):
            if not found.isdisjoint(count.variables()):
                yield name
        case plan.Compute() | plan.ConvertScalar() | plan.ComputeSize() | plan.Bind() | Shape():
            if not found.isdisjoint(names_in(step)):
                yield from plan.sets(step)


def _differs(step: plan.Step, found: Set[VName], site: str, merging: bool) -> bool:
    """True if a step itself does other things if ``found`` have other values."""
    match step:
        case (plan.Alloc() | plan.AllocScanStatus() | plan.Compute() | plan.ConvertScalar()
              | plan.ComputeSize() | plan.Bind() | plan.Release() | plan.Operation() | plan.Fill()
              | Shape()):
            return False
        case plan.Launch(kernel, args, groups, group):
            if merging and kernel.kind.startswith(MERGES):
                return False
            given = {param.name for param, arg in zip(kernel.params, args, strict=True)
                     if arg in found}
            return not found.isdisjoint(names_in((
                groups, group, kernel.built_for, kernel.locals))) or _asks(kernel, given)
        case plan.Choose(versions=versions, facts=facts):
            return step.site != site and not found.isdisjoint(names_in(
                (facts, [(each.guard, [need.names() for need in each.needs])
                         for each in versions])))
        case plan.Branch(cond):
            return not merging and cond in found
        case plan.CountedLoop(_, bound):
            return bound in found
        case plan.WhileLoop(cond):
            return cond in found
        case plan.Read(index=index):
            return not found.isdisjoint(names_in(index))
    return not found.isdisjoint(names_in(step))


def _asks(kernel: imp.Kernel, given: Set[VName]) -> bool:
    """True if a kernel accesses buffers among ``given``, or computes with scalars among them."""
    return bool(given) and (
        any(isinstance(param, imp.BufferParam) and param.name in given for param in kernel.params)
        or any(not given.isdisjoint(variables(exp))
               for stm in statements(kernel.body) for exp in expressions(stm)))
