"""The last stage of a choice: runs in turn decide what is kept, and what is undone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runelift.ir.base.errors import RuneliftError, UserError
from runelift.ir.guards import Guard, Kind
from runelift.ir.names import VName
from runelift.ir.sizes import Size
from runelift.ir.syntax import Body, Stm, Version, Versions
from runelift.runtime.records.record import Record, Timing
from runelift.runtime.tools.reports.two_tunings import TimesOfTwo
from runelift.runtime.tools.reports.verdict import changes, sentences
from runelift.runtime.tuner.autotune import (
    autotune,
    find_wrong,
    fit_thresholds,
    settle,
    tune_size_guards,
)
from runelift.runtime.tuner.costs.log import NO_TIME
from runelift.runtime.tuner.fit.size_guards import SizeGuardKind
from runelift.runtime.tuner.job import ParameterSearch, TuningJob
from runelift.runtime.tuner.kernel_parameters.tune import ParameterTuning
from runelift.runtime.tuner.measure import machine_load
from runelift.runtime.tuner.measure.machine_load import busy_part, patience_factor
from runelift.runtime.tuner.measure.measurable import Args
from runelift.runtime.tuner.measure.paired_comparison import PairedTimes
from runelift.runtime.tuner.measure.protocols import Dataset
from runelift.runtime.tuner.measure.side_by_side import DEFAULT, TUNED, SideBySide, speedup
from runelift.runtime.tuner.measure.turns import (
    Turns,
    decided,
    halves_agree,
    hopeful,
    joined,
    quiet_runs,
)
from runelift.runtime.tuner.policy import NORMAL
from runelift.runtime.tuner.result import Tuning
from runelift.runtime.tuner.searched_gains import SearchedGain
from runelift.runtime.tuner.settle import ALONE, UNTRIED
from runelift.runtime.tuner.state import State
from runelift.runtime.tuner.thresholds import measure, take_searched, verify
from tests.runtime.tuner.simulated import (
    CHAIN,
    Simulated,
    inputs,
    job_for,
    scaled,
    stop_clock,
)

SETTING = {"main.r_0.group": 64}
OUTSIDE = 0.5
"""What a simulated run spends outside of its encounters."""


def cost(where: str, index: int, par: int) -> float:
    return [100.0 / par, 200.0, 20.0][index]


class Clocked(Simulated):
    """A machine with a clock, whose runs take ``factor(thresholds)`` times as long as recorded."""

    clock = 0.0
    random = np.random.default_rng(1)
    noise = 0.0
    lies = 1.0
    """The factor of version 2 while it is forced, as it is for records."""

    def factor(self, thresholds: Mapping[str, int]) -> float:
        return 1.0

    def timing(self, entry: str, args: Sequence[Any], *, force: Mapping[str, int] | None = None,
               thresholds: Mapping[str, int] | None = None) -> Timing:
        found = super().timing(entry, args, force=force, thresholds=thresholds).seconds
        seconds = 1e-4 * found * self.factor(thresholds or {}) * float(
            np.exp(self.noise * self.random.standard_normal()))
        seconds *= self.lies if (force or {}).get("s") == 2 else 1.0
        self.clock += seconds
        return Timing(seconds, 0.0)

    def record(self, entry: str, args: Sequence[Any], *, force: Mapping[str, int] | None = None,
               thresholds: Mapping[str, int] | None = None) -> Record:
        found = super().record(entry, args, force=force, thresholds=thresholds)
        scale = 1e-4 * (self.lies if (force or {}).get("s") == 2 else 1.0)
        return scaled(found, scale)


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time passes only while a simulated program runs."""
    stop_clock(monkeypatch, lambda: Clocked.clock)
    monkeypatch.setattr(Clocked, "timing", _counted(Clocked.timing))
    monkeypatch.setattr(Clocked, "clock", 0.0)


