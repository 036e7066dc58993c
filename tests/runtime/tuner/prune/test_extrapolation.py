"""Versions that earlier datasets rule out for larger ones."""

import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from runelift.ir.base.errors import CompilerLimitation
from runelift.ir.guards import Kind
from runelift.runtime.records.pruning import PruningPolicy
from runelift.runtime.tuner.costs.cost_model import costs_of
from runelift.runtime.tuner.costs.log import NO_TIME, Log, LoggedRun, read_log
from runelift.runtime.tuner.measure.forced_runs import measure
from runelift.runtime.tuner.measure.measuring import measure_by
from runelift.runtime.tuner.measure.protocols import Dataset, MeasuringMethod
from runelift.runtime.tuner.policy import NORMAL
from runelift.runtime.tuner.prune.extrapolation import Extrapolation
from runelift.runtime.tuner.thresholds import conclude
from tests.runtime.tuner.simulated import Simulated, site

USUAL = MeasuringMethod()
FAR_BEHIND = NORMAL.pruning.smaller_inputs_factor
SITE = site("s", ("t0", []), ("t1", []), (None, []))


def inputs(**datasets: list[int]) -> list[Dataset]:
    return [Dataset(name, "main", partial(list, pars)) for name, pars in datasets.items()]


def falling_behind(where: str, index: int, par: int) -> float:
    """Version 0 takes a hundred times as long as the best, version 1 gains on it."""
    return [100.0 * par, 12.0, 1.0 * par][index]


def gaining(where: str, index: int, par: int) -> float:
    """Version 0 is far behind, and the best where there is much more to do."""
    return [100.0, 1000.0 * par, 1.0 * par][index]


def made(sim: Simulated, *pars: int, method: MeasuringMethod = USUAL) -> dict[str, set[int]]:
    """The versions that were run on each dataset."""
    found = measure_by(method, sim, sim.forest, inputs(**{str(par): [par] for par in pars}),
                       repeats=1)
    return {str(par): {run.force["s"] for run in found.runs
                       if run.dataset == str(par) and run.record is not None} for par in pars}


def test_what_fell_behind_is_not_run_where_there_is_more_to_do() -> None:
    sim = Simulated.of([SITE], falling_behind)
    assert made(sim, 2, 4, 8) == {"2": {0, 1, 2}, "4": {1, 2}, "8": {1, 2}}


def test_a_smaller_dataset_sees_every_version() -> None:
    sim = Simulated.of([SITE], falling_behind)
    assert made(sim, 4, 2) == {"4": {0, 1, 2}, "2": {0, 1, 2}}


@pytest.mark.parametrize("factor", [2, 100])
def test_with_so_much_more_parallelism_it_could_have_caught_up(factor: int) -> None:
    """It was fifty times as slow as the best."""
    sim = Simulated.of([SITE], gaining)
    assert (0 in made(sim, 2, 2 * factor)[str(2 * factor)]) == (50 / factor < FAR_BEHIND)


@pytest.mark.parametrize(("at_once", "before", "after", "host", "kind", "runs"), [
    (1, (8, 64), (64, 512), 0.0, Kind.OUTER, False),  # all of it was busy: more gains nothing
    (1, (8, 64), (64, 512 * 8), 0.0, Kind.OUTER, True),  # but that rows are longer may help it
    (1, (8, 64), (64, 512), 0.0, Kind.INTRA, True),  # here, too
    (16, (8, 64), (64, 512), 0.0, Kind.OUTER, False),
    (64, (8, 64), (64, 512), 0.0, Kind.OUTER, True),  # so much of the device was idle
    (1, (8, 64), (64, 512), 0.9, Kind.OUTER, True)])  # most of it was the host's, for launches
def test_more_parallelism_than_the_device_has_gains_nothing(
        at_once: int, before: tuple[int, int], after: tuple[int, int], host: float, kind: Kind,
        runs: bool) -> None:
    """It was thirty times as slow as the best; both guards have eight times as much to compare.

    The best one takes 64 times as long.
    """
    sim = Simulated.of([site("s", ("t0", []), ("t1", []), (None, []), kind=kind)],
                       lambda where, index, par: [30.0, 12.0, 1.0][index] * (par / 8)**2)

    def points(pars: tuple[int, int]) -> Any:
        return lambda record: replace(record, encounters=tuple(each._replace(
            par=dict(zip(("main.t0", "main.t1"), pars, strict=True)),
            issue=host * each.time) for each in record.encounters), issue=host * record.span)

    found = measure(sim, sim.forest, inputs(a=[8]), repeats=1)
    known = [replace(run, record=points(before)(run.record), time=run.record.span,
                     issue=host * run.record.span) for run in found.runs if run.record]
    record = points(after)(sim.record("main", [64], force={"s": 2}))
    ruled_out = Extrapolation(sim.forest, known, at_once).behind([record]).get("s", {})
    assert (0 not in ruled_out) == runs


