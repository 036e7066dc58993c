"""The entry points of a program after elaboration: each goes through the compiler by itself."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace

from runelift.codegen.cost.version_costs import with_costs
from runelift.codegen.hostplan.host import plan_fun
from runelift.codegen.plan.origins import Origins, noting
from runelift.codegen.plan.plan import Plan
from runelift.ir.base.deep import deeply
from runelift.ir.base.policies import disabled_rules, has_checkpoints
from runelift.ir.base.source import Source
from runelift.ir.constraints import Constraint
from runelift.ir.names import Names
from runelift.ir.points import with_rules
from runelift.ir.syntax import Fun, Program
from runelift.rewrite.derive.checkpoints import checkpointed
from runelift.rewrite.engine.rule import Rewriting
from runelift.rewrite.flattening import Derivation, derive
from runelift.rewrite.lift.alternatives import (
    Merged,
    Rewritten,
    with_alternatives,
)
from runelift.rewrite.lift.points import BOOK, LATE
from runelift.rewrite.lift.schedule import Schedule, read_schedule
from runelift.rewrite.lift.scheduling import Asked, Book, Scheduling
from runelift.rewrite.pipeline import clean, optimise
from runelift.runtime.compilation.entry_stages import EntryStages
from runelift.runtime.compilation.point_groups import Groups
from runelift.runtime.rules.load import load_rules

FLATTENING_STAGE = "flatten"
"""The name by which flattening is watched, between the passes before and after it."""


@deeply
def stages_of(fun: Fun, policy: str, names: Names, rewriting: Rewriting | None,
              asked: Asked | None = None, rules: Source | None = None) -> EntryStages:
    """The stages of an entry point; ``names`` differ from all names in it.

    So do the names of ``rewriting``, which replace them and has the ``rules`` from outside.
    ``asked`` are the rewrite points to take.
    """
    rewriting, outside = rewriting or Rewriting(names), load_rules(rules)
    names, rewriting.outside = rewriting.names, outside.always
    rewriting.disabled |= disabled_rules(policy)
    asked = asked or Asked()
    points = Scheduling({**BOOK, **outside.points}, asked, needs=[])
    with with_rules(outside.points):
        optimised = optimise(Program((fun,)), names, rewriting, points=points)
        found = Merged(optimised.funs[0])
        if points.needs or (asked.schedule is not None and asked.schedule.versions):
            found = _with_versions(fun, points, found.fun, rewriting)
            optimised = Program((found.fun,))
        elif has_checkpoints(policy) and checkpointed(fun, 1) is not fun:
            found = _with_checkpoints(fun, points, found.fun, rewriting)
            optimised = Program((found.fun,))
    flat, derivations = derive(optimised, names, policy=policy)
    kept = None
    if rewriting.watch is not None:
        rewriting.watch(FLATTENING_STAGE, optimised, flat)
        (kept,) = derivations
    versioned = clean(flat, names, rewriting)
    return EntryStages(found.fun, versioned.funs[0], names, tuple(points.taken), found.dropped,
                       kept)


def _with_versions(fun: Fun, points: Scheduling, optimised: Fun, rewriting: Rewriting) -> Merged:
    """An entry point with a version for each schedule that was asked for, and for its conditions.

    ``optimised`` is it after ``points``.  Where that needs conditions, it is a version itself, and
    the program without points is what runs elsewhere.
    """
    asked, names = points.asked, rewriting.names
    versions = [rewritten_by(fun, each, asked, names, rewriting, points.book)
                for each in (asked.schedule.versions if asked.schedule is not None else ())]
    if not points.needs:
        return with_alternatives(optimised, versions, names)
    plain = rewritten_by(fun, Schedule(), asked, names, rewriting, points.book).fun
    first = Groups(fun, points, plain, rewriting).rewritten() or [
        Rewritten(tuple(map(str, points.taken)), optimised, tuple(points.needs), asked=True)]
    return with_alternatives(plain, [*first, *versions], names)


def _with_checkpoints(fun: Fun, points: Scheduling, optimised: Fun, rewriting: Rewriting
                      ) -> Merged:
    """An entry point with versions whose loops keep checkpoints, in two levels and in one.

    ``optimised`` is it after ``points``, with all states.  Where these are too large, the last
    version before it runs if it fits.
    """
    versions = []
    for levels in (2, 1):
        own = Scheduling(points.book, points.asked, needs=[])
        made = optimise(Program((checkpointed(fun, levels),)), rewriting.names, rewriting,
                        points=own)
        versions.append(Rewritten((f"{fun.name} stripmine({levels})",), made.funs[0],
                                  tuple(own.needs or ())))
    return with_alternatives(optimised, versions, rewriting.names)


def rewritten_by(fun: Fun, schedule: Schedule, asked: Asked, names: Names,
                 rewriting: Rewriting | None = None, book: Book = BOOK) -> Rewritten:
    """An entry point as a schedule rewrites it, optimised, with what it needs then.

    ``asked`` has the values of program parameters, ``book`` the points.  ProgramError if a step
    does not match.
    """
    needs = list[Constraint]()
    points = Scheduling(book, replace(asked, schedule=schedule), needs=needs)
    optimised = optimise(Program((fun,)), names, rewriting, points=points)
    return Rewritten(tuple(map(str, schedule.of(fun.name))), optimised.funs[0], tuple(needs))


def asked_of(schedule: Source | None, values: Mapping[str, int], rules: Source | None = None
             ) -> Asked:
    """The rewrite points of a schedule, or of the program; ProgramError if a schedule is wrong.

    Rules from outside are points, too.
    """
    with with_rules(load_rules(rules).points if schedule is not None else ()):
        return Asked(None if schedule is None else read_schedule(schedule, LATE), values)


@deeply
def plan_of(stages: EntryStages, *, interleave: bool, coherent: bool) -> Plan:
    """The host plan of an entry point without costs, with the parameters of :func:`plan_fun`."""
    return plan_fun(stages.versioned, stages.names, interleave=interleave, coherent=coherent)


@deeply
def costed_plan(host: Plan) -> Plan:
    """The plan with the costs of its choices."""
    return with_costs(host)


@deeply
def explained_plan_of(stages: EntryStages, *, interleave: bool, coherent: bool
                      ) -> tuple[Plan, Origins]:
    """The host plan of an entry point, and the origins of its kernels' statements."""
    with noting() as origins:
        host = plan_of(stages, interleave=interleave, coherent=coherent)
    return with_costs(host), origins


@deeply
def derivation_of(stages: EntryStages, policy: str) -> Derivation:
    """The derivation of the versions of an entry point, repeated if it was not kept."""
    if stages.derivation is not None:
        return stages.derivation
    (found,) = derive(Program((stages.optimised,)), copy(stages.names), policy=policy)[1]
    return found