def _counted(timing: Any) -> Any:
    def timed(self: Clocked, *args: Any, **options: Any) -> Timing:
        found: Timing = timing(self, *args, **options)
        Clocked.clock += found.seconds
        return found

    return timed


def with_setting(state: State) -> State:
    """The state after a stage that has chosen a setting beside the thresholds."""
    return replace(state, parameters=(ParameterTuning(
        "main", chosen={**state.thresholds.thresholds, **SETTING}),))


class Slower(Clocked):
    """A setting that a stage has chosen makes runs slower by a fraction."""

    loss = 0.4

    def factor(self, thresholds: Mapping[str, int]) -> float:
        return 1 + self.loss if SETTING.items() <= thresholds.items() else 1.0


@pytest.mark.parametrize(("loss", "noise"), [(0.4, 0.0), (0.4, 0.8), (0.05, 0.02)])
def test_a_later_stage_that_loses_is_undone(loss: float, noise: float) -> None:
    """Thresholds alone do not help here, so what is written is the default."""
    sim = Slower.of(CHAIN, cost)
    sim.loss, sim.noise = loss, noise
    job = job_for(sim, inputs(a=[2]), repeats=1)
    state = settle(job, with_setting(fit_thresholds(job, State())))
    assert state.values == sim.default
    assert all(each.same(DEFAULT, TUNED) for each in state.final)
    assert state.parameters[0].why


def test_what_an_earlier_stage_proved_is_kept_where_a_later_one_loses() -> None:
    sim = Slower.of(CHAIN, cost)
    sim.loss = 40.0
    job = job_for(sim, inputs(a=[16]), repeats=1)
    before = fit_thresholds(job, State())
    state = settle(job, with_setting(before))
    assert state.values == before.values != sim.default
    (final,) = state.final
    assert final.versions[TUNED] == ("V1",)
    assert final.median(TUNED) < final.median(DEFAULT)


def test_no_gain_is_no_choice() -> None:
    """A setting that changes nothing leaves the default, whatever a stage thought of it."""
    sim = Slower.of(CHAIN, cost)
    sim.loss, sim.noise = 0.0, 0.3
    job = job_for(sim, inputs(a=[2]), repeats=1)
    state = settle(job, with_setting(fit_thresholds(job, State())))
    assert not SETTING.items() <= state.values.items()


def test_a_gain_of_a_later_stage_is_kept() -> None:
    sim = Slower.of(CHAIN, cost)
    sim.loss, sim.noise = -0.5, 0.3
    job = job_for(sim, inputs(a=[2]), repeats=1)
    state = settle(job, with_setting(fit_thresholds(job, State())))
    assert SETTING.items() <= state.values.items()


@pytest.mark.parametrize("guards", [SizeGuardKind.THRESHOLD, SizeGuardKind.MEMO])
def test_what_runs_in_turn_prove_is_taken(guards: SizeGuardKind) -> None:
    """Records of the best version were disturbed; the default is eight times as slow in turn."""
    sim = Clocked.of(CHAIN, lambda where, index, par: [160.0, 200.0, 20.0][index])
    sim.lies = 9.0
    job = job_for(sim, inputs(a=[100], b=[200]), repeats=1, size_guards=guards)
    first = fit_thresholds(job, State())
    assert first.values == sim.default
    state = autotune(job)
    for final in state.final:
        assert final.versions[TUNED] == ("V3",)
        assert final.median(DEFAULT) > 5 * final.median(TUNED)
    (entry,) = state.thresholds.entries
    for dataset in entry.costs.datasets:
        assert set(dataset.launched(entry.choice)) == {2}


def test_single_versions_that_only_seem_better_are_not_taken() -> None:
    """Records say so, and runs in turn do not."""
    sim = Clocked.of(CHAIN, lambda *_: 100.0)
    sim.lies = 0.5
    state = autotune(job_for(sim, inputs(a=[100], b=[200]), repeats=1))
    assert state.values == sim.default
    assert all(each.same(DEFAULT, TUNED) for each in state.final)


