"""Measuring, matching of encounters, the log, and tuning from start to end."""

import json
import math
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from runelift.ir.base.errors import CompilerLimitation, UserError
from runelift.ir.guards import UNREACHED, Kind
from runelift.ir.prim import Prim
from runelift.runtime.data.dataset import Generator
from runelift.runtime.data.text import Spec
from runelift.runtime.records.format import show_seconds
from runelift.runtime.records.record import Timing
from runelift.runtime.tools.reports.text import facts, render, render_held_out, run_times
from runelift.runtime.tuner.costs.cost_model import EncounterCosts, costs_of
from runelift.runtime.tuner.costs.log import NO_TIME, Log, LoggedRun, read_log
from runelift.runtime.tuner.costs.recording_overhead import corrected_records
from runelift.runtime.tuner.fit.cross_validation import leave_one_out
from runelift.runtime.tuner.measure.forced_runs import measure, with_builds_begun
from runelift.runtime.tuner.measure.measuring import measure_by
from runelift.runtime.tuner.measure.protocols import Dataset, MeasuringMethod, Progress
from runelift.runtime.tuner.measure.repetitions import Schedule
from runelift.runtime.tuner.policy import NORMAL
from runelift.runtime.tuner.result import EntryTuning, Tuning, default_thresholds
from runelift.runtime.tuner.thresholds import conclude, tune_thresholds
from tests.runtime.tuner.simulated import (
    CHAIN,
    Simulated,
    close,
    inputs,
    job_for,
    nested,
    site,
)

POLICY = NORMAL.repetition
BRIEF, SHORT = POLICY.brief_seconds, POLICY.short_seconds
MORE, CERTAIN = POLICY.short_factor, POLICY.certain_runs


@pytest.fixture(autouse=True)
def _no_time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """While runs are simulated, whatever else this machine does: long ones are made less often."""
    clock = SimpleNamespace(perf_counter=lambda: 0.0)
    monkeypatch.setattr("runelift.runtime.tuner.measure.forced_runs.time", clock)


def cost(where: str, index: int, par: int) -> float:
    return [100.0 / par, 200.0, 20.0][index] * (1 + len(where))


def test_versions_are_interleaved_after_a_warm_up() -> None:
    sim = Simulated.of(CHAIN, close)
    found = measure(sim, sim.forest, inputs(a=[2]), repeats=2)
    assert [f["s"] for f in sim.forced] == [2, 1, 0] * 2
    assert [f.get("s") for f in sim.timed] == [None, *[2, 1, 0] * 2]
    assert len(found.runs) == 6
    assert not found.interrupted


def test_forced_runs_have_the_thresholds_of_their_method(monkeypatch: pytest.MonkeyPatch) -> None:
    sim, seen = Simulated.of(CHAIN, close), list[object]()
    run = sim._record
    monkeypatch.setattr(sim, "_record", lambda entry, args, force, thresholds: (
        seen.append(thresholds), run(entry, args, force, thresholds))[1])
    measure_by(MeasuringMethod(thresholds={"t0": 5}), sim, sim.forest, inputs(a=[2], b=[8]))
    assert len(seen) > 6
    assert all(each == {"t0": 5} for each in seen)


@pytest.mark.parametrize(("wall", "recorded"), [(BRIEF / 2, 3), (BRIEF, 1), (SHORT, 1)])
def test_repetitions_are_recorded_a_few_times_only(wall: float, recorded: int, tmp_path: Path
                                                   ) -> None:
    """The others have the last record, which the log has once, and which counts once."""
    class Walls(Simulated):
        def _record(self, *args):  # type: ignore[no-untyped-def]
            return replace(super()._record(*args), wall=wall)

    times = iter(range(10, 10**6))
    sim = Walls.of(CHAIN, lambda where, index, par: next(times) / 10)
    log = Log(tmp_path / "log")
    found = measure(sim, sim.forest, inputs(a=[2]), repeats=4, log=log)
    log.close()
    runs = [run for run in found.runs if run.force == {"s": 1}]
    assert len(runs) >= 4
    assert [run.again for run in runs] == [False] * recorded + [True] * (len(runs) - recorded)
    assert {id(run.record) for run in runs[recorded:]} == {id(runs[recorded - 1].record)}
    assert len({run.time for run in runs}) == len(runs)
    assert read_log(tmp_path / "log")["main"].runs == [
        replace(run, place=None) for run in found.runs]
    assert len(corrected_records(runs)) == recorded
    killed = [run if run.again else replace(run, time=None, issue=None) for run in runs]
    assert len(corrected_records(killed)) == len({id(run.record) for run in killed if run.again})


