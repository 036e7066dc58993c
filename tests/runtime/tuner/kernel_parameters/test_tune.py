"""Trying settings of operations, on simulated and on real kernels."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.codegen.plan.parameters import Quantity
from runelift.runtime.geometry.parameter_space import ParameterSpace, Setting
from runelift.runtime.predictions.predict import predict_call
from runelift.runtime.records.record import Record, Timing
from runelift.runtime.tuner.job import TuningJob
from runelift.runtime.tuner.kernel_parameters import tune
from runelift.runtime.tuner.kernel_parameters.proposals import EXPLORING
from runelift.runtime.tuner.kernel_parameters.search import SettingSearch
from runelift.runtime.tuner.kernel_parameters.tune import tune_parameters
from runelift.runtime.tuner.measure.measurable import Measurable
from runelift.runtime.tuner.measure.protocols import Dataset, MeasuringMethod
from runelift.runtime.tuner.policy import NORMAL
from runelift.runtime.tuner.trials.protocol import (
    OperationTime,
    PredictedSettings,
    Request,
    Search,
    Searches,
    UpcomingSettings,
)
from runelift.runtime.tuner.trials.trial_run import TrialRun
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.versions.forest import Forest, Forests
from runelift.runtime.versions.tuning_file import facts_path, write_tuning
from tests.runtime.tuner.simulated import Simulated as Sim
from tests.runtime.tuner.simulated import site

SCAN = "def main [n] (xs: [n]i32) = scan (+) 0 (map (\\x -> x + 1) xs)"
MAP = "entry main [n] (xs: [n]i32) = map (\\x -> 1 + loop y = x while y > 1 do y / 2) xs"
"""Its points have a loop, so only the size of groups is to be chosen."""
PRODUCT = """
entry main [n][m][p] (xss: [n][m]f32) (yss: [m][p]f32): [n][p]f32 =
  map (\\xs -> map (\\ys -> f32.sum (map2 (*) xs ys)) (transpose yss)) xss
