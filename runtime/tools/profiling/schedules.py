"""Ways to make a call with one more step in its schedule: another layout, tiles, or padding."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
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
KINDS: Mapping[str, Kind] = {
    "layout": Kind.LAYOUT, STORED: Kind.LAYOUT, **dict.fromkeys(
        ("split_join", "ab_tile", "tile_map_reduce", "pad_extra"), Kind.TILES)}
"""The kinds of steps that are tried, by point or by step."""
MOST, SECONDS = 2, 5.0
"""The most steps of a kind that are measured, and the seconds for predictions."""
MOST_TEXT = 24
"""The longest expression that is named by its text."""


def schedules(call: Call, resident: Sequence[Any]) -> Iterator[Way]:
    """Schedules with a step that stores one array, or tiles or pads one loop.

    Schedules that the model of cost does not predict to gain are left out.
    """
    compiled, program = call.program.compiled, call.program
    if call.force or compiled.rules is not None or OR in compiled.schedule_text.splitlines():
        return
    left = dict.fromkeys(KINDS.values(), MOST)
    for schedule, step in _predicted_to_gain(program, call.entry, resident):
        kind = _kind(step)
        if kind is None or not left[kind]:
            continue
        left[kind] -= 1
        try:
            made = program[call.entry].with_schedule(schedule.text).program
            assert isinstance(made, Program)
            made.thresholds = dict(program.thresholds)
            measured = MeasuredProgram(made)
            yield Way(kind, _name(step, compiled), partial(
                measured.time, call.entry, measured.place(resident)), schedule.text)
        except (UserError, CompilerLimitation):
            continue


def _predicted_to_gain(program: Program, entry: str, resident: Sequence[Any]
                       ) -> list[tuple[Schedule, Step]]:
    """Schedules with one more step, and the step, by predicted time; one for each time."""
    compiled, info = program.compiled, program.device_info
    assert info is not None
    own, started = Schedule(tuple(compiled.steps)), time.monotonic()
    (fun,) = (each for each in compiled.core.funs if each.name == entry)
    steps = [each for each in possible_steps(
        ir.Program((fun,)), compiled.names, Asked(Schedule(own.of(entry)), compiled.numbers), BOOK)
        if _kind(each) is not None]
    if not steps:
        return []
    seconds = seconds_by_schedule(compiled, info, entry, [
        outlined(program.loaded, entry, resident)], FEW_VERSIONS)
    (now,), found = seconds(own), dict[float, tuple[Schedule, Step]]()
    for step in sorted(steps, key=lambda each: (_kind(each) is Kind.TILES, each.place.count("."))):
        if time.monotonic() > started + SECONDS:
            break
        longer = own.with_step(step)
        (predicted,) = seconds(longer)
        if LEAST * predicted < now:
            found.setdefault(predicted, (longer, step))
    return [found[predicted] for predicted in sorted(found)]


def _kind(step: Step) -> Kind | None:
    """The kind of ways that a step makes; None if it is not tried."""
    return KINDS.get(str(step.request), KINDS.get(step.request.point))


def _name(step: Step, compiled: Compiled) -> str:
    """The effect of a step, in words."""
    loc, order = step.loc, str(step.request.arguments[0])
    span = None if loc is None else loc.span([compiled.source])
    text = "" if span is None else " ".join(span.text.split())
    tiles = _kind(step) is Kind.TILES
    what = f"'{text}'" if 0 < len(text) <= MOST_TEXT else "a loop" if tiles else "the array"
    at = "" if loc is None else f" of line {loc.line}"
    if tiles:
        return f"rewrite {what}{at} by {step.request}"
    how = {"global": "", "10": ", transposed"}.get(
        order, f", its dimensions in the order {order}")
    return f"store {what}{at}{how}"
