"""The points of one compilation, which the program or a schedule asks for, taken in order.

Points that change the program across kernels are taken before fusion.  Points that need reductions
fused with maps are taken after it.  Until then a point is an attribute of a statement, and changes
nothing.

Source: Mogers 2023, sections 6.2.2 and 6.2.3 (outer points before inner points).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TypeAlias

from runelift.ir.analysis.placement import stored_in
from runelift.ir.base.errors import (
    Code,
    CompilerBug,
    CompilerLimitation,
    Diagnostic,
    Label,
    ProgramError,
    ProgramWarning,
)
from runelift.ir.base.source import Loc, Source, Span
from runelift.ir.constraints import Constraint
from runelift.ir.names import Names
from runelift.ir.points import (
    DEFAULT,
    Number,
    PlacedAttribute,
    PointMistake,
    conflict,
    is_point,
    points_of,
    read_request,
    settings,
)
from runelift.ir.pretty import pretty_type
from runelift.ir.syntax import Body, Fun, If, Loop, Program, Stm
from runelift.ir.traverse import statements_inside
from runelift.rewrite.lift.apply import apply_point, given_of, with_attributes
from runelift.rewrite.lift.blocking import Blocking
from runelift.rewrite.lift.candidates import fitting_numbers
from runelift.rewrite.lift.places import Place, find, places
from runelift.rewrite.lift.point import Point
from runelift.rewrite.lift.schedule import Schedule, Step

Book: TypeAlias = Mapping[str, Point]
Watch: TypeAlias = Callable[[Step, Fun], None]
"""Called with each step and the entry point after it."""
Explore: TypeAlias = Callable[[Program, Names, bool], Iterable[Step]]
"""The steps that could follow in a program, which is before fusion or after it (``True``)."""

MOST_STEPS = 1000
"""The most steps that the attributes of an entry point can ask for."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The points to take: a ``schedule``, or None for the attributes of the program.

    ``values`` are the values of program parameters that points name.  A step whose name
    (:meth:`Step.skip_name`) has the value 1 is left out.
    """

    schedule: Schedule | None = None
    values: Mapping[str, int] = field(default_factory=dict)

    def value(self, name: str) -> int:
        """The value of a program parameter."""
        return self.values.get(name) or DEFAULT


@dataclass(slots=True)
class Fits:
    """The numbers that fit for ``free`` program parameters, of the numbers ``tried``.

    They are found at the first step that does not match, or at ``all_steps``.
    """

    free: frozenset[str]
    tried: Sequence[int]
    all_steps: bool = False
    matched: bool = True
    numbers: dict[str, list[int]] = field(default_factory=dict)

    def note(self, fun: Fun, names: Names, step: Step, point: Point, values: Mapping[str, int]
             ) -> None:
        """Note the numbers that fit at a step."""
        kinds = point.parameters
        valued = tuple(values[each] if isinstance(each, str) and isinstance(kind, Number) else each
                       for kind, each in zip(kinds, step.request.arguments, strict=True))
        if self.free.isdisjoint(step.request.names):
            return
        found = fitting_numbers(fun, names, step.place, point,
                                replace(step.request, arguments=valued), self.tried,
                                lambda _: True)
        for name, fits in zip(step.request.arguments, found, strict=True):
            if isinstance(name, str) and name in self.free:
                self.numbers[name] = [each for each in self.numbers.get(name, self.tried)
                                      if each in fits]


@dataclass(slots=True)
class Scheduling:
    """The state of one compilation.

    ``taken`` are the steps so far, ``left_out`` the numbers of steps that are skipped.  ``needs``
    are conditions under which the result computes as much; without such a list, the result tests
    them itself.
    """

    book: Book
    asked: Asked = field(default_factory=Asked)
    watch: Watch | None = None
    needs: list[Constraint] | None = None
    explore: Explore | None = None
    """Finds the steps that could be taken next, which are noted in ``possible``."""
    fits: Fits | None = None
    """Finds the numbers that fit."""
    taken: list[Step] = field(default_factory=list)
    at: list[Loc | None] = field(default_factory=list)
    """The places in the program of the statements that steps rewrite."""
    left_out: set[int] = field(default_factory=set)
    possible: list[Step] = field(default_factory=list)
    blocking: Blocking = field(default_factory=Blocking)
    said: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Texts about losses by steps, by the numbers of the steps."""
    _wanted: dict[str, str] = field(default_factory=dict)

    @property
    def schedule(self) -> Schedule:
        """The steps taken or left out, in order, with the schedules of other versions."""
        asked = self.asked.schedule
        return Schedule(tuple(self.taken), () if asked is None else asked.versions)

    def is_idle(self, program: Program) -> bool:
        """True if there is no point to take in a program."""
        schedule = self.asked.schedule
        if self.explore is not None or (schedule is not None and any(
                schedule.of(fun.name) for fun in program.funs)):
            return False
        return not any(is_point(each) for fun in program.funs
                       for stm in statements_inside([fun.body]) for each in stm.attrs)

    def begin(self, program: Program) -> Program:
        """Note what the program asks for; with a schedule its own points are dropped."""
        self._wanted.clear()
        if self.asked.schedule is not None:
            return Program(tuple(map(_without_points, program.funs)))
        for fun in program.funs:
            for stm in statements_inside([fun.body]):
                self._wanted |= {str(each): each for each in points_of(stm.attrs)}
        return program

    def take(self, program: Program, names: Names, *, fused: bool) -> Program:
        """The program after the points whose turn is before fusion, or after it (``fused``)."""
        if not fused:  # passes may run again, to name the one that is wrong
            self.taken.clear()
            self.at.clear()
            self.left_out.clear()
            self.possible.clear()
            self.blocking.nests.clear()
            self.said.clear()
            if self.needs is not None:
                self.needs.clear()
        funs = []
        for fun in program.funs:
            if self.asked.schedule is not None:
                fun = self._replayed(fun, names, fused=fused)
            else:
                fun = self._obeyed(fun, names, fused=fused)
            funs.append(fun)
        if fused:
            self._warn_of_lost()
        done = Program(tuple(funs))
        if self.explore is not None:
            known = {str(each) for each in self.possible}
            self.possible += [each for each in self.explore(done, names, fused)
                              if str(each) not in known]
        return self._in_blocks(done, names) if fused else done

    def _in_blocks(self, program: Program, names: Names) -> Program:
        """The program with its nests whose steps ask for blocks; they need nothing."""
        done = {step for nest in self.blocking.complete for step in nest.steps}
        if self.needs is not None:
            self.needs[:] = [each for each in self.needs if each.origin[-1] not in done]
        return Program(tuple(self.blocking.made(fun, names) for fun in program.funs))

    # Attributes

    def _obeyed(self, fun: Fun, names: Names, *, fused: bool) -> Fun:
        """``fun`` after the points of its statements, outermost first."""
        for _ in range(MOST_STEPS):
            place = next((each for each in places(fun)
                          if self._is_due(each.stm.attrs, fused=fused)), None)
            if place is None:
                return fun
            fun = self._first_of(fun, names, place, fused=fused)
        raise CompilerLimitation(f"entry point '{fun.name}' has more than {MOST_STEPS} rewrite "
                                 "points, once its calls are inlined")

    def _is_due(self, attrs: tuple[str, ...], *, fused: bool) -> bool:
        """True if the first point of a statement is to be taken now."""
        points = points_of(attrs) if attrs else ()
        return bool(points) and (fused or not self._is_late(points[0]))

    def _is_late(self, attribute: str) -> bool:
        point = self.book.get(attribute.partition("(")[0])
        return point is not None and point.needs_reductions

    def _first_of(self, fun: Fun, names: Names, place: Place, *, fused: bool) -> Fun:
        first, *rest = points_of(place.stm.attrs)
        span = first.span if isinstance(first, PlacedAttribute) else None
        try:
            request = read_request(first)
        except PointMistake as mistake:
            raise CompilerBug(f"{mistake} ({place.path})") from mistake
        if (both := conflict(place.stm.attrs)) is not None:
            raise _conflicting(both, place)
        step = Step(place.path, request, fused, span, place.stm.loc)
        self._wanted.pop(str(first), None)
        new = self._taken(fun, names, place, step, tuple(rest))
        if new is None:  # left out: the next ones are about the statement as it is
            new = with_attributes(fun, {place.name: (*rest, *settings(place.stm))})
        return new

    def _warn_of_lost(self) -> None:
        for each in self._wanted.values():
            if isinstance(each, PlacedAttribute) and each.span is not None:
                warnings.warn(ProgramWarning(Diagnostic(
                    "point-does-not-match", each.span, f"Point '{each}' has no effect: the "
                    "statement that it is about has been removed or computed elsewhere.",
                    severity="warning")), stacklevel=2)
        self._wanted.clear()

    # Schedules

    def _replayed(self, fun: Fun, names: Names, *, fused: bool) -> Fun:
        assert self.asked.schedule is not None
        for step in self.asked.schedule.of(fun.name):
            if step.fused is not fused:
                continue
            place = find(fun, step.place)
            if place is None:
                raise _unknown_place(fun, step)
            fun = self._taken(fun, names, place, step, ()) or fun
        return fun

    # Both

    def _taken(self, fun: Fun, names: Names, place: Place, step: Step, rest: tuple[str, ...]
               ) -> Fun | None:
        """``fun`` after a step; None if it is left out; ProgramError if it does not match."""
        skipped = step.request.skip and self.asked.values.get(step.skip_name(self.taken)) == 1
        self.taken.append(step)
        self.at.append(place.stm.loc)
        if skipped:
            self.left_out.add(len(self.taken) - 1)
            return None
        point = self.book.get(step.request.point)
        if point is None:
            raise _mismatch(step, place, "this point cannot be applied yet")
        given = given_of(point, step.request, _Values(self.asked))
        needs = None if self.needs is None else list[Constraint]()
        found = apply_point(fun, names, place.name, point, given, rest, needs)
        if self.fits is not None and (self.fits.all_steps or isinstance(found, str)):
            self.fits.note(fun, names, replace(step, place=place.path), point, _Values(self.asked))
        if isinstance(found, str):
            raise _mismatch(step, place, found)
        if self.needs is not None:
            self.needs += (replace(each, origin=(*each.origin, str(step))) for each in needs or ())
        said = [*self.blocking.follow(fun, found.fun, place, step, given, found.inner, names),
                *copies_outside(fun, found.fun)]
        if said:
            self.said[len(self.taken) - 1] = tuple(said)
        if self.watch is not None:
            self.watch(step, found.fun)
        return found.fun


