"""Fronts of time and memory: nothing on them is dominated, and each is what thresholds lead to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from runelift.ir.base.errors import CompilerLimitation
from runelift.runtime.memory.memory_run import MemoryEstimate, MeteredEncounter, VersionNeed
from runelift.runtime.tools.reports.html import tuned
from runelift.runtime.tools.reports.memory_fronts import front_facts, front_rows, render_fronts
from runelift.runtime.tuner.autotune import fit_thresholds, weigh_choice
from runelift.runtime.tuner.confirm_size_guards import ConfirmedSizeGuards
from runelift.runtime.tuner.costs.cost_model import costs_of
from runelift.runtime.tuner.costs.objective import Objective
from runelift.runtime.tuner.fit import memory_front as memory_front_module
from runelift.runtime.tuner.fit.fit import fit
from runelift.runtime.tuner.fit.memory_front import EstimateMemory, MemoryFront, memory_front
from runelift.runtime.tuner.fit.size_guards import SizeGuardKind
from runelift.runtime.tuner.measure.forced_runs import measure
from runelift.runtime.tuner.measure.protocols import Dataset
from runelift.runtime.tuner.result import Tuning
from runelift.runtime.tuner.state import State
from runelift.runtime.tuner.thresholds import tune_thresholds
from runelift.runtime.versions.size_guards import Leaf, size_guards_of
from tests.runtime.tuner.simulated import Simulated, job_for, site

CHAIN = [site("s", ("t0", []), ("t1", []), (None, []))]
PARS = {"small": 4, "large": 400}


def estimates(bytes_: Mapping[int, Mapping[str, int]], unknown: str = "") -> EstimateMemory:
    """The memory of a run on a dataset: the bytes of the version that thresholds choose."""
    def estimate(name: str, thresholds: Mapping[str, int]) -> MemoryEstimate:
        par = PARS[name]
        chosen = (0 if par >= thresholds["main.t0"] else
                  1 if par * 10 >= thresholds["main.t1"] else 2)
        if (guard := size_guards_of(thresholds).get("s")) is not None:
            chosen = guard.version({"n": par}) or 0
        needs = {k: VersionNeed(each[name], each[name]) for k, each in bytes_.items()}
        return MemoryEstimate(bytes_[chosen][name], (), (
            MeteredEncounter("s", {"n": par}, needs),), {}, unknown)

    return estimate


def simulated(times: Mapping[int, Mapping[str, float]]) -> Simulated:
    names = {par: name for name, par in PARS.items()}
    return Simulated.of(CHAIN, lambda where, index, par: times[index][names[par]])


DATASETS = [Dataset(name, "main", lambda par=par: [par]) for name, par in PARS.items()]  # type: ignore[misc]
TIMES = {0: {"small": 1.0, "large": 10.0}, 1: {"small": 1.5, "large": 11.0},
         2: {"small": 4.0, "large": 40.0}}
BYTES = {0: {"small": 50, "large": 5000}, 1: {"small": 30, "large": 3000},
         2: {"small": 10, "large": 1000}}


def front_of(times: Mapping[int, Mapping[str, float]], bytes_: Mapping[int, Mapping[str, int]]
             ) -> MemoryFront:
    sim = simulated(times)
    costs = costs_of(sim.forest, measure(sim, sim.forest, DATASETS, repeats=1))
    best = fit(costs, sim.default).thresholds
    return memory_front(costs, sim.default, best, Objective.PARETO, estimates(bytes_))


def test_less_memory_costs_more_time() -> None:
    front = front_of(TIMES, BYTES)
    assert [choice.greatest for choice in front.choices] == [1000, 3000, 5000]
    scores = [choice.score for choice in front.choices]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 3


def test_the_least_memory_is_taken_as_long_as_it_takes_little_time() -> None:
    front = front_of(TIMES, BYTES)
    assert front.least_within(0.25).greatest == 3000
    assert front.least_within(0.0).greatest == 5000
    assert front.least_within(10.0).greatest == 1000


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=6, max_size=6),
       st.lists(st.integers(1, 9), min_size=6, max_size=6))
def test_fronts_are_monotone_and_have_the_extremes(times: list[int], bytes_: list[int]) -> None:
    table = {k: {"small": float(times[2 * k]), "large": 10.0 * times[2 * k + 1]} for k in range(3)}
    sizes = {k: {"small": bytes_[2 * k], "large": 100 * bytes_[2 * k + 1]} for k in range(3)}
    front = front_of(table, sizes)
    amounts = [choice.greatest for choice in front.choices]
    scores = [choice.score for choice in front.choices]
    assert amounts == sorted(set(amounts))
    assert scores == sorted(set(scores), reverse=True)
    estimate = estimates(sizes)
    for choice in front.choices:
        for name in PARS:
            assert choice.bytes[name] == estimate(name, choice.thresholds).bytes
    sim = simulated(table)
    costs = costs_of(sim.forest, measure(sim, sim.forest, DATASETS, repeats=1))
    best = fit(costs, sim.default)
    assert scores[-1] <= Objective.RELATIVE.score(
        list(costs.datasets), best.thresholds) + 1e-9


def test_the_tuner_takes_the_choice_of_least_memory_or_only_shows_the_front() -> None:
    for aim, expected in ((Objective.MEMORY, 3000), (Objective.PARETO, 5000)):
        sim = simulated(TIMES)
        (entry,) = tune_thresholds(job_for(
            sim, DATASETS, aim=aim, memory=estimates(BYTES), verify=False)).entries
        assert entry.front is not None
        taken = [c for c in entry.front.choices if c.thresholds == entry.fit.thresholds]
        assert [choice.greatest for choice in taken] == [expected]
        assert [row[0] for row in front_rows(entry)[1:]].count("*") == 1
        facts = front_facts(entry)
        assert facts is not None
        assert [choice["bytes"] for choice in facts["choices"]] == [1000, 3000, 5000]
        assert "2.9 KiB" in render_fronts([entry])
        page = "".join(tuned.tuned(Tuning((entry,)), {}))
        assert "Time and device memory" in page
        assert "4.9 KiB" in page


def test_without_the_objective_there_is_no_front() -> None:
    (entry,) = tune_thresholds(job_for(simulated(TIMES), DATASETS, verify=False)).entries
    assert entry.front is None
    assert not front_rows(entry)
    assert render_fronts([entry]) == ""


def test_memory_that_is_not_known_is_said_to_be_so() -> None:
    sim = simulated(TIMES)
    (entry,) = tune_thresholds(job_for(
        sim, DATASETS, aim=Objective.PARETO, memory=estimates(BYTES, "depends on the device"),
        verify=False)).entries
    text = render_fronts([entry])
    assert "at least" in text
    assert "small: not all memory is known before a run: depends on the device" in text


def test_many_amounts_of_memory_are_thinned_out_to_the_extremes_first() -> None:
    levels = memory_front_module._levels
    needs = [{("s", (("n", 1),)): {k: VersionNeed(k, k) for k in range(100)}}]
    assert levels(needs, 3) == [99, 50, 0]
    assert levels(needs, 200) == list(range(99, -1, -1))


def test_the_point_taken_is_what_runs() -> None:
    """A size guard that a later stage adds leads to other versions, and to more memory."""
    sim = simulated(TIMES)
    job = job_for(sim, DATASETS, aim=Objective.PARETO, memory=estimates(BYTES), verify=False)
    state = fit_thresholds(job, State())
    assert state.thresholds.entries[0].front is not None
    assert state.thresholds.entries[0].front.taken.greatest == 5000
    guarded = replace(state, guards=(ConfirmedSizeGuards(
        "main", SizeGuardKind.TREE, {"s": Leaf(2)}),))
    (entry,) = weigh_choice(job, guarded).concluded().thresholds.entries
    assert entry.front is not None
    assert entry.front.taken.greatest == 1000
    rows = {row[0]: row for row in front_rows(entry)[1:]}
    assert rows["*"][-1] == "V3"
    facts = front_facts(entry)
    assert facts is not None
    assert [choice["bytes"] for choice in facts["choices"] if choice["taken"]] == [1000]


def test_a_choice_that_another_one_beats_is_shown_if_it_runs() -> None:
    sim = simulated(TIMES)
    wasteful = {0: {"small": 50, "large": 500}, 1: {"small": 30, "large": 3000},
                2: {"small": 10, "large": 5000}}
    job = job_for(sim, DATASETS, aim=Objective.PARETO, memory=estimates(wasteful), verify=False)
    guarded = replace(fit_thresholds(job, State()), guards=(ConfirmedSizeGuards(
        "main", SizeGuardKind.TREE, {"s": Leaf(2)}),))
    (entry,) = weigh_choice(job, guarded).concluded().thresholds.entries
    assert entry.front is not None
    assert entry.front.taken not in entry.front.choices
    marks = [row[0] for row in front_rows(entry)[1:]]
    assert marks == ["", "*"]


def test_versions_and_datasets_without_a_time_are_named() -> None:
    sim = Simulated.of(CHAIN, lambda where, index, par: TIMES[index]["small"],
                       fail={("s", 1): CompilerLimitation("no")})
    (entry,) = tune_thresholds(job_for(
        sim, DATASETS, aim=Objective.PARETO, memory=estimates(BYTES), verify=False)).entries
    text = render_fronts([entry])
    assert "small: V2 not measured; choices that run this there are not in the front" in text
    lost = replace(entry, measurements=replace(entry.measurements, left_out=["lost"]))
    assert "lost: not in the front" in render_fronts([lost])
