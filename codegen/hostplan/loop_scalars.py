"""Scalars of a loop that the host computes apart from the launches.

A loop whose iterations launch the same kernels can be one kernel
(:mod:`~runelift.codegen.emit.persistent`).  Its kernels may take other scalars in each iteration,
such as a stride that doubles.  If these scalars follow from each other and from the index alone,
the host computes them for all iterations beforehand.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from runelift.codegen.emit.signatures import is_free
from runelift.codegen.plan import plan
from runelift.codegen.plan.steady_loops import may_persist
from runelift.ir.names import Names, VName
from runelift.ir.prim import OPS, Prim
from runelift.ir.sizes import Size
from runelift.ir.types import Const, Type


def with_loop_scalars(loop: plan.CountedLoop, scalars: Collection[VName],
                      types: Mapping[VName, Type],
                      names: Names) -> plan.CountedLoop | None:
    """The loop if one kernel may run it, with the scalars that its iterations compute; else None.

    Iterations hand on ``scalars``: the last steps of the body bind them.
    """
    split = _Split({loop.index, *scalars}, set(scalars), names)
    for step in loop.body:
        split.take(step)
    early = split.early()
    if early is None or not may_persist(split.rest, split.changing):
        return None
    given = {arg for step in plan.all_steps(split.rest) if isinstance(step, plan.Launch)
             for arg in step.args if isinstance(arg, VName)}
    columns = [(name, type_) for name in split.changing & given - {loop.index}
               if isinstance(type_ := types[name], Prim)]
    columns += [(name, Prim.I64) for name in split.counts]
    if not scalars and not columns:
        return loop
    return replace(loop, body=tuple(split.rest), scalars=plan.LoopScalars(
        tuple(scalars), tuple(sorted(columns, key=lambda column: column[0].tag)),
        (*early, *split.steps), tuple(split.following)))


@dataclass(slots=True)
class _Split:
    """The steps of an iteration, in two parts; ``changing`` are scalars that it may change.

    ``following`` bind the scalars that are handed on.  ``known`` are scalars that an iteration
    computes without any of these.  ``counts`` are numbers of groups that change.
    """

    changing: set[VName]
    scalars: set[VName]
    names: Names
    steps: list[plan.Step] = field(default_factory=list)
    following: list[plan.Bind] = field(default_factory=list)
    rest: list[plan.Step] = field(default_factory=list)
    known: dict[VName, plan.Step] = field(default_factory=dict)
    counts: list[VName] = field(default_factory=list)
    fallible: bool = False

    def take(self, step: plan.Step) -> None:
        """Put a step into the part of the iteration that it belongs to."""
        name, changes = _computed(step), not self.changing.isdisjoint(_read(step))
        if isinstance(step, plan.Bind) and name in self.scalars:
            self.following.append(step)
        elif changes and not (self.fallible and _may_fail(step)):
            self.steps.append(step)
            if name is not None:
                self.changing.add(name)
        else:
            self.fallible |= any(kernel.failures for kernel in plan.kernels([step]))
            self.rest.append(self._counted(step))
            if name is not None:
                self.known[name] = step

    def _counted(self, step: plan.Step) -> plan.Step:
        """A step whose changing numbers of groups are loop scalars."""
        match step:
            case plan.Operation(_, _, steps):
                return replace(step, steps=tuple(map(self._counted, steps)))
            case plan.Launch(kernel, _, groups) if is_free(kernel) and not (
                    self.changing.isdisjoint(groups.variables())):
                self.counts.append(self.names.fresh("groups"))
                self.steps.append(plan.ComputeSize(self.counts[-1], groups))
                return replace(step, groups=Size.var(self.counts[-1]))
        return step

    def early(self) -> Sequence[plan.Step] | None:
        """Further steps that the loop scalars need; None if these cannot be computed beforehand."""
        needed = {name for step in (*self.steps, *self.following) for name in _read(step)}
        found: list[plan.Step] = []
        for name, step in reversed(self.known.items()):
            if name in needed:
                found.insert(0, step)
                needed |= set(_read(step))
        others = {name for step in plan.all_steps(self.rest) for name in plan.sets(step)}
        return None if needed & others - self.known.keys() else found


def _computed(step: plan.Step) -> VName | None:
    """The scalar or name that a step binds; None if it binds none."""
    return None if isinstance(step, plan.Read) else plan.set_by(step)


def _may_fail(step: plan.Step) -> bool:
    """True if a step may fail; it must not do so before earlier kernels that may fail."""
    if isinstance(step, plan.Compute):
        divisor = step.args[-1]
        return OPS[step.op].traps and step.prim.is_int and not (
            isinstance(divisor, Const) and divisor.value != 0)
    return isinstance(step, plan.Check)


def _read(step: plan.Step) -> Iterator[VName]:
    """The scalars that a step reads."""
    match step:
        case plan.Compute(args=args):
            yield from (arg for arg in args if isinstance(arg, VName))
        case plan.Check(cond, _, args):
            yield from (arg for arg in (cond, *args) if isinstance(arg, VName))
        case plan.ConvertScalar(arg=VName() as arg) | plan.Bind(source=VName() as arg):
            yield arg
        case plan.ComputeSize(_, size):
            yield from size.variables()
