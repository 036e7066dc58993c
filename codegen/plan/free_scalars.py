"""Free scalars: arguments of a plan that reach nothing but kernels.

The launches of a run do not depend on their values, so runs with other values can repeat them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any

from runelift.codegen.plan import plan
from runelift.codegen.plan.epilogue import split_epilogue
from runelift.ir.names import VName

Roots = frozenset[VName]


@dataclass(frozen=True, slots=True)
class FreeScalars:
    """The free scalars ``params``, and ``derived`` scalars that the host computes from them.

    ``steps`` compute the derived scalars from sizes and scalar arguments, ``given``.
    """

    params: tuple[VName, ...]
    derived: tuple[VName, ...]
    steps: tuple[plan.Step, ...]
    given: tuple[VName, ...]


def free_scalars(host: plan.Plan) -> FreeScalars:
    """The free scalars of a plan.

    A scalar is not free if a size, a choice, a check, a loop or a result depends on it.
    """
    if all(p.shape is not None for p in host.params):
        return FreeScalars((), (), (), ())
    early, late = split_epilogue(host)
    sizes = {*host.sizes, *(atom for p in host.params for atom in p.shape or ())}
    scalars = [p.name for p in host.params if p.shape is None]
    known: dict[VName, Roots] = {name: Roots() for name in host.sizes}
    known |= {name: Roots({name} - sizes) for name in scalars}
    often = Counter(plan.set_in(host.steps))
    computing: dict[VName, plan.Step] = {}
    for step in early:
        match step:
            case (plan.Compute(name) | plan.ConvertScalar(name) | plan.ComputeSize(name)
                  | plan.Bind(name)) if often[name] == 1:
                used = _inputs(step, name)
                if used <= known.keys():
                    known[name] = Roots().union(*(known[each] for each in used))
                    computing[name] = step
    own = {id(step) for step in computing.values()}
    fixed = {each for step in early if id(step) not in own for each in _fixing(step)}
    fixed |= {name for what in (late, host.results) for name in names_in(what)}
    bound = Roots().union(*(known[name] for name in fixed & known.keys()))
    free = [name for name in scalars if name not in bound | sizes]
    derived = [name for name in computing if known[name] & set(free) and known[name]]
    return FreeScalars(tuple(free), tuple(derived), *_slice(derived, computing))


def _inputs(step: plan.Step, name: VName) -> set[VName]:
    """The names that a step which sets ``name`` reads."""
    return set(names_in(step)) - {name}


def _slice(wanted: list[VName], computing: dict[VName, plan.Step]
           ) -> tuple[tuple[plan.Step, ...], tuple[VName, ...]]:
    """The steps that compute the ``wanted`` names, in order, and the names of their inputs."""
    needed = set(wanted)
    steps: list[plan.Step] = []
    for name, step in reversed(computing.items()):
        if name in needed:
            steps.insert(0, step)
            needed |= _inputs(step, name)
    given = sorted(needed - computing.keys(), key=lambda name: name.tag)
    return tuple(steps), tuple(given)


def _fixing(step: plan.Step) -> Iterator[VName]:
    """The names that a step depends on by more than arguments of kernels."""
    match step:
        case plan.Launch(kernel, _, groups, group):
            yield from names_in((groups, group, kernel.built_for, kernel.locals))
        case plan.Branch(cond, then_, else_):
            yield from names_in(cond)
            yield from _fixing_all(then_ + else_)
        case plan.Choose(versions=versions, sizes=sizes, facts=facts):
            yield from names_in((sizes, facts, step.results))
            for version in versions:
                yield from names_in((version.guard, [need.names() for need in version.needs]))
                yield from _fixing_all(version.steps)
        case plan.Operation(parameters=parameters, steps=steps, early=early):
            yield from names_in((parameters, early))
            yield from _fixing_all(steps)
        case plan.Fill(name, steps):
            yield name
            yield from _fixing_all(steps)
        case _:
            yield from names_in(step)


def _fixing_all(steps: tuple[plan.Step, ...]) -> Iterator[VName]:
    for step in steps:
        yield from _fixing(step)


def names_in(what: Any) -> list[VName]:
    """All names in a step or a part of a step, without names inside of kernels."""
    found: list[VName] = []
    _gather(what, found)
    return found


def _gather(what: Any, found: list[VName]) -> None:
    kind: Any = type(what)
    if kind is VName:
        found.append(what)
    elif isinstance(what, _SERIES):
        for each in what:
            _gather(each, found)
    elif kind is plan.Launch:  # in a loop, whose iterations may be one kernel's
        found += _fixing(what)
        _gather(what.args, found)
    elif kind is dict:
        _gather(list(what.items()), found)
    else:
        for name in _field_names(kind):
            _gather(getattr(what, name), found)


_SERIES = tuple, list, frozenset, set


@cache
def _field_names(kind: Any) -> tuple[str, ...]:
    """The names of the fields of a dataclass; none of another type."""
    return tuple(each.name for each in fields(kind)) if is_dataclass(kind) else ()