class WrongOn2(Clocked):
    """A program that gives no expected result on datasets with a parallelism of 2."""

    def unexpected(self, entry: str, args: Args, expected: Sequence[Any]) -> str | None:
        return "value[1] should be 8i32" if list(args) == [2] else None

    def factor(self, thresholds: Mapping[str, int]) -> float:
        return 0.1 if SETTING.items() <= thresholds.items() else 1.0


def wrong_job(sim: Simulated) -> TuningJob:
    datasets = [Dataset(name, "main", lambda par=par: [par], lambda: [1])  # type: ignore[misc]
                for name, par in (("w", 2), ("b", 100))]
    return job_for(sim, datasets, repeats=1)


def test_a_dataset_whose_results_are_wrong_does_not_count() -> None:
    """Neither its runs nor its gain are in the verdict, and it decides nothing."""
    job = wrong_job(WrongOn2.of(CHAIN, lambda *_: 100.0))
    state = autotune(job)
    assert state.wrong.keys() == {"w"}
    assert [each.dataset for each in state.final] == ["b"]
    rows = {each.dataset: each for each in changes(state.thresholds, final=state.final)}
    assert rows["w"].certainty == "not measured"
    assert np.isnan(rows["w"].before)
    assert "1 dataset runs as before" in sentences(list(rows.values()))[0]


def test_an_entry_point_with_one_version_has_wrong_datasets_too() -> None:
    job = wrong_job(WrongOn2.of([], lambda *_: 1.0))
    assert find_wrong(job, State()).wrong == {
        "w": "the program does not give the output of the dataset: value[1] should be 8i32"}


def test_a_choice_that_fails_is_undone() -> None:
    class Fails(Clocked):
        def factor(self, thresholds: Mapping[str, int]) -> float:
            if SETTING.items() <= thresholds.items():
                raise RuneliftError("no")
            return 1.0

    sim = Fails.of(CHAIN, cost)
    job = job_for(sim, inputs(a=[2]), repeats=1)
    assert settle(job, with_setting(fit_thresholds(job, State()))).values == sim.default


# Load


@pytest.mark.parametrize(("busy", "noise"), [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)])
def test_load_is_answered_by_more_turns(busy: float, noise: float,
                                        monkeypatch: pytest.MonkeyPatch) -> None:
    """Load of processors or a spread of the default's own runs, where nothing decides."""
    monkeypatch.setattr("runelift.runtime.tuner.measure.turns.decided", lambda *given: False)
    sim = Clocked.of(CHAIN, cost)
    job = job_for(sim, inputs(a=[2]), repeats=1, busy=lambda: busy)
    state = fit_thresholds(job, State())
    sim.noise, before = noise, Clocked.clock
    settle(job, state)
    patience = NORMAL.comparison.patience_seconds
    assert (Clocked.clock - before > 2.5 * patience) == bool(busy or noise)
    assert Clocked.clock - before > 0.9 * patience


@pytest.mark.parametrize(("busy", "kept"), [(0.0, True), (1.0, False)])
def test_under_load_small_gains_are_not_worth_a_change(busy: float, kept: bool) -> None:
    sim = Slower.of(CHAIN, cost)
    sim.loss = -0.02
    job = job_for(sim, inputs(a=[2]), repeats=1, busy=lambda: busy)
    state = settle(job, with_setting(fit_thresholds(job, State())))
    assert (SETTING.items() <= state.values.items()) == kept


def test_other_work_is_seen_in_the_ticks_of_processors() -> None:
    looks = iter([[10, 0, 0, 10, 0], [10, 0, 0, 20, 0], [0] * 5, [30, 0, 0, 10, 0]])
    waited = list[float]()
    assert busy_part(lambda: next(looks), waited.append) == 0.0
    assert busy_part(lambda: next(looks), waited.append) == 0.75
    assert all(waited)
    assert 0 <= busy_part(lambda: None, waited.append) <= 1


