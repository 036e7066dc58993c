"""The launches that a device must be able to run, for steps of the host plan to be possible.

A device may have too little local memory for a launch, or no groups as large as it needs.  Branches
inside of an operation compute the same results in different ways.  The host takes one that is
possible (:func:`~runelift.codegen.kernel.launch_builder.choose`), so one of them has to be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from runelift.codegen.plan import plan
from runelift.ir.names import VName
from runelift.ir.types import Atom


def needs(steps: Iterable[plan.Step], known: Callable[[VName], bool]) -> tuple[plan.Need, ...]:
    """The needs of steps, as far as the scalars that are ``known`` before them tell.

    A launch that depends on other scalars counts as possible.  So does a launch of a version inside
    the steps, which is chosen later.
    """
    found = dict[object, plan.Need]()
    for need in _needs(steps, inside=False):
        if all(known(name) for launch in need.launches for name in launch.needed()):
            need = replace(need, when=tuple((cond, v) for cond, v in need.when if known(cond)))
            asked = frozenset((launch.local_bytes, launch.shaped) for launch in need.launches)
            found.setdefault((asked, need.when), need)
    return tuple(found.values())


def _needs(steps: Iterable[plan.Step], *, inside: bool) -> Iterator[plan.Need]:
    """The needs of steps, which may be ``inside`` of an operation."""
    for step in steps:
        match step:
            case plan.Launch(local_bytes=bytes_, shaped=shaped):
                if bytes_.terms or shaped:
                    yield plan.Need((step,))
            case plan.Branch(_, then_, else_) if inside:
                others = tuple(_needs(else_, inside=True))
                for need in _needs(then_, inside=True):
                    yield from (plan.Need((*need.launches, *other.launches)) for other in others)
            case plan.Branch(cond, then_, else_):
                for need in _needs(then_, inside=False):
                    yield _if(need, cond, holds=True)
                for need in _needs(else_, inside=False):
                    yield _if(need, cond, holds=False)
            case plan.Choose():
                pass
            case _:
                for body in plan.bodies(step):
                    yield from _needs(body, inside=inside or isinstance(step, plan.Operation))


def _if(need: plan.Need, cond: Atom, *, holds: bool) -> plan.Need:
    """A need of steps that run if a condition holds, or does not."""
    return replace(need, when=((cond, holds), *need.when)) if isinstance(cond, VName) else need
