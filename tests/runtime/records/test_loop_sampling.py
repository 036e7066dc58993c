"""Records of long loops that were left early say what those of whole runs do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import runelift
from runelift.runtime.programs.program import Program
from runelift.runtime.records.loop_sampling import (
    LEAST_SAMPLE,
    LoopSample,
    RecordPosition,
    sample_size,
    with_all_commands,
    with_all_encounters,
)
from runelift.runtime.records.record import Record
from runelift.runtime.records.recorder import Command, EncounterKind, OpenEncounter
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.versions.forest import plans

SUMS = """
def rows [m] [n] (xss: [m][n]f32): [m][n]f32 =
  map (\\xs -> map (+ f32.sum xs / 8) xs) xss
"""
STEADY = SUMS + """
entry main [m] [n] (k: i64) (xss: [m][n]f32): [m][n]f32 =
  loop xss = xss for _i < k do rows xss
"""
NESTED = SUMS + """
entry main [m] [n] (k: i64) (xss: [m][n]f32): [m][n]f32 =
  loop xss = xss for j < 3 do
    let xss = rows xss
    let xss = loop xss = xss for _i < k do rows xss
    in map (map (+ f32.i64 j)) xss
"""
SCALARS = SUMS + """
entry main [m] [n] (k: i64) (xss: [m][n]f32): ([m][n]f32, []f32) =
  let (xss, s) = loop (xss, s) = (xss, 1) for i < k do
    (map (map (* f32.i64 (s + i))) (rows xss), s + 2 * i)
  in (xss, map f32.i64 (iota s))
"""
UNTIL = SUMS + """
entry main [m] [n] (k: i64) (xss: [m][n]f32): [m][n]f32 =
  let xss = loop xss = xss for _i < k do rows xss
  in loop xss while xss[0, 0] < 100 do map (map (+ 1)) xss
"""


@pytest.fixture(scope="module")
def args() -> list[Any]:
    return [40, np.ones((16, 64), np.float32)]


def program(text: str) -> Program:
    return runelift.compile(text, tuning={})


def structure(record: Record) -> tuple[Any, ...]:
    """All that a record says but times."""
    return (record.launches, record.waits, [
        (e.site, e.number, e.parent, e.sizes, e.par, e.feasible, e.chosen, e.launches, e.scarce)
        for e in record.encounters])


@pytest.mark.parametrize("text", [STEADY, NESTED, SCALARS], ids=["steady", "nested", "scalars"])
def test_a_few_iterations_stand_for_all(text: str, args: list[Any]) -> None:
    made = program(text)
    skipped = 0
    for force in [{}, *plans(made.tree.entry("main"))]:
        whole = MeasuredProgram(made).record("main", args, force=force, samples=False)
        sampled = MeasuredProgram(made).record("main", args, force=force)
        assert structure(sampled) == structure(whole)
        assert whole.skipped == 0
        skipped += sampled.skipped
        at_most = sampled.span * (1 + 1e-9)
        assert sum(e.time for e in sampled.encounters if e.parent is None) <= at_most
        assert sampled.busy <= at_most
    assert skipped


def test_plans_that_depend_on_what_is_computed_run_to_their_end(args: list[Any]) -> None:
    made = program(UNTIL)
    for force in plans(made.tree.entry("main")):
        assert MeasuredProgram(made).record("main", args, force=force).skipped == 0


def test_results_are_those_of_whole_runs(args: list[Any]) -> None:
    made = program(STEADY)
    force = plans(made.tree.entry("main"))[-1]
    (expected,), _ = made.run("main", args, force=force)
    MeasuredProgram(made).record("main", args, force=force)
    (found,), record = made.run("main", args, force=force, record=True)
    assert record is not None
    assert record.skipped == 0
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(("iterations", "expected"), [
    (1, 1), (2 * LEAST_SAMPLE - 1, 2 * LEAST_SAMPLE - 1), (2 * LEAST_SAMPLE, LEAST_SAMPLE),
    (64, LEAST_SAMPLE), (1000, 63)])
def test_long_loops_have_longer_samples(iterations: int, expected: int) -> None:
    assert sample_size(iterations) == expected


Shape = list[tuple[int, list[int]]]
"""Encounters: how many commands before it, and those of the encounters inside."""
shapes = st.lists(st.tuples(st.integers(0, 2), st.lists(st.integers(0, 2), max_size=2)),
                  max_size=3)


class Simulated:
    """Commands and encounters; a command takes as long as its place in its iteration says."""

    def __init__(self) -> None:
        self.commands: list[Command] = []
        self.encounters: list[OpenEncounter] = []
        self.open: list[int] = []

    def place(self) -> RecordPosition:
        return RecordPosition(len(self.commands), len(self.commands), len(self.encounters),
                              float(len(self.commands)))

    def run(self, count: int) -> None:
        for _ in range(count):
            now = self.commands[-1].end if self.commands else 0
            self.commands.append(Command(now - 7, now + 1, now + 3))

    def enter(self) -> None:
        place = self.place()
        self.encounters.append(OpenEncounter(
            EncounterKind("s", {}, {}, ()), self.open[-1] if self.open else None, (0,), 0,
            place.commands, place.launches, place.seconds))
        self.open.append(len(self.encounters) - 1)

    def leave(self) -> None:
        opened, place = self.encounters[self.open.pop()], self.place()
        opened.last = place.commands
        opened.launches = place.launches - opened.launched
        opened.issue = place.seconds - opened.started

    def do(self, shape: Shape) -> None:
        for before, inside in shape:
            self.run(before)
            self.enter()
            for commands in inside:
                self.enter()
                self.run(commands)
                self.leave()
            self.run(1)
            self.leave()


@given(shapes, shapes, st.lists(st.tuples(shapes, st.integers(1, 3), st.integers(0, 7)),
                                max_size=3), st.booleans())
def test_what_was_not_made_is_where_it_would_have_been(
        before: Shape, after: Shape, loops: list[tuple[Shape, int, int]], around: bool) -> None:
    whole, partly = Simulated(), Simulated()
    samples = []
    for simulated in (whole, partly):
        simulated.do(before)
        for body, count, left in loops:
            if around:
                simulated.enter()
            simulated.run(1)
            first = simulated.place()
            for _ in range(count + (left if simulated is whole else 0)):
                simulated.do(body)
            if simulated is partly:
                samples.append(LoopSample(first, simulated.place(), count, left,
                                          tuple(simulated.open)))
            if around:
                simulated.leave()
        simulated.do(after)
    commands = with_all_commands(partly.commands, samples)
    assert commands == whole.commands
    encounters = with_all_encounters(partly.encounters, samples)
    assert [(e.parent, e.first, e.last, e.launches, round(e.issue, 6)) for e in encounters] == [
        (e.parent, e.first, e.last, e.launches, round(e.issue, 6)) for e in whole.encounters]
