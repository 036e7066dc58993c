"""Tuning with a strategy instead of records: what is kept, what is reported, the command."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tuner.job import TuningJob
from runelift.runtime.tuner.measure.protocols import Dataset
from runelift.runtime.tuner.search.budget import Budget
from runelift.runtime.tuner.strategies import STRATEGIES
from runelift.runtime.tuner.strategies.tune_by_search import (
    render_searches,
    search_facts,
    tune_by_search,
)
from runelift.runtime.versions.forest import Forests
from runelift.runtime.versions.tuning_file import read_facts, read_tuning
from tests.runtime.tuner.simulated import Simulated, looped, site

LOOP = [looped(site("s", ("t0", []), ("t1", []), (None, [])))]
DATASETS = [Dataset("falling", "main", lambda: range(1, 33)), Dataset("wide", "main", lambda: [40])]


def job(sim: Simulated) -> TuningJob:
    return TuningJob(sim, Forests((sim.forest,)), DATASETS)


def cost(where: str, index: int, par: int) -> float:
    return [1.6 / par, 0.15, 0.1][index]


def test_what_is_faster_is_kept() -> None:
    sim = Simulated.of(LOOP, cost)
    (found,) = tune_by_search(job(sim), STRATEGIES["binary"])
    assert found.kept_default is None
    assert found.thresholds["main.t0"] in (16, 17)
    assert found.verified["falling"].faster
    assert not found.verified["wide"].slower
    assert "falling" in render_searches([found])
    assert search_facts([found])["entries"]["main"]["thresholds"]["main.t0"]["default"] == 0


class Fickle(Simulated):
    """Versions that seemed fast are slow once the search is over."""

    searching = 60

    def time(self, entry: str, args: Sequence[Any], *, force: Mapping[str, int] | None = None,
             thresholds: Mapping[str, int] | None = None) -> float:
        seconds = super().time(entry, args, force=force, thresholds=thresholds)
        self.searching -= 1
        return seconds if self.searching > 0 or thresholds == self.default else 2 * seconds


def test_what_turns_out_slower_is_not() -> None:
    sim = Fickle.of(LOOP, cost)
    (found,) = tune_by_search(job(sim), STRATEGIES["binary"])
    assert found.search.thresholds != found.defaults
    assert found.thresholds == found.defaults
    assert "falling, wide got slower" in render_searches([found])


def test_interruption_keeps_the_best_so_far() -> None:
    sim = Simulated.of(LOOP, cost, interrupt_after=20)
    (found,) = tune_by_search(job(sim), STRATEGIES["random"])
    assert found.search.interrupted
    assert found.search.runs == 20
    assert found.thresholds.keys() == sim.default.keys()
    assert ", not finished" in render_searches([found])


def test_without_a_budget_nothing_changes() -> None:
    sim = Simulated.of(LOOP, cost)
    (found,) = tune_by_search(job(sim), STRATEGIES["random"],
                              budget=Budget(runs=2))
    assert found.kept_default == "the search found nothing faster"
    assert found.thresholds == sim.default


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "sum.fut"
    path.write_text("""\
-- ==
-- "wide" notest random input { [2][70]f32 }
-- "tall" notest random input { [50][3]f32 }
entry main [n][m] (xss: [n][m]f32): [n]f32 = map (\\xs -> reduce (+) 0 xs) xss
""")
    return path


def test_the_command(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tuning = program.with_name("sum.fut.tuning")
    assert main(["autotune", str(program), "--strategy", "genetic:generations=2", "--budget", "9",
                 "--seed", "3", "--json"]) == 0
    written = json.loads(capsys.readouterr().out)["result"]
    (entry,) = written["entries"].values()
    assert entry["strategy"] == "genetic"
    assert entry["seed"] == 3
    assert 2 < entry["program_runs"] <= 9
    assert read_facts(tuning.with_name("sum.fut.tuning.json")) == written
    assert {name: each["value"] for name, each in entry["thresholds"].items() if each["value"]
            } == read_tuning(tuning)
    assert not tuning.with_name("sum.fut.tuning.log").exists()
    assert main(["autotune", str(program), "--strategy", "simple"]) == 0
    assert f"Written: {tuning}" in capsys.readouterr().out


@pytest.mark.parametrize(("options", "message"), [
    (["--strategy", "worst"], "No strategy is called 'worst'"),
    (["--strategy", "binary", "--replay", "x.log"], "tune-compare"),
])
def test_mistakes(program: Path, capsys: pytest.CaptureFixture[str], options: list[str],
                  message: str) -> None:
    assert main(["autotune", str(program), *options]) == 1
    assert message in capsys.readouterr().err
