"""The tuner beside an exhaustive search: thresholds nearly as good, by far fewer runs.

The programs have the trees of examples, and times that were measured on a processor (`measured/`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from math import inf, prod
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import runelift
import runelift.examples
from runelift.runtime.geometry.parameter_space import ParameterSpace, Setting
from runelift.runtime.records.statistics import median
from runelift.runtime.tuner.fit.exhaustive import exhaustive
from runelift.runtime.tuner.fit.fit import objective
from runelift.runtime.tuner.fit.joint_solver import compared
from runelift.runtime.tuner.kernel_parameters.search import SettingSearch
from runelift.runtime.tuner.measure import forced_runs, paired_comparison
from runelift.runtime.tuner.measure.protocols import FORCED_REPEATS
from runelift.runtime.tuner.policy import NORMAL
from runelift.runtime.tuner.result import EntryTuning
from runelift.runtime.tuner.thresholds import tune_thresholds
from runelift.runtime.versions.forest import Site, plans
from tests.runtime.tuner.kernel_parameters.test_tune import drive
from tests.runtime.tuner.measured import PROGRAMS, UNLIMITED, Measured, configurations
from tests.runtime.tuner.simulated import bimodal

EXAMPLES_FOLDER = Path(runelift.examples.__file__).parent
REGRET = 0.05
"""Fraction by which what is found may be slower than the best, all datasets alike."""
PART = 0.2
"""Part of the runs of an exhaustive search that a tuning may take."""
SMALL = {"LocVolCalib", "matmul"}
"""Programs with so few configurations that each version once is more than this part of them."""
SPREAD = 3.0
SEEDS = range(5)
WAYS = ("as measured", "last versions by default", "other times")


def way_of(name: str, way: str) -> Measured:
    """A program as measured, with much to gain, or with times that no default foretells."""
    program = Measured.of(name, enough=UNLIMITED if way == "last versions by default" else None)
    return program.changed(SPREAD) if way == "other times" else program


def tuned(program: Measured, monkeypatch: pytest.MonkeyPatch) -> EntryTuning:
    """The tuning of a program, in its own time."""
    for module in (forced_runs, paired_comparison):
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: program.clock))
    (found,) = tune_thresholds(program.job()).entries
    return found


def least_score(program: Measured) -> float:
    """The score of the best of all thresholds that slow no dataset down."""
    found = exhaustive(program.costs, program.defaults)
    return min(found[0] if found else inf, objective(program.costs, program.defaults))


def slowest(program: Measured, thresholds: Mapping[str, int]) -> float:
    """The greatest time of a dataset relative to its time by default."""
    return max(d.total(thresholds) / d.total(program.defaults) for d in program.costs.datasets)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_without_noise_nothing_is_better(name: str, way: str, monkeypatch: pytest.MonkeyPatch
                                         ) -> None:
    program = way_of(name, way)
    found = tuned(program, monkeypatch).fit.thresholds
    assert objective(program.costs, found) <= (1 + REGRET) * least_score(program)
    assert slowest(program, found) <= 1 + NORMAL.comparison.tolerance


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_with_noise_little_is_better_and_nothing_gets_slower(
        name: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chance may hide a gain, so the median of several tunings counts; a loss is none in any."""
    quiet = way_of(name, way)
    least, scores = least_score(quiet), list[float]()
    for seed in SEEDS:
        found = tuned(replace(quiet, random=np.random.default_rng(seed)), monkeypatch)
        scores.append(objective(quiet.costs, found.fit.thresholds))
        assert slowest(quiet, found.fit.thresholds) <= 1 + NORMAL.comparison.tolerance
    assert median(scores) <= (1 + REGRET) * least


def test_there_is_something_to_find() -> None:
    """The default is more than that worse on most programs, in one way or another."""
    for way, least in zip(WAYS, (1, 5, 5), strict=True):
        programs = [way_of(name, way) for name in PROGRAMS]
        assert sum(objective(each.costs, each.defaults) > (1 + REGRET) * least_score(each)
                   for each in programs) >= least


