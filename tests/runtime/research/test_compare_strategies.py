"""Comparing strategies: the judgement, its text and JSON, and the command."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from runelift.ir.base.errors import CompilerLimitation
from runelift.runtime.research.compare_strategies import Problem, compare, render
from runelift.runtime.research.forest_of_log import without_gaps
from runelift.runtime.research.recorded import Recorded
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tuner.costs.cost_model import costs_of
from runelift.runtime.tuner.costs.log import Log
from runelift.runtime.tuner.measure.forced_runs import measure
from runelift.runtime.tuner.measure.protocols import Dataset
from runelift.runtime.tuner.policy import NORMAL
from runelift.runtime.tuner.search.budget import Budget
from runelift.runtime.tuner.strategies import STRATEGIES
from runelift.runtime.tuner.strategies.live import Live
from tests.runtime.tuner.simulated import Simulated, looped, site

LOOP = [looped(site("s", ("t0", []), ("t1", []), (None, [])))]


def cost(where: str, index: int, par: int) -> float:
    """The outer version pays from 16 on, the second one never."""
    return [1.6 / par, 0.15, 0.1][index]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    sim = Simulated.of(LOOP, cost)
    path = tmp_path / "loop.fut.tuning.log"
    written = Log(path)
    datasets = [Dataset(name, "main", lambda pars=pars: pars)  # type: ignore[misc]
                for name, pars in {"falling": range(1, 33), "wide": [64, 32]}.items()]
    measure(sim, sim.forest, datasets, repeats=1, log=written)
    written.close()
    return path


Out = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Out:
    def execute(*arguments: object) -> tuple[int, str, str]:
        try:
            status = main(["tune-compare", *map(str, arguments)])
        except SystemExit as stop:
            status = int(stop.code or 0)
        return status, *capsys.readouterr()

    return execute


def test_the_table(log: Path, run: Out) -> None:
    status, out, _ = run(log, "--strategy", "instrumentation", "--strategy", "simple",
                         "--strategy", "binary", "--strategy", "binary:few=1")
    assert status == 0
    assert out == """\
main: 3 versions, 2 datasets; 10 seeds

  strategy         runs  repeats  tries  tuning time  regret    best   worst  slowest
  instrumentation     6      0 %      0       18.1 s  0.00 %  0.00 %  0.00 %    0.86×
  simple              8     50 %      8       22.3 s  7.31 %  7.31 %  7.31 %    0.99×
  binary             20     55 %     22       60.9 s  0.00 %  0.00 %  0.00 %    0.86×
  binary:few=1       20     55 %     22       60.9 s  0.00 %  0.00 %  0.00 %    0.86×

  size-variant: main.t0 on falling, wide; main.t1 on falling, wide
  regret: how much slower than the best of 1,156 combinations, all datasets alike
  slowest: the time of the dataset that fares worst, relative to all guards false;
    instrumentation and replay slow none down, even for less regret
  runs until the regret is 1 % or less, in most searches: instrumentation 6, simple
    never, binary 13, binary:few=1 13
  repeats: the part of times asked for that earlier runs had told
