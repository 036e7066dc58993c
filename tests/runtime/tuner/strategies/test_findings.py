"""The findings of searches: size-variance, intervals of datasets, and guards with two valleys."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from runelift.runtime.research.recorded import Recorded
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tuner.costs.cost_model import costs_of
from runelift.runtime.tuner.costs.log import Log
from runelift.runtime.tuner.fit.fit import Interval
from runelift.runtime.tuner.measure.forced_runs import measure
from runelift.runtime.tuner.strategies import STRATEGIES, Search, search
from runelift.runtime.tuner.strategies.findings import GuardFinding, hump, show_interval
from runelift.runtime.tuner.strategies.live import Live
from tests.runtime.tuner.simulated import Cost, Simulated, inputs, looped, site

PAIR = [looped(site("s", ("t0", []), (None, [])))]
SOURCES = ("exhaustive", "instrumentation")
"""A strategy that tries thresholds, and one that measures versions."""


def searched(name: str, cost: Cost, datasets: Mapping[str, Sequence[int]]) -> Search:
    sim = Simulated.of(PAIR, cost)
    measured = measure(sim, sim.forest, inputs(**{n: list(p) for n, p in datasets.items()}),
                       repeats=1)
    return search(STRATEGIES[name], Recorded(costs_of(sim.forest, measured), sim.default, measured))


def of(found: Search, dataset: str) -> GuardFinding:
    (each,) = [each for each in found.findings if each.dataset == dataset]
    return each


@pytest.mark.parametrize("name", SOURCES)
def test_a_loop_of_one_size_is_size_invariant(name: str) -> None:
    found = searched(name, lambda where, index, par: 30.0 / par if index == 0 else 1.0,
                     {"constant": [40] * 5, "falling": [60, 50, 20, 10]})
    assert of(found, "constant").values == 1
    assert not of(found, "constant").size_variant
    assert of(found, "falling").size_variant
    assert of(found, "constant").best == Interval(0, 40)
    assert of(found, "falling").best == Interval(20, 50)
    assert all(each.monotonic for each in found.findings)


@pytest.mark.parametrize("name", SOURCES)
def test_two_valleys_are_told(name: str) -> None:
    """The outer version wins at 2 and from 32 on, and loses in between."""
    wins = {2: 1.0, 4: 9.0, 8: 9.0, 16: 9.0, 32: 1.0, 64: 1.0}
    found = searched(name, lambda where, index, par: wins[par] if index == 0 else 3.0,
                     {"a": list(wins)})
    each = of(found, "a")
    assert not each.monotonic
    assert each.best == Interval(16, 32)
    assert each.hump == pytest.approx((1.5 + 9 + 3 * 3 + 2 * 3 - 6 + 3 - 2) / 99, abs=1.0)


@pytest.mark.parametrize("name", SOURCES)
def test_without_a_difference_any_threshold_does(name: str) -> None:
    each = of(searched(name, lambda *_: 2.0, {"a": [3, 9]}), "a")
    assert each.best is None
    assert show_interval(each) == "any"


def test_humps_are_between_valleys() -> None:
    assert hump([]) == hump([1.0]) == hump([3.0, 2.0, 2.0, 5.0]) == hump([1.0, 2.0, 3.0]) == 0
    assert hump([2.0, 3.0, 1.0, 4.0]) == pytest.approx(0.5)
    assert hump([1.0, float("inf"), 2.0]) == 0  # what failed says nothing of slopes


def test_intervals_in_words() -> None:
    def shown(low: int, high: int) -> str:
        return show_interval(GuardFinding("t", "a", 3, 4, Interval(low, high), 0.0))

    assert [shown(0, 9), shown(9, 10), shown(9, 20), shown(20, 2_000_000_000)] == [
        "up to 9", "10", "10 to 20", "above 20"]


def test_runs_tell_the_same_as_costs() -> None:
    """Tries of a program that runs, and sums of what versions cost."""
    sim = Simulated.of(PAIR, lambda where, index, par: 30.0 / par if index == 0 else 1.0)
    live = Live(sim, sim.forest, sim.default, inputs(a=[60, 50, 20, 10]), weights={"a": 1.0})
    (each,) = search(STRATEGIES["exhaustive"], live).findings
    assert each.best == Interval(20, 50)
    assert each.tried == each.values + 1 == 5


def test_the_command_prints_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wins = {2: 1.0, 4: 9.0, 8: 9.0, 16: 9.0, 32: 1.0, 64: 1.0}
    sim = Simulated.of(PAIR, lambda where, index, par: wins[par] if index == 0 else 3.0)
    log = Log(path := tmp_path / "valleys.fut.tuning.log")
    measure(sim, sim.forest, inputs(several=list(wins), one=[64]), repeats=1, log=log)
    log.close()
    strategies = ("--strategy", "exhaustive", "--strategy", "instrumentation-literal")
    assert main(["tune-compare", str(path), *strategies, "-v"]) == 0
    out = capsys.readouterr().out
    assert "size-variant: main.t0 on several" in out
    assert "not monotonic (slower between two valleys): main.t0 on several" in out
    assert "1 value, size-invariant" in out
    assert "17 to 32" in out
    assert main(["tune-compare", str(path), *strategies, "--json"]) == 0
    (written,) = json.loads(capsys.readouterr().out)["result"]
    guards = written["strategies"]["exhaustive"][0]["guards"]
    assert {(each["dataset"], each["size_variant"], each["monotonic"]) for each in guards} == {
        ("several", True, False), ("one", False, True)}
    assert guards[0]["best"] == {"low": 16, "high": 32}
