"""Schedules by predicted time: which are measured, and what a prediction is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

import runelift
from runelift.ir.base.source import Source
from runelift.rewrite.lift.points import LATE
from runelift.rewrite.lift.schedule import Schedule, read_schedule
from runelift.runtime.predictions.predict import predict_call
from runelift.runtime.tools.commands.schedule_search import FEW_VERSIONS, _predicting
from runelift.runtime.tuner.measure.protocols import Dataset
from runelift.runtime.tuner.policy import SchedulePolicy
from runelift.runtime.tuner.schedules.drawing import Drawn
from runelift.runtime.tuner.schedules.ranking import Ranking
from runelift.runtime.tuner.schedules.search import ScheduleSearch
from tests.runtime.tuner.schedules.test_schedules import Known, drawing

CHAIN = """
entry main [n] (a: [n][n]f32) (b: [n][n]f32) (c: [n][n]f32): [n][n]f32 =
  map (\\row -> map (\\col ->
    let t = map (\\brow -> f32.sum (map2 (*) brow col)) b
    in f32.sum (map2 (*) row t)) (transpose c)) a
"""
"""A matrix is multiplied by each row again, unless it is stored and the loops are exchanged."""


def schedule(text: str) -> Schedule:
    return read_schedule(Source("s", text), LATE)


def ranked(times: Mapping[str, tuple[float, ...]], at_random: str = "") -> Ranking:
    """Schedules of one step by name, with their predicted times; the plain one takes 1 second."""
    steps = {name: schedule(f"main.{name} materialise(global)\n") for name in times}
    known = {each.text: times[name] for name, each in steps.items()}
    ranking = Ranking(lambda each: known.get(each.text, (1.0, 1.0)), Schedule())
    for name, each in steps.items():
        ranking.add(Drawn(each, at_random=name in at_random))
    return ranking


def names(drawn: list[Drawn]) -> list[str]:
    return [each.schedule.steps[0].place.removeprefix("main.") for each in drawn]


def test_the_quickest_are_taken_first_and_nothing_is_dropped() -> None:
    ranking = ranked({"a": (2.0, 2.0), "b": (0.5, 3.0), "c": (0.4, 0.9), "d": (1.5, 1.5),
                      "e": (math.inf, math.inf)})
    assert names(ranking.gaining(9)) == ["c", "b"]
    assert names(ranking.take(2)) == ["c", "b"]
    assert names(ranking.take(2)) == ["d", "a"]
    assert names(ranking.take(2)) == ["e"]
    assert ranking.take(2) == []
    assert ranking.number == 5


def test_of_schedules_that_are_predicted_alike_one_is_taken_before_others() -> None:
    ranking = ranked({"a": (0.5, 0.5), "b": (0.5, 0.5), "c": (1.0, 1.0), "d": (2.0, 2.0)})
    assert names(ranking.take(2)) == ["a", "d"]
    assert names(ranking.take(2)) == ["b", "c"]  # which run as what was measured


def test_one_of_several_is_any_that_was_drawn_at_random() -> None:
    ranking = ranked({"a": (0.5, 0.5), "b": (9.0, 9.0), "c": (0.6, 0.6)}, at_random="bc")
    taken = ranking.take(2)
    assert names(taken) == ["a", "b"]
    assert [each.at_random for each in taken] == [False, True]
    (last,) = ranking.take(1)
    assert not last.at_random  # it was preferred


def test_a_search_finds_in_one_program_what_is_predicted_to_be_the_best() -> None:
    def search(predict: Any) -> ScheduleSearch:
        found = ScheduleSearch(drawing(), Known(), predict, ["square", "odd"], 5,
                               SchedulePolicy(ranked=24))
        found.run()
        return found

    exact = search(lambda each: (Known.time(tuple(map(str, each.steps))), 1.5))
    blind = search(lambda each: (1.0, 1.0))
    assert len(exact.candidates) == len(blind.candidates) == 5
    best = [min(Known.time(each.drawn.lines) for each in found.candidates)
            for found in (exact, blind)]
    assert best[0] < best[1]
    likely, at_random = exact.candidates[:-1], exact.candidates[-1]
    assert at_random.drawn.at_random
    assert not any(each.drawn.at_random for each in likely)


def test_a_prediction_is_that_of_the_program_with_the_schedule() -> None:
    program = runelift.compile(CHAIN, device="pocl", tuning={})
    args = [np.ones((96, 96), np.float32)] * 3
    predict = _predicting(program, "main", [Dataset("a", "main", lambda: args)])
    texts = ["", "main.ys interchange()\n", "main.ys.ys.ys split_join(3)\n"]
    for text in texts:
        scheduled = runelift.compile(CHAIN, device="pocl", tuning={}, schedule=text or None)
        assert predict(schedule(text)) == (
            predict_call(scheduled.loaded, "main", args).totals.seconds,)
    assert program.loaded._executables == {}


def test_schedules_that_save_work_come_first() -> None:
    program = runelift.compile(CHAIN, device="pocl", tuning={})
    args = [np.ones((96, 96), np.float32)] * 3
    predict = _predicting(program, "main", [Dataset("a", "main", lambda: args)])
    plain, hoisted = predict(schedule("")), predict(schedule(
        "main.ys.ys.ys split_join(3)\nmain.ys interchange()\n"))
    assert hoisted[0] < 0.1 * plain[0]


def test_the_quickest_by_estimates_are_predicted_in_full() -> None:
    """Estimates may be wrong; only few predictions are made."""
    steps = {name: schedule(f"main.{name} materialise(global)\n") for name in "abcd"}
    rough = dict(zip("abcd", (0.2, 0.3, 0.4, 0.5), strict=True))
    exact = dict(zip("abcd", (0.9, 0.1, 0.35, 0.05), strict=True))
    asked = list[str]()

    def by(times: Mapping[str, float], notes: list[str]) -> Any:
        def predict(each: Schedule) -> tuple[float, ...]:
            name = next((name for name in steps if steps[name].text == each.text), "")
            notes.append(name)
            return (times.get(name, 1.0),)
        return predict

    ranking = Ranking(by(exact, asked), Schedule(), by(rough, []))
    for each in steps.values():
        ranking.add(Drawn(each, at_random=False))
    assert names(ranking.take(2)) == ["b", "c"]
    assert asked == ["", "a", "b", "c"]


def test_estimates_come_from_a_program_with_few_versions() -> None:
    program = runelift.compile(CHAIN, device="pocl", tuning={})
    args = [np.ones((96, 96), np.float32)] * 3
    data = [Dataset("a", "main", lambda: args)]
    estimate, predict = (_predicting(program, "main", data, policy)
                         for policy in (FEW_VERSIONS, None))
    plain, hoisted = (schedule(text) for text in (
        "", "main.ys.ys.ys split_join(3)\nmain.ys interchange()\n"))
    assert estimate(plain)[0] >= predict(plain)[0]
    assert estimate(hoisted)[0] < 0.1 * estimate(plain)[0]
