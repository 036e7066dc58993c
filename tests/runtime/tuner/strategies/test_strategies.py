"""Strategies on programs whose best thresholds are known, and what their runs are counted by."""

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runelift.ir.base.errors import CompilerLimitation, UserError
from runelift.ir.syntax import Stm
from runelift.runtime.records.record import Record
from runelift.runtime.research.forest_of_log import logged_forest
from runelift.runtime.research.literal import halve
from runelift.runtime.research.recorded import Noise, Recorded
from runelift.runtime.tuner.costs.cost_model import Costs, costs_of
from runelift.runtime.tuner.costs.log import LoggedRun, Measurements
from runelift.runtime.tuner.fit.batch_eval import PathTable
from runelift.runtime.tuner.fit.exhaustive import exhaustive
from runelift.runtime.tuner.fit.fit import Interval, objective
from runelift.runtime.tuner.measure.forced_runs import measure
from runelift.runtime.tuner.measure.protocols import Dataset, MeasuringMethod
from runelift.runtime.tuner.measure.time_limits import RunStopped
from runelift.runtime.tuner.replay.racing import Race
from runelift.runtime.tuner.replay.replay_records import ReplayRecord
from runelift.runtime.tuner.search.budget import Budget, parse_budget
from runelift.runtime.tuner.strategies import STRATEGIES, Search, parse_strategy, search
from runelift.runtime.tuner.strategies.cma_es import has_cma
from runelift.runtime.tuner.strategies.intervals import combine
from runelift.runtime.tuner.strategies.line_searches import descend
from runelift.runtime.tuner.strategies.live import Live, Outcomes
from runelift.runtime.tuner.strategies.nodes import FALSE, nodes
from runelift.runtime.tuner.strategies.trials import SearchState, strategy
from runelift.runtime.versions.forest import plans
from tests.runtime.tuner.simulated import Simulated, looped, nested, site, table_cost, versions_of

PAIR = [looped(site("s", ("t0", []), (None, [])))]
CHAIN = [looped(site("s", ("t0", []), ("t1", []), (None, [])))]
EXACT = ("exhaustive", "binary", "active-endpoints", "intervals", "instrumentation")
"""Strategies that find the best where it gets worse all the way on both sides of it."""
GUIDED = (*EXACT, "simple", "active", "binary-literal", "instrumentation-literal")
INSTRUMENTED = ("instrumentation", "replay", "instrumentation-literal")
DRAWN = tuple(name for name in STRATEGIES if name not in GUIDED)


def available(names: Sequence[str]) -> list[str]:
    return [name for name in names if has_cma() or not name.startswith("cma")]


def measured(sim: Simulated, datasets: Mapping[str, Sequence[int]]) -> Measurements:
    return measure(sim, sim.forest, inputs(datasets), repeats=1)


def inputs(datasets: Mapping[str, Sequence[int]]) -> list[Dataset]:
    return [Dataset(name, "main", lambda pars=pars: pars)  # type: ignore[misc]
            for name, pars in datasets.items()]


def recorded(sim: Simulated, datasets: Mapping[str, Sequence[int]]) -> Recorded:
    measurements = measured(sim, datasets)
    return Recorded(costs_of(sim.forest, measurements), sim.default, measurements)


def regret(costs: Costs, default: Mapping[str, int], found: Search) -> float:
    best = exhaustive(costs, default, constrained=False)
    assert best is not None
    return objective(costs, found.thresholds) / best[0] - 1


def crossing(where: str, index: int, par: int) -> float:
    """The outer version is faster from a parallelism of 60 on."""
    return 6000.0 / par if index == 0 else 100.0


# What is found


@pytest.mark.parametrize("name", EXACT)
def test_one_crossover_is_found(name: str) -> None:
    oracle = recorded(Simulated.of(PAIR, crossing), {"a": range(1, 120, 2)})
    found = search(STRATEGIES[name], oracle)
    assert regret(oracle.costs, oracle.default, found) == pytest.approx(0)
    assert 60 - 2 < found.thresholds["main.t0"] <= 60 + 2
    assert found.finished


