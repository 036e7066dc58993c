"""Replaying versions: that it changes nothing, finds what is wrong, and what its records say."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import runelift
from runelift.ir.prim import Prim
from runelift.runtime.cost.predictor import Predictor
from runelift.runtime.devices.build import Infeasible
from runelift.runtime.devices.info import find_devices
from runelift.runtime.devices.memory import OutOfMemory
from runelift.runtime.execution.policy import BuildWatch
from runelift.runtime.execution.probes.on_demand import open_device
from runelift.runtime.execution.run import Run
from runelift.runtime.programs.program import Program
from runelift.runtime.records.record import Record, Timing
from runelift.runtime.tools.reports.text import render
from runelift.runtime.tuner.costs.cost_model import costs_of
from runelift.runtime.tuner.costs.log import Log, Measurements, read_log
from runelift.runtime.tuner.job import TuningJob
from runelift.runtime.tuner.measure.measuring import measure_by
from runelift.runtime.tuner.measure.protocols import Dataset, MeasuringMethod, Progress, Replay
from runelift.runtime.tuner.measure.replay_runs import RecordingCorrection
from runelift.runtime.tuner.replay.compare_results import Differences, VersionPair
from runelift.runtime.tuner.replay.racing import Race, RaceState, rotated
from runelift.runtime.tuner.replay.replay_records import UnknownCost
from runelift.runtime.tuner.replay.replay_run import ReplayRun
from runelift.runtime.tuner.result import Tuning
from runelift.runtime.tuner.thresholds import conclude, tune_thresholds
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.versions.forest import plans
from tests.replays import replayed, results_agree

NESTED = """
entry main [n][m][l] (a: *[n][m][l]f32) (k: i64): [n][m][l]f32 =
  loop a for i < k do
    map (\\xss ->
           loop xss for j < 3 do
             let sums = map (reduce (+) 0) xss
             in map2 (\\s xs -> map (\\x -> 0.5f32 * x + s * 0.01f32) xs) sums xss)
        a

entry waits [n][m] (xss: [n][m]i32): (i64, [n]i32) =
  loop (c, ys) = (0, map (.[0]) xss) while c < 4 && reduce (+) 0 ys < 100000 do
    (c + 1, map2 (\\y xs -> y + reduce (+) 0 xs) ys xss)

entry both [n][m] (xss: [n][m]i32): (bool, [n]i32) =
  loop (go, ys) = (true, replicate n 0) while go do
    let sums = map2 (\\y xs -> y + 1 + reduce (+) 0 xs) ys xss
    in (reduce (&&) true (map (< 500) sums), sums)

entry checked [n][m] (xss: [n][m]i64) (k: i64): [n]i64 =
  map (\\xs -> reduce (+) 0 (map (\\x -> xs[x + k]) xs)) xss
"""
SHRINKING = """
entry main [n] (k: i32) (xss: [n][n]i32): [n][n]i32 =
  loop a = copy xss for i < n - 1 do
    let rest = n - 1 - i
    let below = a[i + 1:] :> [rest][n]i32
    let v = a[i]
    let a[i + 1:] = map (map2 (\\y x -> x * 2 - y * k) v) below
    in a
