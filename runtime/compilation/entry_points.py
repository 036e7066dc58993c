"""The entry points of a program after elaboration: each goes through the compiler by itself."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass

from runelift.codegen.hostplan.host import plan_fun
from runelift.codegen.plan.plan import Plan
from runelift.ir.names import Names
from runelift.ir.points import with_rules
from runelift.ir.source import Source
from runelift.ir.syntax import Fun, Program
from runelift.rewrite.engine.rule import Rewriting
from runelift.rewrite.flattening import Derivation, derive, flatten
from runelift.rewrite.lift.points import BOOK, LATE
from runelift.rewrite.lift.schedule import Step, read_schedule
from runelift.rewrite.lift.scheduling import Asked, Scheduling
from runelift.rewrite.pipeline import clean, optimise
from runelift.runtime.rules.read import load_rules


@dataclass(slots=True)
class EntryStages:
    """An entry point after optimisation and after flattening; ``names`` differ from its names.

    ``steps`` are the rewrite points taken in between.
    """

    optimised: Fun
    versioned: Fun
    names: Names
    steps: tuple[Step, ...] = ()


def stages_of(fun: Fun, policy: str, names: Names, rewriting: Rewriting | None,
              asked: Asked | None = None, rules: Source | None = None) -> EntryStages:
    """The stages of an entry point; ``names`` differ from those in it.

    So do the names of ``rewriting``, which replace them and has the ``rules`` from outside.
    ``asked`` are the rewrite points to take.
    """
    rewriting, outside = rewriting or Rewriting(names), load_rules(rules)
    names, rewriting.outside = rewriting.names, outside.always
    points = Scheduling({**BOOK, **outside.points}, asked or Asked())
    with with_rules(outside.points):
        optimised = optimise(Program((fun,)), names, rewriting, points=points)
    versioned = clean(flatten(optimised, names, policy=policy), names, rewriting)
    return EntryStages(optimised.funs[0], versioned.funs[0], names, tuple(points.taken))


def asked_of(schedule: Source | None, values: Mapping[str, int], rules: Source | None = None
             ) -> Asked:
    """The rewrite points of a schedule, or those of the program; ProgramError if it is wrong.

    Rules from outside are points, too.
    """
    with with_rules(load_rules(rules).points if schedule is not None else ()):
        return Asked(None if schedule is None else read_schedule(schedule, LATE), values)


def plan_of(stages: EntryStages, *, interleave: bool, coherent: bool) -> Plan:
    """The host plan of an entry point; the parameters are those of :func:`plan_fun`."""
    return plan_fun(stages.versioned, stages.names, interleave=interleave, coherent=coherent)


def derivation_of(stages: EntryStages, policy: str) -> Derivation:
    """The derivation of the versions of an entry point, repeated."""
    (found,) = derive(Program((stages.optimised,)), copy(stages.names), policy=policy)[1]
    return found
