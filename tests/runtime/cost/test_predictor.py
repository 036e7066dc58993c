"""Predicted times of versions, on a device that is not there and whose constants are made up."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from types import SimpleNamespace
from typing import Any

import pytest

import runelift
from runelift.codegen.cost.totals import Work
from runelift.runtime.cost.device_costs import DeviceCosts
from runelift.runtime.cost.model import launch_time
from runelift.runtime.cost.predictor import FOLLOWED, Formulas, Predictor
from runelift.runtime.data.outline import arguments_of_sizes
from runelift.runtime.devices.limits import LEAST_ITERATIONS
from runelift.runtime.devices.profiles import profile
from runelift.runtime.execution.dry_run import no_memory
from runelift.runtime.geometry.launch_geometry import LaunchGeometry
from runelift.runtime.predictions.modelled_device import ModelledDevice, modelled
from runelift.runtime.predictions.predict import Prediction, predict
from runelift.runtime.programs.loaded_program import LoadedProgram

DEVICE = ModelledDevice(profile("h200"))
STEPS = DeviceCosts(**{
    **{each.name: 0.0 for each in fields(DeviceCosts)}, "launch": 0.125, "round": 0.0625,
    "wait": 16.0, "bandwidth": 1024.0, "cache_bandwidth": math.inf, "unit_bandwidth": math.inf,
    "cache": math.inf, "step": 1.0, "items": math.inf, "groups": math.inf, "room": math.inf,
    "abreast": math.inf, "norm": 1.0})
"""A device that computes everything at once: a launch takes as long as its longest work-item.

All numbers of seconds here are sums of powers of two, so they are exact.
"""
WORK = f"""
def work(groups, group, steps):
    return ({', '.join('steps' if name == 'steps' else '0.0' for name in Work._fields)})
"""


def predictor(*costs: str, device: Mapping[str, Any] | None = None) -> Predictor:
    """A predictor of choices whose cost functions of facts ``n`` and ``m`` have these bodies."""
    sites = [SimpleNamespace(site=f"s{number}", versions=[None] * text.count("def cost"),
                             costs=text) for number, text in enumerate(costs)]
    formulas = Formulas(dict.fromkeys(("kernel", "other"), WORK))
    return Predictor(sites, formulas, replace(  # type: ignore[arg-type]
        DEVICE.info, **(device or {})), LaunchGeometry(DEVICE), STEPS)


def cost(number: int, *lines: str) -> str:
    return "\n".join([f"def cost_{number}(rt, n, m):", *(f"    {line}" for line in lines), ""])


class Inner:
    """Says what the version takes that runs at an inner choice."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.asked = seconds, list[Any]()

    def expected(self, *asked: Any) -> float:
        self.asked.append(asked)
        return self.seconds


def seconds(*lines: str, facts: tuple[int, int] = (3, 5), **device: Any) -> float:
    """The predicted seconds of a version."""
    (found,) = predictor(cost(0, *lines), device=device).versions(0, facts, Inner(0.0))
    return found


LAUNCH = "rt.launch('kernel', 4, 32, (), n)"


def test_times_of_launches_add_up() -> None:
    assert seconds("pass") == 0
    assert seconds(LAUNCH) == 3.125
    assert seconds(LAUNCH, "rt.launch('other', 4, 32, (16, 16), m)") == 8.25
    work = Work(*[0.0] * len(Work._fields))._replace(steps=3.0)
    whole = launch_time(STEPS, DEVICE.info.units, 4, 32, 0, work)
    assert seconds(LAUNCH) == whole.seconds


@pytest.mark.parametrize(("line", "expected"), [
    ("rt.launch('none', 0, 32, (), n)", 0.0), ("rt.unseen('unknown')", 0.125), ("rt.once()", 0.0),
    ("rt.copy(n * 1024)", 6.125), ("rt.wait()", 16.0),
    ("rt.launch('wide', 1, 0, (), n)", math.inf),
    (f"rt.launch('large', 1, 1, ({DEVICE.info.local_bytes + 1},), n)", math.inf),
    ("rt.launch('none', n // (n - 3), 1, (), n)", math.inf),
    ("rt.launch('huge', 1, 1, (), 10.0 ** n ** m ** 5)", math.inf)])
def test_other_steps(line: str, expected: float) -> None:
    assert seconds(line) == expected


def test_one_that_cannot_run_leaves_the_others_alone() -> None:
    functions = cost(0, LAUNCH), cost(2, LAUNCH, "rt.launch('wide', 1, 0, (), n)"), cost(3)
    text = "".join(functions).replace("cost_3(rt, n, m):", "cost_3(rt, n, m): return")
    found = predictor(text + "# def cost").versions(0, (1, 1), Inner(0.0))
    assert found == (1.125, math.inf, math.inf, 0.0)  # there is no cost_1


def test_unknown_branches_count_half() -> None:
    assert seconds("before = rt.seconds", LAUNCH, "rt.scale(before, 0.5)") == 3.125 / 2
    assert seconds(LAUNCH, "before = rt.seconds", LAUNCH, "rt.scale(before, 0.5)") == 1.5 * 3.125


