"""Groups of rewrite points that depend on each other: each group has its own conditions.

A step belongs to a group if it has no place, or another one, without the steps of the group.  A
program is rewritten by each group alone, and by several where they rewrite the same statements.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TypeAlias

from runelift.ir.base.errors import CompilerLimitation, ProgramError
from runelift.ir.base.source import Loc
from runelift.ir.constraints import Constraint
from runelift.ir.syntax import Fun, Program
from runelift.rewrite.engine.rule import Rewriting
from runelift.rewrite.lift.alternatives import MOST_VERSIONS, Rewritten, overlapping
from runelift.rewrite.lift.schedule import Schedule, Step
from runelift.rewrite.lift.scheduling import Scheduling
from runelift.rewrite.pipeline import optimise

MOST_STEPS = 16
"""The most steps that are taken apart; if there are more, all of them have one guard."""

Variant: TypeAlias = Callable[[Sequence[int]], Schedule]
"""The schedule with the steps of the groups that have these numbers."""


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of the points that a compilation of a function has taken."""

    fun: Fun
    points: Scheduling
    plain: Fun
    """The function without points."""
    rewriting: Rewriting

    def rewritten(self) -> list[Rewritten]:
        """The function as groups rewrite it; nothing if all points depend on each other."""
        try:
            variants = self._of_steps()
            if len(variants) < 2:
                return []
            alone = [self._made(variant([number])) for number, variant in enumerate(variants)]
            return [*self._at_sites(alone, variants[0])]
        except (ProgramError, CompilerLimitation):  # a group depends on another one after all
            return []

    def _at_sites(self, alone: Sequence[Rewritten], variant: Variant) -> Iterator[Rewritten]:
        """All groups of each site together, then each group; groups that need nothing are last."""
        for numbers in overlapping(self.plain, alone):
            if len(numbers) > 1:
                yield self._made(variant(numbers))
            conditional = [alone[number] for number in numbers if alone[number].needs]
            yield from conditional[:MOST_VERSIONS - 2]
            yield from (alone[number] for number in numbers if not alone[number].needs)

    def _made(self, schedule: Schedule) -> Rewritten:
        """The function after some of the steps; CompilerLimitation if they mean something else."""
        needs, names = list[Constraint](), self.rewriting.names
        own = Scheduling(self.points.book, replace(self.points.asked, schedule=schedule),
                         needs=needs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the compilation with all points has warned
            done = optimise(Program((self.fun,)), names, self.rewriting, points=own)
        if not _steps(own) <= _steps(self.points):
            raise CompilerLimitation("a step has another place without the others")
        return Rewritten(tuple(map(str, own.taken)), done.funs[0], tuple(needs), asked=True)

    def _of_steps(self) -> list[Variant]:
        """The groups of the steps, found by taking fewer steps."""
        groups, own, steps = list[list[int]](), list[list[Step]](), self.points.taken
        if not 1 < len(steps) <= MOST_STEPS:
            return []
        for number in range(len(steps)):
            inside = [place for place, each in enumerate(groups) if any(
                _is_inside(steps[number], steps[k]) for k in each)]
            if len(inside) > 1:
                return []
            for place in inside or (len(groups), *reversed(range(len(groups)))):
                before = own[place] if place < len(groups) else []
                if (found := self._possible(before, number)) is not None:
                    groups[place:place + 1] = [[*groups[place], number] if before else [number]]
                    own[place:place + 1] = [found]
                    break
            else:
                return []

        def variant(chosen: Sequence[int]) -> Schedule:
            if len(chosen) == 1:
                return Schedule(tuple(own[chosen[0]]))
            return Schedule(tuple(steps[k] for k in sorted(
                number for group in chosen for number in groups[group])))

        return [variant for _ in groups]

    def _possible(self, before: Sequence[Step], number: int) -> list[Step] | None:
        """The steps of a group with a further one, if they have the same meaning alone.

        Statements of one name have numbers, which are smaller where other steps make none.
        """
        step = self.points.taken[number]
        base, _, index = step.place.rpartition("[")
        known = int(index[:-1]) if step.place.endswith("]") and not step.request.skip else 0
        paths = [step.place, *(f"{base}[{k}]" if k else base for k in reversed(range(known)))]
        for path in paths:
            found = [*before, replace(step, place=path)]
            names = self.rewriting.names
            known_names = copy(names)
            try:
                self._made(Schedule(tuple(found)))
            except (ProgramError, CompilerLimitation):
                continue
            finally:
                names.back_to(known_names)
            return found
        return None


def _is_inside(step: Step, other: Step) -> bool:
    """True if one step is at a statement inside of the statement of the other step."""
    first, second = sorted((f"{step.place}.", f"{other.place}."), key=len)
    return second.startswith(first)


def _steps(points: Scheduling) -> set[tuple[str, Loc | None]]:
    """The steps that have been taken, with the places of their statements in the program."""
    return {(str(step.request), loc)
            for step, loc in zip(points.taken, points.at, strict=True)}
