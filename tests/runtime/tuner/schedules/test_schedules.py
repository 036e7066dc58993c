"""The search over schedules: with times that are known, and of a program that is tuned."""

from __future__ import annotations

import json
import math
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.frontend.load import load
from runelift.ir.base.errors import UserError
from runelift.ir.base.source import Source
from runelift.ir.interpret import interpret
from runelift.ir.names import Names
from runelift.ir.syntax import Program as Core
from runelift.ir.syntax import Versions
from runelift.rewrite.lift.canonical import canonical_text
from runelift.rewrite.lift.points import LATE
from runelift.rewrite.lift.schedule import Schedule, read_schedule
from runelift.rewrite.lift.scheduling import Asked
from runelift.rewrite.pipeline import possible_numbers
from runelift.runtime.compilation.entry_points import rewritten_by
from runelift.runtime.programs.program import Program
from runelift.runtime.tools.commands.autotune import _has_time_to_drop
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tools.commands.schedule_search import (
    proved_gains,
    used_schedules,
    with_most_datasets,
    without_unused,
)
from runelift.runtime.tools.commands.tuning_options import EFFORTS
from runelift.runtime.tools.commands.tuning_request import SearchedSchedules, TuningResult
from runelift.runtime.tuner.confirm_size_guards import ConfirmedSizeGuards
from runelift.runtime.tuner.costs.log import NO_TIME, LoggedRun, Measurements
from runelift.runtime.tuner.fit.size_guards import SizeGuardKind
from runelift.runtime.tuner.job import TuningJob
from runelift.runtime.tuner.measure.protocols import Dataset, MeasuringMethod, Replay
from runelift.runtime.tuner.policy import NORMAL, SchedulePolicy
from runelift.runtime.tuner.result import Tuning, default_thresholds
from runelift.runtime.tuner.schedules.drawing import Drawing, Drawn
from runelift.runtime.tuner.schedules.measuring import Measured, by_default
from runelift.runtime.tuner.schedules.report import render_schedules, schedule_facts
from runelift.runtime.tuner.schedules.search import Candidate, ScheduleSearch, best_somewhere
from runelift.runtime.tuner.search.budget import Budget
from runelift.runtime.tuner.search.trace import Best
from runelift.runtime.tuner.searched_gains import with_searched
from runelift.runtime.tuner.state import State
from runelift.runtime.tuner.thresholds import conclude, measure
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.tuner.workers.result_checks import ResultChecks
from runelift.runtime.versions.size_guards import Leaf

PRODUCT = """\
-- ==
-- "square" random input { [12][8]f32 [8][4]f32 }
-- "odd" random input { [7][5]f32 [5][3]f32 }
entry main [n][m][p] (xss: [n][m]f32) (yss: [m][p]f32): [n][p]f32 =
  map (\\xs -> map (\\ys -> reduce (+) 0 (map2 (*) xs ys)) (transpose yss)) xss
"""
SIZES = [{"n_1": 12, "m_2": 8, "p_4": 4}, {"n_1": 7, "m_2": 5, "p_4": 3}]


def drawing(seed: int = 0) -> Drawing:
    names = Names()
    fun = load(Source("product", PRODUCT), names).funs[0]
    assert {str(p.name) for p in fun.params} >= SIZES[0].keys()
    return Drawing(fun, names, SIZES, {}, random.Random(seed), ahead=4)


@pytest.mark.parametrize("seed", range(2))
def test_drawn_schedules_differ_match_and_suit_a_dataset(seed: int) -> None:
    source = drawing(seed)
    drawn = list(islice(source.draw(), 9))
    texts = set()
    for each in drawn:
        done = rewritten_by(source.fun, each.schedule, Asked(), source.names)
        texts.add(canonical_text(done.fun))
        suited = [sizes for sizes in SIZES if all(
            need.holds({name: sizes[str(name)] for name in need.variables()})
            for need in done.needs)]
        assert suited
        for sizes in suited:
            n, m, p = sizes.values()
            xss, yss = (np.random.default_rng(seed).random(shape).astype(np.float32)
                        for shape in ((n, m), (m, p)))
            np.testing.assert_allclose(
                interpret(Core((done.fun,)), "main", [xss, yss])[0], xss @ yss, rtol=1e-4)
    assert len(texts) == len(drawn) == 9
    assert source.refused.total() < 16


