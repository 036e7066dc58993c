"""What versions are left out without being run, and which plans are run how often."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runelift.ir.base.errors import CompilerLimitation
from runelift.ir.guards import Kind
from runelift.runtime.records.estimates import Estimates
from runelift.runtime.records.pruning import PruningPolicy
from runelift.runtime.records.record import Encounter, Record
from runelift.runtime.tools.reports.text import render
from runelift.runtime.tuner.costs.cost_model import costs_of
from runelift.runtime.tuner.costs.log import Log, LoggedRun, Measurements
from runelift.runtime.tuner.measure.forced_runs import measure
from runelift.runtime.tuner.measure.measuring import measure_by
from runelift.runtime.tuner.measure.protocols import MeasuringMethod
from runelift.runtime.tuner.measure.repetitions import runs_as
from runelift.runtime.tuner.measure.time_limits import RunStopped
from runelift.runtime.tuner.policy import NORMAL
from runelift.runtime.tuner.prune.contenders import contenders
from runelift.runtime.tuner.result import Tuning
from runelift.runtime.tuner.thresholds import conclude
from runelift.runtime.versions.forest import plans
from tests.runtime.tuner.simulated import CHAIN, ENOUGH, Simulated, inputs, nested, site

HOPELESS = NORMAL.pruning.estimate_factor
LONG_RUNS = MeasuringMethod(policy=replace(NORMAL, pruning=PruningPolicy(first_run_seconds=1.0)))
"""Simulated runs take half a second."""


def test_one_work_item_for_each_point_takes_the_work_of_a_point() -> None:
    """Twice as many points, and four times the work: each takes twice as long."""
    estimates = Estimates(work=1 << 20)
    assert estimates.seconds("s/0", 128, 0.01) == 0.0
    estimates.saw("s/0", 128, 1.2, 0.01)
    estimates.work = 1 << 22
    assert estimates.seconds("s/0", 256, 0.04) == pytest.approx(2.4)
    assert estimates.seconds("s/0", 256, 0.02) == pytest.approx(1.2)  # so it is not that much work
    assert estimates.seconds("s/0", 256, 0.99) == pytest.approx(2.4)
    assert estimates.seconds("s/1", 256, 0.04) == 0.0
    assert estimates.hopeless("s/0", 256, 2.4 / HOPELESS * 1.01) is None
    assert "about 2.4 s" in str(estimates.hopeless("s/0", 256, 2.4 / HOPELESS * 0.99))
    estimates.work = None
    assert estimates.hopeless("s/0", 256, 0.04) is None


def test_what_is_slow_on_a_large_dataset_may_be_best_on_a_small_one() -> None:
    """Work-items that loop are as many on both, so what the best takes tells."""
    estimates = Estimates(work=1 << 20)
    estimates.saw("s/0", 1000, 5.0, 1e-2)
    assert estimates.hopeless("s/0", 100, 1e-5) is None


def test_points_beyond_what_a_device_does_at_once_make_nothing_faster() -> None:
    """As rows of 4 and of 262144 elements on ten cores."""
    estimates = Estimates(at_once=10)
    estimates.begin(1 << 20)
    estimates.saw("s/0", 262144, 0.011, 0.003)
    assert estimates.seconds("s/0", 4, 0.047) == pytest.approx(0.011 * 10 / 4)
    assert estimates.seconds("s/0", 100, 0.047) == pytest.approx(0.011)


def test_chance_makes_runs_slow_only_but_a_stop_is_certain() -> None:
    estimates = Estimates(work=100)
    for seconds in (3.0, 2.0, 4.0):
        estimates.saw("s/0", 1, seconds, 0.1)
    assert estimates.seconds("s/0", 1, 0.1) == 2.0
    estimates.saw("s/0", 1, 5.0, 0.1, stopped=True)
    assert estimates.seconds("s/0", 1, 0.1) == 5.0


def serial(where: str, index: int, par: int) -> float:
    """One work-item for each of ``par`` points; or all of the points at the same time."""
    return [1e3, 1.0, 0.01][index]


class Counted(Simulated):
    """Says that there are a million work-items in a run."""

    def prebuild(self, entry, args, forces, recorded=()):  # type: ignore[no-untyped-def]
        return 1 << 20


def test_what_cannot_win_is_not_run() -> None:
    sim = Counted.of(CHAIN, serial)
    found = measure(sim, sim.forest, inputs(a=[16], b=[16], c=[16]), repeats=2)
    slow = [run for run in found.runs if run.force["s"] == 0]
    assert [run.record is not None for run in slow] == [True, False, False]
    assert [f.get("s") for f in sim.forced].count(0) == 1
    assert all("s/0: skipped: expected" in str(run.error) for run in slow[1:])
    costs = costs_of(sim.forest, found)
    assert [d.points[0].own[0].device for d in costs.datasets] == [1e3, math.inf, math.inf]
    assert not any(costs.incomplete.values())


def test_few_work_items_take_long_for_the_work_of_many() -> None:
    estimates = Estimates()
    estimates.saw_lone_seconds("s", 3000.0)
    estimates.saw_lone_seconds("s", 2000.0)
    estimates.saw_lone_seconds("s", 4000.0)
    assert estimates.lone_time("s/0", 100) == 20.0
    assert "100 work-items would take more than 20 s" in str(estimates.hopeless("s/0", 100, 1e-3))
    assert estimates.hopeless("s/0", 100, 20.0 / HOPELESS) is None
    assert estimates.hopeless("s/0", 100_000, 1e-6) is None
    assert estimates.hopeless("other/0", 100, 1e-3) is None
    estimates.begin(None)
    assert estimates.hopeless("s/0", 100, 1e-3) is None


class Crowded(Simulated):
    """Tells what its work-items did in all."""

    def _record(self, *args: Any) -> Record:
        record = super()._record(*args)
        return replace(record, encounters=tuple(
            each._replace(crowd=1e6 * each.time) for each in record.encounters))


def test_what_is_hopeless_is_not_even_run_once() -> None:
    sim = Crowded.of(CHAIN, serial)
    found = measure(sim, sim.forest, inputs(few=[2], many=[1 << 20]), repeats=1)
    runs = {run.dataset: run for run in found.runs if run.force["s"] == 0}
    assert "2 work-items would take more than" in str(runs["few"].error)
    assert runs["many"].record is not None
    assert {"s": 0} not in sim.forced
    assert {} in sim.forced  # it runs by default there, which was recorded


@pytest.mark.parametrize("kind", [Kind.OUTER, Kind.REWRITTEN])
def test_records_tell_what_runs_by_default(kind: Kind) -> None:
    """No run by default is recorded to see that what is hopeless is not what runs then.

    Records say which guards hold by predicted times, and nothing of rewritten versions.
    """
    sim = Crowded.of(CHAIN, serial)
    (tree,) = sim.forest.trees
    first, second, last = tree.alternatives
    assert second.guard is not None
    sim.forest = replace(sim.forest, trees=(replace(tree, alternatives=(
        first, replace(second, guard=replace(second.guard, kind=kind)), last)),))
    found = measure_by(LONG_RUNS, sim, sim.forest, inputs(few=[2]), repeats=1)
    assert {run.force["s"] for run in found.runs if run.record is None} == (
        {0, 1} if kind is Kind.OUTER else {0})
    assert ({} in sim.forced) == (kind is Kind.REWRITTEN)


def test_what_is_stopped_is_not_run_where_it_would_take_longer() -> None:
    sim = Counted.of(CHAIN, serial, fail={("s", 0): RunStopped("timeout", seconds=500.0)})
    found = measure(sim, sim.forest, inputs(a=[16], b=[16], c=[1 << 20]), repeats=1)
    errors = [str(run.error) for run in found.runs if run.force["s"] == 0]
    assert errors[0] == "version s/0: timeout"
    assert "skipped: expected" in errors[1]
    assert errors[2] == errors[0]  # with so many points, it may be the best


def test_a_budget_ends_the_measuring() -> None:
    sim = Simulated.of(CHAIN, lambda *_: 1e-3)
    found = measure(sim, sim.forest, inputs(a=[4], b=[4]), MeasuringMethod(budget=0.0), repeats=1)
    assert found.left_out == ["b"] or found.left_out == ["a", "b"]
    assert all(run.record is None or run.dataset == "a" for run in found.runs)


@pytest.mark.parametrize("lines", range(1, 10))
def test_nothing_is_measured_twice(lines: int, tmp_path: Path) -> None:
    """However many runs the log has of a dataset, only those that are missing are made."""
    sim = Simulated.of(CHAIN, lambda where, index, par: 1.0 + index,
                       fail={("s", 1): CompilerLimitation("too big")})
    log = Log(tmp_path / "log")
    whole = measure(sim, sim.forest, inputs(a=[4], b=[8]), repeats=2, log=log)
    log.close()
    kept = (tmp_path / "log").read_text().splitlines(keepends=True)
    (tmp_path / "log").write_text("".join(kept[:lines]) + kept[-1][:9])
    before = len(sim.forced)
    log = Log(tmp_path / "log", resume=True)
    found = measure(sim, sim.forest, inputs(a=[4], b=[8]), repeats=2, log=log)
    log.close()
    assert found.runs == whole.runs
    warm_ups = len({(r.dataset, r.force["s"]) for r in whole.runs[lines:] if r.record})
    assert len(sim.forced) - before == warm_ups + sum(not r.again for r in whole.runs[lines:])


def test_the_report_says_where_times_come_from() -> None:
    sim = Simulated.of(CHAIN, lambda where, index, par: 1.0 + index)
    measured = measure(sim, sim.forest, inputs(a=[4]), repeats=1)
    assert "predicted from single-version runs" in render(
        Tuning((conclude(sim.forest, sim.default, measured),)))
    replayed = Measurements("main", [replace(run, replay=1) for run in measured.runs])
    assert "predicted from replayed versions)" in render(
        Tuning((conclude(sim.forest, sim.default, replayed),)))


def test_plans_that_run_the_same_versions_are_repeated_as_one(tmp_path: Path) -> None:
    sim = Simulated.of(CHAIN, lambda where, index, par: 1e-3, infeasible=frozenset({("s", 1)}))
    log = Log(tmp_path / "log")
    found = measure(sim, sim.forest, inputs(a=[4]), repeats=3, log=log)
    log.close()
    timed = [run.force["s"] for run in found.runs if run.time is not None]
    assert timed.count(0) == timed.count(2) > 1
    assert [run.time for run in found.runs if run.force["s"] == 1] == [None]
    runs, log = sim.runs, Log(tmp_path / "log", resume=True)
    assert measure(sim, sim.forest, inputs(a=[4]), repeats=3, log=log).runs == found.runs
    assert sim.runs == runs


@pytest.mark.parametrize("infeasible", [
    set(), {("a", 0)}, {("a", 0), ("a", 1)}, {("a", 0), ("c", 0), ("d", 1)}, {("b", 1), ("c", 2)}])
@pytest.mark.parametrize("pars", [[2], [4, 100]])
def test_what_a_plan_leads_to_is_known_from_other_runs(infeasible: set[tuple[str, int]],
                                                       pars: list[int]) -> None:
    """Of a run with the same versions, unless one was forced that others decide in the plan."""
    sim = Simulated.of(nested(), lambda where, index, par: 1.0, infeasible=frozenset(infeasible))
    forces = [{}, *plans(sim.forest), *({"a": index} for index in range(3)), {"c": 1, "d": 0}]
    runs = [LoggedRun("x", force, sim.record("main", pars, force=force)) for force in forces]
    for force, own in zip(forces, runs, strict=True):
        for run in runs:
            assert own.record is not None
            assert run.record is not None
            is_known = all(site in force or site not in run.force
                           for site, _ in run.record.path)
            assert runs_as(force, run) == (is_known and own.record.path == run.record.path)
    assert not runs_as({}, replace(runs[0], record=None))
    assert not runs_as({}, replace(runs[0], replay=1))


@pytest.mark.parametrize("enough", [1, ENOUGH])
def test_a_version_that_cannot_run_is_not_run_where_it_leads_to_a_known_run(enough: int) -> None:
    """Two lead to the flat version, whose sites run by default what one of the plans forces.

    On the second dataset a run by default was recorded; on the first one of the two has to run.
    """
    inner = site("u", ("t2", []), (None, []))
    sim = Simulated.of([site("s", ("t0", []), ("t1", []), (None, [inner]))],
                       lambda where, index, par: 1e-3, enough=enough,
                       infeasible=frozenset({("s", 0), ("s", 1)}))
    found = measure_by(LONG_RUNS, sim, sim.forest, inputs(a=[2], b=[4]), repeats=3)
    assert [sim.forced.count(force) for force in ({"s": 0}, {"s": 1}, {})] == [0, 1, 1]
    for dataset in "ab":
        runs = [run for run in found.runs if run.dataset == dataset]
        assert {run.force["s"] for run in runs if run.record} == {0, 1, 2}
        assert {run.force["s"] for run in runs if run.time is not None} == {2}


@pytest.mark.parametrize(("kept", "found"), [(0, {0}), (4, {0}), (1, {0}), (60, {0, 1})])
def test_what_can_gain_hardly_anything_is_no_contender(kept: int, found: set[int]) -> None:
    """Version 1 is as fast where the loop ends as others are, and far slower before that.

    It may be the best there, which is worth something if there are many such iterations.
    """
    def run(version: int, early: float, taken: float) -> LoggedRun:
        busy = [early] * 5 + [4e-6] * kept
        met = tuple(Encounter("s", k, None, {"n": k}, {}, (0, 1), version, max(each, taken), each,
                              0.0, 1) for k, each in enumerate(busy))
        seconds = sum(max(each, taken) for each in busy)
        return LoggedRun("d", {"s": version}, Record("main", met, seconds, sum(busy), seconds, 0.0,
                                                     len(busy), 0, ""), time=seconds)

    assert contenders([run(0, 1e-3, 6e-6), run(1, 1e-2, 6e-6)]) == {"s": found}


def test_what_issuing_costs_a_record_makes_no_contenders() -> None:
    """A version is late in records, not in runs without; another's kernels alone take long."""
    def run(version: int, busy: float, issue: float, time: float | None) -> LoggedRun:
        met = Encounter("s", 0, None, {}, {}, (0, 1), version, issue, busy, 0.0, 3, issue=issue)
        return LoggedRun("d", {"s": version},
                         Record("main", (met,), issue, busy, issue, 0.0, 3, 0, "",
                                                     issue=issue), time=time)

    slow = run(0, 50e-6, 60e-6, None)
    assert contenders([slow, run(1, 12e-6, 54e-6, None)]) == {"s": {0, 1}}
    assert contenders([slow, run(1, 12e-6, 54e-6, 14e-6)]) == {"s": {1}}
    assert contenders([slow, run(1, 12e-6, 54e-6, 70e-6)]) == {"s": {0, 1}}
    assert contenders([slow, replace(slow, record=None)]) == {"s": {0}}