def test_work_on_processors_that_a_process_may_not_use_does_not_count(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "stat"
    table.write_text("cpu 11 0 0 111 0 0 0 0 0 0\ncpu0 1 0 0 1 0 0 0 0 0 0\n"
                     "cpu1 10 0 0 10 0 0 0 0 0 0\ncpu10 0 0 0 100 0 0 0 0 0 0\nintr 5\n")
    monkeypatch.setattr(machine_load, "TIMES", table)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {1, 10}, raising=False)
    assert machine_load.ticks() == [10, 0, 0, 110, 0, 0, 0, 0]
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {7}, raising=False)
    assert machine_load.ticks() is None


def test_patience_grows_with_load_and_with_the_spread_of_the_default() -> None:
    policy = NORMAL.comparison
    assert patience_factor(0.0, [1.0] * 9, policy) == 1.0
    assert patience_factor(1.0, [1.0] * 9, policy) == policy.most_patience
    assert patience_factor(0.0, [1.0, 2.0, 3.0] * 3, policy) == policy.most_patience
    assert patience_factor(0.0, [], policy) == 1.0


@given(st.lists(st.tuples(st.floats(1, 100), st.floats(1, 100)), min_size=24, max_size=60))
def test_quiet_runs_favour_no_choice(rounds: list[tuple[float, float]]) -> None:
    one, other = map(tuple, zip(*rounds, strict=True))
    found = quiet_runs(SideBySide("a", "main", {"x": one, "y": other, "z": one}, {}))
    assert set(found.seconds["x"]) <= set(one)
    assert len(found.seconds["x"]) == len(found.seconds["y"])
    assert found.same("x", "z")
    mirrored = quiet_runs(SideBySide("a", "main", {"x": other, "y": one}, {}))
    assert mirrored.seconds == {"x": found.seconds["y"], "y": found.seconds["x"]}


def disturbed(random: np.random.Generator, seconds: float, count: int) -> tuple[float, ...]:
    """Runs of which half wait for other work."""
    waits = np.where(random.random(count) < 0.5, random.exponential(8.0, count), 0.0)
    return tuple(seconds * random.normal(1, 0.03, count) + waits)


def test_disturbed_runs_do_not_count() -> None:
    random = np.random.default_rng(3)
    found = quiet_runs(SideBySide("a", "main", {
        DEFAULT: disturbed(random, 2.0, 300), TUNED: disturbed(random, 1.0, 300)}, {}))
    ratio, low, high = speedup([found])
    assert ratio == pytest.approx(2, rel=0.1)
    assert low > 1.8
    assert high < 2.2


def test_the_limits_of_quiet_runs_are_not_too_sure() -> None:
    """Of equal choices, few are called faster or slower for certain."""
    random = np.random.default_rng(5)
    sure = 0
    for _ in range(300):
        found = quiet_runs(SideBySide("a", "main", {
            DEFAULT: disturbed(random, 1.0, 96), TUNED: disturbed(random, 1.0, 96)}, {}))
        _, low, high = speedup([found])
        sure += low > 1 or high < 1
    assert sure <= 0.1 * 300


def test_rounds_are_joined_and_equal_runs_stay_equal() -> None:
    one = (1.0, 2.0)
    found = joined(SideBySide("a", "main", {DEFAULT: one, TUNED: one, ALONE: (3.0, 4.0)}, {}),
                   SideBySide("a", "main", {DEFAULT: (5.0,), TUNED: (5.0,), ALONE: (6.0,)}, {}))
    assert found.seconds == {DEFAULT: (1.0, 2.0, 5.0), TUNED: (1.0, 2.0, 5.0),
                             ALONE: (3.0, 4.0, 6.0)}
    assert found.same(DEFAULT, TUNED)