@pytest.mark.parametrize(("text", "fits"), [
    ("main.ys split_join(16)", [[2, 3, 4, 6, 7, 12]]),  # the divisors of 12 and of 7
    ("main.ys.ys split_join(16)", [[2, 3, 4]]),
    ("main.ys ab_tile(16, 16)", [[2, 3, 4, 6, 7, 12], [2, 3, 4], []]),
])
def test_numbers_are_drawn_from_all_that_fit_a_dataset(text: str, fits: list[list[int]]) -> None:
    source = drawing()
    (step,) = read_schedule(Source("s", text), LATE).steps
    assert possible_numbers(Core((source.fun,)), source.names, Asked(Schedule()), step,
                            source._pool, source._suits) == fits
    drawn = {source._numbered(Schedule(), step).request.arguments for _ in range(60)}
    assert {each[0] for each in drawn} <= set(fits[0])
    assert len(drawn) > 2


def test_named_numbers_and_steps_that_may_be_left_out_are_drawn() -> None:
    source = drawing()
    text = "main.ys.ts layout(10, skip)\nmain.ys split_join(tile)\n"
    base = read_schedule(Source("s", text), LATE)
    source = replace(source, base=base, values={"tile": 4}, refused=Counter(), _seen={}, _steps={})
    drawn = [tuple(map(str, each.schedule.steps)) for each in islice(source.near(Drawn(base)), 12)]
    assert [each for each in drawn if each[0].startswith("main.ys split_join(")]
    assert [each for each in drawn if each[0] == "main.ys.ts layout(10, skip)"
            and re.fullmatch(r"main.ys split_join\(\d+\)", "".join(each[1:]))]


def test_schedules_near_another_one_are_new() -> None:
    source = drawing()
    known = next(source.draw())
    near = list(islice(source.near(known), 5))
    assert known.lines not in [each.lines for each in near]
    assert len({each.lines for each in near}) == len(near) > 0


def test_a_space_that_is_exhausted_ends() -> None:
    names = Names()
    fun = load(Source("p", "entry main (x: i32): i32 = x + 1"), names).funs[0]
    assert list(Drawing(fun, names, [{}], {}, random.Random(0)).draw()) == []


# Searches with known times


