"""Which version runs when nothing was tuned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import runelift
from runelift.ir.guards import Guard, Kind
from runelift.ir.sizes import Size
from runelift.runtime.tuner.costs.cost_model import EncounterCosts
from runelift.runtime.tuner.result import default_thresholds
from runelift.runtime.versions.default_guards import Defaults

CHOICE = Defaults(threshold=1000, groups=8, short=64, long=512)
ROWS = ("entry main [n][m] (xss: [n][m]i32) = "
        "map (\\xs -> scan (+) 0 xs |> map (* 2) |> scan (+) 0) xss")
OUTER, INTRA, FLAT = range(3)


def test_an_outer_version_runs_from_the_threshold_of_the_device_on() -> None:
    guard = Guard("main.t", "t", Kind.OUTER, Size.of(1))
    assert [CHOICE.holds(guard, par, None) for par in (999, 1000)] == [False, True]


@pytest.mark.parametrize(("shape", "chosen"), [
    ((1000, 3), OUTER), ((999, 40), INTRA), ((8, 500), INTRA), ((7, 65), FLAT), ((7, 64), INTRA),
    ((500, 31), FLAT), ((8, 513), FLAT),
])
def test_a_group_per_row_needs_rows_enough(shape: tuple[int, int], chosen: int, simulator: str,
                                           monkeypatch: pytest.MonkeyPatch) -> None:
    program = runelift.compile(ROWS, device=simulator)
    monkeypatch.setattr(program.device, "info", replace(program.device.info, choice=CHOICE))
    xss = np.zeros(shape, np.int32)
    _, record = program.run("main", [xss], record=True)
    assert record is not None
    assert record.encounters[0].chosen == chosen
    forest = program.tree.entry("main")
    (encounter,) = [e for e in record.encounters if e.parent is None]
    point = EncounterCosts(forest.sites()[encounter.site], encounter.sizes, encounter.par,
                           frozenset(encounter.feasible), {}, {}, frozenset(encounter.scarce))
    assert point.choose(default_thresholds(forest, CHOICE.threshold)) == chosen


def test_a_threshold_that_was_tuned_asks_for_nothing_else(
        simulator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = runelift.compile(ROWS, device=simulator, tuning={"main.suff_intra_par_1": 65})
    monkeypatch.setattr(program.device, "info", replace(program.device.info, choice=CHOICE))
    _, record = program.run("main", [np.zeros((7, 65), np.int32)], record=True)
    assert record is not None
    assert record.encounters[0].chosen == INTRA
