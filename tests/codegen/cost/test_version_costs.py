"""Functions of costs that follow the versions of a choice without a device."""

from __future__ import annotations

import math
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import runelift
import runelift.examples
from runelift.codegen.cost.version_costs import cost_of_entry, with_costs
from runelift.codegen.plan.plan import Choose, all_steps
from runelift.ir.base.files import read_source
from runelift.ir.base.source import Source
from runelift.ir.interpret import interpret
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.data.outline import arguments_of_sizes
from runelift.runtime.devices.profiles import profile
from runelift.runtime.execution.dry_run import no_memory
from runelift.runtime.predictions.modelled_device import ModelledDevice, modelled
from runelift.runtime.predictions.predict import Prediction, predict
from runelift.runtime.programs.loaded_program import LoadedProgram
from tests.random_programs.ragged import RAGGED
from tests.replays import results_agree

DEVICES = {name: ModelledDevice(profile(name)) for name in ("h200", "pocl")}
PROGRAM = """
entry rows [n][m] (xss: [n][m]i64): [n]i64 = map i64.sum xss

entry steady [n][m] (k: i64) (xss: *[n][m]i64): [n][m]i64 =
  loop xss for i < k do map (\\xs -> map (+ i64.sum xs) xs) xss

entry growing [n] (xs: [n]i64): i64 =
  loop s = 0 for i < n do
    s + i64.sum (map (\\j -> i64.sum (map (* xs[j]) xs)) (iota i))

entry branch [n][m] (xss: [n][m]i64): [n]i64 =
  if i64.sum (map i64.sum xss) > 3
  then map i64.sum xss else map (\\xs -> i64.maximum (scan (+) 0 xs)) xss

entry until [n][m] (xss: [n][m]i64): [n][m]i64 =
  loop xss = copy xss while i64.sum (map i64.sum xss) < 1000 do
    map (\\xs -> map (+ i64.sum xs) xs) xss

entry halving [n] (xs: [n]i64): [n]i64 =
  (loop (xs, d) = (copy xs, 1) while d < n do
    (map (\\i -> if i >= d then xs[i] + xs[i - d] else xs[i]) (iota n), d * 2)).0

entry inside [n][m] (xsss: [n][m][m]i64): [n]i64 =
  map (\\xss -> i64.maximum (map i64.sum xss)) xsss

entry several [n][m] (xss: [n][m]i64): [n]i64 =
  let count = i64.sum (map (\\xs -> if i64.sum xs > 0 then 1 else 0) xss)
  in map (\\xs -> loop s = 0 for i < count do s + i64.sum (map (+ i) xs)) xss

entry last [n] (xs: [n]i64): i64 =
  let count = if n > 0 then (scan (+) 0 xs)[n - 1] else 0
  in i64.sum (map (* count) (iota count))

entry either [n] (xs: [n]i64): i64 =
  let count = if i64.sum xs > 3 then n else n + 1
  in i64.sum (map (* count) (iota count))
"""
ENTRIES = re.findall(r"^entry (\w+)", PROGRAM, re.M)
EXAMPLES = sorted(Path(runelift.examples.__file__).parent.glob("*.fut"))
AWKWARD = ((0,), (1,), (0, 3), (3, 0), (2, 7, 31), (1024, 1), (997, 64, 3))
"""Sizes, in turn, for all that an entry point has."""


@cache
def loaded(path: Path | None, device: str) -> LoadedProgram:
    """A program as if on a device, by default the one above."""
    source = Source("costs.fut", PROGRAM) if path is None else read_source(path)
    return modelled(compile_source(source), DEVICES[device])


@cache
def loaded_again() -> LoadedProgram:
    """The program above, compiled anew."""
    return modelled(compile_source(Source("costs.fut", PROGRAM)), DEVICES["h200"])


def predicted(program: LoadedProgram, entry: str, *sizes: int) -> Prediction:
    """The cost of a call; the sizes and scalars of the entry point get these numbers in turn."""
    interface = program.interface(entry)
    names = [name.base for name in interface.sizes] + [
        spec.name.base for spec in interface.params if spec.shape is None]
    values = {name: sizes[k % len(sizes)] for k, name in enumerate(names)}
    bound = program.bind(interface, arguments_of_sizes(interface, values),
                         lambda array: no_memory(array.nbytes))
    return predict(program.executable(entry), bound)


def choices(entry: str) -> list[Choose]:
    return list(loaded(None, "h200").executable(entry).generated.sites)


def whole(entry: str) -> str:
    """The function of an entry point."""
    return cost_of_entry(loaded(None, "h200").executable(entry).plan, {}).text


@pytest.mark.parametrize("entry", ENTRIES)
def test_functions_take_the_facts_of_their_choice(entry: str) -> None:
    for site in choices(entry):
        namespace: dict[str, Any] = {}
        exec(site.costs, namespace)
        names = [str(name).replace("'", "_q") for name in site.facts]
        assert len(set(names)) == len(names)
        for number, version in enumerate(site.versions):
            assert (version.infeasible is None) == (f"cost_{number}" in namespace)
            if version.infeasible is None:
                code = namespace[f"cost_{number}"].__code__
                assert list(code.co_varnames[:code.co_argcount]) == ["rt", *names]


@pytest.mark.parametrize("entry", ENTRIES)
def test_facts_are_known_where_the_choice_is_met(entry: str) -> None:
    """What a version computes or reads is none; the host plan names the facts in the encounter."""
    for site in choices(entry):
        inside = {str(name) for version in site.versions for step in all_steps(version.steps)
                  for name in [getattr(step, "name", None)] if name is not None}
        assert inside.isdisjoint(map(str, site.facts))