def test_single_versions_without_hope_run_no_further() -> None:
    times = {DEFAULT: (1.0,) * 15, TUNED: (5.0,) * 15, "best2": (6.0,) * 15, "best3": (1.1,) * 15}
    found = hopeful(SideBySide("a", "main", times, {}))
    assert list(found.seconds) == [DEFAULT, TUNED, "best3"]


def test_runs_whose_halves_disagree_prove_nothing() -> None:
    """A disturbance that lasts for some rounds is on one side by chance."""
    one, other = [1.0] * 30, [1.01] * 10 + [9.0] * 5 + [0.9] * 15
    assert not halves_agree(one, other)
    assert halves_agree(one, [1.01] * 30)
    assert halves_agree(one, one)
    found = SideBySide("a", "main", {DEFAULT: tuple(other), TUNED: tuple(one)}, {})
    assert not decided(found, Turns([TUNED], NORMAL.comparison, 0.0))
    assert TimesOfTwo("a", (other, one), paired=True).verdict == "not certain"


@pytest.mark.parametrize(("tuned", "over"), [
    ([1.0] * 9, True), ([2.0] * 9, True), ([0.5] * 9, True), ([0.5, 2.0] * 9, False)])
def test_runs_go_on_until_they_decide(tuned: list[float], over: bool) -> None:
    found = SideBySide("a", "main", {DEFAULT: (1.0,) * len(tuned), TUNED: tuple(tuned)}, {})
    assert decided(found, Turns([TUNED], NORMAL.comparison, 0.0)) == over


# Little time


class Long(Slower):
    """Runs take seconds."""

    def factor(self, thresholds: Mapping[str, int]) -> float:
        return 1e4 * super().factor(thresholds)


def budgeted(sim: Simulated, datasets: Sequence[Dataset], seconds: float) -> TuningJob:
    """A job that must be over in some seconds of the clock."""
    return job_for(sim, datasets, repeats=1, begun=Clocked.clock,
                   end=Clocked.clock + NORMAL.budget.tuning * seconds)


@pytest.mark.parametrize(("gain", "kept"), [(0.2, True), (0.0, False), (-0.2, False)])
def test_few_rounds_of_long_runs_are_proof_if_all_agree(gain: float, kept: bool) -> None:
    sim = Long.of(CHAIN, lambda *_: 0.1)
    sim.loss = -gain
    job = job_for(sim, inputs(a=[2]), repeats=1)
    state = settle(job, with_setting(fit_thresholds(job, State())))
    assert state.final[0].rounds < 6
    assert (SETTING.items() <= state.values.items()) == kept


def test_what_there_was_no_time_to_run_in_the_end_is_not_kept() -> None:
    """Settings of kernels were compared with thresholds only; thresholds with the default."""
    sim = Slower.of(CHAIN, cost)
    sim.loss = -0.5
    job = job_for(sim, inputs(a=[16], b=[16]), repeats=1)
    before = fit_thresholds(job, State())
    late = replace(job, begun=Clocked.clock - 60, end=Clocked.clock - 60)
    state = settle(late, with_setting(before))
    assert state.values == before.values != sim.default
    assert not state.final
    assert [each.why for each in state.parameters] == [UNTRIED]


@pytest.mark.parametrize("seconds", [10.0, 60.0])
@pytest.mark.parametrize("count", [1, 12])
def test_the_limit_of_the_whole_is_kept(seconds: float, count: int) -> None:
    """Whatever the number of datasets, and however long they run."""
    sim = Long.of(CHAIN, lambda where, index, par: [0.5, 2.0, 1.0][index])
    sim.loss = 0.0
    started = Clocked.clock
    datasets = inputs(**{f"d{k}": [100 + k] for k in range(count)})
    autotune(budgeted(sim, datasets, seconds))
    longest = 1e4 * 1e-4 * (2.0 + OUTSIDE)
    assert Clocked.clock - started <= seconds + 4 * longest