@pytest.mark.parametrize("name", PROGRAMS)
def test_far_fewer_runs_are_needed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of versions on datasets, and those of the result beside the default.

    Where versions are as many as configurations, each is run once.
    """
    program = replace(Measured.of(name), random=np.random.default_rng(1))
    all_of, datasets = configurations(program.costs), len(program.costs.datasets)
    found = tuned(program, monkeypatch)
    runs = found.program_runs + 2 * len(found.verified)
    assert found.program_runs <= all_of
    if name in SMALL:
        assert len(plans(program.forest)) * datasets > PART * all_of
    else:
        assert runs <= PART * all_of
    if all_of > 500:  # with all repetitions, where the search makes as few as it can
        assert program.made <= PART * FORCED_REPEATS * all_of


@pytest.mark.parametrize("name", ["LocVolCalib", "backprop", "kmeans", "matmul"])
def test_configurations_are_counted_as_they_are(name: str) -> None:
    """All combinations of thresholds, tree by tree, lead to so many ways through the program."""
    program = Measured.of(name)
    assert configurations(program.costs) == sum(
        prod(len(set(ways(program, tree, dataset.name))) for tree in program.forest.trees)
        for dataset in program.costs.datasets)


def ways(program: Measured, tree: Site, name: str) -> Iterator[tuple[int, ...]]:
    (dataset,) = (each for each in program.costs.datasets if each.name == name)
    guards = [guard.name for site in tree.walk() for guard in site.guards]
    for values in product(*(compared([dataset], guard) for guard in guards)):
        thresholds = dict(zip(guards, values, strict=True))
        yield tuple(version for point in dataset.points if point.site.name == tree.name
                    for _, version in point.reached(thresholds))


def valley(space: ParameterSpace, random: np.random.Generator) -> Callable[[Setting], float]:
    """Times with one best setting, whose parameters matter by themselves and two by two."""
    best = [int(random.integers(len(each.values))) for each in space.ranges]
    slopes = random.uniform(0.02, 0.27, len(best))
    mixed = random.uniform(0.0, 0.1)

    def cost(setting: Setting) -> float:
        off = np.array([each.values.index(value) - place
                        for each, value, place in zip(space.ranges, setting, best, strict=True)])
        return float(np.exp(slopes @ abs(off) + mixed * abs(off[1:] + off[:-1]).sum()))

    return cost


def noisy(cost: Callable[[Setting], float], random: np.random.Generator, setting: Setting
          ) -> float:
    return cost(setting) * bimodal(random)


@pytest.mark.parametrize("name", ["rows", "mapscan"])
def test_parameters_are_nearly_the_best_of_all_settings(name: str) -> None:
    """A local search may end in another valley, so the median of several valleys counts."""
    program = runelift.compile(EXAMPLES_FOLDER / f"{name}.fut", device="pocl", tuning={})
    for space in program.spaces("main"):
        regrets, tries = list[float](), list[int]()
        settings = list(space.settings())
        for seed in SEEDS:
            random = np.random.default_rng(seed)
            cost = valley(space, random)
            contest = SettingSearch(space, seed)
            asked = drive(contest.search("a", 1.0, inf), partial(noisy, cost, random))
            regrets.append(cost(contest.best()) / min(map(cost, settings)) - 1)
            tries.append(len(asked))
        assert median(regrets) <= REGRET
        assert max(tries) < len(settings)
        if len(settings) > 400:
            assert max(tries) <= PART * len(settings)


def test_tunings_are_the_same_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (tuned(replace(Measured.of("variant"), random=np.random.default_rng(3)),
                           monkeypatch) for _ in range(2))
    assert first.fit == second.fit
    assert [run.time for run in first.measurements.runs] == [
        run.time for run in second.measurements.runs]
