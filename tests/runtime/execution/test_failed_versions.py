"""Versions that fail half-way, after they have changed what the other versions would read."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import CompilerLimitation
from runelift.runtime.devices.build import Infeasible
from runelift.runtime.execution.run import Run
from runelift.runtime.research.t4 import thresholds_of
from runelift.runtime.versions.forest import plans

LUD = Path(__file__).parents[3] / "examples" / "lud.fut"


class Launches:
    """Lets ``failing`` launches fail, after ``left`` others."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = self.failing = 0
        for name in ("issue", "issue_built"):
            monkeypatch.setattr(Run, name, self.counted(getattr(Run, name)))

    def counted(self, launch: Any) -> Any:
        def issue(run: Run, *args: Any) -> None:
            self.left -= 1
            if -self.failing <= self.left < 0:
                raise Infeasible("the test wants it so")
            launch(run, *args)
        return issue


def test_a_failure_gives_another_version_or_an_error_but_no_wrong_result(
        monkeypatch: pytest.MonkeyPatch) -> None:
    program = runelift.compile(LUD, device="pocl", tuning={})
    sizes = [np.int64(80)]
    expected = np.asarray(program.run("dominant", sizes)[0][0])
    launches = Launches(monkeypatch)
    outcomes = {"right": 0, "failed": 0}
    forest = program.tree.entry("dominant")
    chosen = thresholds_of(forest, plans(forest)[-1] | {"dominant.versions_4": 0})
    for launches.left, launches.failing in product(range(4, 8), range(1, 9)):
        try:
            found, _ = program.run("dominant", sizes, thresholds=chosen)
        except CompilerLimitation:
            outcomes["failed"] += 1
        else:
            np.testing.assert_allclose(np.asarray(found[0]), expected, rtol=1e-4)
            outcomes["right"] += 1
    assert all(outcomes.values())