"""


def test_json(log: Path, run: Out) -> None:
    status, out, _ = run(log, "--json", "--strategy", "random:tries=30", "--seeds", 3,
                         "--budget", 9)
    (found,) = json.loads(out)["result"]
    assert status == 0
    assert found["datasets"] == ["falling", "wide"]
    searches = found["strategies"]["random:tries=30"]
    assert [each["seed"] for each in searches] == [0, 1, 2]
    for each in searches:
        assert each["runs"] <= 9
        assert not each["finished"]
        assert each["regret"] >= 0
        assert each["thresholds"].keys() == {"main.t0", "main.t1"}


def test_the_budget_shows(log: Path, run: Out) -> None:
    status, out, _ = run(log, "--strategy", "binary", "--budget", "0.1s")
    assert status == 0
    assert "  binary !  " in out
    assert "!: ended by the budget" in out


def test_noise_makes_seeds_differ(log: Path, run: Out) -> None:
    """Repeated runs of the log are made to differ; without noise every seed finds the same."""
    lines = log.read_text().splitlines()
    slower = [json.dumps({**json.loads(line), "time": json.loads(line)["time"] * 1.5})
              for line in lines]
    log.write_text("\n".join([*lines, *slower]) + "\n")
    times = {}
    for options in ((), ("--noise",)):
        _, out, _ = run(log, "--json", "--strategy", "binary", "--seeds", 4, *options)
        (found,) = json.loads(out)["result"]
        times[options] = {each["seconds"] for each in found["strategies"]["binary"]}
    assert len(times[()]) == 1
    assert len(times["--noise",]) == 4


@pytest.mark.parametrize(("arguments", "message"), [
    (["no.log"], "Cannot read"),
    (["LOG", "--strategy", "best"], "No strategy is called 'best'"),
    (["LOG", "--budget", "soon"], "no budget"),
    (["LOG", "--seeds", "0"], "at least 1"),
    (["LOG", "-e", "other"], "nothing to compare"),
])
def test_mistakes(log: Path, run: Out, arguments: list[str], message: str) -> None:
    status, _, err = run(*(log if a == "LOG" else a for a in arguments))
    assert status == 1
    assert message in err


def test_one_version_is_nothing_to_compare(tmp_path: Path, run: Out) -> None:
    path = tmp_path / "one.fut"
    path.write_text("entry main (x: i32): i32 = x + 1\n")
    status, _, err = run(path)
    assert status == 1
    assert "one version only" in err


def test_too_many_combinations_are_judged_by_the_best_known() -> None:
    stms = [looped(site("s", *((f"t{k}", []) for k in range(5)), (None, [])))]
    sim = Simulated.of(stms, lambda where, index, par: 9.0 - index + par / 100)
    measurements = measure(sim, sim.forest, [Dataset("a", "main", lambda: range(1, 21))],
                           repeats=1)
    costs = costs_of(sim.forest, measurements)
    problem = Problem(costs, sim.default, lambda seed: Recorded(costs, sim.default))
    found = compare({"random": STRATEGIES["random"]}, problem, budget=Budget(runs=5))
    assert found.tried is None
    assert min(found.regret(each[0].loss) for each in found.searches.values()) >= 0
    assert "the best thresholds known" in render(found)


def test_ctrl_c_keeps_the_searches_that_are_over() -> None:
    sim = Simulated.of(LOOP, cost)
    datasets = [Dataset("a", "main", lambda: range(1, 9))]
    costs = costs_of(sim.forest, measure(sim, sim.forest, datasets, repeats=1))
    stopping = Simulated.of(LOOP, cost, interrupt_after=7)
    problem = Problem(costs, sim.default,
                      lambda seed: Live(stopping, sim.forest, sim.default, datasets))
    found = compare({name: STRATEGIES[name] for name in ("simple", "random", "binary")}, problem)
    assert found.interrupted
    assert [*found.searches] == ["simple"]
    assert "simple" in render(found)


def test_a_program_is_run(tmp_path: Path, run: Out) -> None:
    path = tmp_path / "sum.fut"
    path.write_text("""\
-- ==
-- "wide" notest random input { [2][70]f32 }
-- "tall" notest random input { [50][3]f32 }
entry main [n][m] (xss: [n][m]f32): [n]f32 = map (\\xs -> reduce (+) 0 xs) xss
""")
    status, out, err = run(path, "--json", "--strategy", "binary", "--strategy", "instrumentation",
                           "-r", 1)
    assert (status, err) == (0, "trying binary, seed 0\ntrying instrumentation, seed 0\n")
    (found,) = json.loads(out)["result"]
    assert set(found["datasets"]) == {"wide", "tall"}
    runs = {name: each[0]["runs"] for name, each in found["strategies"].items()}
    assert runs["instrumentation"] == (found["versions"] + 1) * 2  # and those by default
    assert 0 < runs["binary"] <= found["versions"] * 2
    assert all(each[0]["seconds"] > 0 for each in found["strategies"].values())


def test_what_was_left_out_is_far_too_long(tmp_path: Path, run: Out) -> None:
    """The first version falls behind, and is not run on the larger datasets."""
    sim = Simulated.of([site("s", ("t0", []), ("t1", []), (None, []))],
                       lambda where, index, par: [100.0 * par, 12.0, 1.0 * par][index])
    path = tmp_path / "gaps.fut.tuning.log"
    written = Log(path)
    datasets = [Dataset(str(par), "main", lambda par=par: [par])  # type: ignore[misc]
                for par in (2, 4, 8, 16)]
    measured = measure(sim, sim.forest, datasets, repeats=1, log=written)
    written.close()
    costs, count = without_gaps(costs_of(sim.forest, measured), measured)
    assert count == 3
    points = [d.points[0] for d in costs.datasets]
    assert [point.own[0].device / min(point.own[1].device, point.own[2].device)
            for point in points] == pytest.approx(
        [100.0, *[NORMAL.pruning.cannot_run_factor] * 3])
    status, out, err = run(path, "--strategy", "simple", "--strategy", "binary", "--strategy",
                           "exhaustive")
    assert status == 0
    assert "inf" not in out
    assert "3 times of versions that were skipped count as 30 times" in err


def test_what_failed_stays_so() -> None:
    sim = Simulated.of(LOOP, cost, fail={("s", 0): CompilerLimitation("too big")})
    measured = measure(sim, sim.forest, [Dataset("a", "main", lambda: [2])], repeats=1)
    costs = costs_of(sim.forest, measured)
    filled, count = without_gaps(costs, measured)
    assert count == 0
    assert [d.points[0].own for d in filled.datasets] == [d.points[0].own for d in costs.datasets]
