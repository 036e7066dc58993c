"""Thresholds from costs: exactness, intervals, and never worse than the default."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runelift.ir.syntax import Stm
from runelift.runtime.records.record import Record
from runelift.runtime.tuner.costs.cost_model import Costs, EncounterCosts, costs_of
from runelift.runtime.tuner.costs.host_device_time import Cost
from runelift.runtime.tuner.costs.pareto import below, undominated
from runelift.runtime.tuner.fit import joint_solver
from runelift.runtime.tuner.fit.chain_solver import NEVER
from runelift.runtime.tuner.fit.exhaustive import combinations, exhaustive
from runelift.runtime.tuner.fit.fit import Interval, fit, objective
from runelift.runtime.tuner.fit.guard_slices import guard_slice
from runelift.runtime.tuner.measure.forced_runs import measure
from runelift.runtime.tuner.measure.protocols import Dataset
from runelift.runtime.tuner.policy import NORMAL
from tests.runtime.tuner.simulated import Simulated, nested, site, table_cost, versions_of

NOISE = NORMAL.fit.noise

PARS = [2, 4, 8, 16]
CHAIN = [site("s", ("t0", []), ("t1", []), (None, []))]


def costs_for(sim: Simulated, datasets: dict[str, Sequence[int]]) -> Costs:
    inputs = [Dataset(name, "main", lambda pars=pars: pars) for name, pars in datasets.items()]
    return costs_of(sim.forest, measure(sim, sim.forest, inputs, repeats=1))


@given(st.lists(st.tuples(*[st.integers(0, 5)] * 3), min_size=1, max_size=30))
def test_fronts_are_what_nothing_dominates(rows: list[tuple[int, ...]]) -> None:
    costs = np.array(rows, float)
    front = {tuple(costs[k]) for k in undominated(costs, below(np.full(3, 4.0)))}
    assert front == {a for a in map(tuple, costs) if max(a) <= 4 and not any(
        b != a and all(x <= y for x, y in zip(b, a, strict=True)) for b in map(tuple, costs))}


def test_conflicting_datasets_get_the_joint_optimum() -> None:
    """Futhark's tuner takes the lower value here and loses 10 to gain 0.1 (spec D.1)."""
    times = {100: [11.0, 1.0], 50: [0.9, 1.0]}
    sim = Simulated.of([site("s", ("t0", []), (None, []))],
                       lambda where, index, par: times[par][index])
    costs = costs_for(sim, {"a": [100, 50]})
    assert unconstrained(sim, costs, 10_000) == pytest.approx((2.0 + 0.5) / (1.9 + 0.5))


def random_costs(draw: st.DrawFn, forest_stms: list[Stm], infeasible: bool,
                 issued: bool = False) -> Simulated:
    probe = Simulated.of(forest_stms, lambda *_: 0.0)
    pairs = list(versions_of(probe.forest))
    time = st.integers(1, 1000).map(float)
    table = {pair: draw(st.lists(time, min_size=len(PARS), max_size=len(PARS))) for pair in pairs}
    excluded = frozenset()
    if infeasible:
        excluded = frozenset(draw(st.sets(st.sampled_from(
            [(name, k) for name, k in pairs if k != 0]), max_size=2)))
        excluded = frozenset((name, k) for name, k in excluded
                             if sum(name == other for other, _ in excluded) == 1)
    if not issued:
        return Simulated.of(forest_stms, table_cost(table), infeasible=excluded)
    host = {pair: draw(st.lists(time, min_size=len(PARS), max_size=len(PARS))) for pair in pairs}
    return Simulated.of(forest_stms, table_cost(table), issue=table_cost(host),
                        infeasible=excluded)


@st.composite
def simulations(draw: st.DrawFn, stms: Callable[[], list[Stm]],
                issued: bool = False) -> tuple[Simulated, Costs]:
    sim = random_costs(draw, stms(), infeasible=draw(st.booleans()), issued=issued)
    pars = st.lists(st.sampled_from(PARS), min_size=1, max_size=3)
    datasets = draw(st.lists(pars, min_size=1, max_size=3))
    return sim, costs_for(sim, {f"d{k}": d for k, d in enumerate(datasets)})


