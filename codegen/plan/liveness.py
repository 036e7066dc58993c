"""Liveness of device memory: the last use of each buffer of a plan.

A name of the plan is a buffer or a scalar, never both.  Several names may stand for one buffer; its
memory is free when all of them are released.  The queue runs commands in order, so a buffer can be
released as soon as its last command is *issued*.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field, replace
from typing import NamedTuple, assert_never

from runelift.codegen.plan import plan
from runelift.codegen.plan.shapes import Shape
from runelift.ir.names import VName

NameSet = Set[VName]


def release_dead(host: plan.Plan) -> plan.Plan:
    """The plan with a Release after the last use of every buffer that is no result."""
    params = {spec.name for spec in host.params if spec.shape is not None}
    results = {spec.name for spec in host.results if spec.shape is not None}
    releaser = _Releaser(frozenset(_made(host.steps, set(params))))
    steps = releaser.block(host.steps, results)
    unused = releaser.release(params - releaser.live_before(host.steps, results))
    return replace(host, steps=(*unused, *steps))


def _made(steps: tuple[plan.Step, ...], known: set[VName]) -> set[VName]:
    """The names that stand for buffers in ``steps``, added to ``known``."""
    for step in steps:
        match step:
            case plan.Alloc(name) | plan.LazyCopy(name):
                known.add(name)
            case plan.Bind(target, source) if source in known:
                known.add(target)
            case plan.Call(outs=outs):
                known |= _arrays(outs)
            case plan.Recursion(params, body, _, call):
                known |= _arrays(params) | _arrays(call.outs)
                _made(body, known)
            case _:
                for inner in plan.bodies(step):
                    _made(inner, known)
    return known


class _Flow(NamedTuple):
    """The buffers that steps use before they set them, and the buffers that they certainly set."""

    used: NameSet
    set: NameSet

    def before(self, live: NameSet) -> NameSet:
        """The buffers live before the steps if ``live`` are live after them."""
        return self.used | (live - self.set)


@dataclass(frozen=True, slots=True)
class _Releaser:
    buffers: frozenset[VName]
    flows: dict[int, _Flow] = field(default_factory=dict)
    """The flows of steps with steps inside, by identity."""

    def release(self, names: NameSet) -> tuple[plan.Step, ...]:
        """A Release of the buffers among ``names``; nothing if there are none."""
        dead = sorted(names & self.buffers, key=lambda name: name.tag)
        return (plan.Release(tuple(dead)),) if dead else ()

    def block(self, steps: tuple[plan.Step, ...], live: NameSet) -> tuple[plan.Step, ...]:
        """The steps with releases, where ``live`` is what is used after them."""
        backwards: list[plan.Step] = []
        for step in reversed(steps):
            if isinstance(step, plan.Release):
                continue
            before = self.live_before((step,), live)
            step, after = self._step(step, before, live)
            backwards += [*after, step]
            live = before
        return tuple(reversed(backwards))

    def _step(self, step: plan.Step, before: NameSet,
              live: NameSet) -> tuple[plan.Step, tuple[plan.Step, ...]]:
        """One step with releases inside of it, and the releases that follow it."""
        match step:
            case plan.Branch(cond, then_, else_):
                sides = [(*self.release(before - self.live_before(side, live)),
                          *self.block(side, live)) for side in (then_, else_)]
                return plan.Branch(cond, sides[0], sides[1]), ()
            case plan.Fill(name, steps):
                # It may be skipped, so nothing that it uses may be released inside.
                filled = plan.Fill(name, self.block(steps, live | before | {name}))
                return filled, self.release((before | {name}) - live)
            case plan.CountedLoop(_, _, body):
                again = self.live_before(body, frozenset())
                return (replace(step, body=self.block(body, live | again)),
                        self.release(again - live))
            case plan.WhileLoop(cond, body):
                again = self.live_before(body, frozenset()) | {cond}
                return (replace(step, body=self.block(body, live | again)),
                        self.release(again - live))
            case plan.Recursion(params, body, results):
                # It may be run again, and keeps what it reads from outside.
                read = self.live_before(body, frozenset(results)) - _arrays(params)
                ends = read | set(results)
                begin = self.release(_arrays(params) - self.live_before(body, ends))
                call, after = self._call(step.call, live | read)
                return (replace(step, body=(*begin, *self.block(body, ends)), call=call),
                        (*after, *self.release(read - live)))
            case plan.Call():
                call, after = self._call(step, live)
                return call, after
            case plan.Operation(_, _, steps):
                # It may be run again, so what it reads outlives it.
                read = self.live_before((step,), frozenset())
                return (replace(step, steps=self.block(steps, live | read)),
                        self.release(read - live))
            case plan.Choose(_, versions):
                # A version may be given up half-way, so what it reads outlives the choice.
                read = self.live_before((step,), frozenset())
                inside = tuple(replace(v, steps=self.block(v.steps, live | read)) for v in versions)
                return replace(step, versions=inside), self.release(read - live)
        return step, self.release((_used(step) | _defined(step)) - live)

    def _call(self, call: plan.Call, live: NameSet) -> tuple[plan.Call, tuple[plan.Step, ...]]:
        """A call with what it hands on, and the releases that follow it."""
        last = (_used(call) & self.buffers) - live
        return (replace(call, last=tuple(sorted(last, key=lambda name: name.tag))),
                self.release(_defined(call) - live))

    def live_before(self, steps: tuple[plan.Step, ...], live: NameSet) -> NameSet:
        """The buffers that are used by ``steps``, or after them, before they are set again."""
        return self._flow(steps).before(live)

    def _flow(self, steps: tuple[plan.Step, ...]) -> _Flow:
        used, certain = set[VName](), set[VName]()
        for step in reversed(steps):
            flow = self._flow_of(step)
            used = (used - flow.set) | flow.used
            certain |= flow.set
        return _Flow(used, certain)

    def _flow_of(self, step: plan.Step) -> _Flow:
        """The flow of a step, which is computed once if there are steps inside."""
        found = self.flows.get(id(step))
        if found is not None:
            return found
        match step:
            case plan.Fill(name, steps):
                flow = _Flow({name} | self._flow(steps).used, frozenset())
            case plan.CountedLoop(_, _, body):
                flow = _Flow(self._flow(body).used, frozenset())
            case plan.WhileLoop(cond, body):
                flow = _Flow(self._flow(body).used | ({cond} & self.buffers), frozenset())
            case plan.Operation(_, _, steps):
                flow = self._flow(steps)
            case plan.Recursion(params, body, results, call):
                read = self._flow(body).before(frozenset(results) & self.buffers)
                flow = _Flow((read - _arrays(params)) | (_used(call) & self.buffers),
                             _defined(call) & self.buffers)
            case plan.Branch() | plan.Choose():
                inside = [self._flow(body) for body in plan.bodies(step)]
                flow = _Flow(frozenset[VName]().union(*(each.used for each in inside)),
                             self.buffers.intersection(*(each.set for each in inside)))
            case _:
                return _Flow(_used(step) & self.buffers, _defined(step) & self.buffers)
        self.flows[id(step)] = flow
        return flow


def _defined(step: plan.Step) -> NameSet:
    match step:
        case plan.Alloc(name) | plan.Bind(name) | plan.LazyCopy(name):
            return {name}
        case plan.Call(outs=outs):
            return _arrays(outs)
    return frozenset()


def _arrays(specs: tuple[plan.ValueSpec, ...]) -> NameSet:
    return {spec.name for spec in specs if spec.shape is not None}


def _used(step: plan.Step) -> NameSet:
    """The names that a step without inner steps may use as buffers."""
    match step:
        case plan.Launch(_, args) | plan.Call(_, args):
            return {arg for arg in args if isinstance(arg, VName)}
        case plan.Read(_, _, name):
            return {name}
        case plan.CopyBuffer(target, source):
            return {target, source}
        case plan.Bind(_, source):
            return {source} if isinstance(source, VName) else frozenset()
        case (plan.ComputeSize() | plan.Alloc() | plan.Release() | plan.Compute()
              | plan.ConvertScalar() | plan.Check() | plan.LazyCopy() | plan.AllocScanStatus()
              | plan.SlabSize() | plan.Commit() | Shape()):
            return frozenset()
        case (plan.Branch() | plan.CountedLoop() | plan.WhileLoop() | plan.Choose()
              | plan.Fill() | plan.Operation() | plan.Recursion()):
            raise AssertionError("the caller handles steps with inner steps")
    assert_never(step)
