"""Groups of rewrite points that depend on each other: each group has its own conditions.

A point belongs to the group of a statement that it is inside of.  A program is rewritten by each
group alone, and where statements that groups rewrite overlap, by several together.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from runelift.ir.base.errors import CompilerLimitation, ProgramError
from runelift.ir.base.source import Loc
from runelift.ir.constraints import Constraint
from runelift.ir.names import VName
from runelift.ir.points import points_of, settings
from runelift.ir.syntax import Fun, Program
from runelift.ir.traverse import statements_inside
from runelift.rewrite.engine.rule import Rewriting
from runelift.rewrite.lift.alternatives import MOST_VERSIONS, Rewritten, overlapping
from runelift.rewrite.lift.apply import with_attributes
from runelift.rewrite.lift.places import places
from runelift.rewrite.lift.schedule import Schedule, Step
from runelift.rewrite.lift.scheduling import Scheduling
from runelift.rewrite.pipeline import optimise

MOST_GROUPS = 16
"""The most groups that have conditions of their own; of more, all points have one."""

Variant: TypeAlias = Callable[[Sequence[int]], tuple[Fun, Schedule | None]]
"""The function and the schedule for it, with the points of groups that have these numbers."""


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
            variants = self._of_attributes() if self.points.asked.schedule is None else (
                self._of_steps())
            if not 1 < len(variants) <= MOST_GROUPS:
                return []
            alone = [self._made(*variant([number])) for number, variant in enumerate(variants)]
            return [*self._at_sites(alone, variants[0])]
        except (ProgramError, CompilerLimitation):  # a group depends on another one after all
            return []

    def _at_sites(self, alone: Sequence[Rewritten], variant: Variant) -> Iterator[Rewritten]:
        """All groups of each site together, then each of them, last those that need nothing."""
        for numbers in overlapping(self.plain, alone):
            if len(numbers) > 1:
                yield self._made(*variant(numbers))
            conditional = [alone[number] for number in numbers if alone[number].needs]
            yield from conditional[:MOST_VERSIONS - 2]
            yield from (alone[number] for number in numbers if not alone[number].needs)

    def _made(self, fun: Fun, schedule: Schedule | None) -> Rewritten:
        """A function after some of the points; CompilerLimitation if they mean something else."""
        needs, names = list[Constraint](), self.rewriting.names
        own = Scheduling(self.points.book, replace(self.points.asked, schedule=schedule),
                         needs=needs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the compilation with all points has warned
            done = optimise(Program((fun,)), names, self.rewriting, points=own)
        if not _steps(own) <= _steps(self.points):
            raise CompilerLimitation("a step has another place without the others")
        return Rewritten(tuple(map(str, own.taken)), done.funs[0], tuple(needs), asked=True)

    def _of_attributes(self) -> list[Variant]:
        """The groups of the points in a program: those of a statement and inside of it."""
        seen, inside = list[str](), dict[VName, int]()
        for place in places(self.fun):
            if points_of(place.stm.attrs):
                if not any(place.path.startswith(f"{path}.") for path in seen):
                    seen.append(place.path)
                inside[place.name] = next(number for number, path in enumerate(seen)
                                          if f"{place.path}.".startswith(f"{path}."))

        def variant(chosen: Sequence[int]) -> tuple[Fun, Schedule | None]:
            return with_attributes(self.fun, {
                stm.pat[0].name: settings(stm) for stm in statements_inside([self.fun.body])
                if stm.pat and inside.get(stm.pat[0].name, chosen[0]) not in chosen}), None

        return [variant for _ in seen]

    def _of_steps(self) -> list[Variant]:
        """The groups of the steps of a schedule, found by taking fewer steps."""
        groups, steps = list[list[Step]](), self.points.taken
        if len(steps) > MOST_GROUPS:
            return []
        for step in steps:
            if self._is_possible([step]):
                groups.append([step])
                continue
            found = next((each for each in reversed(groups) if self._is_possible([*each, step])),
                         None)
            if found is None:
                return []
            found.append(step)

        def variant(chosen: Sequence[int]) -> tuple[Fun, Schedule | None]:
            kept = {id(step) for number in chosen for step in groups[number]}
            return self.fun, Schedule(tuple(step for step in steps if id(step) in kept))

        return [variant for _ in groups]

    def _is_possible(self, steps: Sequence[Step]) -> bool:
        """True if steps mean the same without the others."""
        try:
            self._made(self.fun, Schedule(tuple(steps)))
        except (ProgramError, CompilerLimitation):
            return False
        return True


def _steps(points: Scheduling) -> set[tuple[str, Loc | None]]:
    """The steps that have been taken, with their places in the program.

    Steps that a program asks for have paths with numbers that other steps change.
    """
    has_paths = points.asked.schedule is not None
    return {(str(step if has_paths else step.request), loc)
            for step, loc in zip(points.taken, points.at, strict=True)}