"""
ROWS = "entry main [n][m] (xss: [n][m]i32) = map (reduce (+) 0) xss"


def space_of(text: str) -> ParameterSpace:
    """The space of the first operation."""
    return runelift.compile(text).spaces("main")[0]


def drive(search: Search, cost: Callable[[Setting], float | Setting | str],
          predicted: Callable[[Setting], float] | None = None) -> Counter[Setting]:
    """How often a search asks for each setting, in the order in which it first does."""
    asked = Counter[Setting]()
    coming: list[Setting] = []
    request: Request | None = next(search)
    while request is not None:
        if isinstance(request, UpcomingSettings):
            assert coming == []
            coming, answer = list(request.settings), None
        elif isinstance(request, PredictedSettings):
            answer = None if predicted is None else [*map(predicted, request.settings)]
        else:
            asked[request] += 1
            if request in coming:
                coming.remove(request)
            answer = cost(request)
        try:
            request = search.send(answer)
        except StopIteration:
            request = None
    return asked


def distance(space: ParameterSpace, best: Setting) -> Callable[[Setting], float]:
    """Costs with a single valley: steps to the best setting."""
    def cost(setting: Setting) -> float:
        return 1 + sum(abs(each.values.index(a) - each.values.index(b))
                       for each, a, b in zip(space.ranges, setting, best, strict=True))
    return cost


def test_a_small_space_is_tried_in_whole_and_the_best_most_often() -> None:
    contest = SettingSearch(space_of(MAP))
    settings = list(contest.space.settings())
    assert len(settings) <= NORMAL.parameters.exhaustive
    best = settings[-1]
    asked = drive(contest.search("a", 1.0, 1e9), distance(contest.space, best))
    assert set(asked) == set(settings)
    assert contest.best() == best
    assert asked[best] > min(asked.values())


@pytest.mark.parametrize("seed", range(5))
def test_local_search_comes_to_the_bottom_of_a_valley(seed: int) -> None:
    contest = SettingSearch(space_of(SCAN), seed)
    settings = list(contest.space.settings())
    assert len(settings) > NORMAL.parameters.exhaustive
    best = settings[len(settings) * (seed + 1) // 6]
    cost = distance(contest.space, best)
    asked = drive(contest.search("a", 1.0, 1e9), cost)
    assert len(asked) < len(settings)
    assert cost(contest.best()) <= 2


@pytest.mark.parametrize("strategy", EXPLORING)
def test_strategies_come_near_the_bottom_of_a_valley(strategy: str) -> None:
    now = 0.0
    contest = SettingSearch(space_of(SCAN), 4, strategy=strategy, clock=lambda: now)
    settings = list(contest.space.settings())
    best = sorted(settings)[len(settings) // 3]
    valley = distance(contest.space, best)

    def cost(setting: Setting) -> float:
        nonlocal now
        now += 1
        assert setting in settings
        return valley(setting)

    tries = 3 * len(settings) if strategy == "exhaustive" else 100
    asked = drive(contest.search("a", 1.0, tries), cost)
    assert valley(contest.best()) <= (4 if strategy == "random" else 2)
    assert all(count == 1 for setting, count in asked.items()
               if valley(setting) > 4 and setting != contest.space.default)


@pytest.mark.sweep
def test_the_nearest_setting_has_values_that_go_together() -> None:
    (space,) = (s for s in runelift.compile(PRODUCT).spaces("main")
                if any(r.parameter.quantity is Quantity.SIDE for r in s.ranges))
    wanted = {Quantity.SIDE: 8, Quantity.ROWS: 16, Quantity.COLUMNS: 16}
    found = dict(zip((r.parameter.quantity for r in space.ranges), space.nearest(wanted),
                     strict=True))
    assert (found[Quantity.SIDE], found[Quantity.ROWS]) == (8, 16)
    assert 1 <= found[Quantity.COLUMNS] <= 4
    wanted[Quantity.SIDE] = 0
    assert all(space.allows(s) for s in (space.nearest(wanted), *list(space.settings())[:50]))


@pytest.mark.parametrize("text", [MAP, SCAN])
def test_settings_that_are_predicted_to_be_quick_are_tried_first(text: str) -> None:
    contest = SettingSearch(space_of(text))
    settings = list(contest.space.settings())
    cost = distance(contest.space, settings[-1])
    asked = drive(contest.search("a", 1.0, 1e9), cost, cost)
    default, *order = asked
    assert default == contest.space.default
    few = NORMAL.parameters.likely
    assert sorted(order[:few], key=cost) == order[:few]
    assert cost(order[0]) == min(map(cost, settings))
    assert contest.best() == settings[-1]


@pytest.mark.parametrize("seed", range(3))
def test_wrong_predictions_drop_nothing(seed: int) -> None:
    """Settings that are tried without predictions are tried with wrong ones, too."""
    space = space_of(SCAN)
    settings = list(space.settings())
    cost = distance(space, settings[len(settings) * (seed + 1) // 4])
    plain, misled = SettingSearch(space, seed), SettingSearch(space, seed)
    asked = [drive(plain.search("a", 1.0, 1e9), cost),
             drive(misled.search("a", 1.0, 1e9), cost, lambda setting: -cost(setting))]
    assert cost(misled.best()) <= max(2, cost(plain.best()))
    assert set(space.apart(space.default)) <= asked[0].keys() & asked[1].keys()


def test_what_cannot_run_is_asked_for_once() -> None:
    contest = SettingSearch(space_of(MAP))
    bad = list(contest.space.settings())[1]
    asked = drive(contest.search("a", 1.0, 1e9), lambda s: "no" if s == bad else 1.0)
    assert asked[bad] == 1
    assert contest.impossible == {bad: "no"}
    assert bad not in drive(contest.search("b", 1.0, 1e9), lambda s: 1.0)
    assert contest.best() == contest.space.default


def test_settings_that_launch_the_same_are_tried_once() -> None:
    contest = SettingSearch(space_of(MAP))
    default, *others = contest.space.settings()
    asked = drive(contest.search("a", 1.0, 1e9), lambda s: (
        others[0] if s in others[1:] else 1.0 if s == default else 0.5))
    assert all(asked[s] == 1 for s in others[1:])
    assert contest.best() in others
    assert contest.score(others[2]) == 0.5
    assert contest.impossible == {}


def test_a_search_ends_in_time() -> None:
    now = 0.0

    def cost(setting: Setting) -> float:
        nonlocal now
        now += 1
        return 1.0

    contest = SettingSearch(space_of(MAP), clock=lambda: now)
    assert sum(drive(contest.search("a", 1.0, 5.0), cost).values()) == 5


def test_small_gains_do_not_count_and_no_dataset_may_lose() -> None:
    contest = SettingSearch(space_of(MAP))
    good, risky = list(contest.space.settings())[1:3]
    drive(contest.search("a", 1.0, 1e9), lambda s: {good: 0.9, risky: 0.5}.get(s, 1.0))
    assert contest.best() == risky
    drive(contest.search("b", 0.1, 1e9), lambda s: {good: 0.9, risky: 1.5}.get(s, 1.0))
    assert contest.best() == good
    flat = SettingSearch(contest.space)
    drive(flat.search("a", 1.0, 1e9), lambda s: 0.99 if s == good else 1.0)
    assert flat.best() == flat.space.default


# A whole tuning, simulated


@dataclass
class Simulated(Measurable):
    """A program of one operation; ``costs`` says how long it takes, in trials and in runs."""

    text: str
    in_trials: Callable[[Setting], float]
    in_runs: Callable[[Setting], float]
    wrong: bool = False
    thresholds: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.space = space_of(self.text)

    builders = 3

    def spaces(self, entry: str | None = None) -> list[ParameterSpace]:
        return [self.space]

    def time(self, entry: str, args: Any, *, force: Mapping[str, int] | None = None,
             thresholds: Mapping[str, int] | None = None) -> float:
        return self.in_runs(self.space.chosen(thresholds or {}))

    def timing(self, entry: str, args: Any, *, force: Mapping[str, int] | None = None,
               thresholds: Mapping[str, int] | None = None) -> Timing:
        return Timing(self.time(entry, args, thresholds=thresholds), 0.0)

    def record(self, entry: str, args: Any, *, force: Mapping[str, int] | None = None,
               thresholds: Mapping[str, int] | None = None) -> Record:
        raise AssertionError("a program without thresholds needs no record")

    def difference(self, entry: str, args: Any, before: Mapping[str, int],
                   after: Mapping[str, int]) -> str | None:
        default = self.space.chosen(after) == self.space.default
        return "another value" if self.wrong and not default else None

    def try_settings(self, entry: str, args: Any, *, force: Mapping[str, int] | None = None,
                     thresholds: Mapping[str, int] | None = None,
                     searches: Searches | None = None) -> list[OperationTime]:
        operation = self.space.operation.name, 0
        for search in (searches or {}).values():
            drive(search(), self.in_trials)
        return [(operation, self.in_trials(self.space.default))]


def tuned(program: Simulated) -> Any:
    datasets = [Dataset("a", "main", lambda: [])]
    return tune_parameters(TuningJob(program, Forests((Forest("main", ()),)), datasets), {})


def faster(space: ParameterSpace) -> Callable[[Setting], float]:
    """The largest group takes half the time."""
    return lambda s: 0.5 if s[0] == space.ranges[0].values[-1] else 1.0


def test_what_is_faster_in_trials_and_in_runs_is_chosen() -> None:
    space = space_of(MAP)
    found = tuned(Simulated(MAP, faster(space), faster(space)))
    (each,) = space.ranges
    assert found.chosen == {each.parameter.name: each.values[-1]}
    assert found.verified["a"].faster


def test_what_is_faster_in_trials_only_is_not() -> None:
    found = tuned(Simulated(MAP, faster(space_of(MAP)), lambda s: 1.0))
    assert not found.chosen
    assert "no certain gain" in found.why
    assert found.settled[0].chosen


def test_lengths_between_checkpoints_are_tried_in_whole_runs() -> None:
    text = """entry main (k: i64) (x: f64) =
      vjp (\\x -> #[stripmine(1)] loop y = x for i < k do f64.sum (map f64.sin [x, y])) x 1"""
    space = space_of(text)
    (length,) = space.ranges
    assert length.parameter.quantity is Quantity.SEGMENT
    found = tuned(Simulated(text, lambda s: 0.0, lambda s: 0.5 if s == (64,) else 1.0))
    assert found.chosen == {length.parameter.name: 64}
    assert found.verified["a"].faster


def test_what_gives_another_result_is_not() -> None:
    space = space_of(MAP)
    found = tuned(Simulated(MAP, faster(space), faster(space), wrong=True))
    assert not found.chosen
    assert "another result" in found.why


def test_thresholds_are_fitted_again_with_the_settings_found(
        monkeypatch: pytest.MonkeyPatch) -> None:
    space = space_of(MAP)
    program = Simulated(MAP, faster(space), faster(space), thresholds={"t": 7})
    asked = list[TuningJob]()
    monkeypatch.setattr(tune, "tune_thresholds", lambda job: (
        asked.append(job), SimpleNamespace(thresholds={}, entries=()))[1])
    forests = Forests((Sim.of([site("s", ("t", []), (None, []))], lambda *_: 1.0).forest,))
    tune_parameters(TuningJob(program, forests,
                              [Dataset("a", "main", list)]), {})
    (each,) = space.ranges
    (job,) = asked
    assert job.method == MeasuringMethod(thresholds={"t": 7, each.parameter.name: each.values[-1]})


class Long(Simulated):
    """A program whose runs take seconds of a clock; the largest group takes half of that."""

    clock = 0.0
    seconds = 1.0

    def _run(self, runs: float = 1.0) -> None:
        Long.clock += runs * self.seconds

    def time(self, entry: str, args: Any, *, force: Mapping[str, int] | None = None,
             thresholds: Mapping[str, int] | None = None) -> float:
        found = self.seconds * super().time(entry, args, force=force, thresholds=thresholds)
        self._run(found / self.seconds)
        return found

    def difference(self, entry: str, args: Any, before: Mapping[str, int],
                   after: Mapping[str, int]) -> str | None:
        self._run(2)
        return super().difference(entry, args, before, after)

    def try_settings(self, entry: str, args: Any, *, force: Mapping[str, int] | None = None,
                     thresholds: Mapping[str, int] | None = None,
                     searches: Searches | None = None) -> list[OperationTime]:
        self._run(2 if searches else 1)
        return super().try_settings(entry, args, force=force, thresholds=thresholds,
                                    searches=searches)


@pytest.mark.parametrize("count", [1, 6])
@pytest.mark.parametrize("seconds", [0.5, 3.0, 12.0, 40.0])
def test_trials_of_long_runs_keep_the_limit(seconds: float, count: int,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    """Their limit is 40 s; what they find is confirmed until 51 s, or not taken."""
    clock = SimpleNamespace(perf_counter=lambda: Long.clock)
    for module in ("job", "kernel_parameters.tune", "measure.paired_comparison"):
        monkeypatch.setattr(f"runelift.runtime.tuner.{module}.time", clock)
    monkeypatch.setattr(Long, "clock", 0.0)
    space = space_of(MAP)
    program = Long(MAP, faster(space), faster(space))
    program.seconds = seconds
    job = TuningJob(program, Forests((Forest("main", ()),)), [
        Dataset(f"d{k}", "main", list) for k in range(count)], begun=0.0, end=51.0)
    found = tune_parameters(job, {}, seconds=40.0)
    assert Long.clock <= 51 + seconds
    assert bool(found.chosen) == (seconds * count < 6)


# Real kernels

IN_PLACE = """
entry main [n] (xs: *[n]i32) (is: [n]i64) =
  let ys = map (* 3) xs
  in loop ys for i < 3 do
     let zs = reduce_by_index ys (+) 0 is (map i32.i64 (iota n))
     in map2 (\\z k -> z + i32.i64 k) zs (scan (+) 0 is)
"""


def test_runs_go_on_as_if_nothing_had_been_tried() -> None:
    """Also where operations change what they read: each setting starts from the same."""
    program = runelift.compile(IN_PLACE)
    args = [np.arange(300, dtype=np.int32), (np.arange(300) * 7 % 310)]
    expected = runelift.compile(IN_PLACE, device="interpreter").run("main", args)[0]
    spaces = {space.operation.name: space for space in program.spaces("main")}
    asked = list[Setting]()

    def search(space: ParameterSpace) -> Search:
        for setting in list(space.settings())[:3]:
            asked.append(setting)
            assert not isinstance((yield setting), str)

    met = MeasuredProgram(program).try_settings("main", args)
    names = {name for (name, _), _ in met}
    assert len(met) > len(names) > 1
    executable = program.loaded.executable("main")
    run = TrialRun(executable, {}, {}, {
        (name, 0): lambda s=spaces[name]: search(s) for name in names})  # type: ignore[misc]
    results = run.call(executable.forms.main_of_trials,
                       program.loaded.bind(program.loaded.plan("main"), args)).results
    assert asked
    np.testing.assert_array_equal(
        program._result(results[0], program.loaded.plan("main").results[0], False), expected[0])
    assert [operation for operation, _ in run.met()] == [operation for operation, _ in met]


def test_trials_predict_settings_without_a_launch() -> None:
    """The predicted seconds are those of the launches that a setting leads to."""
    program = runelift.compile(PRODUCT, device="pocl", tuning={})
    spaces = {space.operation.name: space for space in program.spaces("main")}
    args = [np.ones((64, 48), np.float32), np.ones((48, 32), np.float32)]
    (name, _), _ = max(MeasuredProgram(program).try_settings("main", args), key=lambda met: met[1])
    space = spaces[name]
    settings = [space.default, *(s for s in space.neighbours(space.default))]
    predicted, taken = list[Any](), list[Any]()

    def search() -> Search:
        before = program.loaded.executable("main").build_seconds
        predicted.append((yield PredictedSettings(tuple(settings))))
        assert program.loaded.executable("main").build_seconds == before
        predicted.append((yield PredictedSettings((settings[0],))))
        taken.append((yield settings[0]))

    MeasuredProgram(program).try_settings("main", args, searches={(name, 0): search})
    seconds, (again,) = predicted
    assert len(seconds) == len(settings)
    assert seconds[0] == again > 0
    assert len(set(seconds)) > 1
    assert isinstance(taken[0], float)
    launched = predict_call(program.loaded, "main", args).totals.seconds
    assert seconds[0] == pytest.approx(launched, rel=0.01)


def test_trials_tell_what_launches_the_same() -> None:
    """A length up to which work-items are alone says nothing about segments of another length."""
    program = runelift.compile(ROWS)
    (space,) = (s for s in program.spaces("main") if s.operation.name.endswith("_2"))
    (short,) = (k for k, r in enumerate(space.ranges) if r.parameter.quantity is Quantity.SHORT)
    sent = list[tuple[Setting, float | Setting | str]]()

    def search() -> Search:
        for value in space.ranges[short].values:
            setting = (*space.default[:short], value, *space.default[short + 1:])
            sent.append((setting, (yield setting)))

    rows = np.arange(60, dtype=np.int32).reshape(3, 20)
    MeasuredProgram(program).try_settings("main", [rows], force={"main.versions_0": 2},
                         searches={(space.operation.name, 0): search})
    (first, seconds), *others = sent
    assert isinstance(seconds, float)
    assert [same for _, same in others] == [first] * len(others)


def test_a_setting_that_fails_is_reported_and_left(monkeypatch: pytest.MonkeyPatch) -> None:
    program = runelift.compile(ROWS)
    (space,) = (s for s in program.spaces("main") if "segmap" in str(s.operation)[:4000])
    rows = np.arange(1 << 20, dtype=np.int32).reshape(1 << 18, 4)
    sent = list[float | Setting | str]()

    def search() -> Search:
        for setting in list(space.settings())[:2]:
            sent.append((yield setting))

    enqueue = TrialRun._enqueue
    bad = list(space.settings())[1][0]

    def failing(self: TrialRun, site: Any, groups: int, group: int, *rest: Any) -> None:
        if group == bad:
            raise self.CannotRun[0]("too large")
        enqueue(self, site, groups, group, *rest)

    monkeypatch.setattr(TrialRun, "_enqueue", failing)
    met = MeasuredProgram(program).try_settings("main", [rows], force={"main.versions_0": 0},
                               searches={(space.operation.name, 0): search})
    assert isinstance(sent[0], float)
    assert sent[1] == "too large"
    assert [name for (name, _), _ in met] == [space.operation.name]


# Files


def test_parameters_hold_for_the_text_and_the_device_they_were_tuned_for(tmp_path: Path) -> None:
    path = tmp_path / "p.fut"
    path.write_text(MAP)
    program = runelift.compile(path)
    name = program.spaces("main")[0].ranges[0].parameter.name
    tuning, here = tmp_path / "p.fut.tuning", program.identity
    platform = here.device.rpartition(", ")[2]

    def load(settings: dict[str, dict[str, int]], sha: str = here.program) -> dict[str, int]:
        write_tuning(tuning, {name: 128}, {"program_sha256": sha, "settings": settings})
        return runelift.compile(path).thresholds

    assert load({here.device: {name: 128}}) == {name: 128}
    assert load({here.device: {name: 32}, "other, none": {name: 128}}) == {name: 32}
    with pytest.warns(UserWarning, match=f"no tuning for .*{platform}, so that of other, none"):
        assert load({"other, none": {name: 128}}) == {name: 128}
    with pytest.warns(UserWarning, match=f"so that of other, {platform} is used"):
        assert load({f"other, {platform}": {name: 64}, "other, none": {name: 128}}) == {name: 64}
    with pytest.warns(UserWarning, match="has changed since"):
        assert load({here.device: {name: 128}}, sha="0") == {}
    facts_path(tuning).unlink()
    assert runelift.compile(path).thresholds == {name: 128}
    assert runelift.compile(path, device="interpreter").main(np.int32([3])).tolist() == [2]


def test_autotune_writes_parameters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With trials in which the smallest group is best, in an entry point with one version."""
    from runelift.runtime.tools.commands.cli import main

    path = tmp_path / "p.fut"
    path.write_text(f"-- ==\n-- entry: main\n-- random input {{ [5000]i32 }}\n{MAP}\n")
    (space,) = runelift.compile(path).spaces("main")
    (each,) = space.ranges
    least = {each.parameter.name: each.values[0]}
    trial, clock = MeasuredProgram.try_settings, MeasuredProgram.time

    def try_settings(self: MeasuredProgram, *args: Any, searches: Searches | None = None,
                     **options: Any) -> list[OperationTime]:
        for search in (searches or {}).values():
            drive(search(), lambda s: 0.5 if s == (each.values[0],) else 1.0)
        return trial(self, *args, **options)

    monkeypatch.setattr(MeasuredProgram, "try_settings", try_settings)
    monkeypatch.setattr(MeasuredProgram, "time", lambda self, *args, thresholds=None, **options: (
        clock(self, *args, thresholds=thresholds, **options) and (
            0.005 if thresholds and thresholds.items() >= least.items() else 0.01)))
    assert main(["autotune", str(path), "--budget", "5s", "--time-limit", "none"]) == 0
    assert runelift.compile(path).thresholds == least
    facts = json.loads((tmp_path / "p.fut.tuning.json").read_text())
    assert facts["parameters"]["main"]["settings"] == least
    assert list(facts["settings"].values()) == [least]


def test_ctrl_c_while_settings_are_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                         capsys: pytest.CaptureFixture[str]) -> None:
    from runelift.runtime.tools.commands.cli import main

    def interrupted(*args: Any, **options: Any) -> list[OperationTime]:
        raise KeyboardInterrupt

    path = tmp_path / "p.fut"
    path.write_text(f"-- ==\n-- random input {{ [7][50]i32 }}\n{ROWS}\n")
    monkeypatch.setattr(MeasuredProgram, "try_settings", interrupted)
    assert main(["autotune", str(path), "--runs", "1", "--time-limit", "none"]) == 130
    assert "what was found before is kept" in capsys.readouterr().err
    assert "main.suff_outer_par_0=" in (tmp_path / "p.fut.tuning").read_text()


def test_what_is_coming_is_built_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings that are announced find their kernels built, and nothing of them is run before."""
    from runelift.runtime.execution.kernels import Kernels

    program = runelift.compile(ROWS, device="pocl", tuning={})
    rows = np.arange(600, dtype=np.int32).reshape(30, 20)
    args = MeasuredProgram(program).place([rows])
    force = dict.fromkeys((site.name for site in program.tree.entry("main").trees), 1)
    ((operation, _), *_) = MeasuredProgram(program).try_settings("main", args, force=force)
    space = next(s for s in program.spaces("main") if s.operation.name == operation[0])
    settings = list(space.settings())[:6]
    made: list[Any] = []
    build = Kernels._made
    monkeypatch.setattr(Kernels, "_made",
                        lambda self, *source, needed: (
                            made.append(source), build(self, *source, needed=needed))[1])
    after: list[int] = []

    def search() -> Search:
        assert (yield UpcomingSettings(tuple(settings))) is None
        after.append(len(made))
        for setting in settings:
            found = yield setting
            assert found is not None
        after.append(len(made))

    MeasuredProgram(program).try_settings("main", args, force=force,
                                          searches={operation: search})
    assert len(made) == len(set(made))
    assert after[0]
    assert after[1] - after[0] <= 1  # what is the only one that is missing is built when it runs
    results, _ = program.run("main", args, force=force)
    np.testing.assert_array_equal(results[0], rows.sum(axis=1))