def test_loops_of_equal_launches_are_followed_once() -> None:
    text = whole("steady")
    assert "rt.repeat(" in text
    assert "for " not in text
    once, often = (predicted(loaded(None, "h200"), "steady", 100, 100, count).totals
                   for count in (1, 1000))
    assert often.launches == pytest.approx(1000 * once.launches)
    assert often.seconds <= 1000 * once.seconds


def test_some_iterations_of_a_loop_whose_sizes_change_stand_for_all() -> None:
    assert re.search(r"for i_\d+ in rt\.iterations\(n_\d+, ", whole("growing"))
    assert "rt.repeat(" not in whole("growing")
    (first, *_), (last, *_) = (predicted(loaded(None, "h200"), "growing", n).choices
                               for n in (10, 1000))
    assert first.sizes != last.sizes


def test_branches_on_values_of_the_device_count_half() -> None:
    """Also where a version of a choice reads the value: nothing there is followed twice."""
    text = whole("branch")
    assert text.count("rt.scale(before_") == 2
    assert "r_" not in text.splitlines()[0]
    assert {choice.site for choice in predicted(loaded(None, "h200"), "branch", 8).choices} >= {
        "branch.versions_0", "branch.versions_1", "branch.versions_2"}


@pytest.mark.parametrize("entry", ["last", "either"])
def test_scalars_are_known_behind_a_branch_if_they_are_on_both_sides(entry: str) -> None:
    assert "rt.unseen('segred" in whole(entry)


def test_while_loops_are_followed_once_and_wait_for_the_condition() -> None:
    text = whole("until")
    assert text.count("rt.wait()") >= 1
    assert "while" not in text
    assert predicted(loaded(None, "h200"), "until", 50).totals.host > 0


def test_while_loops_whose_condition_the_host_knows_are_followed() -> None:
    assert "rt.continued(" in whole("halving")
    once, often = (predicted(loaded(None, "h200"), "halving", n).totals for n in (2, 1000))
    assert (once.launches, often.launches) == (1, 10)
    assert "rt.continued(" not in whole("until")


def test_inner_choices_are_asked_and_not_followed() -> None:
    sites = {site.site: site for site in choices("inside")}
    asked = {name: set(re.findall(r"rt\.choice\('([\w.]+)'", site.costs))
             for name, site in sites.items()}
    assert any(asked.values())
    for name, others in asked.items():
        nested = {step.site for version in sites[name].versions
                  for step in all_steps(version.steps) if isinstance(step, Choose)}
        assert others <= nested


def test_unknown_bounds_are_no_facts() -> None:
    """A loop inside of a kernel whose bound the device computes is taken to run once."""
    found = predicted(loaded(None, "h200"), "several", 64)
    assert 0 < found.totals.seconds < math.inf


@pytest.mark.parametrize("entry", ENTRIES)
def test_texts_are_the_same_whenever_they_are_made(entry: str) -> None:
    plan = loaded(None, "h200").executable(entry).plan
    other = loaded_again().executable(entry).plan
    for one in (with_costs(plan), other):
        sites, others = ([step for step in all_steps(each.steps) if isinstance(step, Choose)]
                         for each in (plan, one))
        assert [(s.costs, s.facts) for s in sites] == [(s.costs, s.facts) for s in others]


@pytest.mark.parametrize("entry", ENTRIES)
def test_equal_facts_mean_equal_costs(entry: str) -> None:
    """Sizes that are no facts of a choice change nothing there."""
    program = loaded(None, "h200")
    executable, seen = program.executable(entry), dict[Any, Any]()

    class Known:
        """Takes the least of all versions, and notes what it was told."""

        def expected(self, number: int, pars: Any, facts: tuple[Any, ...], local: Any) -> float:
            found = executable.predictor.versions(number, facts, self)
            assert seen.setdefault((number, facts), found) == found
            return min(found)

    for number, site in enumerate(executable.generated.sites):
        for facts in ((1,) * len(site.facts), tuple(range(1, 1 + len(site.facts)))):
            assert Known().expected(number, (), facts, ()) == Known().expected(
                number, (), facts, ())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("entry", ENTRIES)
def test_awkward_sizes(entry: str, device: str) -> None:
    check(loaded(None, device), entry)


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
@pytest.mark.sweep(keep=["matmul", "radix", "lud", "kmeans", "nw", "heston"])
def test_examples(path: Path) -> None:
    program = loaded(path, "h200")
    for entry in program.compiled.interfaces:
        check(program, entry)


def check(program: LoadedProgram, entry: str) -> None:
    """Costs are numbers at awkward sizes, and the version that runs is one that can."""
    for sizes in AWKWARD:
        found = predicted(program, entry, *sizes)
        assert 0 <= found.totals.seconds < math.inf, sizes
        for choice in found.choices:
            assert any(version.seconds < math.inf for version in choice.versions), choice
            assert all(version.seconds >= 0 for version in choice.versions), choice
            assert choice.chosen >= 0
            assert choice.versions[choice.chosen].seconds < math.inf


def test_what_bounds_an_inner_loop_is_not_asked_before_it_is_known() -> None:
    program = runelift.compile(RAGGED.text(61404), tuning={}, device="Portable")
    *_, args = RAGGED.inputs(61404)
    results_agree(program, "main", args, interpret(program.compiled.core, "main", args))