"""
CUBE = np.random.default_rng(3).random((4, 6, 8), np.float32)
MATRIX = np.random.default_rng(4).integers(0, 9, (12, 12)).astype(np.int32)
TWICE = MeasuringMethod(replay=Replay(rounds=2))
EXACT = Race(factor=math.inf, rounds=1)


@pytest.fixture(scope="module")
def nested() -> Program:
    return runelift.compile(NESTED, device="pocl", tuning={})


@pytest.fixture(scope="module")
def shrinking() -> Program:
    return runelift.compile(SHRINKING, device="pocl", tuning={})


def structure(encounters: Sequence[Any]) -> list[tuple[Any, ...]]:
    """What encounters are, whatever they cost."""
    return [(e.site, e.number, e.parent, e.sizes, e.par, e.feasible, e.chosen, e.scarce,
             e.launches) for e in encounters]


@pytest.mark.parametrize(("entry", "args"), [
    ("main", (CUBE, np.int64(2))),
    ("waits", (MATRIX,)),
    ("both", (MATRIX,)), ("checked", (MATRIX.astype(np.int64), 2))])
def test_records_are_those_of_forced_runs(nested: Program, entry: str, args: tuple[Any, ...]
                                          ) -> None:
    expected, _ = nested.run(entry, args)
    results, found = replayed(nested, entry, args, EXACT)
    for got, want in zip(results, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)
    for force in plans(nested.tree.entry(entry)):
        forced = MeasuredProgram(nested).record(entry, args, force=force)
        made = found.record(force)
        assert structure(made.encounters) == structure(forced.encounters)
        assert (made.launches, made.waits) == (forced.launches, forced.waits)
        inside = sum(e.time for e in made.encounters if e.parent is None)
        assert inside <= made.span * (1 + 1e-9)
        assert not any(e.censored for e in made.encounters)
    default = MeasuredProgram(nested).record(entry, args)
    assert structure(found.record(None).encounters) == structure(default.encounters)


def test_versions_start_from_the_same_memory(shrinking: Program, monkeypatch: pytest.MonkeyPatch
                                             ) -> None:
    expected, _ = shrinking.run("main", (3, MATRIX))
    results_agree(shrinking, "main", (3, MATRIX), expected)
    monkeypatch.setattr(ReplayRun, "_save", lambda *_: ())
    results, found = replayed(shrinking, "main", (3, MATRIX))
    assert found.banned or not np.array_equal(results[0], expected[0])


PAIR = VersionPair("s", 0, 1)


@pytest.mark.parametrize(("prim", "one", "other", "rounded", "wrong"), [
    (Prim.F32, [1, 1e6], [1.0019, 1e6], False, None),
    (Prim.F32, [1e-2, 1e6], [2, 1e6], False, None),
    (Prim.F32, [1, 100], [1.01, 100], False, "up to 0.01, where the greatest element is 1e+02"),
    (Prim.F32, [np.nan, np.inf], [np.nan, np.inf], False, None),
    (Prim.F32, [np.nan, 1], [1, np.inf], False, "2 of 2 elements"),
    (Prim.F64, [1, 2], [1.00001, 2], False, "up to 1e-05, where the greatest element is 2"),
    (Prim.F64, [1, 2], [1 + 1e-9, 2], False, None),
    (Prim.I8, [-128, 3], [127, 3], False, "1 of 2 elements"),
    (Prim.U64, [0, 1 << 63], [0, (1 << 63) + 1], False, "1 of 2 elements"),
    (Prim.U64, [0, 1 << 63], [0, (1 << 63) + 1], True, None),
    (Prim.I32, [0] * 200, [0] * 198 + [5, 5], True, None),
    (Prim.I32, [0] * 200, [0] * 197 + [5, 5, 5], True, "3 of 200 elements"),
    (Prim.BOOL, [True, False], [True, True], False, "1 of 2 elements")])
def test_differences(prim: Prim, one: list[Any], other: list[Any], rounded: bool,
                     wrong: str | None) -> None:
    """Floats may differ by rounding; integers only if they may have been floats."""
    device = open_device(next(d for d in find_devices() if "Portable" in d.platform))
    differences = Differences(device, device.plain, BuildWatch())
    buffers = []
    for values in (one, other):
        array = np.array(values, prim.dtype)
        buffers.append(device.pool.allocate(array.nbytes))
        cl.enqueue_copy(device.plain, buffers[-1].handle, array)
    differences.arrays(PAIR, prim, buffers[0], buffers[1], len(one), rounded=rounded)
    differences.settle()
    assert differences.differing.get(PAIR) == wrong
    assert differences.agreeing == ({} if wrong else {PAIR: 1})


@pytest.mark.parametrize(("one", "other", "given", "wrong"), [
    ([0, 0], [1e-7, -3e-8], [2], None),  # what rounding leaves of 2 - 2
    ([1e-7, -3e-8], [0, 0], [-2, 1], None),
    ([0, 0], [1e-7, -3e-8], [1e-7], "up to 1e-07, where the greatest element is 1e-07"),
    ([0, 0], [1e-7, -3e-8], [], "up to 1e-07, where the greatest element is 1e-07"),
    ([0, 0], [0.5, 1e-7], [2], "up to 0.5, where the greatest element is 0.5"),
    ([1e-7, 1e-7], [1e-7, -1e-7], [2], "up to 2e-07, where the greatest element is 1e-07")])
def test_what_is_left_of_numbers_that_cancel(one: list[float], other: list[float],
                                             given: list[float], wrong: str | None) -> None:
    device = open_device(next(d for d in find_devices() if "Portable" in d.platform))
    differences = Differences(device, device.plain, BuildWatch())
    buffers = []
    for values in (one, other, given):
        array = np.array(values, np.float32)
        buffers.append(device.pool.allocate(array.nbytes))
        if values:
            cl.enqueue_copy(device.plain, buffers[-1].handle, array)
    differences.take_inputs([1e-9, math.inf], [(Prim.F32, buffers[2], len(given))])
    differences.arrays(PAIR, Prim.F32, *buffers[:2], 2, rounded=True)
    differences.settle()
    assert differences.differing.get(PAIR) == wrong


def test_a_difference_that_should_be_zero_is_no_wrong_version() -> None:
    """The sums of rows minus the same sums by parts: zero, or not quite."""
    text = """