def test_what_is_far_behind_is_not_repeated() -> None:
    """Nor what a slow first run only seems to be: its kernels took no longer than others."""
    sim = Simulated.of(CHAIN, lambda where, index, par: [20.0, 45.0, 30.0][index])
    found = measure(sim, sim.forest, inputs(a=[2]), repeats=2)
    assert [f["s"] for f in sim.forced] == [2, 1, 0, 2, 0]
    assert [f["s"] for f in sim.timed[1:]] == [2, 0, 2, 0]
    assert [run.force["s"] for run in found.runs] == [2, 0, 1, 2, 0]

    class Late(Simulated):
        def record(self, entry, args, **options):  # type: ignore[no-untyped-def]
            found = super().record(entry, args, **options)
            return replace(found, span=100.0, wall=100.0) if len(self.forced) <= 3 else found

    late = Late.of(CHAIN, lambda where, index, par: [20.0, 45.0, 30.0][index])
    measure(late, late.forest, inputs(a=[2]), repeats=2)
    assert [f["s"] for f in late.forced] == [2, 1, 0, 2, 1, 0]
    assert [f["s"] for f in late.timed[1:]] == [2, 1, 0, 2, 0]


def test_where_all_records_are_late_the_best_are_repeated() -> None:
    """A device that others use is slower than it was when the default version was timed."""
    class Shared(Simulated):
        def record(self, entry, args, **options):  # type: ignore[no-untyped-def]
            found = super().record(entry, args, **options)
            return replace(found, busy=5 * found.busy, span=5 * found.span)

    sim = Shared.of(CHAIN, lambda where, index, par: [20.0, 45.0, 21.0][index])
    found = measure(sim, sim.forest, inputs(a=[2]), repeats=2)
    assert {run.force["s"] for run in found.runs if run.time is not None} == {0, 2}


def test_the_best_of_one_site_is_repeated_without_the_worst_of_another() -> None:
    """Two sites, whose versions share runs: one is the best of the first and ran with the worst."""
    stms = [site("s", ("t0", []), ("t1", []), (None, [])), site("u", ("t2", []), (None, []))]
    slow = {("s", 1): 10.0, ("u", 1): 900.0}
    sim = Simulated.of(stms, lambda where, index, par: slow.get((where, index), 60.0))
    found = measure(sim, sim.forest, inputs(a=[2]), repeats=3)
    counts = Counter(tuple(run.force.values()) for run in found.runs)
    assert counts == {(2, 0): 2, (1, 1): 1, (0, 0): 2, (1, 0): 2}
    (dataset,) = costs_of(sim.forest, found).datasets
    assert dataset.least() == pytest.approx(0.5 + 10.0 + 60.0)


def test_the_best_of_several_sites_is_not_repeated_twice() -> None:
    """A version that cannot run leads to it by default."""
    class Mixed(Simulated):
        @property
        def default(self):  # type: ignore[no-untyped-def]
            return {"main.t0": 1, "main.t1": 1, "main.t2": 10**9}

    inner = [site("u", ("t1", []), (None, [])), site("w", ("t2", []), (None, []))]
    slow = {("u", 1), ("w", 0)}
    sim = Mixed.of([site("s", ("t0", []), (None, inner))], lambda where, index, par: (
        900.0 if (where, index) in slow else 10.0), infeasible=frozenset({("s", 0)}))
    found = measure(sim, sim.forest, inputs(a=[2]), repeats=3)
    counts = Counter(tuple(run.force.values()) for run in found.runs)
    assert counts == {(0,): 2, (1, 0, 0): 1, (1, 1, 1): 1}
    (dataset,) = costs_of(sim.forest, found).datasets
    assert dataset.least() == pytest.approx(0.5 + 30.0)