class _Values(dict[str, int]):
    """The values of program parameters; a parameter without a given value has its default."""

    def __init__(self, asked: Asked) -> None:
        super().__init__()
        self.asked = asked

    def __missing__(self, name: str) -> int:
        return self.asked.value(name)


def copies_outside(before: Fun, after: Fun) -> Iterator[str]:
    """The new copies in local and private memory that stand in no map, in words."""
    known = {place.name for place in places(before)}
    for stm in _outermost(after.body):
        space = next((each for each in ("local", "private") if stored_in(each) in stm.attrs), None)
        if space is not None and stm.pat[0].name not in known:
            owner = "work-group" if space == "local" else "work-item"
            yield (f"'{stm.pat[0].name.base}' is a buffer in global memory, "
                   f"{pretty_type(stm.pat[0].type)}: it is copied outside of all maps, and "
                   f"{space} memory is that of a {owner}")


def _outermost(body: Body) -> Iterator[Stm]:
    """The statements that stand in no function of an array operation."""
    for stm in body.stms:
        yield stm
        match stm.exp:
            case Loop(body=inner):
                yield from _outermost(inner)
            case If(then_=then_, else_=else_):
                yield from (*_outermost(then_), *_outermost(else_))


def _without_points(fun: Fun) -> Fun:
    return with_attributes(fun, {
        stm.pat[0].name: settings(stm) for stm in statements_inside([fun.body])
        if stm.pat and points_of(stm.attrs)})