entry main [n][m] (xss: [n][m]f32): [n]f32 =
  map (\\xs -> reduce (+) 0 xs - reduce (+) 0 (map (\\x -> x) xs)) xss
"""
    program = runelift.compile(text, device="pocl", tuning={})
    xss = np.random.default_rng(0).random((7, 5000), np.float32)
    _, found = replayed(program, "main", (xss,))
    assert found.banned == {}


def test_scalars_differ_as_elements_do() -> None:
    device = open_device(next(d for d in find_devices() if "Portable" in d.platform))
    differences = Differences(device, device.plain, BuildWatch())
    for prim, one, other, rounded in ((Prim.F64, 1.0, 1.0 + 1e-9, False), (Prim.I32, 3, 3, False),
                                      (Prim.F32, math.nan, math.nan, False),
                                      (Prim.BOOL, True, False, True)):
        differences.scalars(PAIR, prim, one, other, rounded=rounded)
    assert differences.differing == {}
    differences.scalars(PAIR, Prim.I32, 3, 4, rounded=False)
    assert differences.differing == {PAIR: "3 and 4"}


def spoil(monkeypatch: pytest.MonkeyPatch, site: str, version: int) -> None:
    """Let a version give wrong results."""
    leave = ReplayRun.leave_replayed

    def spoiled(run: ReplayRun, number: int, results: Any) -> None:
        attempt = run._attempts[-1]
        if (attempt.encounter.site, attempt.version) == (site, version):
            for buffer, _, shape in results:
                cl.enqueue_fill_buffer(run.queue, buffer.handle, np.float32(0.25), 0,
                                       4 * math.prod(shape))
        leave(run, number, results)

    monkeypatch.setattr(ReplayRun, "leave_replayed", spoiled)


def default_of(program: Program, site: str) -> int:
    """The version that runs at a site without thresholds."""
    _, record = program.run("main", [CUBE, np.int64(2)], record=True)
    assert record is not None
    return next(each.chosen for each in record.encounters if each.site == site)


@pytest.mark.parametrize("site", ["main.versions_1", "main.versions_0"])
def test_a_wrong_version_is_banned(nested: Program, monkeypatch: pytest.MonkeyPatch, site: str
                                   ) -> None:
    """Of a site inside of another one's version, and of that one: each without the other."""
    version = 1 if site == "main.versions_1" or default_of(nested, site) == 0 else 0
    wrong = f"{site}/{version}"
    spoil(monkeypatch, site, version)
    race = Race(rounds=1)
    _, found = replayed(nested, "main", (CUBE, np.int64(2)), race)
    assert list(found.banned) == [wrong]
    assert "differ" in found.banned[wrong]
    _, found = replayed(nested, "main", (CUBE, np.int64(2)), race)
    assert found.banned == {}