class Known:
    """Measurements whose results are known: more tiles take less time, on one dataset only."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, int]] = []

    def __call__(self, versions: Schedule, rounds: int, seconds: float) -> Measured:
        self.calls.append((len(versions.versions), rounds))
        found = Measured(datasets={"square", "odd"}, runs=len(versions.versions))
        for each in versions.versions:
            lines = tuple(map(str, each.steps))
            if any("private" in line for line in lines):
                found.errors[lines] = "too many registers"
            else:
                found.ratios[lines] = {"square": self.time(lines), "odd": 1.5}
        return found

    @staticmethod
    def time(lines: tuple[str, ...]) -> float:
        return 1.2 - 0.3 * sum("privatise()" in line for line in lines) + 0.01 * len(lines)


def searched(most: int, known: Known, **options: object) -> ScheduleSearch:
    policy = SchedulePolicy(ranked=8)
    search = ScheduleSearch(drawing(), known, lambda schedule: (1.0, 1.0), ["square", "odd"],
                            most, policy, **options)  # type: ignore[arg-type]
    search.run()
    return search


class Slow(Known):
    """Measurements in which schedules with ``privatise`` were stopped on one dataset."""

    def __call__(self, versions: Schedule, rounds: int, seconds: float) -> Measured:
        found = super().__call__(versions, rounds, seconds)
        for lines in found.ratios:
            if "privatise" in str(lines):
                found.slow[lines].add("square")
                del found.ratios[lines]["square"]
        return found


def test_schedules_that_were_stopped_as_slow_have_not_failed() -> None:
    search = searched(20, Slow())
    slow = [each for each in search.candidates if each.slow]
    assert slow
    assert all(each.score(search.datasets) == 1 and not each.failed for each in slow)
    assert search.winners == []
    assert f"took too long on a dataset: {len(slow)}" in render_schedules("main", search)


def test_schedules_that_thresholds_do_not_choose_are_dropped() -> None:
    search = searched(16, Known())
    (winner,) = search.winners
    search.keep({winner.drawn.lines})
    assert (search.winners, search.unused) == ([winner], [])
    search.keep(set())
    assert (search.winners, search.unused) == ([], [winner])
    assert "dropped" in render_schedules("main", search)


def test_the_best_schedules_win() -> None:
    known = Known()
    search = searched(16, known)
    able = [each for each in search.candidates if not each.failed]
    best = min(Known.time(each.drawn.lines) for each in able)
    assert len(search.candidates) == 16
    assert len(search.winners) == 1
    assert search.winners[0].ratios == {"square": best, "odd": 1.5}
    assert max(together for together, _ in known.calls) == 5
    assert {rounds for _, rounds in known.calls} >= {0, SchedulePolicy().rounds}
    assert [each.score for each in search.advances] == sorted(
        (each.score for each in search.advances), reverse=True)
    failed = [each for each in search.candidates if each.failed]
    assert search.failures == ({"too many registers": len(failed)} if failed else {})
    assert search.failed_share == len(failed) / 16
    text = render_schedules("main", search)
    assert "1 of" in text
    assert "not tried, of" in text
    assert json.loads(json.dumps(schedule_facts(search)))["winners"] == [
        search.winners[0].drawn.schedule.text.splitlines()]


def test_a_budget_of_runs_or_seconds_ends_the_search() -> None:
    known = Known()
    search = searched(14, known, budget=Budget(runs=6))
    assert search.made < 6 + 5
    ticks: Iterator[float] = iter(range(1000))
    search = searched(14, Known(), budget=Budget(seconds=6.0), clock=lambda: float(next(ticks)))
    assert sum(each.times > 0 for each in search.candidates) < 14


def test_an_interruption_keeps_what_was_found() -> None:
    class Interrupted(Known):
        def __call__(self, versions: Schedule, rounds: int, seconds: float) -> Measured:
            if len(self.calls) == 2:
                raise KeyboardInterrupt
            return super().__call__(versions, rounds, seconds)

    search = searched(20, Interrupted())
    assert search.interrupted
    assert search.winners == best_somewhere(search.winners, ["square", "odd"], 0.03)


def test_a_program_that_cannot_be_compiled_costs_only_the_schedule_at_fault() -> None:
    class Refusing(Known):
        def __call__(self, versions: Schedule, rounds: int, seconds: float) -> Measured:
            if any("interchange" in str(step) for each in versions.versions
                   for step in each.steps):
                raise UserError("no such kernel")
            return super().__call__(versions, rounds, seconds)

    search = searched(8, Refusing())
    for each in search.candidates:
        if any("interchange" in line for line in each.drawn.lines):
            assert each.failed == "no such kernel"
        else:
            assert each.times or "registers" in each.failed


def test_scores_count_where_a_schedule_is_chosen() -> None:
    one, other = (Candidate(Drawn(Schedule()), ratios, times=1) for ratios in (
        {"a": 0.5, "b": 3.0}, {"b": 0.9}))
    assert math.isclose(one.score(["a", "b"]), math.sqrt(0.5))
    assert math.isclose(other.score(["a", "b"]), math.sqrt(0.9))
    assert best_somewhere([other, one], ["a", "b"], 0.03) == [one, other]
    assert best_somewhere([other, one], ["a"], 0.03) == [one]
    assert best_somewhere([other], ["b"], 0.2) == []


# Programs that run

ALONE = "main.ys interchange()\nor\n"
SCHEDULES = "main.ys interchange()\nor\nmain.ys ab_tile(4, 4, none)\nor\n"


def test_times_of_schedules_are_those_of_versions_that_run() -> None:
    program = runelift.compile(PRODUCT, device="pocl", tuning={}, schedule=SCHEDULES)
    forest = program.tree.entry("main")
    inputs = [Dataset(name, "main", lambda n=n, m=m, p=p: [
        np.ones((n, m), np.float32), np.ones((m, p), np.float32)])
        for name, (n, m, p) in (("square", (12, 8, 4)), ("odd", (7, 5, 3)))]
    found = by_default(MeasuredProgram(program, ResultChecks()), forest, inputs, math.inf)
    assert found.datasets == {"square", "odd"}
    assert found.errors == {}
    assert {lines: set(times) for lines, times in found.ratios.items()} == {
        ("main.ys interchange()",): {"square", "odd"},
        ("main.ys ab_tile(4, 4)",): {"square"}}  # 4 divides neither 7 nor 3


def test_kernels_that_do_the_same_have_one_text_in_all_versions_of_a_program() -> None:
    """So those of the original are built once in a search."""
    def texts(schedule: str | None) -> set[str]:
        program = runelift.compile(PRODUCT, device="pocl", tuning={}, schedule=schedule)
        executable = program.loaded.executable("main")
        return {executable.kernels._text([site], {}) for site in executable.sites}

    assert texts(None) < texts(SCHEDULES)


def test_schedules_are_used_if_thresholds_or_size_guards_choose_them() -> None:
    program = runelift.compile(PRODUCT, device="pocl", tuning={}, schedule=SCHEDULES)
    forest = program.tree.entry("main")
    first, second = ("main.ys interchange()",), ("main.ys ab_tile(4, 4)",)
    run = MeasuredProgram(program, ResultChecks())
    inputs = [Dataset("square", "main", lambda: [np.ones((12, 8), np.float32),
                                                 np.ones((8, 4), np.float32)])]
    job = TuningJob(run, program.tree, inputs, verify=False,
                    method=MeasuringMethod(replay=Replay(rounds=1)))
    entry = measure(job.on(forest))
    (tree,) = forest.trees

    def used(index: int, guard: int | None = None) -> set[tuple[str, ...]]:
        """Those used where the thresholds choose a version, or a size guard does."""
        thresholds = dict(entry.fit.thresholds)
        for k, alternative in enumerate(tree.alternatives):
            if alternative.guard is not None:
                thresholds[alternative.guard.name] = 1 if k == index else 10**9
        guards = () if guard is None else (ConfirmedSizeGuards(
            "main", SizeGuardKind.MEMO, {tree.name: Leaf(guard)}),)
        tuned = replace(entry, fit=replace(entry.fit, thresholds=thresholds))
        return used_schedules(State(Tuning((tuned,)), guards=guards)) - {()}

    assert [used(index) for index in range(3)] == [{first}, {second}, set()]
    assert used(2, guard=1) == {second}


def found_by_search(program: Program, *ratios: dict[str, float]) -> dict[str, ScheduleSearch]:
    """A search that ended with a winner for each of these times."""
    search = ScheduleSearch(drawing(), Known(), lambda schedule: (1.0, 1.0), ["square", "odd"], 9,
                            SchedulePolicy())
    steps = read_schedule(Source("s", "main.ys interchange()\n"), LATE)
    search.winners = [Candidate(Drawn(steps), each, times=1) for each in ratios]
    return {"main": search}


def unmeasured(program: Program, *ratios: dict[str, float]) -> State:
    """The result of a tuning that had no time, after a search with these winners."""
    forest = program.tree.entry("main")
    found = conclude(forest, default_thresholds(forest), Measurements(
        "main", left_out=["square", "odd"]))
    gains = proved_gains(program, found_by_search(program, *ratios))
    return State(Tuning((with_searched(gains, ["square", "odd"], found),)), searched=True)


def test_a_budget_that_ends_before_any_dataset_leaves_what_the_search_found() -> None:
    program = runelift.compile(PRODUCT, device="pocl", tuning={}, schedule=ALONE)
    guard = program.tree.entry("main").trees[0].alternatives[0].guard
    assert guard is not None
    before = unmeasured(program)
    assert before.measured  # the default is written, as the best so far
    gains = {"square": 0.5, "odd": 0.8}
    for searched_ in ([gains], [gains, gains], [{"square": 0.4, "odd": 1.2}, gains]):
        found = unmeasured(program, *searched_)
        assert {name: value for name, value in found.values.items() if value} == {guard.name: 1}
    for searched_ in ([{"square": 0.5, "odd": 1.2}], [{"square": 0.5}], []):
        assert unmeasured(program, *searched_).values == before.values


def test_a_schedule_is_not_dropped_on_datasets_that_were_not_measured() -> None:
    """The best on these stays, whatever thresholds choose on other datasets."""
    program = runelift.compile(PRODUCT, device="pocl", tuning={}, schedule=SCHEDULES)
    run, forest = MeasuredProgram(program, ResultChecks()), program.tree.entry("main")
    inputs = [Dataset("square", "main", lambda: [np.ones((12, 8), np.float32),
                                                 np.ones((8, 4), np.float32)])]
    job = TuningJob(run, program.tree, inputs, verify=False,
                    method=MeasuringMethod(replay=Replay(rounds=1)))
    entry = measure(job.on(forest))
    state = State(Tuning((replace(entry, fit=replace(entry.fit, thresholds=entry.defaults)),)))
    assert state.datasets == {"square"}
    request = SimpleNamespace(schedule=None)

    def rest(*ratios: dict[str, float]) -> tuple[int, int]:
        """The schedules that are kept and dropped."""
        search = found_by_search(program, *ratios)
        found = without_unused(request, program, SearchedSchedules(  # type: ignore[arg-type]
            SCHEDULES, search), state)
        assert (found is None) == (not search["main"].unused)
        return len(search["main"].winners), len(search["main"].unused)

    assert rest({"square": 0.9, "odd": 0.5}) == (1, 0)
    assert rest({"square": 0.5, "odd": 1.2}) == (0, 1)
    assert rest({"square": 0.5}) == (0, 1)
    runs = [LoggedRun("square", {forest.trees[0].name: 0}, None, NO_TIME)]
    state = State(Tuning((replace(state.thresholds.entries[0], measurements=replace(
        entry.measurements, runs=runs)),)))
    assert rest({"square": 0.5, "odd": 1.2}) == (1, 0)


def test_a_gain_is_kept_where_a_tuning_without_other_schedules_has_none() -> None:
    program = runelift.compile(PRODUCT, device="pocl", tuning={}, schedule=ALONE)
    search = found_by_search(program, {"square": 0.5, "odd": 0.8})
    gains, none = (TuningResult(program, search, 0.0, state=unmeasured(program, *ratios))
                   for ratios in ([{"square": 0.5, "odd": 0.8}], []))
    assert with_most_datasets(none, gains) == gains
    assert with_most_datasets(gains, none) == gains
    assert with_most_datasets(gains, gains) == gains


def test_a_result_of_more_datasets_is_kept_where_time_ends_after_schedules_were_dropped() -> None:
    first = runelift.compile(PRODUCT, device="pocl", tuning={}, schedule=SCHEDULES)
    second = runelift.compile(PRODUCT, device="pocl", tuning={}, schedule=ALONE)
    run, forest = MeasuredProgram(first, ResultChecks()), first.tree.entry("main")
    inputs = [Dataset("square", "main", lambda: [np.ones((12, 8), np.float32),
                                                 np.ones((8, 4), np.float32)])]
    job = TuningJob(run, first.tree, inputs, verify=False,
                    method=MeasuringMethod(replay=Replay(rounds=1)))
    measured = State(Tuning((measure(job.on(forest)),)))
    search = found_by_search(second, {"square": 0.5})
    search["main"].unused = [Candidate(Drawn(Schedule()), {}, times=1)]
    before, after = (TuningResult(each, search, 0.0, state=measured) for each in (first, second))
    assert with_most_datasets(after, before) == after
    assert len(search["main"].unused) == 1
    assert with_most_datasets(replace(after, state=unmeasured(second)), before) == before
    assert (len(search["main"].winners), search["main"].unused) == (2, [])


def test_autotune_searches_and_its_file_gives_the_same_kernels(
        tmp_path: Path, capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch) -> None:
    quick, few = EFFORTS["quick"], SchedulePolicy(ranked=12)
    monkeypatch.setitem(EFFORTS, "quick", replace(
        quick, policy=replace(quick.policy, schedules=few)))
    path = tmp_path / "product.fut"
    path.write_text(PRODUCT)
    assert main(["autotune", str(path), "--schedules", "2", "--device", "pocl", "--time-limit",
                 "none", "--no-parameters", "--runs", "1", "--effort", "quick"]) == 0
    out, err = capsys.readouterr()
    assert "Schedules of main:" in out
    assert re.search(r"^Time: .*\bschedules \d+ s", out, re.M)
    assert err.index("searching schedules: about") < err.index("tuning for 2 datasets")
    facts = json.loads((tmp_path / "product.fut.tuning.json").read_text())
    searched_ = facts["schedules"]["main"]
    assert len(searched_["measured"]) == 2
    assert searched_["failed_share"] == 0
    assert bool(searched_["winners"]) == ("schedule" in facts)
    lines = facts.get("schedule", [])
    again = runelift.compile(path, device="pocl")
    direct = runelift.compile(path, device="pocl", tuning={},
                              schedule="".join(f"{line}\n" for line in lines) or None)
    assert again.source("kernels") == direct.source("kernels")


def test_a_file_with_several_schedules_is_used(tmp_path: Path) -> None:
    path = tmp_path / "product.fut"
    path.write_text(PRODUCT)
    (tmp_path / "product.schedule").write_text(SCHEDULES)
    assert main(["autotune", str(path), "--schedule", str(tmp_path / "product.schedule"),
                 "--device", "pocl", "--time-limit", "none", "--no-parameters", "--effort",
                 "quick"]) == 0
    program = runelift.compile(path, device="pocl")
    (site,) = [stm.exp for stm in program.compiled.optimised.funs[0].body.stms
               if isinstance(stm.exp, Versions)]
    assert [each.schedule for each in site.alternatives] == [
        ("main.ys interchange()",), ("main.ys ab_tile(4, 4)",), ()]
    xss, yss = np.ones((12, 8), np.float32), np.ones((8, 4), np.float32)
    np.testing.assert_allclose(program.main(xss, yss), xss @ yss)


@pytest.mark.parametrize("options", [["--replay", "x.log"], ["--resume"], ["--import-t4", "x"]])
def test_options_that_need_runs_of_before_are_refused(
        options: list[str], path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["autotune", str(path), "--schedules", "3", *options]) == 1
    assert "--schedules runs programs that there are no runs of yet" in capsys.readouterr().err


@pytest.mark.parametrize(("seconds", "twice"), [(math.inf, True), (50.0, True), (39.0, False)])
def test_with_little_time_after_a_search_there_is_one_tuning(seconds: float, twice: bool) -> None:
    """The longest measurement of the search took 10 s, so two more tunings would need 40 s."""
    search = ScheduleSearch(drawing(), Known(), lambda schedule: (1.0, 1.0), ["square"], 9,
                            SchedulePolicy())
    search.advances = [Best(1, 4.0, 0.9), Best(2, 14.0, 0.8), Best(3, 16.0, 0.8)]
    search.winners = [Candidate(Drawn(Schedule()), {"square": 0.8}, times=1)]
    assert search.longest == 10
    job: Any = SimpleNamespace(seconds_left=seconds, policy=NORMAL)
    assert _has_time_to_drop(SearchedSchedules(None, {"main": search}), job) == twice
    search.keep(set())
    assert not _has_time_to_drop(SearchedSchedules(None, {"main": search}), job)