@pytest.mark.parametrize("count", [1, 8])
def test_what_one_dataset_gains_is_taken_beside_others_that_stay(count: int) -> None:
    """Thresholds alone cannot serve both: the parallelism of the others is smaller and larger."""
    def uneven(where: str, index: int, par: int) -> float:
        return [100.0, 200.0, 20.0 if par == 500 else 130.0][index]

    sim = Clocked.of(CHAIN, uneven)
    sim.lies = 6.0
    others = {f"o{k}": [100 + 100 * k + 50 * (k > 3)] for k in range(count)}
    job = job_for(sim, inputs(**others, one=[500]), repeats=1, size_guards=SizeGuardKind.MEMO)
    assert not tune_size_guards(job, fit_thresholds(job, State())).guarded.finer
    versions = {each.dataset: each.versions[TUNED] for each in autotune(job).final}
    assert versions == {"one": ("V3",), **dict.fromkeys(others, ("V1",))}


# What a search over schedules has proved

STEPS = ("main.ys interchange()",)
SCHEDULED = [Stm((), Versions("s", (
    Version(Guard("main.t0", "t0", Kind.REWRITTEN, Size.var(VName("n", 1))), Kind.REWRITTEN,
            Body((), ()), STEPS),
    Version(None, Kind.FLAT, Body((), ()))), ()))]
"""A choice of a rewritten version, and the program without it."""
CHOSEN = {"main.t0": 1}


def proved(**ratios: float) -> list[SearchedGain]:
    """What the search has found out about the rewritten version."""
    return [SearchedGain("main", STEPS, ratios, CHOSEN)]


class Scheduled(Clocked):
    """A program whose rewritten version takes so many times as long."""

    ratio = 0.2

    @classmethod
    def with_ratio(cls, ratio: float, *, seconds: float = 1.0) -> Scheduled:
        sim = cls.of(SCHEDULED, lambda where, index, par: (
            1e4 * seconds * (1.0 if index else ratio)))
        assert isinstance(sim, Scheduled)
        sim.ratio = ratio
        return sim


def rushed(sim: Simulated, seconds: float = 0.0, **ratios: float) -> TuningJob:
    """A job that has so many seconds, after a search."""
    return job_for(sim, inputs(b=[100], a=[200]), repeats=1, begun=Clocked.clock - 60,
                   end=Clocked.clock + seconds, gains=proved(**ratios))


@pytest.mark.parametrize("ratios", [{"a": 0.2, "b": 0.2}, {"a": 0.2, "b": 0.99}])
def test_what_a_search_proved_is_kept_on_datasets_without_time(ratios: dict[str, float]) -> None:
    state = autotune(rushed(Scheduled.with_ratio(0.2), **ratios))
    assert "a" not in state.datasets
    assert state.values == CHOSEN
    assert state.tuned
    assert not state.thresholds.entries[0].fit.kept_default


@pytest.mark.parametrize("ratios", [{"b": 0.2}, {"a": 1.1, "b": 0.2}, {"a": 0.99, "b": 0.99}, {}])
def test_what_a_search_did_not_prove_on_them_is_not_kept(ratios: dict[str, float]) -> None:
    state = autotune(rushed(Scheduled.with_ratio(0.2), **ratios))
    assert "a" not in state.datasets
    assert not state.tuned


def test_a_dataset_that_was_measured_gets_no_slower_by_what_a_search_proved_on_others() -> None:
    job = rushed(Scheduled.with_ratio(1.5), a=0.2, b=0.9)
    tuning = measure(replace(job, end=math.inf))
    (b,) = (each for each in tuning.costs.datasets if each.name == "b")
    left = replace(tuning, costs=tuning.costs.without(["a"]), measurements=replace(
        tuning.measurements, left_out=["a"]))
    assert b.total(CHOSEN) > b.total(tuning.defaults)
    assert take_searched(job, left) is left
    quick = replace(left, costs=replace(left.costs, datasets=(b.preferring(CHOSEN, 0.5),)))
    assert take_searched(job, quick).fit.thresholds == CHOSEN