def test_the_default_version_is_never_the_one_to_blame(
        nested: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    default = default_of(nested, "main.versions_0")
    spoil(monkeypatch, "main.versions_0", default)
    race = Race(rounds=1)
    for _ in range(3):
        _, found = replayed(nested, "main", (CUBE, np.int64(2)), race)
        assert f"main.versions_0/{default}" not in found.banned
    assert race.banned


def test_a_wrong_version_is_reported_and_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    program = runelift.compile(NESTED, device="pocl", tuning={})
    monkeypatch.setattr(Predictor, "versions", lambda self, number, facts, choosing: range(
        len(self._sites[number].versions)))  # the first version runs by default
    spoil(monkeypatch, "main.versions_0", 1)
    tuning = tuned(program, {"cube": (CUBE, np.int64(2))})
    (entry,) = tuning.entries
    (dataset,) = entry.costs.datasets
    assert entry.program_runs == 2  # the second without the version
    assert dataset.points[0].choose(entry.defaults) == 0
    assert all(point.choose(tuning.thresholds) != 1 for point in dataset.points)
    assert "must not run: its results differ" in render(tuning)


def tuned(program: Program, datasets: dict[str, tuple[Any, ...]],
          method: MeasuringMethod = TWICE, **options: Any) -> Any:
    inputs = [Dataset(name, "main", lambda args=args: args)  # type: ignore[misc]
              for name, args in datasets.items()]
    return tune_thresholds(TuningJob(MeasuredProgram(program), program.tree, inputs,
                                     method=method, **options))


def test_one_run_per_dataset(shrinking: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Progress] = []
    calls: list[str] = []
    original = MeasuredProgram.replay

    def counted(program: MeasuredProgram, entry: str, args: Any, race: Race) -> Any:
        calls.append(entry)
        return original(program, entry, args, race)

    monkeypatch.setattr(MeasuredProgram, "replay", counted)
    tuning = tuned(shrinking, {"a": (3, MATRIX), "b": (5, MATRIX[:7, :7])}, progress=seen.append)
    (entry,) = tuning.entries
    assert len(calls) >= entry.program_runs >= 2
    assert entry.costs.incomplete == {"a": 0, "b": 0}
    assert [p.done for p in seen][:2] == [1, 2]
    assert "each replays all versions" in render(tuning)
    assert {run.replay for run in entry.measurements.runs} >= {1}


# What cannot run


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Lets the launches of a version fail."""
    def fail(version: str) -> None:
        for name in ("issue", "issue_built"):
            original = getattr(Run, name)

            def issue(run: Run, number: int, *args: Any, original: Any = original) -> None:
                if run.executable.sites[number].version == version:
                    raise Infeasible("the test wants it so")
                original(run, number, *args)

            monkeypatch.setattr(Run, name, issue)
    return fail


def test_a_version_that_cannot_run_is_left_out(nested: Program, failing: Callable[[str], None]
                                               ) -> None:
    expected, _ = nested.run("main", (CUBE, np.int64(2)))
    failing("main.versions_0/1")
    results, found = replayed(nested, "main", (CUBE, np.int64(2)))
    np.testing.assert_allclose(results[0], expected[0], rtol=1e-5)
    assert found.banned == {}
    assert all(encounter.feasible == [0, 2] for encounter in found.outermost)
    assert "main.versions_0/1" in found.infeasible
    record = found.record({"main.versions_0": 1})
    assert {e.chosen for e in record.encounters if e.parent is None} == {2}


def test_versions_that_fail_half_way_change_nothing(shrinking: Program,
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    """What they have overwritten by then is put back."""
    expected, _ = shrinking.run("main", (3, MATRIX))
    done = Run.issue

    def issue(run: Run, number: int, *args: Any) -> None:
        done(run, number, *args)
        if run.executable.sites[number].version == "main.versions_0/0":
            raise Infeasible("the test wants it so")

    monkeypatch.setattr(Run, "issue", issue)
    results_agree(shrinking, "main", (3, MATRIX), expected)


def measured(program: Program, entry: str, args: tuple[Any, ...]) -> Measurements:
    return measure_by(MeasuringMethod(replay=Replay(rounds=1)), MeasuredProgram(program),
                      program.tree.entry(entry), [Dataset("d", entry, lambda: args)])


def test_without_room_versions_are_forced(nested: Program, monkeypatch: pytest.MonkeyPatch
                                          ) -> None:
    held = ReplayRun.leave_replayed

    def full(run: ReplayRun, number: int, results: Any) -> None:
        held(run, number, results)

        def allocate(size: int) -> None:
            raise OutOfMemory("there is none")

        run.allocate = allocate  # type: ignore[assignment]

    monkeypatch.setattr(ReplayRun, "leave_replayed", full)
    found = measured(nested, "main", (CUBE, np.int64(1)))
    assert {run.replay for run in found.runs} == {None}
    assert all(run.record for run in found.runs)


def test_runs_that_fail_are_forced_runs(nested: Program) -> None:
    found = measured(nested, "checked", (MATRIX.astype(np.int64), 6))
    assert all(run.error and "out of bounds" in run.error for run in found.runs)
    again = nested.run("checked", (MATRIX.astype(np.int64), 2))[0]
    np.testing.assert_array_equal(again[0], np.take_along_axis(MATRIX, MATRIX + 2, 1).sum(1))


# What a race leaves out


def test_lanes() -> None:
    state = RaceState()
    due = []
    for _ in range(16):
        state.encounters += 1
        due.append(state.due)
    assert [n for n, each in enumerate(due, start=1) if each] == [1, 2, 4, 8, 16]
    state.encounters = 1
    state.saw({0: 4.0, 1: 1.0, 2: 2.0})
    state.encounters = 2
    assert state.best == 1
    assert state.left(3.0) == {1, 2}
    assert state.ratios == {0: 4.0, 1: 1.0, 2: 2.0}
    state.saw({0: 2.0, 1: 1.0, 2: 8.0})
    assert state.ratios == pytest.approx({0: math.sqrt(8), 1: 1.0, 2: 4.0})


def test_encounters_are_alike_if_their_sizes_nearly_are() -> None:
    race = Race()
    assert race.state("s", (1000, 0), [0, 1]) is race.state("s", (1010, 0), [1, 0])
    for other in (("s", (1300, 0), [0, 1]), ("t", (1000, 0), [0, 1]), ("s", (1000, 0), [0])):
        assert race.state(*other) is not race.state("s", (1000, 0), [0, 1])


def test_versions_that_lost_at_two_sizes_lose_at_others_near() -> None:
    race = Race()
    for size, ratio in ((1000, 25.0), (4000, 30.0), (1 << 30, 1.0)):
        state = race.state("s", (size,), [0, 1, 2])
        state.encounters = 1
        state.saw({0: ratio, 1: 1.0, 2: 19.0})
    assert race.far_behind("s", (2000,), [0, 1, 2]) == {0: 25.0}
    assert race.far_behind("s", (2000,), [0, 1]) == race.far_behind("t", (2000,), [0, 1, 2]) == {}
    assert race.far_behind("s", (1 << 20,), [0, 1, 2]) == {}  # there are no two in a factor of 16
    assert replace(race, factor=math.inf).far_behind("s", (2000,), [0, 1, 2]) == {}
    state.presume({0: 25.0, 2: 3.0})
    assert state.ratios == {0: 1.0, 1: 1.0, 2: 19.0}


def test_every_version_comes_first_in_turn() -> None:
    assert [list(rotated([3, 4, 7], by)) for by in range(3)] == [[3, 4, 7], [4, 7, 3], [7, 3, 4]]


def test_versions_that_lost_are_estimated(nested: Program) -> None:
    """With a factor of 1 only one version is left at encounters that are not the first."""
    program, args = nested, (CUBE, np.int64(3))
    _, found = replayed(program, "main", args, Race(factor=1.0, rounds=1))
    last = found.outermost[2]
    assert len(last.attempts) == 1 == len(last.known()) - 2
    forced = {k: found.record({"main.versions_0": k}) for k in range(3)}
    for k, record in forced.items():
        (encounter,) = [e for e in record.encounters if e.parent is None][2:]
        assert encounter.censored == (k in last.ratios)
        assert encounter.chosen == k
        if encounter.censored:
            assert encounter.time == pytest.approx(last.cost(last.rival).time * last.ratios[k])


def test_what_was_only_estimated_is_not_chosen(nested: Program, monkeypatch: pytest.MonkeyPatch
                                               ) -> None:
    """It is measured before: here the race is told that all but the slowest version lost."""
    saw = RaceState.saw

    def reversed_(state: RaceState, seconds: dict[int, float]) -> None:
        saw(state, {k: 1.0 / each for k, each in seconds.items()})

    monkeypatch.setattr(RaceState, "saw", reversed_)
    tuning = tuned(nested, {"cube": (CUBE, np.int64(3))}, verify=False)
    (entry,) = tuning.entries
    for dataset in entry.costs.datasets:
        assert not any(p.guesses(tuning.thresholds) for p in dataset.points)


def test_measured_costs_take_the_place_of_estimates(nested: Program) -> None:
    forest, inputs = nested.tree.entry("main"), [Dataset("d", "main", lambda: (CUBE, np.int64(3)))]
    method = MeasuringMethod(replay=Replay(rounds=1, factor=1.0))
    found = measure_by(method, MeasuredProgram(nested), forest, inputs)
    tuning = conclude(forest, dict.fromkeys(forest.guards(), 64), found)
    count = sum(len(p.estimated) for p in tuning.costs.datasets[0].points)
    assert tuning.costs.datasets[0].estimates() >= count > 0
    assert "times of slow versions are estimates" in render(Tuning((tuning,)))
    sure = found.with_further(measure_by(method.surely(), MeasuredProgram(nested), forest, inputs))
    assert not any(p.estimated for p in costs_of(forest, sure).datasets[0].points)
    assert len(sure.runs) > len(found.runs)


# A budget, and going on


def test_without_time_only_one_version_runs(nested: Program, monkeypatch: pytest.MonkeyPatch
                                            ) -> None:
    """From the third encounter on: what others would take is known from those before."""
    looks = 0

    def late(race: Race) -> bool:
        nonlocal looks
        looks += 1
        return looks > 12

    monkeypatch.setattr(Race, "late", property(late))
    expected, _ = nested.run("main", (CUBE, np.int64(6)))
    results, found = replayed(nested, "main", (CUBE, np.int64(6)), Race(rounds=1))
    np.testing.assert_allclose(results[0], expected[0], rtol=1e-5)
    assert [len(found.outermost[k].attempts) for k in (0, -1)] == [3, 1]
    record = found.record({"main.versions_0": 0})
    assert {e.chosen for e in record.encounters if e.parent is None} == {0}


def test_without_time_for_anything_only_the_default_is_known(nested: Program) -> None:
    found = replayed(nested, "main", (CUBE, np.int64(2)), Race(deadline=0.0))[1]
    default = found.record(None).encounters[0].chosen
    assert all(list(encounter.attempts) == [default] for encounter in found.outermost)
    with pytest.raises(UnknownCost):
        found.record({"main.versions_0": 1 - default})


def test_datasets_that_there_is_no_time_for_are_left_out(nested: Program) -> None:
    found = tuned(nested, {"cube": (CUBE, np.int64(2))},
                  method=MeasuringMethod(0.0, replay=Replay()))
    (entry,) = found.entries
    assert entry.measurements.left_out == ["cube"]
    assert "cube: skipped, as the budget was spent" in render(found)


def test_an_interruption_keeps_the_datasets_that_were_over(shrinking: Program,
                                                           monkeypatch: pytest.MonkeyPatch
                                                           ) -> None:
    original = MeasuredProgram.replay

    def interrupted(program: MeasuredProgram, entry: str, args: Any, race: Race) -> Any:
        if args[1].shape == MATRIX.shape:
            raise KeyboardInterrupt
        return original(program, entry, args, race)

    monkeypatch.setattr(MeasuredProgram, "replay", interrupted)
    tuning = tuned(shrinking, {"a": (3, MATRIX[:5, :5]), "b": (5, MATRIX)})
    assert tuning.interrupted
    assert list(tuning.entries[0].fit.predicted) == ["a"]


@pytest.mark.parametrize("method", [MeasuringMethod(replay=Replay(rounds=1)), MeasuringMethod()])
def test_a_killed_tuning_is_resumed(shrinking: Program, method: MeasuringMethod, tmp_path: Path,
                                    monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = {"a": (3, MATRIX), "b": (5, MATRIX[:7, :7])}
    log = Log(tmp_path / "log", "this")
    whole = tuned(shrinking, datasets, method=method, log=log, verify=False).entries[0]
    log.close()
    lines = (tmp_path / "log").read_text().splitlines(keepends=True)
    first = [line for line in lines if '"dataset": "a"' in line]
    (tmp_path / "log").write_text("".join([*first, lines[-1][:20]]))
    asked: list[str] = []

    def arguments(name: str) -> tuple[Any, ...]:
        asked.append(name)
        return datasets[name]

    inputs = [Dataset(name, "main", lambda name=name: arguments(name))  # type: ignore[misc]
              for name in datasets]
    for made_for, expected in (("other", ["a", "b"]), ("this", ["b"])):
        (tmp_path / "log").write_text("".join(first))
        asked.clear()
        log = Log(tmp_path / "log", made_for, resume=True)
        found = measure_by(method, MeasuredProgram(shrinking), shrinking.tree.entry("main"), inputs,
                               repeats=method.repeats, log=log, progress=lambda _: None)
        log.close()
        assert list(dict.fromkeys(asked)) == expected
        assert found.datasets == ("a", "b")
        assert read_log(tmp_path / "log")["main"].runs == found.runs
    assert found.runs[:len(first)] == whole.measurements.runs[:len(first)]


# Promised buffers, which only some devices have


def test_what_a_version_fills_stays_filled() -> None:
    text = """
entry main [n][m] (xss: [n][m]f32) (k: i64): [n]f32 =
  loop ys = replicate n 0 for i < k do
    map2 (\\y xs -> y + loop s = 0 for j < m do s * 0.5f32 + loop t = 0 for l < m do
                    t * 0.5f32 + xs[l] * f32.i64 (i + j)) ys xss
"""
    program = runelift.compile(text, device="pocl", tuning={})
    assert program.device_info is not None
    program.loaded.info = replace(program.device_info, interleaves=True)
    xss = np.random.default_rng(0).random((64, 48), np.float32)
    assert "is None:" in program.source("host")
    expected, _ = program.run("main", (xss, np.int64(3)))
    results, found = replayed(program, "main", (xss, np.int64(3)))
    np.testing.assert_allclose(results[0], expected[0], rtol=1e-5)
    assert found.banned == {}


# What runs without a record would have taken


def test_correction() -> None:
    made = Record("main", (), span=3.0, busy=2.0, wall=3.0, host=1.0, launches=10, peak_bytes=0,
                  device="d", issue=4.0)
    host = RecordingCorrection.of(made, Timing(2.5, 2.0))
    assert (host.device, host.host, host.slack) == (1.0, 0.5, 0.5)
    assert host.timing(replace(made, issue=8.0)) == Timing(4.5, 4.0)
    device = RecordingCorrection.of(made, Timing(1.0, 0.5))
    assert device.timing(made) == pytest.approx((1.0, 0.5))
    late = RecordingCorrection.of(replace(made, span=30.0), Timing(2.5, 0.5))  # noise of the host
    assert late.timing(replace(made, span=4.0, busy=3.0)).seconds == pytest.approx(3.0)
    waiting = replace(made, waits=3)
    assert RecordingCorrection.of(waiting, Timing(2.5, 2.0)).timing(
        replace(waiting, launches=20, span=6.0)).seconds == pytest.approx(6.0 - 2 * 0.5)
    assert RecordingCorrection.of(waiting, Timing(3.5, 2.0)).timing(
        replace(waiting, launches=20, span=6.0)).seconds == pytest.approx(6.5)
