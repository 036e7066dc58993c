"""Schedules: lists of rewrite points with their places, and their text.

A line is a step, ``place point(arguments)``.  Blank lines and lines that begin with ``--`` mean
nothing.  The line ``fuse`` stands for fusion.  The steps before it see the program as it is
written.  The steps after it see reductions that maps have been fused with.

The line ``or`` stands between two schedules.  Each of them gives a version of the program; the last
one is what runs where no other is chosen (:mod:`runelift.rewrite.lift.alternatives`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from runelift.ir.base.errors import Diagnostic, ProgramError
from runelift.ir.base.source import Loc, Source, Span
from runelift.ir.names import SKIP
from runelift.ir.points import DEFAULT, PointMistake, Request, read_request

FUSE = "fuse"
"""The line that stands for fusion."""
OR = "or"
"""The line between two schedules, of which each gives a version of the program."""
MOST_SCHEDULES = 100
"""The most schedules of a text."""
MOST_STEPS = 1000
"""The most steps of a schedule."""

_STEP = re.compile(r"(?P<place>\S+)\s+(?P<request>\S.*)")


@dataclass(frozen=True, slots=True)
class Step:
    """A point at a place; ``fused``: after fusion.

    ``span`` is where the schedule says so, ``loc`` where the program has what is rewritten.

    >>> print(Step("main.ys", read_request("split_join(t)")))
    main.ys split_join(t)
    """

    place: str
    request: Request
    fused: bool = False
    span: Span | None = field(default=None, compare=False)
    loc: Loc | None = field(default=None, compare=False)

    @property
    def entry(self) -> str:
        """The name of the entry point that the step rewrites."""
        return self.place.partition(".")[0]

    def name(self, before: Iterable[Step]) -> str:
        """The name of the step among the steps of a program, such as ``main.ys.split_join[0]``."""
        point = self.request.point
        number = sum(each.place == self.place and each.request.point == point for each in before)
        return f"{self.place}.{point}[{number}]"

    def skip_name(self, before: Iterable[Step]) -> str:
        """The parameter that leaves the step out if it is 1."""
        return f"{self.name(before)}.{SKIP}"

    def __str__(self) -> str:
        return f"{self.place} {self.request}"


@dataclass(frozen=True, slots=True)
class Schedule:
    """The steps of a program in the order in which they are taken.

    ``versions`` are other schedules, each of which gives a version of the program.  They are
    written before this one, which is what the program is where none of them is chosen.
    """

    steps: tuple[Step, ...] = ()
    versions: tuple[Schedule, ...] = ()

    def of(self, entry: str) -> tuple[Step, ...]:
        """The steps of an entry point."""
        return tuple(each for each in self.steps if each.entry == entry)

    def with_step(self, step: Step) -> Schedule:
        """The schedule with a further step, the last one before fusion or after it."""
        steps = [*self.steps, step]
        return Schedule((*(each for each in steps if not each.fused),
                         *(each for each in steps if each.fused)))

    @property
    def numbers(self) -> dict[str, int | None]:
        """The program parameters that the steps name, with their default values."""
        own = {name: DEFAULT for each in self.steps for name in each.request.names}
        return {**{name: value for each in self.versions for name, value in each.numbers.items()},
                **own}

    @property
    def text(self) -> str:
        """The text, which :func:`read_schedule` reads."""
        lines, steps = list[str](), [*self.steps]
        for fused, each in [*((False, s) for s in steps if not s.fused),
                            *((True, s) for s in steps if s.fused)]:
            if fused and FUSE not in lines:
                lines.append(FUSE)
            lines.append(str(each))
        before = "".join(f"{each.text}{OR}\n" for each in self.versions)
        return before + "".join(f"{line}\n" for line in lines)


def check_entries(schedule: Schedule, entries: Iterable[str]) -> None:
    """Raise ProgramError if a step names an entry point that does not exist."""
    known = [*entries]
    for step in (step for each in (*schedule.versions, schedule) for step in each.steps):
        if step.entry not in known and step.span is not None:
            raise ProgramError(Diagnostic(
                "unknown-place", step.span, f"There is no entry point '{step.entry}'.",
                hints=(f"The program has {', '.join(known)}.",)))


def read_schedule(source: Source, late: Iterable[str] = ()) -> Schedule:
    """The schedule of a text; ProgramError with the first mistake in it.

    Points that are ``late`` need fusion, so that it comes before the first of them at the latest.
    """
    late, fused = frozenset(late), False
    steps, versions = list[Step](), list[Schedule]()
    for span in _lines(source):
        if span.text == OR:
            versions.append(Schedule(tuple(steps)))
            steps, fused = [], False
            if len(versions) == MOST_SCHEDULES:
                raise _malformed(span, f"A text has at most {MOST_SCHEDULES} schedules.", "")
            continue
        if span.text == FUSE:
            if fused:
                raise _malformed(span, "Fusion is done once, so that this line has no meaning.",
                                 "Leave it out; it stands before the first point that needs it.")
            fused = True
            continue
        step = _step(span)
        fused = fused or step.request.point in late
        steps.append(replace(step, fused=fused))
        if len(steps) > MOST_STEPS:
            raise _malformed(span, f"A schedule has at most {MOST_STEPS} steps.", "")
    return Schedule(tuple(steps), tuple(versions))


def _lines(source: Source) -> Iterator[Span]:
    """The lines without comments and blank lines."""
    start = 0
    for line in source.text.splitlines(keepends=True):
        content = line.strip()
        if content and not content.startswith("--"):
            first = start + len(line) - len(line.lstrip())
            yield Span(source, first, first + len(content))
        start += len(line)


def _step(span: Span) -> Step:
    match = _STEP.fullmatch(span.text)
    if match is None or "." not in match["place"]:
        raise _malformed(span, "This is not a step of a schedule.",
                         "A step is PLACE POINT(ARGUMENTS), for example main.ys split_join(16).")
    at = Span(span.source, span.start + match.start("request"), span.end)
    try:
        return Step(match["place"], read_request(match["request"]), span=span)
    except PointMistake as mistake:
        raise mistake.at(at) from None


def _malformed(span: Span, message: str, hint: str) -> ProgramError:
    return ProgramError(Diagnostic("malformed-schedule", span, message,
                                   hints=(hint,) if hint else ()))