def brute_force(sim: Simulated, costs: Costs) -> float:
    """The least objective of all thresholds, whatever they do to single datasets."""
    names = list(sim.forest.guards())
    values = [1, 2, 4, 8, 16, 20, 40, 80, 160, NEVER]
    found = exhaustive(costs, sim.default, constrained=False)
    assert found is not None
    if len(names) <= 2:
        assert math.isclose(found[0], min(
            objective(costs, dict(zip(names, chosen, strict=True)))
            for chosen in itertools.product(values, repeat=len(names))))
    assert math.isclose(found[0], objective(costs, found[1]))
    return found[0]


def unconstrained(sim: Simulated, costs: Costs, enough: int) -> float:
    """The objective of the fit without the demand that nothing gets slower."""
    datasets = list(costs.datasets)
    weights = {d.name: 1 / d.least() for d in datasets}
    return objective(costs, joint_solver.solve(costs, datasets, weights, sim.default, enough)[0])


@given(simulations(lambda: CHAIN))
@settings(max_examples=60)
def test_chain_equals_brute_force(found: tuple[Simulated, Costs]) -> None:
    sim, costs = found
    best = brute_force(sim, costs)
    assert math.isclose(unconstrained(sim, costs, 10_000), best, rel_tol=1e-9)


@given(simulations(nested))
@settings(max_examples=25)
def test_nested_sites_equal_brute_force(found: tuple[Simulated, Costs]) -> None:
    sim, costs = found
    best = brute_force(sim, costs)
    assert math.isclose(unconstrained(sim, costs, 10**9), best, rel_tol=1e-9)


@given(simulations(lambda: CHAIN), simulations(nested))
@settings(max_examples=25)
def test_without_enumeration_it_is_between_the_best_and_the_default(
        chain: tuple[Simulated, Costs], tree: tuple[Simulated, Costs]) -> None:
    for sim, costs in (chain, tree):
        found = unconstrained(sim, costs, 0)
        assert brute_force(sim, costs) - 1e-9 <= found <= objective(costs, sim.default) + 1e-9


@given(simulations(nested))
@settings(max_examples=25)
def test_never_worse_than_the_default(found: tuple[Simulated, Costs]) -> None:
    sim, costs = found
    result = fit(costs, sim.default)
    for dataset in costs.datasets:
        assert dataset.total(result.thresholds) <= dataset.total(sim.default) * (1 + NOISE) + 1e-9
        assert dataset.least() <= result.predicted[dataset.name] + 1e-9
    assert objective(costs, result.thresholds) <= objective(costs, sim.default) + 1e-9


def test_thresholds_lie_where_the_sides_would_cross() -> None:
    """The outer version is (64 / par)^2 times slower than the other: it should pay from 64 on."""
    sim = Simulated.of([site("s", ("t0", []), (None, []))],
                       lambda where, index, par: [(64 / par) ** 2, 1.0][index])
    below = costs_for(sim, {"a": [2, 4, 8]})
    found = fit(below, {"main.t0": 1})
    assert (found.intervals["main.t0"], found.thresholds["main.t0"]) == (Interval(8, NEVER), 64)
    both = fit(costs_for(sim, {"a": [16, 256]}), {"main.t0": 1})
    assert (both.intervals["main.t0"], both.thresholds["main.t0"]) == (Interval(16, 256), 64)


def test_thresholds_lie_in_the_middle_where_the_sides_do_not_cross() -> None:
    sim = Simulated.of([site("s", ("t0", []), (None, []))],
                       lambda where, index, par: [2.0, 1.0][index])
    found = fit(costs_for(sim, {"a": [2, 8]}), {"main.t0": 1})
    assert found.thresholds["main.t0"] == Interval(8, NEVER).middle()


