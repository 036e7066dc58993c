"""The course of a loop's scalars: what the host computes of them, apart from what it launches.

A loop whose iterations launch the same kernels can be one kernel (:mod:`~.persistent`), also if
these are given other scalars each time, such as a stride that doubles.  If the scalars follow from
each other and from the index alone, the host can compute them for all iterations beforehand.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from runelift.codegen import plan
from runelift.codegen.persistent import may_persist
from runelift.ir.names import VName
from runelift.ir.prim import OPS, Prim
from runelift.ir.types import Const, Type


def with_course(loop: plan.CountedLoop, scalars: Collection[VName],
                types: Mapping[VName, Type]) -> plan.CountedLoop | None:
    """The loop if one kernel may run it, with a course for scalars that its iterations compute.

    ``scalars`` are those that iterations hand on: the last steps of the body bind them.
    """
    split = _Split({loop.index, *scalars}, set(scalars))
    for step in loop.body:
        split.take(step)
    early = split.early()
    if early is None or not may_persist(split.rest, split.changing):
        return None
    given = {arg for step in plan.all_steps(split.rest) if isinstance(step, plan.Launch)
             for arg in step.args if isinstance(arg, VName)}
    columns = [(name, type_) for name in split.changing & given - {loop.index}
               if isinstance(type_ := types[name], Prim)]
    if not scalars and not columns:
        return loop
    return replace(loop, body=tuple(split.rest), course=plan.Course(
        tuple(scalars), tuple(sorted(columns, key=lambda column: column[0].tag)),
        (*early, *split.steps), tuple(split.following)))


@dataclass(slots=True)
class _Split:
    """The steps of an iteration, in two parts; ``changing`` are scalars that it may change.

    ``following`` bind those that are handed on, ``known`` are the scalars that it computes anew
    without any of these.
    """

    changing: set[VName]
    scalars: set[VName]
    steps: list[plan.Step] = field(default_factory=list)
    following: list[plan.Bind] = field(default_factory=list)
    rest: list[plan.Step] = field(default_factory=list)
    known: dict[VName, plan.Step] = field(default_factory=dict)

    def take(self, step: plan.Step) -> None:
        """Put the next step where it belongs."""
        name = _computed(step)
        if isinstance(step, plan.Bind) and name in self.scalars:
            self.following.append(step)
        elif name is not None and not self.changing.isdisjoint(_read(step)):
            self.steps.append(step)
            self.changing.add(name)
        else:
            self.rest.append(step)
            if name is not None:
                self.known[name] = step

    def early(self) -> Sequence[plan.Step] | None:
        """What the course needs besides; None if it cannot compute that."""
        needed = {name for step in (*self.steps, *self.following) for name in _read(step)}
        found: list[plan.Step] = []
        for name, step in reversed(self.known.items()):
            if name in needed:
                found.insert(0, step)
                needed |= set(_read(step))
        others = {name for step in plan.all_steps(self.rest) for name in _bound(step)}
        return None if needed & others - self.known.keys() else found


def _computed(step: plan.Step) -> VName | None:
    """What a step computes if that is a scalar, and does not fail; or what it binds."""
    match step:
        case plan.Compute(name, op, prim, args):
            traps = OPS[op].traps and prim.is_int
            safe = not traps or (isinstance(args[-1], Const) and args[-1].value != 0)
            return name if safe else None
        case plan.ConvertScalar(name) | plan.ComputeSize(name) | plan.Bind(name):
            return name
    return None


def _read(step: plan.Step) -> Iterator[VName]:
    """The scalars that a step computes something of."""
    match step:
        case plan.Compute(args=args):
            yield from (arg for arg in args if isinstance(arg, VName))
        case plan.ConvertScalar(arg=VName() as arg) | plan.Bind(source=VName() as arg):
            yield arg
        case plan.ComputeSize(_, size):
            yield from size.variables()


def _bound(step: plan.Step) -> Iterator[VName]:
    """The scalars that a step binds."""
    match step:
        case (plan.Read(name) | plan.Compute(name) | plan.ConvertScalar(name)
              | plan.ComputeSize(name) | plan.Bind(name) | plan.SubGroup(name)
              | plan.Spread(name) | plan.Width(name)):
            yield name
        case plan.Teams(teams, even):
            yield from (teams, even)
        case plan.ShareOut() | plan.Tile() | plan.Block() | plan.Coarse() | plan.Strip():
            yield from step.names()