@pytest.mark.parametrize("name", GUIDED)
def test_one_value_per_dataset_needs_one_run_per_version(name: str) -> None:
    """The guarantee of algorithm 2: every version once where some thresholds suit all."""
    oracle = recorded(Simulated.of(CHAIN, lambda where, index, par: [200.0 / par, 9.0, 10.0][index],
                                   pars=lambda par, k: par), {"a": [4], "b": [50], "c": [400]})
    found = search(STRATEGIES[name], oracle)
    assert found.runs == len(plans(oracle.forest)) * 3
    assert regret(oracle.costs, oracle.default, found) == pytest.approx(0)


def lud(where: str, index: int, par: int) -> float:
    """Figure 2.4: outer versions get worse the more often they run, the deepest guard pays."""
    return [40.0, 30.0, 25.0, 10.0, 30.0][index] + par / 1000


LUD = [looped(site("s", ("t0", []), ("t1", []), ("t2", []), ("t3", []), (None, [])))]


@pytest.fixture(scope="module")
def lud_instrumented() -> tuple[Recorded, Search]:
    datasets = {str(n): range(1, n) for n in (4, 16, 64, 128)}
    oracle = recorded(Simulated.of(LUD, lud, pars=lambda par, k: par), datasets)
    return oracle, search(STRATEGIES["instrumentation"], oracle)


@pytest.mark.parametrize("name", [n for n in EXACT if n != "instrumentation"])
def test_lud_wants_all_false_but_the_deepest(name: str, lud_instrumented: tuple[Recorded, Search]
                                             ) -> None:
    """Thesis, figure 2.4; instrumentation finds the same in a third of the runs and the time."""
    oracle, complete = lud_instrumented
    found = search(STRATEGIES[name], oracle)
    for each in (found, complete):
        assert objective(oracle.costs, each.thresholds) == pytest.approx(4)
        assert each.thresholds["main.t3"] == 1
        assert min(each.thresholds[f"main.t{k}"] for k in range(3)) > 127
    assert complete.runs == 5 * 4
    assert found.runs >= 3 * complete.runs
    assert found.seconds >= 3 * complete.seconds


def figure_2_2(where: str, index: int, par: int) -> float:
    """The group version is best if the inner parallelism fits, else the outer one."""
    inner = par % 10_000
    return [2.0, 1.0, 4.0][index] if inner <= 256 else [2.0, 8.0, 4.0][index]