@pytest.mark.parametrize("count", [1, LEAST_ITERATIONS - 1, LEAST_ITERATIONS, 100])
@pytest.mark.parametrize("steady", [False, True])
@pytest.mark.parametrize("coherent", [False, True])
def test_loops_repeat_an_iteration(count: int, steady: bool, coherent: bool) -> None:
    """One kernel runs a long steady loop, if the device can do so: barriers take less time."""
    found = seconds("rt.wait()", "before = rt.seconds", LAUNCH,
                    f"rt.repeat(before, {count}, {steady})", coherent=coherent)
    merged = steady and coherent and count >= LEAST_ITERATIONS
    assert found == 16 + count * (3.0625 if merged else 3.125)


@pytest.mark.parametrize("carried", [False, True])
@pytest.mark.parametrize("count", [0, 1, 2, FOLLOWED, FOLLOWED + 1, 1000])
def test_some_iterations_stand_for_all(count: int, carried: bool) -> None:
    """Iteration i takes i seconds; the first ones are no sample of that, evenly spread ones are."""
    found = seconds(f"for i in rt.iterations({count}, {carried}):",
                    "    rt.launch('kernel', 4, 32, (), i)")
    whole = sum(range(count)) + count * 0.125
    if count <= FOLLOWED:
        assert found == whole
    elif carried:
        assert found == pytest.approx((sum(range(FOLLOWED)) / FOLLOWED + 0.125) * count)
    else:
        assert found == pytest.approx(whole, rel=1 / FOLLOWED)


def test_an_inner_choice_costs_what_runs_there() -> None:
    inner = Inner(4.0)
    choice = "rt.choice('s1', (n,), (n, m), ((m,),), {'n': n})"
    found = predictor(cost(0, LAUNCH, choice, choice), "").versions(0, (3, 5), inner)
    assert found == (3.125 + 8,)
    assert inner.asked == [(1, (3,), (3, 5), ((5,),))] * 2


def test_predictions_within_predictions_do_not_add_up() -> None:
    """Who chooses at an inner site asks for its times while the outer ones are added up."""
    both = predictor(cost(0, LAUNCH, "rt.choice('s1', (), (n, m), (), {})", LAUNCH),
                     cost(0, LAUNCH, LAUNCH) + cost(1, LAUNCH))

    class Least:
        def expected(self, number: int, pars: Any, facts: Any, local: Any) -> float:
            return min(both.versions(number, facts, self))

    assert both.versions(0, (3, 5), Least()) == (3 * 3.125,)
    assert both.versions(1, (3, 5), Least()) == (2 * 3.125, 3.125)


# Programs

ROWS = "entry main [n][m] (xss: [n][m]f32): [n]f32 = map f32.sum xss"
NESTED = """
entry main [n][m] (xss: [n][m]f32): [n]f32 =
  map (\\xs -> let s = f32.sum xs in f32.sum (map (\\x -> x / s) xs)) xss"""


def program(text: str) -> LoadedProgram:
    return modelled(runelift.compile(text, device="pocl", tuning={}).compiled, DEVICE)


def predicted(loaded: LoadedProgram, sizes: Mapping[str, int],
              thresholds: Mapping[str, int] | None = None) -> Prediction:
    bound = loaded.bind(loaded.interface("main"), arguments_of_sizes(
        loaded.interface("main"), sizes), lambda array: no_memory(array.nbytes))
    return predict(loaded.executable("main"), bound, thresholds)


@pytest.mark.parametrize("sizes", [(1, 1 << 24), (1 << 20, 4), (1000, 1000), (0, 5), (5, 0)])
@pytest.mark.parametrize("text", [ROWS, NESTED])
def test_the_chosen_version_is_predicted_to_be_fastest(text: str, sizes: tuple[int, int]) -> None:
    found = predicted(program(text), dict(zip("nm", sizes, strict=True)))
    assert found.choices
    for choice in found.choices:
        assert choice.versions[choice.chosen].seconds == choice.best.seconds < math.inf
    assert found.totals.seconds >= max(
        choice.best.seconds for choice in found.choices if choice.site == "main.versions_0")


def test_thresholds_decide_instead() -> None:
    loaded = program(ROWS)
    for index, (outer, intra) in enumerate([(1, 1), (1 << 40, 1), (1 << 40, 1 << 40)]):
        (choice,) = predicted(loaded, {"n": 100, "m": 100}, {
            "main.suff_outer_par_0": outer, "main.suff_intra_par_1": intra}).choices
        assert choice.chosen == index


def test_more_rows_take_no_less_time() -> None:
    loaded = program(ROWS)
    for version in range(3):
        times = [predicted(loaded, {"n": n, "m": 1 << 10}).choices[0].versions[version].seconds
                 for n in (1 << 10, 1 << 14, 1 << 18)]
        assert times == sorted(times)
        assert times[0] < times[-1]