def test_more_to_do_takes_no_less_time() -> None:
    """It was a hundred times as slow as what takes no longer with thirty times the work."""
    sim = Simulated.of([SITE], lambda where, index, par: [100.0, 12.0, 1.0 + par / 100][index])
    assert made(sim, 2, 60) == {"2": {0, 1, 2}, "60": {1, 2}}


def test_what_was_left_out_is_run_where_it_may_have_caught_up() -> None:
    sim = Simulated.of([SITE], gaining)
    assert [0 in versions for versions in made(sim, 1, 2, 60).values()] == [True, False, True]


def late(run: LoggedRun, par: int, seconds: float) -> LoggedRun:
    """The same run, if kernels had taken longer at one of its encounters."""
    assert run.record is not None
    return replace(run, record=replace(run.record, encounters=tuple(
        each._replace(time=seconds, busy=seconds) if each.sizes["n"] == par else each
        for each in run.record.encounters)))


def test_sizes_say_where_there_was_most_to_do() -> None:
    """The best version took a little longer where there was less to do."""
    sim = Simulated.of([SITE], lambda where, index, par: [20.0 / 16 * par, 12.0, 1.0][index])
    found = measure(sim, sim.forest, inputs(a=[16, 2]), repeats=1)
    runs = [late(run, 2, 1.1) if run.force["s"] == 2 else run for run in found.runs]
    record = sim.record("main", [32], force={"s": 2})
    record = replace(record, encounters=(record.encounters[0]._replace(time=2.0, busy=2.0),))
    assert list(Extrapolation(sim.forest, runs).behind([record])["s"]) == [0]


def test_that_a_small_encounter_was_late_rules_nothing_out() -> None:
    """A version may have caught up at the larger one, which took less by chance."""
    sim = Simulated.of([SITE], lambda where, index, par: [40.0, 400.0, par / 2][index])
    runs = measure(sim, sim.forest, inputs(a=[2]), repeats=1).runs
    run = LoggedRun("b", {"s": 2}, sim.record("main", [16, 4], force={"s": 2}))
    record = late(run, 4, 9.0).record
    assert record is not None
    assert list(Extrapolation(sim.forest, runs).behind([record])["s"]) == [1]


def test_the_quickest_run_says_how_long_the_best_takes() -> None:
    """Another record has a version that takes as long as the one in question."""
    sim = Simulated.of([SITE], lambda where, index, par: [100.0, 50.0 * par, 1.0][index])
    runs = measure(sim, sim.forest, inputs(a=[2]), repeats=1).runs
    records = [sim.record("main", [200], force={"s": version}) for version in (1, 2)]
    assert list(Extrapolation(sim.forest, runs).behind(records)["s"]) == [0]


def test_what_failed_is_tried_again() -> None:
    sim = Simulated.of([SITE], falling_behind, fail={("s", 0): CompilerLimitation("too big")})
    found = measure(sim, sim.forest, inputs(a=[2], b=[4]), repeats=1)
    assert [run.error for run in found.runs if run.error] == ["too big"] * 2


def test_what_there_was_no_time_for_is_run_on_the_next_dataset() -> None:
    sim = Simulated.of([SITE], falling_behind)
    (dataset,) = inputs(a=[2])
    runs = [run if run.force["s"] != 0 else replace(run, record=None, error=NO_TIME, time=None)
            for run in measure(sim, sim.forest, [dataset], repeats=1).runs]
    record = sim.record("main", [4], force={"s": 2})
    assert not Extrapolation(sim.forest, runs).behind([record])
    given_up = [replace(run, error="hopeless", left_out={"s": 0}) if run.error else run
                for run in runs]
    assert list(Extrapolation(sim.forest, given_up).behind([record])["s"]) == [0]


def test_what_runs_by_default_is_measured() -> None:
    sim = Simulated.of([SITE], lambda where, index, par: [1.0 * par, 2.0 * par, 100.0 * par][index])
    assert made(sim, 2, 4)["4"] == {0, 1, 2}


def test_left_out_versions_are_noted_and_never_chosen(tmp_path: Path) -> None:
    sim = Simulated.of([SITE], falling_behind)
    log = Log(tmp_path / "log")
    found = measure(sim, sim.forest, inputs(a=[2], b=[4]), repeats=1, log=log)
    log.close()
    (noted,) = [run for run in found.runs if run.error]
    assert str(noted.error).startswith("version s/0: skipped: ")
    assert noted.left_out == {"s": 0}
    assert read_log(tmp_path / "log")["main"].runs == found.runs
    tuning = conclude(sim.forest, sim.default, found)
    (point,) = tuning.costs.datasets[1].points
    assert point.choose(tuning.fit.thresholds) != 0

    again = Simulated.of([SITE], falling_behind)
    log = Log(tmp_path / "log", resume=True)
    resumed = measure(again, again.forest, inputs(a=[2], b=[4]), repeats=1, log=log)
    log.close()
    assert not again.forced
    assert len(resumed.runs) == len(found.runs)
    assert costs_of(sim.forest, resumed).datasets[1].total(sim.default) == pytest.approx(
        costs_of(sim.forest, found).datasets[1].total(sim.default))


