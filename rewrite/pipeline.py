"""The order of passes, and the runner that checks their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy

from runelift.ir.base.errors import CompilerBug, CompilerLimitation, UserError
from runelift.ir.check import check
from runelift.ir.names import Names
from runelift.ir.syntax import Program
from runelift.rewrite.derive.derive import has_derivatives
from runelift.rewrite.engine.rule import Rewriting
from runelift.rewrite.lift.candidates import Suits, exploring, fitting_numbers
from runelift.rewrite.lift.points import BOOK
from runelift.rewrite.lift.schedule import Step
from runelift.rewrite.lift.scheduling import Asked, Book, Scheduling
from runelift.rewrite.registry import (
    ARRANGE,
    BOUNDS,
    CSE,
    DERIVE,
    FILTER,
    FUSE,
    HOIST,
    HOIST_ARRAYS,
    LAUNCHES,
    OUTSIDE,
    PREDICATE,
    ROWS,
    SHORT_CIRCUIT,
    SIMPLIFY,
    SUM,
    WRITE_OUT,
    Pass,
)

DERIVING: tuple[Pass, ...] = (SIMPLIFY, CSE, DERIVE, SIMPLIFY, CSE, SUM)
"""Before all other passes, for programs with derivatives only."""

AS_WRITTEN: tuple[Pass, ...] = (
    SIMPLIFY,
    CSE,
    ARRANGE,
    SIMPLIFY,  # indices of nests that have changed
    HOIST,  # before fusion: statements still in a lambda then belong there
    SIMPLIFY,  # fusion wants producer and consumer without copies in between
)
"""From the core IR of the front end to that in which rules from outside look for their sides."""

STANDARD: tuple[Pass, ...] = (
    *AS_WRITTEN,
    OUTSIDE,
    SIMPLIFY,  # what rules from outside have made
    FUSE,
    SIMPLIFY,  # reductions over views have loops for dimensions
    FILTER,
    WRITE_OUT,
    SIMPLIFY,
    CSE,  # fused lambdas often load or compute the same thing
    HOIST_ARRAYS,  # flattening wants every size as far out as it can be
    SIMPLIFY,
)
"""From the core IR of the front end to the core IR that is flattened."""

AFTER_FLATTENING: tuple[Pass, ...] = (
    SIMPLIFY, CSE, BOUNDS, ROWS, SIMPLIFY, PREDICATE, LAUNCHES, SHORT_CIRCUIT)
"""Versioned IR is not hoisted: flattening has put definitions into kernels on purpose."""

EVERY_PASS = False
"""True if the result of every pass is checked in any case, as in our tests."""


def run_passes(passes: Iterable[Pass], program: Program, names: Names, *, phase: str,
               rewriting: Rewriting | None = None) -> Program:
    """``program`` after the passes; CompilerBug names a pass whose result is not well formed.

    Checking takes time, so only the last result is checked unless each pass is watched.  If that or
    a pass fails, all passes run again, each of them checked.
    """
    rewriting = rewriting or Rewriting(names)
    passes = tuple(passes)
    watched = rewriting.trace or rewriting.watch or rewriting.fuel is not None
    if not (watched or EVERY_PASS):
        before, fired = copy(names), rewriting.fired.copy()
        try:
            done = _passed(passes, program, rewriting, lambda _: None)
            check(done, phase)
        except (UserError, CompilerLimitation):
            raise
        except Exception:
            names.back_to(before)
            rewriting.fired = fired
        else:
            return done
    check(program, phase)
    return _passed(passes, program, rewriting, lambda program: check(program, phase))


def _passed(passes: Iterable[Pass], program: Program, rewriting: Rewriting,
            checked: Callable[[Program], None]) -> Program:
    settled: dict[str, int] = {}
    for number, each in enumerate(passes, 1):
        before = program
        if settled.get(each.name) != rewriting.fired.total():  # else it would change nothing
            try:
                program = each.run(program, rewriting)
                checked(program)
            except CompilerBug as bug:
                raise CompilerBug(f"in pass {number}, '{each.name}': {bug}") from bug
            settled[each.name] = rewriting.fired.total()
        if rewriting.watch is not None:
            rewriting.watch(each.name, before, program)
    return program


def optimise(program: Program, names: Names, rewriting: Rewriting | None = None, *,
             points: Scheduling | None = None) -> Program:
    """The core program after :data:`STANDARD`, and after rewrite points in between.

    ``rewriting`` says which rules and passes are left out and how often rules may fire; its trace
    sees every firing.  ``points`` are the points to take, by default the points of the program.
    """
    points, passes = points or Scheduling(BOOK), STANDARD
    program = points.begin(expanded(program, names, rewriting))
    if not points.is_idle(program):
        late = STANDARD.index(WRITE_OUT)  # which would leave nothing of short loops
        # Points across kernels come first: simplification looks through windows and layouts.
        # Rules from outside match what is simplified, as their left sides are.
        before = (SIMPLIFY,) if points.book.keys() - BOOK.keys() else ()
        passes = (*before, _taking(points, fused=False), *STANDARD[:late],
                  _taking(points, fused=True), SIMPLIFY, *STANDARD[late:])
    return _run(passes, program, names, "core", rewriting)


def expanded(program: Program, names: Names, rewriting: Rewriting | None = None) -> Program:
    """The core program after :data:`DERIVING`; itself, if it has no derivatives."""
    if not has_derivatives(program):
        return program
    return _run(DERIVING, program, names, "core", rewriting)


def possible_steps(program: Program, names: Names, asked: Asked | None = None,
                   book: Book = BOOK) -> list[Step]:
    """The steps that could follow those asked for in a core program, before fusion and after it.

    ``book`` has the points.  Numbers have a default value.  Neither the program nor ``names``
    change.
    """
    points = Scheduling(book, asked or Asked(), needs=[], explore=exploring(book))
    optimise(program, copy(names), points=points)
    return points.possible


def possible_numbers(program: Program, names: Names, asked: Asked, step: Step,
                     pool: Sequence[int], suits: Suits, book: Book = BOOK) -> list[list[int]]:
    """The values of a pool for each number of a step that could follow those asked for.

    ``suits`` tests the conditions that a value leaves
    (:func:`~runelift.rewrite.lift.candidates.fitting_numbers`).
    """
    found = list[list[int]]()

    def explore(program: Program, names: Names, fused: bool) -> tuple[Step, ...]:
        if fused is step.fused:
            (fun,) = (fun for fun in program.funs if fun.name == step.entry)
            found[:] = fitting_numbers(fun, names, step.place, book[step.request.point],
                                       step.request, pool, suits)
        return ()

    optimise(program, copy(names), points=Scheduling(book, asked, needs=[], explore=explore))
    return found


def _taking(points: Scheduling, *, fused: bool) -> Pass:
    """The pass that takes rewrite points before fusion, or after it."""
    def run(program: Program, rewriting: Rewriting) -> Program:
        done = points.take(program, rewriting.names, fused=fused)
        if done != program:
            rewriting.fired["rewrite point"] += 1
        return done

    return Pass("fused-points" if fused else "points", "take rewrite points", run)


def clean(program: Program, names: Names, rewriting: Rewriting | None = None) -> Program:
    """The versioned program after :data:`AFTER_FLATTENING`; otherwise as :func:`optimise`."""
    return _run(AFTER_FLATTENING, program, names, "versioned", rewriting)


def _run(passes: tuple[Pass, ...], program: Program, names: Names, phase: str,
         rewriting: Rewriting | None) -> Program:
    rewriting = rewriting or Rewriting(names)
    wanted = [each for each in passes if each.name not in rewriting.disabled]
    return run_passes(wanted, program, names, phase=phase, rewriting=rewriting)