@pytest.mark.parametrize("tuned", [[0.5, 1.2] * 3, [0.5, 1.3, 1.3]])
def test_what_a_search_proved_needs_no_certain_comparison(
        tuned: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """There was time for few runs, which are faster or slower by chance."""
    few = PairedTimes.of([1.0] * len(tuned), tuned)
    assert not few.faster
    assert few.slower == few.doubtful
    monkeypatch.setattr("runelift.runtime.tuner.thresholds.compare_all_paired",
                        lambda pairs, anyway: dict.fromkeys(pairs, few))
    job = rushed(Scheduled.with_ratio(0.2), a=0.2, b=0.2)
    tuning = measure(replace(job, end=math.inf))
    assert tuning.fit.thresholds != tuning.defaults
    assert not verify(job, tuning).fit.kept_default
    assert verify(replace(job, gains=()), tuning).fit.kept_default


@pytest.mark.parametrize("ratio", [1.5, 4.0])
def test_runs_that_are_slower_for_certain_refute_a_search(ratio: float) -> None:
    """A record of the rewritten version was lucky, and so was the search."""
    sim = Scheduled.with_ratio(ratio)
    job = job_for(sim, inputs(b=[100], a=[200]), repeats=1, gains=proved(a=0.2, b=0.2))
    assert not autotune(job).tuned
    tuning = measure(job)
    lucky = replace(tuning, fit=replace(tuning.fit, thresholds=CHOSEN, kept_default=None))
    assert verify(job, lucky).fit.kept_default


def test_versions_that_fail_do_not_lack_time() -> None:
    sim = Scheduled.with_ratio(0.2)
    sim._fail = {("s", 0): UserError("wrong")}
    job = rushed(sim, a=0.2, b=0.2)
    tuning = measure(replace(job, end=math.inf))
    assert take_searched(job, tuning) is tuning
    runs = [replace(each, error=NO_TIME) if each.error else each
            for each in tuning.measurements.runs]
    assert sum(each.error == NO_TIME for each in runs) == 2
    lacking = replace(tuning, measurements=replace(tuning.measurements, runs=runs))
    assert take_searched(job, lacking).fit.thresholds == CHOSEN


@pytest.mark.parametrize(("seconds", "known"), [(0.01, True), (5.0, False)])
def test_a_dataset_whose_time_is_over_has_its_default_and_the_likeliest_version(
        seconds: float, known: bool) -> None:
    """Without a time by default nothing can be said; a long run is not made for that."""
    sim = Clocked.of(CHAIN, lambda where, index, par: 1e4 * seconds * [1.0, 2.0, 0.2][index])
    tuning = measure(job_for(sim, inputs(a=[100]), repeats=1, end=Clocked.clock))
    assert [run.force for run in tuning.measurements.runs if run.error == NO_TIME] == (
        [{"s": 1}] if known else [{"s": 1}, {"s": 0}])
    assert bool(tuning.measurements.left_out) != known
    if known:
        (costs,) = tuning.costs.datasets
        assert costs.total(tuning.fit.thresholds) < 0.5 * costs.total(tuning.defaults)


@pytest.mark.parametrize(("gains", "part"), [(None, 0.5), ([], 1.0)])
def test_after_a_search_versions_come_before_parameters(
        gains: list[SearchedGain] | None, part: float, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = list[TuningJob]()

    def tuned(job: TuningJob) -> Tuning:
        jobs.append(job)
        return Tuning(())

    monkeypatch.setattr("runelift.runtime.tuner.autotune.tune_thresholds", tuned)
    sim = Clocked.of(CHAIN, cost)
    fit_thresholds(job_for(sim, [], parameters=ParameterSearch(), end=Clocked.clock + 10,
                           gains=gains), State())
    assert jobs[0].seconds_left == pytest.approx(part * 10)
