"""Facts about lengths that are given: predictions and dry runs follow the choices behind them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runelift
from runelift.codegen.plan.write_sets import given_lengths
from runelift.ir.base.source import Source
from runelift.ir.guards import Kind
from runelift.ir.length_facts import length_facts
from runelift.ir.ragged import Fact
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.data.lengths import SHAPES, draw
from runelift.runtime.data.outline import outline
from runelift.runtime.devices.profiles import profile
from runelift.runtime.execution.known_lengths import has_elements
from runelift.runtime.predictions.modelled_device import ModelledDevice, modelled
from runelift.runtime.predictions.predict import Prediction, predict_call
from runelift.runtime.programs.loaded_program import LoadedProgram
from runelift.runtime.versions.forest import plans
from tests.runtime.memory.test_memory_run import measured

TEXT = """
entry squares [n] (ks: [n]i64): [n]i64 = map (\\k -> i64.sum (map (\\i -> i * i) (iota k))) ks

entry doubled [n] (ks: [n]i64): [n]i64 =
  map (\\k -> i64.sum (map (\\i -> i * i) (iota (2 * k)))) ks

entry grown [n] (ks: *[n]i64): [n]i64 =
  let ks = loop ks for i < 3 do map (+ i) ks
  in map (\\k -> i64.sum (map (\\i -> i * i) (iota k))) ks

entry rounds [n] (c: i64) (ks: [n]i64): [n]i64 =
  loop s = replicate n 0 for i < c do
    map2 (\\k s -> s + i64.sum (map (\\j -> j * j * i) (iota k))) ks s
"""


def loaded(device: str = "h200") -> LoadedProgram:
    return modelled(compile_source(Source("lengths", TEXT)), ModelledDevice(profile(device)))


def chosen(found: Prediction) -> list[Kind]:
    return [each.versions[each.chosen].kind for each in found.choices]


@pytest.mark.parametrize("shape", SHAPES)
def test_facts_are_those_of_each_length(shape: str) -> None:
    lengths = draw(300, shape, 1000)
    facts = length_facts(lengths).tolist()
    assert facts[Fact.TOTAL] == sum(map(int, lengths))
    assert facts[Fact.LONGEST] == max(map(int, lengths))
    assert facts[Fact.LIVE] == sum(int(each) > 0 for each in lengths)
    assert facts[Fact.SQUARES] == sum(int(each) ** 2 for each in lengths)


def test_negative_lengths_are_empty() -> None:
    assert length_facts(np.array([], np.int64)).tolist() == [0] * len(Fact)
    found = length_facts(np.array([-5, 1 << 38, (1 << 38) + 1, 1 << 45])).tolist()
    assert found[Fact.LIVE] == 3
    assert found[Fact.LONGEST] == 1 << 45


@pytest.mark.parametrize(("lengths", "kind"), [
    (draw(1_000_000, "uniform", 4), Kind.ROW), (draw(300, "equal", 30_000), Kind.GROUP),
    (draw(100_000, "one", 10_000_000), Kind.MERGE)])
def test_the_choice_follows_the_lengths(lengths: Any, kind: Kind) -> None:
    found = predict_call(loaded(), "squares", [lengths])
    assert chosen(found) == [kind]
    (choice,) = found.choices
    assert list(choice.sizes.values()) == [
        len(lengths), *length_facts(lengths)[:len(Fact)].tolist()]
    assert choice.versions[choice.chosen].seconds == choice.best.seconds
    assert len({each.seconds for each in choice.versions}) == len(choice.versions)


@pytest.mark.parametrize("device", ["h200", "pocl"])
def test_each_version_can_be_forced_and_costs_what_its_choice_says(device: str) -> None:
    program, lengths = loaded(device), draw(5000, "geometric", 256)
    (site,) = program.executable("squares").generated.sites
    plain = predict_call(program, "squares", [lengths])
    for number, version in enumerate(plain.choices[0].versions):
        found = predict_call(program, "squares", [lengths], force={site.site: number})
        extra = version.seconds - plain.choices[0].best.seconds
        assert found.totals.seconds == pytest.approx(plain.totals.seconds + extra)


@pytest.mark.parametrize("shape", ["equal", "one", "alternating"])
def test_the_longest_work_item_of_a_version_by_rows_has_the_longest_row(shape: str) -> None:
    lengths = draw(1000, shape, 20_000)
    row = predict_call(loaded(), "squares", [lengths]).choices[0].versions[0]
    assert row.kind is Kind.ROW
    assert row.totals is not None
    assert row.totals.longest >= lengths.max()


def test_arrays_without_elements_end_a_prediction_at_the_facts() -> None:
    program, lengths = loaded(), draw(5000, "geometric", 256)
    known = predict_call(program, "squares", [lengths])
    for given in (outline([lengths]), [np.broadcast_to(np.int64(0), (5000,))]):
        assert not has_elements(given[0])
        assert predict_call(program, "squares", given).choices == ()
    assert outline([lengths], {0})[0] is lengths
    assert known.choices


@pytest.mark.parametrize("entry", ["doubled", "grown"])
def test_lengths_that_the_device_computes_are_unknown(entry: str) -> None:
    program = loaded()
    assert not given_lengths(program.plan(entry))
    assert predict_call(program, entry, [draw(500, "uniform", 50)]).choices == ()


def test_facts_are_known_inside_of_loops() -> None:
    lengths = draw(500, "equal", 1000)
    once, thrice = (predict_call(loaded(), "rounds", [np.int64(count), lengths])
                    for count in (1, 3))
    assert chosen(once) == chosen(thrice)
    assert thrice.totals.seconds > once.totals.seconds


@pytest.mark.parametrize("shape", ["one", "alternating", "equal"])
def test_the_memory_of_runs_is_foreseen(shape: str) -> None:
    program = runelift.compile(Source("lengths", TEXT.replace("squares", "main")),
                               device="pocl", tuning={})
    lengths = draw(700, shape, 300)
    for force in ({}, *plans(program.tree.entry("main"))):
        found = program.estimate_memory("main", [lengths], force=force)
        assert not found.unknown
        assert found.encounters
        assert found.bytes == measured(program, "main", [lengths], force)
    assert program.estimate_memory("main", outline([lengths])).unknown


def test_kernels_of_a_run_are_collected_behind_the_facts() -> None:
    program = runelift.compile(Source("lengths", TEXT), device="pocl", tuning={})
    few, many = draw(700, "equal", 3), draw(2, "equal", 1_000_000)
    prebuilder = program.loaded.prebuilder
    found = [dict[Any, None]() for _ in range(3)]
    items = [prebuilder.collect("squares", args, {"squares.versions_0": number}, needed)
             for args, number, needed in (
                 ([few], 0, found[0]), ([many], 1, found[1]), (outline([few]), 0, found[2]))]
    assert items[0] is not None
    assert items[1] is not None
    assert items[2] is None
    assert len(found[0]) > len(found[2])
    assert prebuilder.run("squares", [few], {}) != prebuilder.run("squares", [few + 1], {})
