"""SizeGuardKind finer than thresholds: fitted, run, written, and dropped when they are stale."""

import json
import math
import multiprocessing
import pickle
import threading
import warnings
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import runelift
from runelift.runtime.execution.decision_cache import MOST_SETTINGS, DecisionCache
from runelift.runtime.programs.program import Program
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tuner import confirm_size_guards
from runelift.runtime.tuner.analysis.conflicts import conflicts
from runelift.runtime.tuner.confirm_size_guards import confirm_guards, fit_guards, render_guards
from runelift.runtime.tuner.costs.cost_model import Costs
from runelift.runtime.tuner.costs.host_device_time import Cost
from runelift.runtime.tuner.fit.fit import fit, objective
from runelift.runtime.tuner.fit.size_guards import SizeGuardKind, fit_size_guards
from runelift.runtime.tuner.job import TuningJob
from runelift.runtime.tuner.measure.forced_runs import measure
from runelift.runtime.tuner.measure.protocols import Dataset
from runelift.runtime.tuner.policy import NORMAL, ComparisonPolicy
from runelift.runtime.tuner.result import EntryTuning
from runelift.runtime.tuner.thresholds import conclude
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.tuner.workers.worker import Session
from runelift.runtime.versions.forest import Forests
from runelift.runtime.versions.size_guards import (
    GuardedThresholds,
    Leaf,
    NearestSizes,
    SizeGuard,
    SizeTable,
    Split,
    from_json,
    to_json,
)
from runelift.runtime.versions.tuning_file import facts_path, write_tuning
from tests.runtime.tuner.fit.test_fit import CHAIN, costs_for, simulations
from tests.runtime.tuner.simulated import Simulated, nested, site

NOISE = NORMAL.fit.noise

FINER = [SizeGuardKind.MEMO, SizeGuardKind.NEAR, SizeGuardKind.TREE]


