"""Comparing searches for parameters of kernels: an ensemble beside the others."""

import json
from itertools import islice
from pathlib import Path
from random import Random

import pytest

import runelift
from runelift.runtime.geometry.parameter_space import ParameterSpace, Setting
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tuner.kernel_parameters.proposals import EXPLORING, by_ensemble
from runelift.runtime.tuner.kernel_parameters.search import LOCAL
from runelift.runtime.tuner.policy import NORMAL

SUMS = """\
-- ==
-- "wide" notest random input { [30][700]f32 }
entry main [n][m] (xss: [n][m]f32): [n]f32 = map (\\xs -> f32.sum (map f32.sqrt xs)) xss
"""
SCAN = "entry main [n] (xs: [n]i32): [n]i32 = scan (+) 0 (map (+ 1) xs)"


def space_of(text: str) -> ParameterSpace:
    return runelift.compile(text, tuning={}).spaces("main")[0]


@pytest.mark.parametrize("seed", range(3))
def test_an_ensemble_proposes_possible_settings_once(seed: int) -> None:
    space = space_of(SCAN)
    exploring = by_ensemble(space, Random(seed), NORMAL.parameters)
    times: dict[Setting, float] = {}
    batch = next(exploring)
    for _ in range(space.count + 10):
        for setting in batch:
            assert space.allows(setting) or setting == space.default
            assert setting not in times
            times[setting] = 1.0 + sum(setting) % 7
        try:
            batch = exploring.send(times)
        except StopIteration:
            break
    assert len(times) == space.count  # it ends when nothing is left


def test_an_ensemble_goes_down_a_valley_sooner_than_chance() -> None:
    """Summed over seeds: tries until the best setting of a valley is found."""
    space = space_of(SCAN)
    best = sorted(space.settings())[space.count // 3]

    def cost(setting: Setting) -> float:
        return 1.0 + sum(abs(each.values.index(a) - each.values.index(b))
                         for each, a, b in zip(space.ranges, setting, best, strict=True))

    def tries(name: str, seed: int) -> int:
        exploring = EXPLORING[name](space, Random(seed), NORMAL.parameters)
        times: dict[Setting, float] = {}
        batch = next(exploring)
        while best not in times:
            times |= {setting: cost(setting) for setting in batch}
            batch = exploring.send(times)
        return len(times)

    ensemble, chance = (sum(tries(name, seed) for seed in range(12))
                        for name in ("ensemble", "random"))
    assert ensemble < chance


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sums.fut"
    path.write_text(SUMS)
    assert main(["tune-compare", str(path), "--parameters", "--budget", "6", "--json",
                 "--strategy", "local", "--strategy", "ensemble"]) == 0
    found = json.loads(capsys.readouterr().out)["result"]
    assert found
    for each in found:
        assert each["dataset"] == "wide"
        assert [one["strategy"] for one in each["found"]] == ["local", "ensemble"]
        assert all(0 < one["tries"] <= 6 for one in each["found"])
        assert 0 < each["best"] <= each["default"]
        for one in each["found"]:
            assert one["time"] == each["default"] or one["setting"]
    assert main(["tune-compare", str(path), "--parameters", "--budget", "4",
                 "--strategy", "random"]) == 0
    assert "over the best" in capsys.readouterr().out


@pytest.mark.parametrize(("options", "message"), [
    (["--strategy", "binary"], f"There are {LOCAL}, random, genetic, ensemble, exhaustive"),
    (["--noise"], "without --replay, --noise"),
])
def test_mistakes(options: list[str], message: str, tmp_path: Path,
                  capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sums.fut"
    path.write_text(SUMS)
    assert main(["tune-compare", str(path), "--parameters", *options]) == 1
    assert message in capsys.readouterr().err


def test_settings_are_drawn_without_listing_them() -> None:
    """Of a large space, too: the first proposals come at once."""
    space = space_of("entry main [n][m][p] (xss: [n][m]f32) (yss: [m][p]f32): [n][p]f32 = "
                     "map (\\xs -> map (\\ys -> f32.sum (map2 (*) xs ys)) (transpose yss)) xss")
    first = next(by_ensemble(space, Random(1), NORMAL.parameters))
    assert len(set(first)) == len(first) == min(space.count, NORMAL.parameters.population)
    assert all(space.allows(s) or s == space.default for s in islice(first, 5))
