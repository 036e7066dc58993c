"""Objectives, datasets that are left out, and datasets that no threshold serves together."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given, settings

from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tuner.analysis.conflicts import conflicts
from runelift.runtime.tuner.costs.cost_model import Costs
from runelift.runtime.tuner.costs.objective import Objective
from runelift.runtime.tuner.fit.cross_validation import leave_one_out, summary
from runelift.runtime.tuner.fit.exhaustive import exhaustive
from runelift.runtime.tuner.fit.fit import fit, objective
from runelift.runtime.tuner.policy import NORMAL
from tests.runtime.tuner.fit.test_fit import CHAIN, costs_for, simulations
from tests.runtime.tuner.simulated import Simulated, site

NOISE = NORMAL.fit.noise

CHOICE = [site("s", ("t0", []), (None, []))]


def of_times(times: dict[int, list[float]], datasets: dict[str, Sequence[int]]
             ) -> tuple[Simulated, Costs]:
    """A choice of two versions, with the times of both by parallelism."""
    sim = Simulated.of(CHOICE, lambda where, index, par: times[par][index])
    return sim, costs_for(sim, datasets)


@pytest.mark.parametrize("aim", list(Objective))
@given(simulations(lambda: CHAIN))
@settings(max_examples=25)
def test_each_objective_is_solved_exactly(aim: Objective, found: tuple[Simulated, Costs]) -> None:
    sim, costs = found
    result = fit(costs, sim.default, aim=aim, enough=10**9)
    best = exhaustive(costs, sim.default, aim=aim)
    expected = min(best[0] if best else math.inf, objective(costs, sim.default, aim))
    assert result.exact
    assert math.isclose(objective(costs, result.thresholds, aim), expected, rel_tol=1e-9)


@given(simulations(lambda: CHAIN))
@settings(max_examples=25)
def test_the_greatest_regret_is_no_greater_than_by_default(found: tuple[Simulated, Costs]) -> None:
    """Where there are too many trade-offs to solve for."""
    sim, costs = found
    aim = Objective.MAX_REGRET
    result = fit(costs, sim.default, aim=aim, enough=0)
    assert objective(costs, result.thresholds, aim) <= objective(costs, sim.default, aim) + 1e-9
    for dataset in costs.datasets:
        assert dataset.total(result.thresholds) <= dataset.total(sim.default) * (1 + NOISE) + 1e-9


def test_objectives_differ_where_datasets_do() -> None:
    """A long dataset gains a little of itself, two short ones lose much: who counts how?"""
    times = {100: [9.0, 10.5], 101: [0.20, 0.10], 102: [0.15, 0.10]}
    _, costs = of_times(times, {"long": [100], "short": [101], "shorter": [102]})
    all_hold, none = {"main.t0": 1}, {"main.t0": 1000}
    scores = {aim: (objective(costs, all_hold, aim), objective(costs, none, aim))
              for aim in Objective}
    assert scores[Objective.ABSOLUTE][0] < scores[Objective.ABSOLUTE][1]
    assert scores[Objective.RELATIVE][0] > scores[Objective.RELATIVE][1]
    assert scores[Objective.MAX_REGRET][1] == pytest.approx(11.0 / 9.5)  # 0.5 lie outside
    assert scores[Objective.MAX_REGRET][0] == pytest.approx(0.7 / 0.6)


def test_a_dataset_left_out_has_the_thresholds_of_the_others() -> None:
    times = {8: [2.0, 1.0], 16: [2.0, 1.0], 32: [1.0, 2.0], 64: [1.0, 4.0]}
    sim, costs = of_times(times, {str(par): [par] for par in times})
    found = {each.dataset: each for each in leave_one_out(costs, sim.default)}
    assert found["16"].thresholds == fit(
        Costs(costs.forest, tuple(d for d in costs.datasets if d.name != "16")),
        sim.default).thresholds
    assert found["16"].thresholds["main.t0"] == 16  # between 8 and 32: and 16 wants the other side
    assert found["16"].regret == pytest.approx(2.5 / 1.5 - 1)
    assert found["8"].regret == found["64"].regret == 0
    assert "66.7 % at worst (16)" in summary(list(found.values()))


def test_there_must_be_another_dataset() -> None:
    sim, costs = of_times({8: [2.0, 1.0]}, {"one": [8]})
    assert leave_one_out(costs, sim.default) == []


def test_conflicts_are_found_and_what_they_cost() -> None:
    """The upper value wants the version that pays little parallelism, and the lower the other."""
    times = {10: [1.0, 3.0], 20: [3.0, 1.0], 30: [1.0, 1.001]}
    sim, costs = of_times(times, {"a": [10], "b": [20], "c": [30]})
    (found,) = conflicts(costs, {"main.t0": 1})
    assert (found.holds.dataset, found.holds.value) == ("a", 10)
    assert (found.fails.dataset, found.fails.value) == ("b", 20)
    assert found.fails.loss == pytest.approx(2.0 / 3.5)
    assert str(found) == ("main.t0: 'a' and 'b' want opposite choices here; "
                          "one threshold costs one of them 57 to 133 %")
    assert sim.default.keys() == {"main.t0"}


def test_the_same_value_can_be_wanted_on_both_sides() -> None:
    sim = Simulated.of([site("s", ("t0", []), ("t1", []), (None, []))],
                       lambda where, index, par: [2.0, 1.0, 3.0][index] if par == 7 else
                       [1.0, 2.0, 3.0][index], pars=lambda par, k: 5)
    costs = costs_for(sim, {"a": [7], "b": [8]})
    assert {c.guard for c in conflicts(costs, {"main.t0": 6, "main.t1": 1})} == {"main.t0"}


def test_no_conflict_where_a_threshold_serves_all() -> None:
    _, costs = of_times({10: [3.0, 1.0], 20: [1.0, 3.0]}, {"a": [10], "b": [20]})
    assert list(conflicts(costs, {"main.t0": 15})) == []


def test_validation_runs_what_was_not_tuned_for(path: Path,
                                                capsys: pytest.CaptureFixture[str]) -> None:
    path.write_text(path.read_text().replace('"tall"', '"tall" notune'))
    options = ["--no-parameters", "--no-verify", "--runs", "1", "--validate"]
    html = path.with_name("rows.html")
    assert main(["autotune", str(path), *options, "--html", str(html)]) == 0
    out = capsys.readouterr().out
    assert "Datasets kept out of tuning:\n  not tuned for" in out
    about = json.loads(path.with_name("rows.fut.tuning.json").read_text())
    assert about["entries"]["main"]["datasets"].keys() == {"wide"}
    assert about["validation"].keys() == {"tall"}
    assert about["tuning_policy"] == json.loads(json.dumps(asdict(NORMAL)))
    assert "Datasets kept out of tuning" in html.read_text()


@pytest.mark.parametrize(("more", "words"), [
    ([], "has no dataset to run"), (["--input", "x.in"], "not an --input")])
def test_without_anything_to_validate_on_nothing_is_run(
        path: Path, more: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["autotune", str(path), "--validate", *more]) == 1
    assert words in capsys.readouterr().err
    assert not path.with_name("rows.fut.tuning.log").exists()


@pytest.mark.parametrize(("arguments", "words"), [
    (["--leave-one-out"], "--leave-one-out needs records"),
    (["--guards", "memo"], "--guards needs records"),
    (["--export-t4", "x.json"], "--export-t4 needs records"),
    (["--objective", "absolute"], "the sum of relative times")])
def test_searches_have_no_records(arguments: list[str], words: str, tmp_path: Path,
                                  capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "p.fut"
    program.write_text("entry main (x: i64) = x\n")
    assert main(["autotune", str(program), "--strategy", "binary", *arguments]) == 1
    assert words in capsys.readouterr().err


def test_the_command_leaves_datasets_out(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--no-parameters", "--no-verify", "--runs", "1", "--leave-one-out"]
    html = path.with_name("rows.html")
    assert main(["autotune", str(path), *options, "--html", str(html)]) == 0
    assert "main: datasets left out of the fit" in capsys.readouterr().out
    about = json.loads(path.with_name("rows.fut.tuning.json").read_text())
    assert about["leave_one_out"]["main"].keys() == {"wide", "tall"}
    assert "Datasets left out of the fit" in html.read_text()