@pytest.mark.parametrize("name", [*(n for n in GUIDED if n != "intervals"), "random", "genetic"])
def test_the_unsolvable_case_gets_what_thresholds_can_say(name: str) -> None:
    """Thesis, figure 2.2: no thresholds suit both datasets, as N is compared before M."""
    oracle = recorded(Simulated.of(
        CHAIN, figure_2_2, pars=lambda par, k: par % 10_000 if k else par // 10_000),
        {"fits": [1000_0256], "does not": [1000_1024]})
    found = search(STRATEGIES[name], oracle)
    assert regret(oracle.costs, oracle.default, found) == pytest.approx(0)
    least = sum(d.least() for d in oracle.costs.datasets)
    assert sum(d.total(found.thresholds) for d in oracle.costs.datasets) > least


def test_simple_tries_both_ends_of_an_empty_intersection() -> None:
    """Equation 2.1 and below: a wants 100 and more to hold, b wants 50 not to."""
    times = {100: [1.0, 2.0], 50: [9.0, 1.0], 120: [5.0, 1.0]}
    oracle = recorded(Simulated.of(PAIR, lambda where, index, par: times[par][index]),
                      {"a": [100], "b": [50], "c": [120]})
    found = search(STRATEGIES["simple"], oracle)
    assert found.thresholds["main.t0"] == 121
    assert found.runs == 6


@pytest.mark.parametrize("name", available(DRAWN))
def test_random_searches_come_close(name: str) -> None:
    pairs = list(versions_of(Simulated.of(nested(), lambda *_: 0.0).forest))
    random = np.random.default_rng(7)
    table = {pair: random.integers(1, 100, 4).astype(float).tolist() for pair in pairs}
    oracle = recorded(Simulated.of(nested(), table_cost(table)),
                      {"a": [2, 4, 8], "b": [16, 4], "c": [2, 16]})
    regrets = []
    for seed in range(5):
        found = search(STRATEGIES[name], oracle, seed=seed)
        assert found == search(STRATEGIES[name], oracle, seed=seed)
        scores = [step.score for step in found.history]
        assert scores == sorted(scores, reverse=True)
        regrets.append(regret(oracle.costs, oracle.default, found))
    assert max(regrets) < 0.25
    assert min(regrets) == pytest.approx(0)


def test_all_combinations_are_the_yardstick() -> None:
    table = {("s", 0): [9.0, 1.0, 7.0, 2.0], ("s", 1): [3.0, 8.0, 1.0, 6.0],
             ("s", 2): [5.0, 4.0, 6.0, 3.0]}
    oracle = recorded(Simulated.of(CHAIN, table_cost(table)), {"a": [2, 4, 8, 16], "b": [2, 16]})
    found = search(parse_strategy("exhaustive:joint=true"), oracle)
    assert regret(oracle.costs, oracle.default, found) == pytest.approx(0)


@given(st.lists(st.integers(1, 9), min_size=0, max_size=40),
       st.lists(st.integers(1, 9), min_size=0, max_size=40))
def test_descending_finds_the_bottom_of_a_valley(down: list[int], up: list[int]) -> None:
    values = [*np.cumsum(down)[::-1].tolist(), 0, *np.cumsum(up).tolist()]
    looked: list[int] = []

    def cost(index: int) -> float:
        looked.append(index)
        return float(values[index])

    assert descend(len(values), cost) == len(down)
    assert len(looked) <= 2 * math.ceil(math.log2(len(values))) + 1


@given(st.lists(st.integers(1, 9), min_size=1, max_size=40))
def test_descending_is_no_worse_than_where_it_begins(values: list[int]) -> None:
    """In the wrong valley, too, the last index stays, which was known before."""
    assert values[descend(len(values), lambda k: float(values[k]))] <= values[-1]


INSIDE = [looped(site("a", ("a0", [site("i", ("i0", []), ("i1", []), (None, []))]),
                      (None, [looped(site("k", ("k0", []), (None, [])))])))]
"""Choices inside a version that is not the last: both ends of a guard are tuned before it."""


@pytest.mark.parametrize("stms", [LUD, nested(), INSIDE])
@given(data=st.data())
@settings(max_examples=30)
def test_binary_search_returns_nothing_worse_than_it_has_tried(stms: list[Stm], data: st.DataObject
                                                               ) -> None:
    pairs = list(versions_of(Simulated.of(stms, lambda *_: 0.0).forest))
    table = {pair: data.draw(st.lists(st.integers(1, 99), min_size=7, max_size=7))
             for pair in pairs}
    sim = Simulated.of(stms, table_cost(table), pars=lambda par, k: par)
    trials = SearchState(recorded(sim, {"a": [2, 4, 8, 16, 32, 64, 128], "b": [16, 4]}))
    trials.begin()
    found = STRATEGIES["binary"].search(trials)
    runs = trials.runs
    assert trials.score(found) == pytest.approx(trials.best_score)
    assert trials.runs == runs


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5)), min_size=1, max_size=6))
def test_intervals_combine_to_what_suits_most(drawn: list[tuple[int, int]]) -> None:
    intervals = [Interval(low, low + width) for low, width in drawn]

    def suited(threshold: int) -> int:
        return sum(each.low < threshold <= each.high for each in intervals)

    found = combine(intervals)
    most = max(map(suited, range(16)))
    assert all(suited(t) == most for t in range(found.low + 1, found.high + 1))


@given(st.integers(1, 600), st.randoms(use_true_random=False))
def test_halving_to_the_letter_looks_at_log2_of_the_thresholds(count: int, random: Random) -> None:
    """Algorithm 5: one more than the logarithm, or as many; the first is known before."""
    looked: list[int] = []

    def cost(index: int) -> float:
        looked.append(index)
        return random.random()

    found = halve(count, cost)
    assert looked[0] == count - 1
    assert len(set(looked[1:])) == len(looked) - 1  # the last may be looked at again
    assert found in looked
    assert math.floor(math.log2(count + 1)) <= len(looked) <= math.floor(math.log2(count)) + 1
    if (count + 1).bit_count() == 1:
        assert len(looked) == math.log2(count + 1)


