"""Random programs, many of which fail: points that match keep what they mean."""

from __future__ import annotations

from copy import copy, deepcopy
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from runelift.frontend.load import load
from runelift.ir.base.errors import ProgramError, ProgramFailure
from runelift.ir.base.source import Source
from runelift.ir.interpret import interpret
from runelift.ir.names import Names
from runelift.ir.points import DEFAULT
from runelift.ir.syntax import Program
from runelift.rewrite.flattening import flatten
from runelift.rewrite.lift.points import BOOK
from runelift.rewrite.lift.schedule import Schedule, Step
from runelift.rewrite.lift.scheduling import Asked, Scheduling
from runelift.rewrite.pipeline import clean, optimise, possible_steps
from tests.random_programs.nests import nests

STEPS = 4
"""The steps that are tried for each program."""
LAST = 99
"""A number of a version beyond all, which means the last one."""


def outcome(program: Program, args: list[Any], version: int = 0) -> list[bytes] | str:
    """The bits of the results, or that there are none."""
    try:
        return [value.tobytes() for value in interpret(
            program, "main", deepcopy(args),
            choose=lambda v: min(version, len(v.alternatives) - 1))]
    except ProgramFailure:
        return "failed"


def with_numbers(step: Step, random: Random) -> Step:
    """The step with small numbers, which divide some sizes and others not."""
    arguments = tuple(random.choice((1, 2, 3)) if each == DEFAULT else each
                      for each in step.request.arguments)
    return replace(step, request=replace(step.request, arguments=arguments))


@pytest.mark.sweep(every=4)
@pytest.mark.parametrize("seed", range(24))
def test_a_step_keeps_what_a_program_computes(seed: int) -> None:
    names, random, family = Names(), Random(seed), nests()
    program = load(Source(f"seed {seed}", family.text(seed)), names)
    (args,) = family.inputs(seed)
    wanted = outcome(program, args)
    steps = possible_steps(program, names)
    for step in random.sample(steps, min(STEPS, len(steps))):
        schedule = Schedule((with_numbers(step, random),))
        own = copy(names)
        done = taken(program, own, schedule)
        if done is None:
            continue
        assert outcome(done, args) == wanted, schedule.text
        flat = clean(flatten(done, own), own)
        for version in (0, LAST):
            assert outcome(flat, args, version) == wanted, schedule.text


def taken(program: Program, names: Names, schedule: Schedule) -> Program | None:
    """The program after a schedule; None if its numbers can never divide what they should."""
    points = Scheduling(BOOK, Asked(schedule))
    try:
        return optimise(program, names, points=points)
    except ProgramError as error:
        if error.code != "point-does-not-match":
            raise
    return None


def test_most_steps_are_taken() -> None:
    """Otherwise the test above would show little."""
    names, random, family, found = Names(), Random(0), nests(), list[bool]()
    for seed in range(3):
        program = load(Source(f"seed {seed}", family.text(seed)), names)
        found += [taken(program, copy(names), Schedule((with_numbers(step, random),))) is not None
                  for step in random.sample(possible_steps(program, names), 8)]
    assert sum(found) > len(found) / 2