def unsolvable(long: float = 1.0) -> Simulated:
    """Breddam 2019, figure 2.2: the first guard compares N, but which version is best depends on M.

    A parallelism of 1000 N + M stands for both.  Up to M = 256 the work-group's version is best,
    beyond it the outer one.
    """
    def cost(where: str, index: int, par: int) -> float:
        return ([8.0, 1.0, 9.0] if par % 1000 <= 256 else [long, 8.0, 9.0])[index]

    return Simulated.of([site("s", ("t0", []), ("t1", []), (None, []))], cost,
                        pars=lambda par, k: par // 1000 if k == 0 else par % 1000)


SHAPES = {"10 x 100": [10100], "10 x 900": [10900], "50 x 200": [50200], "50 x 700": [50700]}


def test_no_threshold_serves_all_and_finer_guards_do() -> None:
    sim = unsolvable()
    costs = costs_for(sim, SHAPES)
    thresholds = fit(costs, sim.default).thresholds
    assert [c.guard for c in conflicts(costs, thresholds)] == ["main.t0"]
    assert sum(d.total(thresholds) > 1.01 * d.least() for d in costs.datasets) >= 2
    for guards in FINER:
        found = fit_size_guards(costs, thresholds, guards)
        for dataset in costs.datasets:
            assert math.isclose(dataset.total(found), dataset.least())
    tree = fit_size_guards(costs, thresholds, SizeGuardKind.TREE).finer["s"]
    assert list(tree.lines(["V1", "V2", "V3"])) == ["main.t1 ≥ 374: V1", "else: V2"]
    # a tree knows other sizes as well, a memo does not
    assert tree.version({"n": 30150, "main.t0": 30, "main.t1": 150}) == 1
    memo = fit_size_guards(costs, thresholds, SizeGuardKind.MEMO).finer["s"]
    assert memo.version({"n": 30150, "main.t0": 30, "main.t1": 150}) is None


def inputs(shapes: dict[str, list[int]]) -> list[Dataset]:
    return [Dataset(name, "main", partial(list, pars)) for name, pars in shapes.items()]


def concluded(sim: Simulated, shapes: dict[str, list[int]]) -> EntryTuning:
    return conclude(sim.forest, sim.default, measure(sim, sim.forest, inputs(shapes), repeats=1))


def test_trees_must_guess_as_well_as_thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    found = fit_guards(concluded(unsolvable(), SHAPES), SizeGuardKind.TREE)
    assert found.finer.keys() == {"s"}
    monkeypatch.setattr(confirm_size_guards, "_losses_of_guessing",
                        lambda *_: {1: 0.15, 2: 0.05, 3: -0.05})
    assert fit_guards(concluded(unsolvable(), SHAPES), SizeGuardKind.TREE).depth == 3
    monkeypatch.setattr(confirm_size_guards, "_losses_of_guessing", lambda *_: {1: 0.12, 2: 0.25})
    dropped = fit_guards(concluded(unsolvable(), SHAPES), SizeGuardKind.TREE)
    assert dropped.finer == {}
    assert "they are 12 % slower" in dropped.why


def test_how_guards_guess_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if runs side by side change the fit, as it is about fits to other datasets."""
    tuning = concluded(unsolvable(), SHAPES)
    found = fit_guards(tuning, SizeGuardKind.AUTO)
    monkeypatch.setattr(confirm_size_guards, "fitted_to_others",
                        lambda *_: pytest.fail("once more"))
    assert fit_guards(tuning, SizeGuardKind.AUTO) == found
    name = next(iter(SHAPES))
    fit_guards(replace(tuning, unmoved=frozenset([name])), SizeGuardKind.AUTO)
    with pytest.raises(pytest.fail.Exception, match="once more"):
        fit_guards(tuning, SizeGuardKind.TREE)


def test_no_tree_where_the_best_version_follows_from_nothing() -> None:
    chance = Simulated.of(
        [site("s", ("t0", []), (None, []))],
        lambda where, index, par: 1.0 if index == (par in (3, 17, 40)) else 1.1 + 30 * (par == 5),
        pars=lambda par, k: 7)
    tuning = concluded(chance, {str(par): [par] for par in (3, 5, 17, 29, 40)})
    assert fit_guards(tuning, SizeGuardKind.TREE).finer == {}
    assert fit_guards(tuning, SizeGuardKind.MEMO).finer.keys() == {"s"}


def test_thresholds_that_are_right_stay_alone() -> None:
    sim = Simulated.of(CHAIN, lambda where, index, par: [1.6 / par, 0.15, 0.1][index])
    costs = costs_for(sim, {"a": [2, 4, 8], "b": [16, 32]})
    thresholds = fit(costs, sim.default).thresholds
    for guards in (SizeGuardKind.THRESHOLD, SizeGuardKind.MEMO, SizeGuardKind.TREE):
        assert fit_size_guards(costs, thresholds, guards).finer == {}


@pytest.mark.parametrize("guards", FINER)
@given(found=simulations(nested))
@settings(max_examples=25)
def test_finer_guards_slow_nothing_down(guards: SizeGuardKind,
                                        found: tuple[Simulated, Costs]) -> None:
    sim, costs = found
    thresholds = fit(costs, sim.default).thresholds
    finer = fit_size_guards(costs, thresholds, guards)
    for dataset in costs.datasets:
        assert dataset.total(finer) <= dataset.total(thresholds) * (1 + NOISE) + 1e-9


@given(found=simulations(lambda: CHAIN))
@settings(max_examples=40)
def test_a_memo_loses_no_more_than_what_it_leaves_to_thresholds(found: tuple[Simulated, Costs]
                                                                ) -> None:
    """Encounters of a chain do not depend on each other, so each size gets its best version.

    A memo has what gains 3 %, if all datasets together gain 1 %.  What runs on some datasets and
    not on others, though the sizes are the same, is not chosen at all.
    """
    sim, costs = found
    runs = defaultdict[tuple[Any, ...], set[bool]](set)
    for point in (p for d in costs.datasets for p in d.points):
        for version, cost in point.own.items():
            runs[tuple(point.par.items()), version].add(math.isfinite(cost.device))
    assume(all(len(each) == 1 for each in runs.values()))
    thresholds = fit(costs, sim.default).thresholds
    finer = fit_size_guards(costs, thresholds, SizeGuardKind.MEMO)
    best = len(costs.datasets)
    assert objective(costs, finer) <= best / (1 - 0.03) * (1 + 0.01) + 1e-9


def test_a_memo_knows_nothing_about_sizes_that_were_not_measured() -> None:
    sim = unsolvable()
    costs = costs_for(sim, {"one": [10100]})
    finer = fit_size_guards(costs, {"main.t0": 1, "main.t1": 1}, SizeGuardKind.MEMO).finer["s"]
    assert finer.version({"n": 10100}) == 1
    assert finer.version({"n": 10101}) is None


def test_guards_that_are_worth_nothing_are_left_out() -> None:
    """Two choices, of which only one takes time."""
    sim = Simulated.of([site("s", ("t0", []), (None, [])), site("r", ("u0", []), (None, []))],
                       lambda where, index, par: (1.0 if where == "s" else 1e-4) * (
                           1.0 if index == par % 2 else 2.0))
    costs = costs_for(sim, {str(par): [par] for par in (2, 3, 4, 5)})
    thresholds = fit(costs, sim.default).thresholds
    for guards in FINER:
        assert fit_size_guards(costs, thresholds, guards).finer.keys() == {"s"}


def test_sizes_in_between_are_decided_by_those_nearby() -> None:
    guard = NearestSizes(("n", "m"), {(16, 16): (1.0, 4.0, 30.0), (1024, 16): (8.0, 1.0, 1.5),
                                      (1024, 1 << 20): (30.0, 5.0, 1.0)})
    assert [guard.version({"n": n, "m": m}) for n, m in (
        (16, 16), (1024, 16), (1024, 1 << 20), (32, 16), (512, 32), (900, 1 << 19))] == [
        0, 1, 2, 0, 1, 2]
    # half way, a version that is never far behind is safer than one that is the best at one end
    between = NearestSizes(("n",), {(1,): (1.0, 1.1, 9.0), (256,): (9.0, 1.1, 1.0)})
    assert between.version({"n": 16}) == 1
    assert between.version({"n": 0}) == 0
    assert [between.memo().version({"n": n}) for n in (1, 16, 256)] == [0, None, 2]
    assert list(between.lines(["V1", "V2", "V3"])) == [
        "near n = 1: V1, V2 1.1×, V3 9×", "near n = 256: V3, V2 1.1×, V1 9×"]


def test_the_nearest_sizes_are_used_where_they_serve_better() -> None:
    """The outer version is best for sizes that are neither small nor large."""
    sim = Simulated.of([site("s", ("t0", []), (None, []))], lambda where, index, par: [
        1.0 + abs(math.log2(par) - 9), 4.0][index])
    tuning = concluded(sim, {str(par): [par] for par in (4, 32, 256, 1024, 8192, 1 << 17)})
    assert any(d.total(tuning.fit.thresholds) > 1.1 * d.least() for d in tuning.costs.datasets)
    found = fit_guards(tuning, SizeGuardKind.AUTO)
    assert found.loss is not None
    assert found.loss < NORMAL.comparison.guard_harm
    assert all(math.isclose(found.after[d.name], d.least()) for d in tuning.costs.datasets)
    guard = found.finer["s"]
    assert isinstance(guard, NearestSizes)
    assert [guard.version({"n": n}) for n in (8, 16, 400, 2000, 30000)] == [1, 1, 0, 0, 1]


def test_a_memo_stands_in_where_the_nearest_sizes_guess_badly(monkeypatch: pytest.MonkeyPatch
                                                              ) -> None:
    tuning = concluded(unsolvable(), SHAPES)
    monkeypatch.setattr(confirm_size_guards, "_losses_of_guessing", lambda *_: {3: 0.3})
    assert isinstance(fit_guards(tuning, SizeGuardKind.AUTO).finer["s"], SizeTable)
    monkeypatch.setattr(confirm_size_guards, "_losses_of_guessing", lambda *_: {3: -0.3})
    assert isinstance(fit_guards(tuning, SizeGuardKind.AUTO).finer["s"], NearestSizes)
    right = concluded(Simulated.of(CHAIN, lambda where, index, par: [1.6 / par, 0.15, 0.1][index]),
                      {"a": [2, 4, 8], "b": [16, 32], "c": [64], "d": [3]})
    monkeypatch.setattr(confirm_size_guards, "_losses_of_guessing", lambda *_: {3: 0.0})
    assert fit_guards(right, SizeGuardKind.AUTO).finer == {}


TREES = st.recursive(
    st.integers(0, 3).map(Leaf), lambda below: st.builds(
        Split, st.sampled_from(["n", "m"]), st.integers(1, 99), below, below), max_leaves=5)
MEMOS = st.dictionaries(st.tuples(st.integers(0, 9), st.integers(0, 9)), st.integers(0, 3)).map(
    lambda versions: SizeTable(("n", "m"), versions))
NEARBY = st.dictionaries(st.tuples(st.integers(0, 9), st.integers(0, 9)), st.tuples(
    *[st.floats(1.0, 30.0)] * 3), min_size=1).map(lambda ratios: NearestSizes(("n", "m"), ratios))


@given(st.one_of(TREES, MEMOS, NEARBY), st.integers(0, 99), st.integers(0, 99))
def test_what_is_written_decides_as_before(finer: SizeGuard, n: int, m: int) -> None:
    read = from_json(json.loads(json.dumps(to_json(finer))))
    assert read == finer
    assert hash(read) == hash(finer)
    chosen = read.version({"n": n, "m": m})
    assert chosen == finer.version({"n": n, "m": m})
    assert chosen is None or chosen in finer.possible()


def site_of(program: Program) -> Any:
    (tree,) = program.tree.entries[0].trees
    return tree


def written(path: Path, finer: SizeGuard, **changed: Any) -> None:
    """A tuning file with finer guards for the program."""
    program = runelift.compile(path)
    tree = site_of(program)
    write_tuning(path.with_name("rows.fut.tuning"), {tree.guards[0].name: 1}, {
        "program_sha256": program.identity.program, "guards": {
            "device": program.identity.device, "policy": "all",
            "sites": {tree.name: to_json(finer)}, **changed}})


def chosen(program: Program, n: int, m: int) -> int:
    data = np.ones((n, m), np.float32)
    (result,), record = program.run("main", [data], record=True)
    np.testing.assert_array_equal(result, data.sum(axis=1))
    assert record is not None
    return record.encounters[0].chosen


def sizes_of(program: Program) -> tuple[str, str]:
    """The names of n and m where the choice is made."""
    encounter = MeasuredProgram(program).record("main",
                                                [np.ones((8, 512), np.float32)]).encounters[0]
    names = {value: name for name, value in encounter.sizes.items()}
    return names[8], names[512]


def test_a_run_takes_the_version_that_a_tree_says(path: Path) -> None:
    _, m = sizes_of(runelift.compile(path))
    last = len(site_of(runelift.compile(path)).alternatives) - 1
    written(path, Split(m, 100, Leaf(last), Leaf(1)))
    program = runelift.compile(path)
    assert chosen(program, 8, 512) == last
    assert chosen(program, 8, 20) == 1
    assert chosen(program, 8, 99) == 1
    assert MeasuredProgram(program).record("main", [np.ones((8, 512), np.float32)],
                          force={site_of(program).name: 0}).encounters[0].chosen == 0


def test_a_memo_knows_its_sizes_and_thresholds_the_others(path: Path) -> None:
    n, m = sizes_of(runelift.compile(path))
    written(path, SizeTable((n, m), {(8, 512): 1}))
    program = runelift.compile(path)
    assert chosen(program, 8, 512) == 1
    assert chosen(program, 8, 511) == 0


def test_what_is_set_by_hand_goes_before_finer_guards(path: Path) -> None:
    written(path, Leaf(1))
    assert chosen(runelift.compile(path), 8, 8) == 1
    name = site_of(runelift.compile(path)).guards[0].name
    assert chosen(runelift.compile(path, settings={name: 1}), 8, 8) == 0


@pytest.mark.parametrize(("finer", "changed", "words"), [
    (Leaf(1), {"device": "another"}, "another device"),
    (Leaf(1), {"policy": "classic"}, "the policy has changed"),
    (Leaf(9), {}, "versions or sizes that there are not"),
    (Split("gone_7", 1, Leaf(0), Leaf(1)), {}, "versions or sizes that there are not"),
    (Leaf(1), {"sites": {"main.gone": {"version": 0}}}, "versions or sizes"),
    (Leaf(1), {"sites": {"main.versions_0": {"versoin": 0}}}, "damaged"),
    (Leaf(1), {"sites": ["main"]}, "damaged"),
])
def test_stale_guards_are_ignored_with_a_warning(path: Path, finer: SizeGuard,
                                                 changed: dict[str, Any],
                                                 words: str) -> None:
    written(path, finer, **changed)
    with pytest.warns(UserWarning, match=words):
        program = runelift.compile(path)
    assert chosen(program, 8, 8) == 0


def test_an_edit_of_the_program_makes_guards_stale(path: Path) -> None:
    written(path, Leaf(1))
    path.write_text(path.read_text() + "\n-- edited\n")
    with pytest.warns(UserWarning, match="The program or the policy has changed"):
        program = runelift.compile(path)
    assert isinstance(program.thresholds, GuardedThresholds)
    assert program.thresholds.finer == {}


def test_the_interpreter_has_no_versions_to_choose(path: Path) -> None:
    written(path, Leaf(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program = runelift.compile(path, device="interpreter")
    assert program.thresholds.keys() == {site_of(program).guards[0].name}


def test_facts_that_cannot_be_read_are_no_reason_to_stop(path: Path) -> None:
    written(path, Leaf(1))
    facts_path(path.with_name("rows.fut.tuning")).write_text("{")
    with pytest.warns(UserWarning, match="not JSON"):
        runelift.compile(path)


def job(program: Any, tuning: EntryTuning, datasets: list[Dataset]) -> TuningJob:
    return TuningJob(program, Forests((tuning.forest,)), datasets, repeats=1)


def test_runs_side_by_side_confirm_guards() -> None:
    sim = unsolvable()
    tuning = concluded(sim, SHAPES)
    datasets = inputs(SHAPES)
    found = fit_guards(tuning, SizeGuardKind.MEMO)
    values = tuning.fit.thresholds
    program = Follows(sim)
    kept = confirm_guards(job(program, tuning, datasets), tuning, found, values)
    assert kept.finer == found.finer
    assert "main.t1" not in render_guards(kept)
    assert "n = 10,900: V1 (outer)" in render_guards(kept)
    assert all(not both.slower for both in kept.verified.values())
    program.cost = 20.0  # what runs with guards take more than the records say
    dropped = confirm_guards(job(program, tuning, datasets), tuning, found, values)
    assert dropped.finer == {}
    assert "Size guards were tried and dropped" in render_guards(dropped)


@pytest.mark.parametrize(("loss", "kind"),
                         [(0.05, NearestSizes), (-0.05, NearestSizes), (0.3, SizeTable)])
def test_how_guards_guess_is_worked_out_while_they_run(
        loss: float, kind: type[NearestSizes] | type[SizeTable],
    monkeypatch: pytest.MonkeyPatch) -> None:
    """If they turn out to guess badly, a memo has what was run."""
    sim = unsolvable()
    tuning = concluded(sim, SHAPES)
    datasets = inputs(SHAPES)
    program = Follows(sim)

    def losses(*_: Any) -> dict[int, float]:
        assert program.ran.wait(60), "nothing ran before it was known how the guards guess"
        return {3: loss}

    monkeypatch.setattr(confirm_size_guards, "_losses_of_guessing", losses)
    found = fit_guards(tuning, SizeGuardKind.AUTO, ahead=True)
    assert found.loss is None
    kept = confirm_guards(job(program, tuning, datasets), tuning, found,
                          tuning.fit.thresholds)
    assert isinstance(kept.finer["s"], kind)
    assert kept.loss == (loss if kind is NearestSizes else 0.0)
    assert any(both.faster for both in kept.verified.values())
    assert len(program.placed) == len(kept.verified)
    thresholds = tuning.fit.thresholds
    assert all(d.path(GuardedThresholds(thresholds,
                                        kept.finer)) == d.path(GuardedThresholds(thresholds,
                                                                                 found.finer))
               for d in tuning.costs.datasets)


def test_no_kernels_are_built_to_see_that_guards_last_which_gain_little(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """They are kept for how they guess, but where runs that come often may be faster by default."""

    class Joining(Follows):
        def time(self, entry: str, args: Any, *, force: Any = None, thresholds: Any = None
                 ) -> float:
            return 0.99e-2 if isinstance(thresholds, GuardedThresholds) else 1e-2

        def time_all(self, entry: str, args: Any, choices: Sequence[Any], *, often: bool = False
                     ) -> list[float]:
            assert not often
            return super().time_all(entry, args, choices)

        def saved_launches(self, entry: str, args: Any, choices: Sequence[Any]) -> list[int]:
            return [0 if isinstance(each, GuardedThresholds) or args[0] != 10900 else 40
                    for each in choices]

    tuning = concluded(unsolvable(), SHAPES)
    monkeypatch.setattr(confirm_size_guards, "_losses_of_guessing", lambda *_: {3: -0.05})
    found = fit_guards(tuning, SizeGuardKind.NEAR)
    changed = {d.name for d in tuning.costs.datasets
               if d.path(tuning.fit.thresholds) != d.path(
                   GuardedThresholds(tuning.fit.thresholds, found.finer))}
    kept = confirm_guards(job(Joining(unsolvable()), tuning, inputs(SHAPES)), tuning,
                          replace(found, loss=-0.05), tuning.fit.thresholds)
    assert changed == {"10 x 900", "50 x 700"}
    assert kept.finer
    assert kept.verified.keys() == {"50 x 700"}
    assert kept.verified["50 x 700"].lasting
    (dataset,) = (d for d in tuning.costs.datasets if d.name == "10 x 900")
    assert dataset.path(GuardedThresholds(tuning.fit.thresholds, kept.finer)) == dataset.path(
        tuning.fit.thresholds)


def test_datasets_that_hardly_gain_are_left_alone() -> None:
    """Nothing is run where guards are worth too little to be told from chance."""
    sim = unsolvable()
    tuning = concluded(sim, SHAPES)
    found = fit_guards(tuning, SizeGuardKind.MEMO)
    assert found.finer
    policy = replace(NORMAL, comparison=ComparisonPolicy(guard_gain=1.0))
    tuning = replace(tuning, costs=replace(tuning.costs, policy=policy))
    kept = confirm_guards(job(sim, tuning, []), tuning, found, tuning.fit.thresholds)
    assert kept.finer == {}
    assert "about as good" in render_guards(kept)


class Follows:
    """A simulated program that goes by finer guards too."""

    def __init__(self, sim: Simulated) -> None:
        self.sim = sim
        self.cost = 1.0
        self.ran = threading.Event()
        self.placed = list[Sequence[Any]]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.sim, name)

    def place(self, args: Sequence[Any]) -> Sequence[Any]:
        self.placed.append(args)
        return self.sim.place(args)

    def time(self, entry: str, args: Any, *, force: Any = None, thresholds: Any = None) -> float:
        if not isinstance(thresholds, GuardedThresholds):
            return self.sim.time(entry, args, thresholds=thresholds)
        self.ran.set()
        par = args[0]
        version = thresholds.version("s", {"n": par}, {
            "main.t0": par // 1000, "main.t1": par % 1000})
        forced = {} if version is None else {"s": version}
        return self.cost * self.sim.time(entry, args, force=forced, thresholds=thresholds)

    def time_all(self, entry: str, args: Any, choices: Sequence[Any], *, often: bool = False
                 ) -> list[float]:
        return [self.time(entry, args, thresholds=each) for each in choices]


@pytest.mark.parametrize(("during", "options"), [
    ("fit_guards", ["--no-verify"]),
    ("confirm_guards", []),
])
def test_ctrl_c_keeps_what_was_found_before(
        during: str, options: list[str], path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    """SizeGuardKind that have not been run are not."""
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(confirm_size_guards, during, interrupted)
    status = main(["autotune", str(path), "--no-parameters", "--runs", "1", "--guards", "memo",
                   *options])
    assert status == 130
    assert "what was found before is kept" in capsys.readouterr().err
    tree = site_of(runelift.compile(path))
    assert tree.guards[0].name in path.with_name("rows.fut.tuning").read_text()
    about = json.loads(facts_path(path.with_name("rows.fut.tuning")).read_text())
    assert not about["guards"]["sites"]


def test_the_command_writes_guards_that_runs_take(path: Path, capsys: pytest.CaptureFixture[str]
                                                  ) -> None:
    status = main(["autotune", str(path), "--no-parameters", "--no-verify", "--runs", "1",
                   "--guards", "memo", "-v"])
    assert status == 0
    assert "Size guards of main (memo):" in capsys.readouterr().out
    about = json.loads(facts_path(path.with_name("rows.fut.tuning")).read_text())
    assert about["guards"]["entries"]["main"]["kind"] == "memo"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program = runelift.compile(path)
    assert isinstance(program.thresholds, GuardedThresholds)
    assert program.thresholds.finer.keys() == about["guards"]["sites"].keys()


def test_versions_that_were_left_out_are_no_part_of_a_tree() -> None:
    """They cost infinitely much."""
    sim = Simulated.of(CHAIN, lambda where, index, par: float(
        [3, 1, 2][index] if par < 8 else [1, 3, 2][index]))
    costs = costs_for(sim, {str(par): [par] for par in (2, 4, 8, 16)})
    lost = replace(costs, datasets=tuple(replace(d, points=tuple(replace(
        point, own={**point.own, 2: Cost(math.inf)}) for point in d.points))
        for d in costs.datasets))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fit_size_guards(lost, sim.default, SizeGuardKind.TREE)
    assert [d.path(found) for d in lost.datasets] == [(1,), (1,), (0,), (0,)]


@pytest.mark.parametrize("guards", FINER)
def test_sizes_of_which_every_version_was_left_out_somewhere_say_nothing(
        guards: SizeGuardKind) -> None:
    """Two datasets meet the same sizes, and neither of the versions has run on both."""
    sim = Simulated.of(CHAIN, lambda where, index, par: float(
        [3, 1, 2][index] if par < 8 else [1, 3, 2][index]))
    costs = costs_for(sim, {"2": [2], "4": [4], "8": [8], "16": [16], "again": [16]})
    lost = replace(costs, datasets=tuple(replace(d, points=tuple(
        replace(point, own={k: Cost(math.inf) if (k == 2) == (d.name == "16") else cost
                            for k, cost in point.own.items()}) for point in d.points))
        if d.name in ("16", "again") else d for d in costs.datasets))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fit_size_guards(lost, sim.default, guards)
    assert all(d.total(found) <= d.total(sim.default) for d in lost.datasets)
    if guards is not SizeGuardKind.NEAR:  # which has nothing that is right for both, and so nothing
        assert [d.path(found) for d in lost.datasets[:3]] == [(1,), (1,), (0,)]


def test_decisions_are_found_again_by_what_is_in_thresholds() -> None:
    """Not by which object they are: they may have changed."""
    remembered = DecisionCache(lambda thresholds: (thresholds["t"],))
    one = {"t": 1}
    first = remembered.under(one, {})
    assert remembered.under({"t": 1}, {}) is first
    assert remembered.under({"t": 1, "u": 0}, {}) is first  # which leaves it to the default
    assert remembered.under({"t": 1, "u": 1}, {}) is not first
    assert remembered.under(one, {"s": 0}) is not first
    one["t"] = 2
    assert remembered.under(one, {}).settings == (2,)
    nearby = NearestSizes(("n",), {(1,): (1.0, 2.0)})
    guarded = remembered.under(GuardedThresholds({"t": 1}, {"s": nearby}), {})
    assert guarded is not first
    assert remembered.under(GuardedThresholds({"t": 1}, {"s": nearby}), {}) is guarded
    for number in range(MOST_SETTINGS):
        remembered.under({"t": number + 3}, {})
    assert remembered.under({"t": 1}, {}) is not first
    again = remembered.under({"t": 1}, {})
    remembered.forget()
    assert remembered.under({"t": 1}, {}) is not again


def test_the_tuner_s_process_knows_guards_again() -> None:
    """Each request brings them anew."""
    session = Session(None, multiprocessing.Pipe()[0])
    guarded = GuardedThresholds({"t": 1}, {"s": NearestSizes(("n",), {(1,): (1.0, 2.0)})})
    one, other = pickle.loads(pickle.dumps((guarded, guarded)))
    plain = {"t": 1}
    found = session._same_all([one, plain, other, {}])
    assert found[0] is found[2]
    assert found[1] is plain
    assert session._same(pickle.loads(pickle.dumps(guarded))) is found[0]
    assert session._same(GuardedThresholds({"t": 1}, {"s": Leaf(1)})) is not found[0]
    assert session._same(None) is None