@given(simulations(lambda: CHAIN))
@settings(max_examples=40)
def test_the_best_that_slows_nothing_down(found: tuple[Simulated, Costs]) -> None:
    sim, costs = found
    best = exhaustive(costs, sim.default)
    reached = objective(costs, fit(costs, sim.default).thresholds)
    expected = min(best[0] if best else math.inf, objective(costs, sim.default))
    assert math.isclose(reached, expected, rel_tol=1e-9)


@given(simulations(nested))
@settings(max_examples=15)
def test_thresholds_anywhere_in_their_intervals_cost_the_same(
        found: tuple[Simulated, Costs]) -> None:
    sim, costs = found
    result = fit(costs, sim.default)
    now = objective(costs, result.thresholds)
    for name, interval in result.intervals.items():
        for value in (interval.low + 1, interval.middle(), interval.high):
            assert math.isclose(objective(costs, result.thresholds | {name: value}), now,
                                rel_tol=1e-6)


@given(simulations(nested, issued=True), st.data())
@settings(max_examples=25)
def test_a_run_takes_as_long_as_the_later_clock(found: tuple[Simulated, Costs],
                                                data: st.DataObject) -> None:
    """What no version accounts for, before the first and after the last, is no longer than that."""
    sim, costs = found
    thresholds = {name: data.draw(st.sampled_from([*PARS, 20, 160, NEVER]))
                  for name in sim.default}
    dataset = costs.datasets[0]
    pars = [p.sizes["n"] for p in dataset.points]
    trees = len(sim.forest.trees)
    run = sim.timing("main", pars[:len(pars) // trees], thresholds=thresholds)
    assert run.seconds <= dataset.total(thresholds) + 1e-9
    assert dataset.total(thresholds) <= run.seconds + 0.5 + 1e-9


@given(simulations(nested, issued=True), st.data())
@settings(max_examples=25)
def test_what_one_guard_decides_is_what_runs_differ_by(found: tuple[Simulated, Costs],
                                                      data: st.DataObject) -> None:
    """As its threshold moves; the others are anywhere, or lead to versions that cannot run."""
    sim, costs = found
    values = [*PARS, 20, 160, NEVER]
    thresholds = {name: data.draw(st.sampled_from(values)) for name in sim.default}
    broken = data.draw(st.sampled_from(costs.datasets[0].points))
    worst = data.draw(st.sampled_from(sorted(broken.own)))
    hopeless = replace(costs.datasets[0], points=tuple(
        replace(p, own={**p.own, worst: Cost(math.inf)}) if p is broken else p
        for p in costs.datasets[0].points))
    for dataset in (*costs.datasets, hopeless):
        for place in sim.forest.sites().values():
            for index, guard in enumerate(place.guards):
                times = guard_slice(dataset, place, index, thresholds).times(values)
                assert times.tolist() == pytest.approx([
                    dataset.total({**thresholds, guard.name: value}) for value in values])


@given(simulations(nested, issued=True))
@settings(max_examples=25)
def test_the_best_of_two_clocks(found: tuple[Simulated, Costs]) -> None:
    sim, costs = found
    best = exhaustive(costs, sim.default)
    result = fit(costs, sim.default, enough=10**9)
    assert result.exact
    expected = min(best[0] if best else math.inf, objective(costs, sim.default))
    assert math.isclose(objective(costs, result.thresholds), expected, rel_tol=1e-9)


@given(simulations(nested, issued=True))
@settings(max_examples=15)
def test_two_clocks_without_enumeration(found: tuple[Simulated, Costs]) -> None:
    sim, costs = found
    result = fit(costs, sim.default, enough=0)
    assert not result.exact
    for dataset in costs.datasets:
        assert dataset.total(result.thresholds) <= dataset.total(sim.default) * (1 + NOISE) + 1e-9
    assert objective(costs, result.thresholds) <= objective(costs, sim.default) + 1e-9


def test_a_faster_kernel_is_no_gain_where_the_host_is_late() -> None:
    """The device could do in 12 what takes it 80, while the host needs 100 whatever is chosen."""
    sim = Simulated.of(CHAIN, lambda where, index, par: [20.0, 30.0, 3.0][index],
                       issue=lambda *_: 25.0)
    costs = costs_for(sim, {"a": PARS})
    (dataset,) = costs.datasets
    default, never = dict.fromkeys(sim.default, 1), dict.fromkeys(sim.default, NEVER)
    assert dataset.cost(default).device - dataset.cost(never).device == pytest.approx(4 * 17.0)
    assert dataset.total(default) == dataset.total(never)
    assert fit(costs, default).kept_default == "the default thresholds are as good as any"


def crossover(where: str, index: int, par: int) -> float:
    """The outer version is good from 8 on, the middle one never, the flat one below."""
    return [100.0 / par, 200.0, 20.0][index]


def test_the_crossover_is_found_and_centred() -> None:
    sim = Simulated.of(CHAIN, crossover)
    result = fit(costs_for(sim, {"a": PARS}), sim.default)
    assert result.kept_default is None
    assert result.intervals["main.t0"] == Interval(4, 8)
    assert result.thresholds["main.t0"] == 6  # the geometric mean of 4 and 8, rounded
    # The second guard is compared with 10 times as much and must not let anything pass.
    assert result.intervals["main.t1"] == Interval(40, NEVER)


def test_infeasible_versions_fall_through() -> None:
    sim = Simulated.of(CHAIN, crossover, infeasible=frozenset({("s", 0)}))
    result = fit(costs_for(sim, {"a": PARS}), sim.default)
    assert result.predicted == {"a": 0.5 + 4 * 20.0}


def test_last_version_infeasible() -> None:
    sim = Simulated.of(CHAIN, crossover, infeasible=frozenset({("s", 2)}))
    result = fit(costs_for(sim, {"a": PARS}), sim.default)
    assert result.predicted["a"] == pytest.approx(0.5 + sum(100 / p for p in PARS))


def test_nothing_measured_keeps_the_default() -> None:
    sim = Simulated.of(CHAIN, crossover)
    result = fit(Costs(sim.forest, ()), sim.default)
    assert result.thresholds == sim.default
    assert result.kept_default


def test_irrelevant_threshold_keeps_its_default() -> None:
    sim = Simulated.of(CHAIN, lambda where, index, par: [1.0, 5.0, 7.0][index])
    result = fit(costs_for(sim, {"a": PARS}), sim.default)
    assert result.thresholds["main.t0"] <= 2
    assert result.thresholds["main.t1"] == sim.default["main.t1"]


def test_conflict_of_datasets_never_slows_one_down() -> None:
    """Two datasets meet the same parallelism; what is good for one is bad for the other."""
    own = {"small": [9.0, 50.0, 10.0], "large": [9000.0, 50.0, 1000.0]}

    class Conflicting(Simulated):
        def _record(self, entry, args, *options):  # type: ignore[no-untyped-def]
            name, *pars = args
            self.cost = lambda where, index, par: own[name][index]
            return super()._record(entry, pars, *options)

    sim = Conflicting.of(CHAIN, lambda *_: 0.0)
    costs = costs_for(sim, {"small": ["small", 8], "large": ["large", 8]})
    assert costs.datasets[0].total({"main.t0": 1, "main.t1": 1}) == 9.5
    result = fit(costs, {"main.t0": NEVER, "main.t1": NEVER})
    assert result.predicted["large"] <= 1000.5
    assert result.predicted["small"] <= 10.5 * (1 + NOISE)


def test_an_encounter_without_parallelism_does_not_make_a_threshold_of_0() -> None:
    """0 stands for the default of a guard: the last iteration of a loop must not lead to it."""
    sim = Simulated.of(CHAIN, lambda where, index, par: float(par * (3, 1, 2)[index]), enough=1000)
    costs = costs_for(sim, {"a": [0, 8]})
    found = fit(costs, sim.default)
    assert found.predicted["a"] == 8.5
    assert found.thresholds["main.t1"] > 0
    best = exhaustive(costs, sim.default)
    assert best is not None
    assert costs.datasets[0].total(best[1]) == 8.5


def test_intervals_have_geometric_middles() -> None:
    assert Interval(16, 64).middle() == 32
    assert Interval(0, 100).middle() == 10
    assert Interval(4, 5).middle() == 5
    assert Interval(1000, NEVER).middle() == round(math.sqrt(1000 * NEVER))


@given(simulations(nested))
@settings(max_examples=15)
def test_the_best_that_slows_nothing_down_in_nested_sites(found: tuple[Simulated, Costs]) -> None:
    sim, costs = found
    best = exhaustive(costs, sim.default)
    result = fit(costs, sim.default)
    expected = min(best[0] if best else math.inf, objective(costs, sim.default))
    if result.exact:
        assert math.isclose(objective(costs, result.thresholds), expected, rel_tol=1e-9)


def test_long_chains_over_one_size_are_solved_exactly() -> None:
    """Ten guards and thirty sizes: 31 ** 10 combinations, but few different sets are left."""
    chain = [site("s", *((f"t{k}", []) for k in range(10)), (None, []))]
    sim = Simulated.of(chain, lambda where, index, par: float(1 + (index * 7 + par * 3) % 11))
    costs = costs_for(sim, {"a": range(1, 31), "b": range(5, 26)})
    assert combinations(costs) == 31 ** 10
    result = fit(costs, sim.default)
    assert result.exact
    assert objective(costs, result.thresholds) < objective(costs, sim.default)


def by_default(costs: Costs, scarce: Callable[[EncounterCosts], bool]) -> Costs:
    """Costs where the first guard of the first site holds by default unless it is scarce."""
    tree = costs.forest.trees[0]
    first = tree.alternatives[0].guard
    assert first is not None
    return replace(costs, datasets=tuple(
        replace(d, points=tuple(
            replace(p, scarce=frozenset({first.name} if scarce(p) else ()))
            if p.site.name == tree.name else p for p in d.points)) for d in costs.datasets))


def test_a_default_that_no_threshold_equals_stays_beside_thresholds_of_others() -> None:
    """Whether the first site should run its first version does not grow with the parallelism."""
    stms = [site("a", ("t0", []), (None, [])), site("b", ("t1", []), (None, []))]
    sim = Simulated.of(stms, lambda where, index, par: float(
        10 if index == ((par == 4) if where == "a" else (par <= 8)) else 100))
    costs = by_default(costs_for(sim, {"x": [2, 4, 8, 16]}), lambda point: point.sizes["n"] == 4)
    result = fit(costs, sim.default)
    assert result.thresholds["main.t0"] == 0
    assert 8 < result.thresholds["main.t1"] <= 16
    assert result.predicted["x"] < result.default["x"]
    assert result.predicted == {d.name: d.total(result.thresholds) for d in costs.datasets}


def test_versions_that_launch_nothing_are_one_as_far_as_runs_go() -> None:
    """Where there is nothing to do, no thresholds make a difference, whatever they choose."""
    def own(where: str, index: int, par: int) -> float:
        return 0.0 if par == 2 else float(index + 1)

    class Idle(Simulated):
        def _record(self, *args: Any) -> Record:
            record = super()._record(*args)
            return replace(record, encounters=tuple(
                each._replace(launches=0) if not each.busy else each
                for each in record.encounters))

    sim = Idle.of(nested(), own)
    costs = costs_for(sim, {"nothing": [2], "something": [2, 4]})
    one, other = dict.fromkeys(sim.default, 1), dict.fromkeys(sim.default, NEVER)
    nothing, something = costs.datasets
    assert nothing.path(one) != nothing.path(other)
    assert nothing.launched(one) == nothing.launched(other)
    assert something.launched(one) != something.launched(other)