@pytest.mark.parametrize("bits", [3, 5, 7])
def test_halving_to_the_letter_runs_the_program_as_often(bits: int) -> None:
    """N thresholds are N - 1 values and one above: the last one is a run by itself already."""
    sim = Simulated.of(PAIR, crossing)
    oracle = recorded(sim, {"a": range(1, 2 ** bits - 1)})
    found = search(STRATEGIES["binary-literal"], oracle)
    assert found.runs == bits
    assert found.tries == bits + 1  # all false was asked for twice


def test_halving_to_the_letter_is_misled_where_slopes_are_not() -> None:
    """The middle is faster than nothing at all, so the literal algorithm goes the wrong way."""
    oracle = recorded(Simulated.of(PAIR, lambda where, index, par: 1.0 if index == 0 else 2.0),
                      {"a": range(1, 64)})
    literal = search(STRATEGIES["binary-literal"], oracle)
    ours = search(STRATEGIES["binary"], oracle)
    assert regret(oracle.costs, oracle.default, ours) == pytest.approx(0)
    assert regret(oracle.costs, oracle.default, literal) > 0.05


@given(st.data())
@settings(max_examples=30)
def test_curves_of_one_node_are_least_where_exhaustive_search_says(data: st.DataObject) -> None:
    """Algorithm 8 is exact for one guard, whatever the costs are."""
    table = {("s", k): data.draw(st.lists(st.integers(1, 99), min_size=4, max_size=4))
             for k in range(2)}
    oracle = recorded(Simulated.of(PAIR, table_cost(table)), {"a": [2, 4, 8, 16], "b": [4, 16]})
    found = search(STRATEGIES["instrumentation-literal"], oracle)
    assert regret(oracle.costs, oracle.default, found) == pytest.approx(0)
    assert oracle.measurements is not None
    made = {(run.dataset, *run.force.items()) for run in oracle.measurements.runs
            if not run.left_out}
    assert found.runs == len(made)


@pytest.mark.parametrize(("slow", "runs"), [(1, 4), (8, 3)])
def test_curves_count_no_run_that_the_log_leaves_out(slow: int, runs: int) -> None:
    table = {("s", 0): [1, 1, 1, slow], ("s", 1): [1, 1, 1, 1]}
    oracle = recorded(Simulated.of(PAIR, table_cost(table)), {"a": [2, 4, 8, 16], "b": [4, 16]})
    assert search(STRATEGIES["instrumentation-literal"], oracle).runs == runs


def test_curves_node_by_node_lose_what_the_joint_fit_wins() -> None:
    """The deeper threshold is chosen for encounters that the one above takes away."""
    worst = 0.0
    random = np.random.default_rng(5)
    for _ in range(40):
        table = {("s", k): random.integers(1, 100, 4).astype(float).tolist() for k in range(3)}
        oracle = recorded(Simulated.of(CHAIN, table_cost(table)), {"a": [2, 4, 8, 16]})
        lost = regret(oracle.costs, oracle.default,
                      search(STRATEGIES["instrumentation-literal"], oracle))
        worst = max(worst, lost)
        joint = search(parse_strategy("exhaustive:joint=true"), oracle)
        assert regret(oracle.costs, oracle.default, joint) == pytest.approx(0)
    assert 0 < worst < 1


# What is counted


