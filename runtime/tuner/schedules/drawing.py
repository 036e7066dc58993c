"""Schedules drawn at random: steps that match, with numbers that the sizes of datasets allow.

A schedule is a walk: of the steps that match the program so far, one is drawn, and so on.  What can
be known before anything is compiled for a device is looked at here.  So few drawn schedules fail
later.  A schedule is drawn again if its program is known, if it does not match, or if no dataset
meets its needs.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import TypeAlias

from runelift.ir import syntax as ir
from runelift.ir.base.errors import CompilerLimitation, ProgramError
from runelift.ir.constraints import Constraint
from runelift.ir.meaning import apply
from runelift.ir.names import Names, VName
from runelift.ir.points import Number, parameters_of
from runelift.ir.prim import Prim
from runelift.ir.syntax import Fun, Program
from runelift.ir.traverse import bodies_inside
from runelift.ir.types import Atom, Const, shape_of
from runelift.rewrite.lift.canonical import canonical_text
from runelift.rewrite.lift.points import BOOK
from runelift.rewrite.lift.schedule import Schedule, Step
from runelift.rewrite.lift.scheduling import Asked, Book
from runelift.rewrite.pipeline import possible_numbers, possible_steps
from runelift.runtime.compilation.entry_points import rewritten_by

NUMBERS = (2, 3, 4, 5, 7, 8, 16, 32, 64, 128, 256)
"""The values that are tried for numbers of points, besides divisors of sizes."""
LARGEST = 1024
"""The largest divisor of a size that is tried."""
MOST_STEPS = 3
"""The most steps that a walk takes."""
TRIES = 20
"""The most schedules that are drawn in place of one."""
STORED = "materialise(global)"
"""The step that stores an array."""
DEEPER = 0.4
"""The weight of a place relative to one that is a lambda further outside."""
MOST_PRIVATE = 16
"""The largest tile that is copied to private memory: compilers take long for larger tiles."""
LESS_WORK, MORE_WORK = 0.7, 2.0
"""Below this much work a schedule is tried early, and above this much work it is tried late."""
BASE_PART = 0.5
"""The part of walks that begin with what the program asks for."""
OTHER_PART = 0.25
"""The part of numbers with a default that are drawn."""


Draw: TypeAlias = Callable[[], Schedule | None]
"""A function that draws a schedule; None if it finds none."""


class Refusal(Enum):
    """The reason why a schedule is not tried, before it costs anything."""

    UNCHANGED = "change nothing"
    EQUAL = "give a program that another one gives, too"
    MISMATCH = "do not match with their numbers"
    UNMET = "need what no dataset has"
    UNSUPPORTED = "cannot be compiled"


@dataclass(frozen=True, slots=True)
class Drawn:
    """A schedule that gives another program, and what this needs.

    ``work`` is the number of its operations relative to the program without it, where it is least.
    ``at_random``: it is neither one of the first, nor like one that was measured before, nor
    preferred by its work or its predicted time.
    """

    schedule: Schedule
    needs: tuple[Constraint, ...] = ()
    work: float = 1.0
    at_random: bool = True

    @property
    def lines(self) -> tuple[str, ...]:
        """The steps as text, by which versions name their schedule."""
        return tuple(map(str, self.schedule.steps))

    def __str__(self) -> str:
        return "; ".join(self.lines)


@dataclass
class Drawing:
    """The schedules of an entry point, as they are drawn.

    ``sizes`` has the numbers among the arguments of each dataset.  ``base`` is the schedule by
    which the program runs without tuning; ``values`` are the values of program parameters, and
    ``book`` has the points.  So many schedules are drawn ``ahead``, so that schedules with less
    work can go first.
    """

    fun: Fun
    names: Names
    sizes: Sequence[Mapping[str, int]]
    values: Mapping[str, int]
    random: random.Random
    base: Schedule = field(default_factory=Schedule)
    book: Book = field(default_factory=lambda: BOOK)
    ahead: int = 8
    refused: Counter[Refusal] = field(default_factory=Counter)
    _seen: dict[str, Refusal] = field(default_factory=dict)
    _steps: dict[str, list[Step]] = field(default_factory=dict)
    _waiting: list[Drawn] = field(default_factory=list)
    """Schedules drawn ahead, which wait for each other."""
    _plain: list[float] = field(default_factory=list)
    """The operations of the program that runs without tuning, by dataset."""

    def __post_init__(self) -> None:
        for schedule in (Schedule(), self.base):
            done = rewritten_by(self.fun, schedule, Asked(values=self.values), copy(self.names),
                                book=self.book)
            self._seen[canonical_text(done.fun)] = Refusal.UNCHANGED
            self._plain = [max(1.0, operations(done.fun, each)) for each in self.sizes]

    def first(self) -> Iterator[Drawn]:
        """Schedules to begin with: one array is stored that may be a view, the outermost first.

        Because: what is stored decides most.
        """
        steps = [each for each in self._possible(Schedule()) if str(each.request) == STORED]
        for step in sorted(steps, key=lambda each: each.place.count(".")):
            found = self.look_at(Schedule((step,)))
            if isinstance(found, Drawn):
                yield replace(found, at_random=False)
            else:
                self.refused[found] += 1

    def draw(self) -> Iterator[Drawn]:
        """Schedules at random, each of which gives another program.

        Several schedules are drawn ahead.  Schedules that save work come first, and schedules that
        add much work come last.
        """
        waiting, over = self._waiting, False
        while waiting or not over:
            while len(waiting) < self.ahead and not over:
                found = self._first(self._walk)
                over = found is None
                waiting += [found] if found is not None else []
            if waiting:
                best = min(waiting, key=_work_class)  # the first of them
                waiting.remove(best)
                yield replace(best, at_random=_work_class(best) > 0)

    def near(self, known: Drawn) -> Iterator[Drawn]:
        """Schedules like a known one: with another number or word, a step more, or one less."""
        while (found := self._first(lambda: self._changed(known.schedule))) is not None:
            yield replace(found, at_random=False)

    def _first(self, draw: Draw) -> Drawn | None:
        """The first drawn schedule that is not refused; None if there seem to be no more."""
        for _ in range(TRIES):
            schedule = draw()
            if schedule is None:
                continue
            found = self.look_at(schedule)
            if isinstance(found, Drawn):
                return found
            self.refused[found] += 1
        return None

    def look_at(self, schedule: Schedule) -> Drawn | Refusal:
        """The schedule, if it gives another program that runs on a dataset; else why not."""
        try:
            found = rewritten_by(self.fun, schedule, Asked(values=self.values), copy(self.names),
                                 book=self.book)
        except ProgramError:
            return Refusal.MISMATCH
        except CompilerLimitation:
            return Refusal.UNSUPPORTED
        text = canonical_text(found.fun)
        if text in self._seen:
            return self._seen[text]
        self._seen[text] = Refusal.EQUAL
        if not self._suits(found.needs):
            return Refusal.UNMET
        return Drawn(schedule, found.needs, min(
            (operations(found.fun, each) / plain
             for each, plain in zip(self.sizes, self._plain, strict=True)), default=1.0))

    def _suits(self, needs: Sequence[Constraint]) -> bool:
        """True if a dataset may meet all needs."""
        return any(all(self._holds(need, each) for need in needs) for each in self.sizes)

    def _holds(self, need: Constraint, sizes: Mapping[str, int]) -> bool:
        """True unless a need is known not to hold for these arguments."""
        env = {name: sizes[str(name)] for name in need.variables() if str(name) in sizes}
        return len(env) < len(need.variables()) or need.holds(env)

    def _walk(self) -> Schedule | None:
        """Steps at random, one after the other, or a change to what the program asks for."""
        if self.base.steps and self.random.random() < BASE_PART:
            return self._changed(self.base)
        schedule = Schedule()
        for _ in range(self.random.randint(1, MOST_STEPS)):
            longer = self._longer(schedule)
            if longer is None:
                break
            schedule = longer
        return schedule if schedule.steps else None

    def _longer(self, schedule: Schedule) -> Schedule | None:
        """A schedule with one more step; each point is drawn as often as any other.

        Places far inside are drawn less often: they are many, and change less.
        """
        steps = self._possible(schedule)
        if not steps:
            return None
        point = self.random.choice(sorted({each.request.point for each in steps}))
        found = dict[str, list[Step]]()
        for step in steps:
            if step.request.point == point:
                found.setdefault(step.place, []).append(step)
        outermost = min(place.count(".") for place in found)
        weights = [DEEPER ** (place.count(".") - outermost) for place in found]
        (alike,) = self.random.choices(list(found.values()), weights)
        return schedule.with_step(self._numbered(schedule, self.random.choice(alike)))

    def _possible(self, schedule: Schedule) -> list[Step]:
        """The steps that match after the steps of a schedule."""
        text = schedule.text
        if text not in self._steps:
            try:
                self._steps[text] = [
                    each for each in possible_steps(
                        Program((self.fun,)), self.names, Asked(schedule, self.values),
                        self.book)
                    if each.entry == self.fun.name]
            except (ProgramError, CompilerLimitation):
                self._steps[text] = []
        return self._steps[text]

    def _numbered(self, before: Schedule, step: Step) -> Step:
        """A step with numbers drawn from all numbers that fit.

        Numbers that the step already has may change, too.
        """
        kinds = parameters_of(step.request.point)
        if not any(isinstance(kind, Number) for kind in kinds):
            return step
        asked = Asked(before, self.values)
        try:
            fits = possible_numbers(Program((self.fun,)), self.names, asked, _valued(step, asked),
                                    self._pool, self._suits, self.book)
        except (ProgramError, CompilerLimitation):
            fits = []
        arguments = list(step.request.arguments)
        if "private" in arguments:
            fits = [[each for each in values if each <= MOST_PRIVATE] for values in fits]
        for place, (kind, values) in enumerate(zip(kinds, fits, strict=False)):
            if isinstance(kind, Number) and values and (
                    kind.default is None or self.random.random() < OTHER_PART):
                arguments[place] = self.random.choice(values)
        return replace(step, request=replace(step.request, arguments=tuple(arguments)))

    @cached_property
    def _pool(self) -> tuple[int, ...]:
        sizes = {size for each in self.sizes for size in each.values()}
        return tuple(sorted({*NUMBERS, *(part for size in sizes for part in range(2, LARGEST + 1)
                                         if size > 0 and size % part == 0)}))

    def _changed(self, known: Schedule) -> Schedule | None:
        """A schedule that differs from a known one in a step."""
        steps = list(known.steps)
        match self.random.choice(("longer", "number", "shorter")):
            case "number" if steps:
                place = self.random.randrange(len(steps))
                steps[place] = self._numbered(Schedule(tuple(steps[:place])), steps[place])
            case "shorter" if len(steps) > 1 or any(each.request.skip for each in steps):
                # A step that may be left out is left out more often than others.
                free = [place for place, each in enumerate(steps) if each.request.skip]
                del steps[self.random.choice([*free, *range(len(steps))])]
            case _ if len(steps) < 2 * MOST_STEPS:
                return self._longer(known)
        return Schedule(tuple(steps))


def _work_class(drawn: Drawn) -> int:
    """0 if a schedule saves work, 2 if it adds much: operations say nothing about memory."""
    return (drawn.work > LESS_WORK) + (drawn.work > MORE_WORK)


def _valued(step: Step, asked: Asked) -> Step:
    kinds = parameters_of(step.request.point)
    arguments = tuple(asked.value(each) if isinstance(kind, Number) and isinstance(each, str)
                      else each for kind, each in zip(kinds, step.request.arguments, strict=True))
    return replace(step, request=replace(step.request, arguments=arguments))


Known = dict[VName, int]
"""The values of i64s."""


def operations(fun: ir.Fun, sizes: Mapping[str, int]) -> float:
    """The operations of a function whose arguments have these sizes.

    An unknown size counts as 1.
    """
    known = {p.name: sizes[str(p.name)] for p in fun.params if str(p.name) in sizes}
    return _body(fun.body, known)


def _body(body: ir.Body, known: Known) -> float:
    return sum(_statement(stm, known) for stm in body.stms)


def _statement(stm: ir.Stm, known: Known) -> float:
    match stm.exp:
        case ir.AtomExp(atom):
            _learn(stm, known, _value(atom, known))
            return 0
        case ir.PrimOp(op, Prim.I64, args):
            values = [_value(each, known) for each in args]
            if None not in values and stm.pat[0].type is Prim.I64:
                _learn(stm, known, int(apply(op, Prim.I64, *values)))
            return 1
        case ir.PrimOp() | ir.Convert() | ir.Index() | ir.Update():
            return 1
        case (ir.Map(width=width) | ir.Redomap(width=width) | ir.Scanomap(width=width)
              | ir.Scatter(width=width) | ir.Hist(width=width) | ir.Accumulate(width=width)):
            return _times(width, known) * max(1, _inside(stm.exp, known))
        case ir.Loop(form=ir.ForLoop(bound=bound), body=body):
            return _times(bound, known) * _body(body, known)
        case ir.If(then_=then_, else_=else_):
            return max(_body(then_, known), _body(else_, known))
        case ir.Iota() | ir.Replicate() | ir.Copy() | ir.Concat():
            total = 1.0
            for size in shape_of(stm.pat[0].type):
                total *= _times(size, known)
            return total
    return _inside(stm.exp, known)


def _inside(exp: ir.Exp, known: Known) -> float:
    return sum(_body(body, known) for body in bodies_inside(exp))


def _learn(stm: ir.Stm, known: Known, value: int | None) -> None:
    if value is not None:
        known[stm.pat[0].name] = value


def _value(atom: Atom, known: Known) -> int | None:
    if isinstance(atom, Const):
        return int(atom.value) if isinstance(atom.value, int) else None
    return known.get(atom)


def _times(atom: Atom, known: Known) -> float:
    """A number of times, if it is known."""
    value = _value(atom, known)
    return 1.0 if value is None else max(0.0, float(value))