def test_everything_is_run_if_that_is_asked_for() -> None:
    sim = Simulated.of([SITE], falling_behind)
    found = measure(sim, sim.forest, inputs(a=[2], b=[4]), MeasuringMethod(every=True), repeats=1)
    assert {run.force["s"] for run in found.runs if run.record} == {0, 1, 2}
    assert all(run.record is not None for run in found.runs)


def test_what_other_datasets_say_is_worked_out_while_the_first_runs_are_made(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """Where runs do not disturb it: the run by default is not over before."""
    class Apart(Simulated):
        out_of_process = True

        def time(self, entry, args, **options):  # type: ignore[no-untyped-def]
            assert args == [2] or done.wait(60)
            return super().time(entry, args, **options)

    def work_out(extrapolation: Extrapolation) -> None:
        worked_out(extrapolation)
        if extrapolation.runs:
            done.set()

    done, worked_out = threading.Event(), Extrapolation.work_out
    monkeypatch.setattr(Extrapolation, "work_out", work_out)
    assert made(Apart.of([SITE], falling_behind), 2, 4) == made(
        Simulated.of([SITE], falling_behind), 2, 4)
    assert done.is_set()


def test_a_first_run_that_was_late_rules_nothing_out() -> None:
    """The device waited for what was built meanwhile: kernels alone took no time at all."""
    sim = Simulated.of([SITE], falling_behind)
    found = measure(sim, sim.forest, inputs(a=[2]), repeats=1)
    late = [replace(run, record=replace(run.record, encounters=tuple(
        each._replace(busy=0.1) for each in run.record.encounters)))
        if run.record and run.force["s"] == 0 else run for run in found.runs]
    record = sim.record("main", [4], force={"s": 2})
    assert list(Extrapolation(sim.forest, found.runs).behind([record])["s"]) == [0]
    assert not Extrapolation(sim.forest, late).behind([record])


def delayed(run: LoggedRun, seconds: float) -> LoggedRun:
    """The same run, if the device had waited so long at each encounter."""
    assert run.record is not None
    return replace(run, record=replace(run.record, encounters=tuple(
        each._replace(time=each.time + seconds) for each in run.record.encounters)))


def test_that_a_smaller_dataset_was_late_does_not_make_it_larger() -> None:
    """The best version had to wait as long as with twice the work; its kernels had not."""
    sim = Simulated.of([SITE], falling_behind)
    found = measure(sim, sim.forest, inputs(a=[2]), repeats=1)
    late = [delayed(run, 3.0) if run.force["s"] == 2 else run for run in found.runs]
    record = sim.record("main", [4], force={"s": 2})
    assert list(Extrapolation(sim.forest, late).behind([record])["s"]) == [0]
    assert not Extrapolation(sim.forest, late).behind([sim.record("main", [0], force={"s": 2})])


def test_kernels_say_where_there_is_most_to_do() -> None:
    """The last encounter of a first run was late, at which there is less to do than before."""
    sim = Simulated.of([SITE], falling_behind)
    found = measure(sim, sim.forest, inputs(a=[4]), repeats=1)
    record = sim.record("main", [8, 1], force={"s": 2})
    first, last = record.encounters
    late = replace(record, encounters=(first, last._replace(time=100.0)))
    assert list(Extrapolation(sim.forest, found.runs).behind([late])["s"]) == [0]


class First(Simulated):
    """By default the first version runs."""

    default = dict.fromkeys(["main.t0", "main.t1", "main.t2"], 1)


LONG_RUNS = MeasuringMethod(policy=replace(NORMAL, pruning=PruningPolicy(first_run_seconds=1.0)))
"""Simulated runs take half a second, whatever is done."""


def test_what_falls_behind_is_not_the_first_to_be_run() -> None:
    """Plans begin with the most parallelism; a run by default says how large a dataset is."""
    sim = First.of([SITE], lambda where, index, par: 1e-3 * [1.0 * par, 12.0, 100.0 * par][index])
    assert made(sim, 2, 4, method=LONG_RUNS) == {"2": {0, 1, 2}, "4": {0, 1}}


def test_what_a_run_by_default_does_not_meet_is_ruled_out_later() -> None:
    """It meets the outer site only."""
    inner = site("inner", ("t1", []), ("t2", []), (None, []))
    sim = First.of([site("s", ("t0", []), (None, [inner]))], lambda where, index, par: 1e-3 * (
        [2.0, 0.5][index] if where == "s" else [100.0 * par, 5.0, 1.0 * par][index]))
    found = measure_by(LONG_RUNS, sim, sim.forest, inputs(a=[2], b=[4]), repeats=1)
    shown = {each.chosen for run in found.runs if run.dataset == "b" and run.record
             for each in run.record.encounters if each.site == "inner"}
    assert shown == {1, 2}