class Counting(Simulated):
    """A program that notes which versions it ran, with and without a record."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.made = 0
        self.seen: set[tuple[Any, ...]] = set()

    def _record(self, entry: str, args: Sequence[Any], force: Mapping[str, int] | None,
                thresholds: Mapping[str, int] | None) -> Record:
        self.made += 1
        self.seen.add((tuple(args), *sorted((force or {}).items()), None,
                       *sorted((thresholds or {}).items())))
        return super()._record(entry, args, force, thresholds)

    def replay(self, entry: str, args: Sequence[Any], race: Race) -> ReplayRecord:
        self.made += 1
        self.seen.add(("replay", self.made))
        raise CompilerLimitation("It is measured by forced runs instead.")


@pytest.mark.parametrize("name", available(tuple(STRATEGIES)))
def test_runs_are_counted_as_they_are_made(name: str) -> None:
    """Every strategy, on a program that counts: versions on datasets, and all executions."""
    sim = Counting.of(nested(), lambda where, index, par: 50.0 / par + 7 * index + par)
    datasets = {"a": [2, 4, 8], "b": [16, 4]}
    live = Live(sim, sim.forest, sim.default, inputs(datasets),
                weights={"a": 1.0, "b": 1.0})
    found = search(STRATEGIES[name], live, seed=3, budget=Budget(runs=60))
    assert found.executions == sim.made
    assert found.runs == len(sim.seen)
    assert 0 <= found.repeats < 1


def test_versions_that_are_ruled_out_are_no_runs() -> None:
    """The first version falls far behind, and is not run on the larger datasets."""
    sim = Counting.of([site("s", ("t0", []), ("t1", []), (None, []))],
                      lambda where, index, par: [100.0 * par, 12.0, 1.0 * par][index])
    datasets = {str(par): [par] for par in (2, 4, 8, 16)}
    live = Live(sim, sim.forest, sim.default, inputs(datasets), weights=dict.fromkeys(datasets, 1.))
    found = search(STRATEGIES["instrumentation"], live)
    assert found.runs == len(sim.seen) == (1 + 3) * 4 - 3  # with those by default
    assert found.executions == sim.made


def test_runs_with_the_same_path_are_not_repeated() -> None:
    oracle = recorded(Simulated.of(PAIR, crossing), {"a": [10, 100], "b": [30]})
    trials = SearchState(oracle)
    first = trials.times({"main.t0": 20})
    assert trials.runs == 2
    assert trials.times({"main.t0": 30}) == first
    assert trials.runs == 2
    trials.times({"main.t0": 31})
    assert trials.runs == 3  # only b compares with something in between
    assert trials.tries == 3
    assert trials.seconds == pytest.approx(sum(first.values()) + trials.time("b", {"main.t0": 31}))


@pytest.mark.parametrize("name", available(tuple(STRATEGIES)))
@pytest.mark.parametrize("runs", [0, 1, 7])
def test_the_budget_is_respected(name: str, runs: int) -> None:
    oracle = recorded(Simulated.of(nested(), lambda where, index, par: index + par / 2),
                      {"a": [2, 4, 8], "b": [16, 4]})
    found = search(STRATEGIES[name], oracle, budget=Budget(runs=runs))
    assert found.runs <= runs
    assert found.finished == (name == "replay" and runs >= 2)  # one for each dataset
    assert found.thresholds.keys() == oracle.default.keys()
    if not runs:
        assert found.thresholds == oracle.default
    seconds = found.seconds / 2
    late = search(STRATEGIES[name], oracle, budget=Budget(seconds=seconds))
    longest = max(d.total(dict.fromkeys(oracle.default, least)) for d in oracle.costs.datasets
                  for least in (1, FALSE))
    if name not in INSTRUMENTED:  # whose time is known afterwards only
        assert late.seconds <= seconds + 2 * longest


def test_deeper_guards_come_first_and_are_reached() -> None:
    tree = Simulated.of(nested(), lambda *_: 0.0).forest.trees[0]
    assert [node.name for node in nodes(tree)] == [
        "main.b0", "main.c1", "main.c0", "main.a1", "main.a0"]
    reached = {node.name: node.reached() for node in nodes(tree)}
    assert reached["main.c1"] == dict.fromkeys(("main.a0", "main.a1", "main.c0"), FALSE)
    inside = Simulated.of([site("s", ("t0", [site("i", ("u0", []), (None, []))]), (None, []))],
                          lambda *_: 0.0).forest.trees[0]
    assert {n.name: n.reached() for n in nodes(inside)} == {
        "main.u0": {"main.t0": 1}, "main.t0": {}}


@pytest.mark.parametrize("stms", [CHAIN, nested()])
@given(data=st.data())
@settings(max_examples=40)
def test_tables_say_what_the_costs_say(stms: list[Stm], data: st.DataObject) -> None:
    """With late hosts, and versions that cannot run or fail."""
    pairs = list(versions_of(Simulated.of(stms, lambda *_: 0.0).forest))
    pair = data.draw(st.sampled_from([p for p in pairs if p[1] == 0]))
    sim = Simulated.of(stms, lambda where, index, par: len(where) + 10 * index + par / 3,
                       issue=lambda where, index, par: 20.0 - 7 * index,
                       **data.draw(st.sampled_from([{}, {"infeasible": frozenset([pair])}, {
                           "fail": {pair: CompilerLimitation("too big")}}])))
    costs = costs_of(sim.forest, measured(sim, {"a": [3, 9, 4]}))
    some = st.sampled_from([0, 1, 3, 4, 9, 10, 31, 90, 91, 500, FALSE])
    drawn = data.draw(st.lists(st.fixed_dictionaries(dict.fromkeys(sim.default, some)),
                               min_size=2, max_size=6))
    for dataset in costs.datasets:
        table = PathTable.of(dataset)
        found = [(table.look_up(each), dataset.path(each), each) for each in drawn]
        for (path, seconds), versions, thresholds in found:
            assert seconds == pytest.approx(dataset.total(thresholds))
            for (other, _), theirs, _ in found:
                assert (path == other) == (versions == theirs)


def test_tables_know_guards_that_do_not_hold_by_default() -> None:
    sim = Simulated.of(CHAIN, lambda where, index, par: 1.0 + 10 * index + par)
    (dataset,) = costs_of(sim.forest, measured(sim, {"a": [3, 9, 4]})).datasets
    first, *_ = dataset.points[0].site.guards
    changed = replace(dataset, points=tuple(
        replace(point, scarce=frozenset({first.name} if number else ()))
        for number, point in enumerate(dataset.points)))
    for least in (0, 1, 4, 500):
        thresholds = {**sim.default, first.name: least}
        assert PathTable.of(changed).look_up(thresholds)[1] == changed.total(thresholds)
    assert changed.path(sim.default)[0] == 0
    assert 0 not in changed.path(sim.default)[1:]


@pytest.mark.parametrize("stms", [PAIR, CHAIN, nested()])
@given(data=st.data())
@settings(max_examples=30)
def test_a_live_run_and_a_recorded_one_agree(stms: list[Stm], data: st.DataObject) -> None:
    """On the time, and on which thresholds make the same choices as others."""
    sim = Simulated.of(stms, lambda where, index, par: len(where) + 10 * index + par / 3)
    datasets = {"a": [3, 9], "b": [5]}
    oracle, live = recorded(sim, datasets), Live(sim, sim.forest, sim.default, inputs(datasets))
    some = st.sampled_from([1, 3, 4, 9, 10, 31, 90, 91, 500, FALSE])
    drawn = data.draw(st.lists(st.fixed_dictionaries(dict.fromkeys(sim.default, some)),
                               min_size=2, max_size=6))
    for thresholds in drawn:
        for dataset in datasets:
            timed = live.run(dataset, thresholds)
            assert timed.seconds == pytest.approx(oracle.run(dataset, thresholds).seconds)
            for other in drawn:
                if oracle.path(dataset, other) == oracle.path(dataset, thresholds):
                    assert live.path(dataset, other) is not None


@pytest.mark.parametrize("name", available(GUIDED))
def test_live_searches_end_where_recorded_ones_do(name: str) -> None:
    sim = Simulated.of(nested(), lambda where, index, par: 50.0 / par + 7 * index + par)
    datasets = {"a": [2, 4, 8], "b": [16, 4]}
    oracle = recorded(sim, datasets)
    live = search(STRATEGIES[name], Live(sim, sim.forest, sim.default, inputs(datasets),
                                         weights=oracle.weights), seed=3)
    found = search(STRATEGIES[name], oracle, seed=3)
    assert live.thresholds == found.thresholds
    by_default = len(datasets) if name in INSTRUMENTED else 0  # which limits the time of others
    assert live.runs == found.runs + by_default


def test_without_weights_the_default_run_is_the_measure() -> None:
    sim = Simulated.of(PAIR, crossing)
    live = Live(sim, sim.forest, sim.default, inputs({"a": [10], "b": [100]}))
    trials = SearchState(live)
    trials.begin()
    assert trials.runs == 2
    assert trials.score(sim.default) == pytest.approx(2.0)
    assert trials.runs == 2


def test_untuned_thresholds_stand_for_more_than_a_comparison() -> None:
    """A guard that holds by default says nothing of thresholds above its parallelism."""
    sim = Simulated.of(PAIR, crossing)
    record = sim.record("main", [10, 70], thresholds={"main.t0": 64})
    untuned = Outcomes.of(record, sim.forest.sites(), {"main.t0": 0})
    assert untuned.same({"main.t0": 0})
    assert [least for least in (1, 10, 11, 64, 70, 71) if untuned.same({"main.t0": least})
            ] == [11, 64, 70]
    assert not Outcomes.of(record, sim.forest.sites(), {"main.t0": 64}).same({"main.t0": 0})


class Cramped(Simulated):
    """A device that has room for one dataset."""

    placed: object = None

    def place(self, args: Sequence[int]) -> Sequence[int]:
        if self.placed is not None:
            self.placed = None
            raise UserError("no room")
        self.placed = args
        return args


def test_datasets_make_room_for_each_other() -> None:
    sim = Cramped.of(PAIR, crossing)
    live = Live(sim, sim.forest, sim.default, inputs({"a": [10], "b": [100]}))
    assert all(math.isfinite(live.run(name, sim.default).seconds) for name in ("a", "b", "a"))


def test_what_fails_is_never_chosen_nor_tried_twice() -> None:
    sim = Simulated.of(CHAIN, lambda where, index, par: 5.0 - index,
                       fail={("s", 2): CompilerLimitation("too big")})
    live = Live(sim, sim.forest, sim.default, inputs({"a": [10]}))
    trials = SearchState(live)
    trials.begin()
    assert math.isinf(trials.score(dict.fromkeys(sim.default, FALSE)))
    runs = trials.runs
    trials.score(dict.fromkeys(sim.default, FALSE))
    assert trials.runs == runs
    found = search(STRATEGIES["binary"], live)
    assert live.run("a", found.thresholds).seconds == pytest.approx(4.5)


class Limited(Simulated):
    """Runs that take more than the limit are stopped then."""

    limit = 25.0
    stops = 0

    def record(self, entry: str, args: Sequence[int], *, force: Mapping[str, int] | None = None,
               thresholds: Mapping[str, int] | None = None) -> Record:
        record = super().record(entry, args, force=force, thresholds=thresholds)
        if record.span > self.limit:
            self.stops += 1
            raise RunStopped("timeout", seconds=self.limit)
        return record


@pytest.mark.parametrize("name", ["binary", "exhaustive", "intervals"])
def test_a_stopped_run_counts_as_long_as_it_ran(name: str) -> None:
    """Most thresholds stop one dataset: the other one, and the last threshold, tell the way."""
    def cost(where: str, index: int, par: int) -> float:
        return 0.5 if index else 0.1 if par >= 70 else 1.0 if par % 2 else 3.0

    sim = Limited.of(PAIR, cost, pars=lambda par, k: par)
    datasets = {"long": range(2, 81, 2), "short": range(1, 80, 2)}
    live = Live(sim, sim.forest, {"main.t0": FALSE}, inputs(datasets))
    found = search(STRATEGIES[name], live)
    assert sim.stops
    assert 69 <= found.thresholds["main.t0"] <= 71
    assert math.isfinite(found.history[-1].score)


def test_what_was_stopped_is_not_run_again_nor_kept() -> None:
    sim = Limited.of(PAIR, lambda where, index, par: 0.5 if index else 100.0)
    live = Live(sim, sim.forest, {"main.t0": 0}, inputs({"a": [10, 100]}))
    trials = SearchState(live)
    trials.begin()  # it has to be stopped by default
    assert trials.score({"main.t0": 200}) == pytest.approx(1.5 / sim.limit)
    stops = sim.stops
    assert trials.score({"main.t0": 5}) == trials.score({"main.t0": 7}) == pytest.approx(1.0)
    assert sim.stops == stops + 1
    assert trials.hopeless({"main.t0": 9})
    assert not trials.hopeless({"main.t0": 200})
    assert trials.best == {"main.t0": 200}


# Logs


def test_a_log_tells_the_forest() -> None:
    sim = Simulated.of(nested(), lambda where, index, par: float(index))
    forest = logged_forest(measured(sim, {"a": [2, 4]}))
    assert list(forest.sites()) == list(sim.forest.sites())
    assert list(forest.guards()) == list(sim.forest.guards())
    assert [a.label for a in forest.leaves()] == [a.label for a in sim.forest.leaves()]
    assert plans(forest) == plans(sim.forest)


def test_noise_is_that_of_the_log() -> None:
    sim = Simulated.of(PAIR, crossing)
    measurements = measured(sim, {"a": [10, 100]})
    measurements.runs = [run for k in (1, 2, 3) for run in (
        LoggedRun(r.dataset, r.force, r.record, None,
                  (r.time or 0.0) * k) for r in measurements.runs)]
    noise = Noise.of(measurements, seed=1)
    assert {noise.factor("a") for _ in range(100)} == {0.5, 1.0, 1.5}
    oracle = Recorded(costs_of(sim.forest, measurements), sim.default, measurements, noise)
    thresholds = dict.fromkeys(sim.default, 50)
    seen = {round(oracle.run("a", thresholds).seconds, 6) for _ in range(100)}
    assert len(seen) == 3
    drawn = {round(oracle.instrument(MeasuringMethod()).costs.datasets[0].total(thresholds), 6)
             for _ in range(50)}
    assert len(drawn) > 1


# Names, options, and what is missing


def test_strategies_have_options() -> None:
    swarm = parse_strategy("swarm:particles=3,inertia=0.5")
    assert swarm.options == {**STRATEGIES["swarm"].options, "particles": 3, "inertia": 0.5}
    with pytest.raises(UserError, match="Did you mean 'binary'"):
        parse_strategy("binery")
    with pytest.raises(UserError, match="It has few=5"):
        parse_strategy("binary:many=3")
    with pytest.raises(UserError, match="'x' is no value for few"):
        parse_strategy("binary:few=x")


@strategy("fixed")
def fixed(trials: SearchState, *, least: int = 20) -> dict[str, int]:
    """A strategy from outside: one try."""
    thresholds = dict.fromkeys(trials.forest.guards(), least)
    trials.times(thresholds)
    return thresholds


def test_strategies_can_come_from_elsewhere() -> None:
    outside = parse_strategy(f"{__name__}.fixed:least=30")
    found = search(outside, recorded(Simulated.of(PAIR, crossing), {"a": [10, 100], "b": [40]}))
    assert (found.thresholds, found.runs) == ({"main.t0": 30}, 2)
    for name in ("no.such.Module", f"{__name__}.Missing", f"{__name__}.inputs"):
        with pytest.raises(UserError, match="cannot be imported"):
            parse_strategy(name)


@pytest.mark.parametrize("text", ["", "fast", "-3", "3 hours", "1.5"])
def test_budgets_need_a_meaning(text: str) -> None:
    with pytest.raises(UserError, match="no budget"):
        parse_budget(text)


def test_without_cma_the_user_hears_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cma", None)
    oracle = recorded(Simulated.of(PAIR, crossing), {"a": [10, 100]})
    with pytest.raises(UserError, match=r'pip install "\.\[cma\]"'):
        search(STRATEGIES["cma"], oracle)


def test_strategies_have_the_names_that_they_are_found_by() -> None:
    assert {name: each.name for name, each in STRATEGIES.items()} == {
        name: name for name in STRATEGIES}
