"""Ways to make a call where one array lies otherwise in memory: schedules with one more step."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from runelift.ir import syntax as ir
from runelift.ir.base.errors import CompilerLimitation, UserError
from runelift.rewrite.lift.points import BOOK
from runelift.rewrite.lift.schedule import OR, Schedule, Step
from runelift.rewrite.lift.scheduling import Asked
from runelift.rewrite.pipeline import possible_steps
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.predictions.predict import outlined
from runelift.runtime.predictions.schedules import FEW_VERSIONS, seconds_by_schedule
from runelift.runtime.programs.program import Program
from runelift.runtime.tools.profiling.next_step import LEAST, Kind
from runelift.runtime.tools.profiling.way import Call, Way
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram

STORED = "materialise(global)"
"""The step that stores an array."""
MOST_LAYOUTS, SECONDS = 2, 5.0
"""The most layouts that are measured, and the seconds for predictions."""
MOST_TEXT = 24
"""The longest expression that is named by its text."""


def layouts(call: Call, resident: Sequence[Any]) -> Iterator[Way]:
    """Schedules that store one array, or store it in another order.

    Schedules that the model of cost does not predict to gain are left out.
    """
    compiled, program = call.program.compiled, call.program
    if call.force or compiled.rules is not None or OR in compiled.schedule_text.splitlines():
        return
    for schedule, step in _predicted_to_gain(program, call.entry, resident)[:MOST_LAYOUTS]:
        try:
            made = program[call.entry].with_schedule(schedule.text).program
            assert isinstance(made, Program)
            made.thresholds = dict(program.thresholds)
            measured = MeasuredProgram(made)
            yield Way(Kind.LAYOUT, _name(step, compiled), partial(
                measured.time, call.entry, measured.place(resident)), schedule.text)
        except (UserError, CompilerLimitation):
            continue


def _predicted_to_gain(program: Program, entry: str, resident: Sequence[Any]
                       ) -> list[tuple[Schedule, Step]]:
    """Schedules with one more step, and the step, by predicted time."""
    compiled, info = program.compiled, program.device_info
    assert info is not None
    own, started = Schedule(tuple(compiled.steps)), time.monotonic()
    (fun,) = (each for each in compiled.core.funs if each.name == entry)
    steps = [each for each in possible_steps(
        ir.Program((fun,)), compiled.names, Asked(Schedule(own.of(entry)), compiled.numbers), BOOK)
        if each.request.point == "layout" or str(each.request) == STORED]
    if not steps:
        return []
    seconds = seconds_by_schedule(compiled, info, entry, [
        outlined(program.loaded, entry, resident)], FEW_VERSIONS)
    (now,), found = seconds(own), list[tuple[float, Schedule, Step]]()
    for step in sorted(steps, key=lambda each: each.place.count(".")):
        if time.monotonic() > started + SECONDS:
            break
        longer = own.with_step(step)
        (predicted,) = seconds(longer)
        if LEAST * predicted < now:
            found.append((predicted, longer, step))
    return [(schedule, step) for _, schedule, step in sorted(found, key=lambda each: each[0])]


def _name(step: Step, compiled: Compiled) -> str:
    """The effect of a step, in words."""
    loc, order = step.loc, str(step.request.arguments[0])
    span = None if loc is None else loc.span([compiled.source])
    text = "" if span is None else " ".join(span.text.split())
    what = f"'{text}'" if 0 < len(text) <= MOST_TEXT else "the array"
    at = "" if loc is None else f" of line {loc.line}"
    how = {"global": "", "10": ", transposed"}.get(
        order, f", its dimensions in the order {order}")
    return f"store {what}{at}{how}"