def _mismatch(step: Step, place: Place, reason: str) -> ProgramError:
    where = f" (at {place.stm.loc})" if place.stm.loc is not None else ""
    message = f"Point '{step.request}' does not match {step.place}{where}: {reason}."
    return _error("point-does-not-match", step.span, message, step)


def _conflicting(both: tuple[str, str], place: Place) -> ProgramError:
    spans = [each.span if isinstance(each, PlacedAttribute) else None for each in both]
    message = (f"Points '{both[0]}' and '{both[1]}' are about one statement, {place.path}, which "
               "can have one of them only.")
    first, second = spans
    if first is None or second is None:
        return _error("conflicting-points", first or second, message, None)
    return ProgramError(Diagnostic("conflicting-points", first, message,
                                   (Label(second, "The other is here."),)))


def _unknown_place(fun: Fun, step: Step) -> ProgramError:
    known = [each.path for each in places(fun)]
    near = get_close_matches(step.place, known, n=1)
    hint = f"Did you mean '{near[0]}'?" if near else (
        "'runelift explain schedule' lists the places where points match.")
    return _error("unknown-place", step.span, f"There is no statement '{step.place}' at this "
                  "step of the schedule.", step, hint)


def _error(code: Code, span: Span | None, message: str, step: Step | None, hint: str = ""
           ) -> ProgramError:
    if span is None:
        text = str(step) if step is not None else message
        span = Span(Source("<schedule>", text), 0, len(text))
    return ProgramError(Diagnostic(code, span, message, hints=(hint,) if hint else ()))
