"""Repeated tunings of a program choose alike, also where versions are, and beside other work.

The noise is that of runs of about a millisecond on PoCL, on two cores beside twelve processes that
compute: the quicker half of runs spreads by some percent, the other half waits for up to a hundred
times as long, and neighbouring runs are disturbed alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from runelift.runtime.records.record import Record, Timing
from runelift.runtime.tuner.autotune import autotune
from runelift.runtime.tuner.measure.side_by_side import TUNED
from tests.runtime.tuner.simulated import (
    CHAIN,
    Simulated,
    inputs,
    job_for,
    scaled,
    stop_clock,
)

OUTSIDE = 0.5
"""What a simulated run spends outside of its encounters."""
UNIT = 1e-4
"""The seconds of one unit of cost."""
PARS = {"tied": 1000, "clear": 100}
"""The parallelism of the datasets: of versions that differ by little, and by much."""
MOST_LOSS = 0.03


class Shared(Simulated):
    """A program on a machine with other work; time passes only while it runs."""

    clock = 0.0
    random = np.random.default_rng(0)
    busy = 1.0
    """The part of runs that wait is half of this."""
    _waits = False
    _level = 0.0

    def disturbed(self, seconds: float) -> float:
        """The time of a run that takes so many seconds alone."""
        random = self.random
        self._level = 0.9 * self._level + 0.005 * random.standard_normal()
        if random.random() < 0.5:  # else neighbours are alike
            self._waits = random.random() < self.busy / 2
        waits = random.exponential(0.01) if self._waits else 0.0
        found = seconds * float(np.exp(self._level + 0.02 * random.standard_normal())) + waits
        Shared.clock += found
        return found

    def timing(self, entry: str, args: Sequence[Any], *, force: Mapping[str, int] | None = None,
               thresholds: Mapping[str, int] | None = None) -> Timing:
        found = super().timing(entry, args, force=force, thresholds=thresholds).seconds
        return Timing(self.disturbed(UNIT * found), 0.0)

    def record(self, entry: str, args: Sequence[Any], *, force: Mapping[str, int] | None = None,
               thresholds: Mapping[str, int] | None = None) -> Record:
        found = super().record(entry, args, force=force, thresholds=thresholds)
        return scaled(found, self.disturbed(UNIT * found.span) / found.span)


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_clock(monkeypatch, lambda: Shared.clock)
    monkeypatch.setattr(Shared, "clock", 0.0)


def tied(gain: float, *, default: bool) -> dict[tuple[int, int], float]:
    """The costs of three versions on both datasets; two of them differ by a gain on one.

    The first version runs by default.  It is one of these two, or far slower.
    """
    other = 10 / (1 + gain)
    on_tied = [10.0, other, 30.0] if default else [25.0, 10.0, other]
    return {**{(PARS["tied"], k): each for k, each in enumerate(on_tied)},
            **{(PARS["clear"], k): each for k, each in enumerate([20.0, 35.0, 10.0])}}


def tuned(costs: Mapping[tuple[int, int], float], seed: int, busy: float
          ) -> tuple[dict[str, tuple[str, ...]], dict[str, float]]:
    """The versions that a tuning chooses, and the loss by dataset; both without noise."""
    sim = Shared.of(CHAIN, lambda where, index, par: costs[par, index] - OUTSIDE)
    assert isinstance(sim, Shared)
    sim.random, sim.busy = np.random.default_rng(seed), busy
    state = autotune(job_for(sim, inputs(**{name: [par] for name, par in PARS.items()}),
                             busy=lambda: busy))
    chosen = {each.dataset: each.versions[TUNED] for each in state.final}
    losses = {name: costs[par, int(chosen[name][0][1:]) - 1] / costs[par, 0] - 1
              for name, par in PARS.items()}
    return chosen, losses


@pytest.mark.parametrize("default", [True, False])
@pytest.mark.parametrize("gain", [0.0, 0.02, 0.05, 0.2])
def test_repeated_tunings_choose_alike(gain: float, default: bool, sweeps: bool) -> None:
    """In nine of ten tunings, a third of which each is without load, with some, and with much."""
    costs, choices = tied(gain, default=default), Counter[str]()
    count = 60 if sweeps else 6
    for seed in range(count):
        chosen, losses = tuned(costs, seed, (0.0, 0.7, 1.0)[seed % 3])
        choices[str(chosen)] += 1
        assert max(losses.values()) <= MOST_LOSS, (seed, chosen)
    assert choices.most_common(1)[0][1] >= 0.9 * count, choices