class Kept:
    """Runs in the order in which they were over."""

    def __init__(self) -> None:
        self.runs: list[LoggedRun] = []

    def known(self, entry: str, dataset: str) -> list[LoggedRun]:
        return []

    def append(self, entry: str, run: LoggedRun) -> None:
        self.runs.append(run)

    def forget(self, entry: str, dataset: str) -> None:
        """Nothing is."""


@pytest.mark.parametrize(("builds", "slow", "order"), [
    (True, [2], "ba"), (True, [2, 4], "ab"), (True, [], "ab"), (False, [2], "ab")])
def test_repetitions_that_wait_for_kernels_come_after_other_datasets(
        builds: bool, slow: list[int], order: str) -> None:
    """These learn from first runs; nobody asks for kernels if there are none to build at all."""
    class Builds(Simulated):
        def prebuild_all(self, entry, inputs, forces):  # type: ignore[no-untyped-def]
            asked.append(forces)
            return builds if {} in forces else inputs[0][0] in slow

    asked, kept = list[Sequence[dict[str, int]]](), Kept()
    sim = Builds.of(CHAIN, lambda where, index, par: [100.0 * par, 12.0, 11.0][index])
    found = measure(sim, sim.forest, inputs(a=[2], b=[4]), repeats=2, log=kept)
    timed = [run for run in kept.runs if run.time is not None]
    assert "".join(dict.fromkeys(run.dataset for run in timed)) == order
    assert Counter((run.dataset, run.force["s"]) for run in timed) == {
        (dataset, version): 2 for dataset in "ab" for version in (1, 2)}
    assert {(run.dataset, run.record is None) for run in found.runs if run.force["s"] == 0} == {
        ("a", False), ("b", True)}
    assert found.datasets == ("a", "b")
    assert len(asked) == (3 if builds else 1)


def test_what_is_only_being_built_is_waited_for_at_the_end() -> None:
    """Other datasets are measured meanwhile; what is found is the same."""
    stms = [site("s", ("t0", []), ("t1", []), (None, [])), site("u", ("t2", []), (None, []))]
    slow = {("s", 1): 10.0, ("u", 1): 900.0}
    further = {"s": 1, "u": 0}

    class Builds(Simulated):
        others = True

        def prebuild_all(self, entry, inputs, forces):  # type: ignore[no-untyped-def]
            return self.others

    counts, orders = [], []
    for others in True, False:
        sim = Builds.of(stms, lambda where, index, par: slow.get((where, index), 60.0))
        sim.others = others
        steps: list[Progress] = []
        kept = Kept()
        found = measure(sim, sim.forest, inputs(a=[2], b=[4]), repeats=3, progress=steps.append,
                        log=kept)
        counts.append(Counter((run.dataset, *run.force.values()) for run in found.runs))
        orders.append([run.dataset for run in kept.runs if run.force == further])
        datasets = list(dict.fromkeys(run.dataset for run in kept.runs if run.force != further))
        assert datasets == ["a", "b"]
        last = max(k for k, run in enumerate(kept.runs) if run.force != further)
        assert all(k > last for k, run in enumerate(kept.runs) if run.force == further) == others
        assert found.runs == sorted(kept.runs, key=lambda run: run.dataset)
        assert [step.done for step in steps] == sorted(step.done for step in steps)
    assert counts[0] == counts[1]
    assert orders == [["a", "a", "b", "b"]] * 2