def test_a_version_remains_where_all_were_late_by_turns() -> None:
    """One version was late at one of two encounters alike, the other at the other one."""
    def run(version: int, *busy: float) -> LoggedRun:
        met = tuple(Encounter("s", k, None, {"n": 4}, {}, (0, 1), version, each, each, 0.0, 1)
                    for k, each in enumerate(busy))
        return LoggedRun("d", {"s": version},
                         Record("main", met, sum(busy), sum(busy), sum(busy), 0.0,
                                                     len(busy), 0, ""), time=sum(busy))

    assert contenders([run(0, 1e-3, 30e-3), run(1, 40e-3, 1e-3)]) == {"s": {0}}


@pytest.mark.parametrize("enough", [1, ENOUGH])
def test_what_runs_by_default_is_not_left_out(enough: int, monkeypatch: pytest.MonkeyPatch
                                              ) -> None:
    """By chance it seemed far slower on another dataset."""
    monkeypatch.setattr(Estimates, "hopeless", lambda self, version, par, best: (
        "left out: hopeless" if version == "s/0" else None))
    sim = Simulated.of(CHAIN, lambda where, index, par: 1e-3, enough=enough)
    found = measure_by(LONG_RUNS, sim, sim.forest, inputs(a=[2]), repeats=1)
    errors = [run.error for run in found.runs if run.force["s"] == 0 and run.error]
    assert errors == ([] if enough == 1 else ["version s/0: left out: hopeless"])
