"""Noise as it is measured on shared machines must not make the tuner ship something slower."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from runelift.runtime.records.record import Record, Timing
from runelift.runtime.tuner.measure.protocols import Dataset, MeasuringMethod, Replay
from runelift.runtime.tuner.policy import NORMAL
from runelift.runtime.tuner.replay.racing import Race
from runelift.runtime.tuner.replay.replay_records import (
    ExclusiveCost,
    ReplayedEncounter,
    ReplayRecord,
)
from runelift.runtime.tuner.thresholds import tune_thresholds
from tests.runtime.tuner.simulated import Simulated, bimodal, job_for, site, stop_clock

CHAIN = [site("s", ("t0", []), ("t1", []), (None, []))]
OUTSIDE = 0.5
"""What a simulated run spends outside of its encounters."""
TOLERANCE = NORMAL.comparison.tolerance
PARS = (50, 100)
TRIALS = int(os.environ.get("RUNELIFT_NOISE_TRIALS", "20"))


class Bimodal(Simulated):
    """A program whose run times are :func:`bimodal`; ``clock`` counts their seconds."""

    random: np.random.Generator
    clock = 0.0

    def exact(self, par: int, thresholds: Mapping[str, int]) -> float:
        return super().timing("main", [par], thresholds=thresholds).seconds - OUTSIDE

    def timing(self, entry: str, args: Sequence[Any], *, force: Mapping[str, int] | None = None,
               thresholds: Mapping[str, int] | None = None) -> Timing:
        found = super().timing(entry, args, force=force, thresholds=thresholds)
        seconds = (found.seconds - OUTSIDE) * bimodal(self.random)
        self.clock += seconds
        return Timing(seconds, 0.0)

    def record(self, entry: str, args: Sequence[Any], *, force: Mapping[str, int] | None = None,
               thresholds: Mapping[str, int] | None = None) -> Record:
        found = super().record(entry, args, force=force, thresholds=thresholds)
        factor = bimodal(self.random)
        span = (found.span - OUTSIDE) * factor
        self.clock += span
        return replace(found, span=span, wall=span, busy=found.busy * factor, encounters=tuple(
            e._replace(time=e.time * factor, busy=e.busy * factor) for e in found.encounters))

    def replay(self, entry: str, args: Sequence[Any], race: Race) -> ReplayRecord:
        """Every version ``rounds`` times, each time with its own noise."""
        (where,) = self.forest.trees
        meetings = []
        for par in args:
            meeting = ReplayedEncounter("s", {"n": par}, {g.name: self.pars(par, k) for k, g in
                                                          enumerate(where.guards)}, (), 0,
                                        [0, 1, 2])
            for index in meeting.feasible:
                times = [self.cost("s", index, par) * bimodal(self.random)
                         for _ in range(race.rounds)]
                meeting.attempts[index] = [ExclusiveCost(time=t, busy=t, launches=1) for t in times]
            meetings.append(meeting)
        return ReplayRecord(entry, ExclusiveCost(), tuple(meetings), 0, "simulated", {}, {})


@pytest.mark.parametrize("method", [MeasuringMethod(), MeasuringMethod(replay=Replay())])
@pytest.mark.parametrize("spread", [0.1, 0.03])
def test_what_is_shipped_is_not_slower(spread: float, method: MeasuringMethod,
                                       monkeypatch: pytest.MonkeyPatch) -> None:
    """Versions that differ by little; of 1,000 trials 4 or fewer end more than 1 % slower."""
    for trial in range(TRIALS):
        random = np.random.default_rng(trial)
        times = {(index, par): 2.9e-3 * random.uniform(1 - spread, 1 + spread)
                 for index in range(3) for par in PARS}
        sim = Bimodal.of(CHAIN, lambda where, index, par, times=times: float(times[index, par]))
        sim.random = random
        stop_clock(monkeypatch, lambda sim=sim: sim.clock)  # type: ignore[misc]
        datasets = [Dataset(str(par), "main", lambda par=par: [par])  # type: ignore[misc]
                    for par in PARS]
        tuned = tune_thresholds(job_for(sim, datasets, method=method)).thresholds
        for par in PARS:
            assert sim.exact(par, tuned) <= (1 + TOLERANCE) * sim.exact(par, sim.default)