@pytest.mark.parametrize(("kind", "count", "together", "fits"), [
    ("made", POLICY.kept_bytes // 2, True, True),
    ("made", POLICY.kept_bytes, False, False),
    ("random", POLICY.kept_bytes, True, True),
    ("random", POLICY.device_bytes, True, False),
])
def test_inputs_are_foreseen_together_if_they_are_small_or_not_made_yet(
        kind: str, count: int, together: bool, fits: bool) -> None:
    """``count`` bytes for one dataset, and 4 for another one."""
    class Builds(Simulated):
        inputs: Sequence[object] = ()

        def prebuild_all(self, entry, inputs, forces):  # type: ignore[no-untyped-def]
            self.inputs = inputs
            return True

    def arguments(size: int) -> list[object]:
        return ([np.broadcast_to(np.int8(0), (size,))] if kind == "made"
                else Generator().recipes([Spec((size,), Prim.I8)]))

    sim = Builds.of(CHAIN, cost)
    datasets = [Dataset(name, "main", partial(arguments, size))
                for name, size in (("a", count), ("b", 4))]
    found, room, builds = with_builds_begun(sim, sim.forest, datasets, {"a": [], "b": []})
    assert room == fits
    assert builds == together
    assert len(sim.inputs) == 2 * together
    assert [len(list(each.arguments())) for each in found] == [1, 1]


def device_times(point: EncounterCosts) -> dict[int, float]:
    return {index: own.device for index, own in point.own.items()}


def test_own_times_are_without_nested_encounters() -> None:
    sim = Simulated.of(nested(), cost)
    costs = costs_of(sim.forest, measure(sim, sim.forest, inputs(a=[4, 8]), repeats=1))
    (dataset,) = costs.datasets
    assert dataset.rest.device == pytest.approx(0.5)
    assert costs.incomplete == {"a": 0}
    first = next(p for p in dataset.points if p.site.name == "a" and p.sizes["n"] == 4)
    assert device_times(first) == pytest.approx({0: 50.0, 1: 400.0, 2: 40.0})
    assert [p.site.name for p in first.inner[2]] == ["b", "c", "c"]
    for thresholds in ({}, {"main.a0": 1}, {"main.a0": 5, "main.b0": 1, "main.c0": 10**9}):
        full = sim.default | thresholds
        record = sim.record("main", [4, 8], thresholds=full)
        assert dataset.total(full) == pytest.approx(record.span)


def test_interruption_keeps_what_was_measured() -> None:
    sim = Simulated.of(CHAIN, cost, interrupt_after=3 + 1 + 3 + 1)
    found = measure(sim, sim.forest, inputs(a=[2], b=[4]), repeats=1)
    assert found.interrupted
    assert found.datasets == ("a", "b")
    costs = costs_of(sim.forest, found)
    assert [d.name for d in costs.datasets] == ["a"]
    assert costs.incomplete["b"] == 1


def test_a_version_that_fails_is_never_chosen() -> None:
    sim = Simulated.of(CHAIN, cost, fail={("s", 0): CompilerLimitation("too big\nreally")})
    found = measure(sim, sim.forest, inputs(a=[16]), repeats=1)
    tuning = conclude(sim.forest, sim.default, found)
    (dataset,) = tuning.costs.datasets
    assert math.isinf(dataset.points[0].own[0].device)
    assert tuning.fit.predicted["a"] == pytest.approx(0.5 + 40.0)
    assert found.runs[0].error == "too big\nreally"


def test_log_reads_back(tmp_path: Path) -> None:
    sim = Simulated.of(nested(), cost)
    log = Log(tmp_path / "log")
    found = measure(sim, sim.forest, inputs(a=[2, 4]), repeats=2, log=log)
    log.close()
    assert read_log(tmp_path / "log")["main"].runs == found.runs
    with (tmp_path / "log").open("a") as file:
        file.write('{"entry": "ma')
    assert read_log(tmp_path / "log")["main"].runs == found.runs
    (tmp_path / "log").write_text('{"entry": 3}\n')
    with pytest.raises(UserError, match="log:1"):
        read_log(tmp_path / "log")
    with pytest.raises(UserError, match="Cannot read"):
        read_log(tmp_path / "other")


def test_tuning_from_start_to_end() -> None:
    sim = Simulated.of(CHAIN, cost)
    seen: list[Progress] = []
    job = job_for(sim, inputs(a=[2, 4, 8], b=[16]), repeats=1, progress=seen.append)
    tuning = tune_thresholds(job)
    (entry,) = tuning.entries
    assert entry.program_runs == 6
    runs = [step for step in seen if not step.summary]
    assert runs[5].done == runs[5].total == 6
    assert tuning.thresholds["main.t0"] in range(5, 9)
    assert entry.verified["b"].gain == pytest.approx((400 + 0.5) / (12.5 + 0.5))
    assert all(not both.slower for both in entry.verified.values())
    text = render(tuning)
    assert "3 versions × 2 datasets = 6" in text
    assert "V1 (outer)" in text
    assert "main.t0" in text
    assert "within 0.00 % of the best of an exhaustive search" in text
    json.dumps(facts(tuning, device="simulated"), allow_nan=False)


def test_what_follows_from_a_fit_is_worked_out_while_its_result_runs() -> None:
    begun, ended = threading.Event(), threading.Event()

    class Waiting(Simulated):
        def time(self, entry, args, **options):  # type: ignore[no-untyped-def]
            if options.get("thresholds") is not None:
                assert begun.wait(10)
                ended.set()
            return super().time(entry, args, **options)

    def work(entry: EntryTuning) -> None:
        assert not entry.verified
        begun.set()
        assert ended.wait(10)
        done.append(threading.current_thread().name)

    done = list[str]()
    sim = Waiting.of(CHAIN, cost)
    job = job_for(sim, inputs(a=[2, 4, 8], b=[16]), repeats=1)
    tuning = tune_thresholds(replace(job, meanwhile=work))
    assert len(done) == 1
    assert done[0] != threading.current_thread().name
    assert tuning.thresholds == tune_thresholds(job).thresholds
    with pytest.raises(ZeroDivisionError):
        tune_thresholds(replace(job, meanwhile=lambda _: 1 // 0))


def test_nothing_is_worked_out_where_the_default_stays() -> None:
    sim = Simulated.of(CHAIN, cost, interrupt_after=1)
    tuning = tune_thresholds(job_for(
        sim, inputs(a=[2]), repeats=1,
        meanwhile=lambda _: pytest.fail("there is nothing to work out")))
    assert tuning.interrupted


def test_interrupted_tuning_fits_what_it_has() -> None:
    sim = Simulated.of(CHAIN, cost, interrupt_after=8)
    tuning = tune_thresholds(job_for(sim, inputs(a=[2, 4, 8], b=[16]), repeats=1))
    assert tuning.interrupted
    assert list(tuning.entries[0].fit.predicted) == ["a"]


def test_interrupted_before_anything() -> None:
    sim = Simulated.of(CHAIN, cost, interrupt_after=1)
    tuning = tune_thresholds(job_for(sim, inputs(a=[2]), repeats=1))
    assert tuning.interrupted
    assert tuning.thresholds == sim.default
    assert "default thresholds stay" in render(tuning)


def test_tuning_that_turns_out_slower_is_not_kept() -> None:
    """Forced runs mislead: without force, every threshold but the default is slow."""

    class Misleading(Simulated):
        def time(self, entry, args, **options):  # type: ignore[no-untyped-def]
            tuned = options.get("thresholds") not in (None, {}, self.default)
            return 1e6 if tuned else super().time(entry, args, **options)

    sim = Misleading.of(CHAIN, cost)
    tuning = tune_thresholds(job_for(sim, inputs(a=[2, 4, 8]), repeats=1))
    assert tuning.thresholds == sim.default
    assert "slower" in str(tuning.entries[0].fit.kept_default)


def test_defaults_are_predicted_but_for_rewritten_versions() -> None:
    sim = Simulated.of(CHAIN, cost)
    assert default_thresholds(sim.forest) == {"main.t0": 0, "main.t1": 0}
    rewritten = Simulated.of([site("s", ("t0", []), (None, []), kind=Kind.REWRITTEN)], cost)
    assert default_thresholds(rewritten.forest) == {"main.t0": UNREACHED}


@pytest.mark.parametrize(("seconds", "text"), [
    (2.5, "2.50 s"), (0.123, "123 ms"), (4.56e-5, "45.6 µs"), (1e-7, "0.10 µs"), (math.inf, "-"),
])
def test_durations(seconds: float, text: str) -> None:
    assert show_seconds(seconds) == text


def test_what_recording_costs_is_not_a_cost_of_versions() -> None:
    """Recording doubles the host's time for each launch, as profiling does on some devices."""

    class Slowed(Simulated):
        def record(self, entry, args, **options):  # type: ignore[no-untyped-def]
            found = super().record(entry, args, **options)
            encounters = tuple(e._replace(time=2 * e.time, gap=e.time) for e in found.encounters)
            return replace(found, encounters=encounters, span=found.span + found.busy,
                           wall=found.span + found.busy, waits=1)

        def timing(self, entry, args, **options):  # type: ignore[no-untyped-def]
            return Timing(super().record(entry, args, **options).span, 0.0)

    (plain,), (slowed,) = (
        costs_of(sim.forest, measure(sim, sim.forest, inputs(a=[4, 8]), repeats=1)).datasets
        for sim in (Simulated.of(nested(), close), Slowed.of(nested(), close)))
    for a, b in zip(plain.points, slowed.points, strict=True):
        assert device_times(b) == pytest.approx(device_times(a), rel=0.01)


@pytest.mark.parametrize(("noise", "runs"), [(0.1, 2 * MORE), (0.01, CERTAIN)])
def test_short_runs_are_repeated_more_often(noise: float, runs: int) -> None:
    """Unless they all take the same."""
    class Short(Simulated):
        def record(self, entry, args, **options):  # type: ignore[no-untyped-def]
            return replace(super().record(entry, args, **options), wall=BRIEF / 2)

        def timing(self, entry, args, **options):  # type: ignore[no-untyped-def]
            found = super().timing(entry, args, **options)
            return found._replace(seconds=found.seconds * (1 + noise * (len(self.timed) // 3 % 2)))

    sim = Short.of(CHAIN, close)
    seen: list[Progress] = []
    found = measure(sim, sim.forest, inputs(a=[2], b=[4]), repeats=2, progress=seen.append)
    assert len(found.runs) == 2 * 3 * runs
    assert max(p.done for p in seen) == seen[0].total == 2 * 3 * 2


@pytest.mark.parametrize(("spread", "counts"), [
    (2.0, [3 * MORE, 3 * MORE, 5, 3]), (1.03, [3, 3, 2, 2]), (1.01, [3, 2, 2, 2])])
def test_repetitions_that_take_long_are_fewer(spread: float, counts: list[int]) -> None:
    """Whatever they take besides the run counts; if all take the same, two are enough."""
    force = {"s": 0}
    sim = Simulated.of(CHAIN, close)
    run = LoggedRun("a", force, replace(sim.record("main", [2], force=force), wall=BRIEF / 2),
                    time=0.001)

    def repetitions(seconds: float) -> int:
        schedule, count = Schedule([force], 3, []), 0
        schedule.warmed_up(0, run, over=False)
        while schedule.wants(0, count):
            schedule.ran(0, replace(run, time=0.001 * spread ** (count % 2)), seconds)
            count += 1
        return count

    assert [repetitions(seconds) for seconds in (0.0, 0.01, 0.02, 0.05)] == counts


def test_a_dataset_that_turns_out_slower_keeps_its_versions() -> None:
    """Records promise a gain for both datasets; run side by side, one of them loses."""

    class Misleading(Simulated):
        def time(self, entry, args, **options):  # type: ignore[no-untyped-def]
            seconds = super().time(entry, args, **options)
            chosen = super()._record(entry, args, None, options.get("thresholds")).encounters
            return 10 * seconds if args == [100] and chosen[0].chosen == 2 else seconds

    own = {4: [90.0, 99.0, 50.0], 100: [90.0, 99.0, 50.0]}
    sim = Misleading.of(CHAIN, lambda where, index, par: own[par][index], enough=1)
    found = measure(sim, sim.forest, inputs(a=[4], b=[100]), repeats=1)
    promised = conclude(sim.forest, sim.default, found).fit.predicted
    assert promised == {"a": 50.5, "b": 50.5}
    tuning = tune_thresholds(job_for(sim, inputs(a=[4], b=[100]), repeats=1))
    (entry,) = tuning.entries
    assert entry.unmoved == {"b"}
    assert entry.fit.predicted == {"a": 50.5, "b": 90.5}
    assert "within 0.00 % of the best of an exhaustive search" in render(tuning)
    assert "showed no gain, so b keeps its default versions" in render(tuning)
    (entry,) = tuning.entries
    for unmoved, said in ((("a", "b"), "a, b keep their default versions"),
                          ((), "later runs in turn decided")):
        other = replace(entry, unmoved=frozenset(unmoved))
        assert f"showed no gain, so {said}" in render(replace(tuning, entries=(other,)))


def test_a_dataset_that_does_not_fit_leaves_the_others_alone() -> None:
    class Small(Simulated):
        def place(self, args):  # type: ignore[no-untyped-def]
            if len(args) > 1:
                raise UserError("Out of device memory: too large.")
            return args

    sim = Small.of(CHAIN, cost)
    tuning = tune_thresholds(job_for(sim, inputs(a=[2, 4], b=[16]), repeats=1))
    (entry,) = tuning.entries
    assert [run.error for run in entry.measurements.runs if run.dataset == "a"] == [
        "Out of device memory: too large."] * 3
    assert list(entry.verified) == ["b"]
    assert "Out of device memory" in render(tuning)


def test_a_gain_that_chance_could_explain_is_left_alone() -> None:
    own = [100.0, 200.0, 99.5]
    sim = Simulated.of(CHAIN, lambda where, index, par: own[index], enough=1)
    tuning = tune_thresholds(job_for(sim, inputs(a=[4]), repeats=1))
    assert tuning.thresholds == sim.default
    assert "less than 1 %" in str(tuning.entries[0].fit.kept_default)
    assert "within 0.50 % of the best of an exhaustive search" in render(tuning)


@pytest.mark.parametrize("missing", [0, 1])
def test_datasets_whose_default_there_was_no_time_for_are_left_out(missing: int) -> None:
    """Where nobody knows what the default takes, nobody can say what would be faster."""
    sim = Simulated.of(CHAIN, close)
    found = measure(sim, sim.forest, inputs(a=[100], b=[2]), repeats=1)
    default = {"main.t0": 1000, "main.t1": 1}  # on both, version 1
    found.runs = [replace(run, record=None, time=None, error=NO_TIME)
                  if run.dataset == "a" and run.force["s"] == missing else run
                  for run in found.runs]
    entry = conclude(sim.forest, default, found)
    text = render(Tuning((entry,)))
    assert [d.name for d in entry.costs.datasets] == (["b"] if missing == 1 else ["a", "b"])
    assert entry.measurements.left_out == (["a"] if missing == 1 else [])
    assert ("a: skipped, as the budget was spent before all default versions" in text
            ) == (missing == 1)
    assert ("a: the budget was spent before " in text) == (missing == 0)
    assert "nan" not in text
    assert "inf" not in text.replace("infeasible", "")


def test_reports_say_nothing_of_a_default_that_cannot_run() -> None:
    sim = Simulated.of(CHAIN, close)
    found = measure(sim, sim.forest, inputs(a=[100], b=[2]), repeats=1)
    found.runs = [replace(run, record=None, time=None, error="version s/1: it crashed")
                  if run.force["s"] == 1 else run for run in found.runs]
    entry = conclude(sim.forest, {"main.t0": 1000, "main.t1": 1}, found)
    assert not math.isfinite(entry.fit.default["a"])
    assert [row[1:4:2] for row in run_times(entry)[1:]] == [["-", "-"]] * 2
    text = render(Tuning((entry,))) + str(facts(Tuning((entry,))))
    assert "nan" not in text
    assert "inf" not in text.replace("infeasible", "")
    left_out = leave_one_out(entry.costs, entry.defaults)
    assert "inf" not in render_held_out("main", left_out)
