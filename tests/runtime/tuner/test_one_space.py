"""Thresholds, parameters and size guards are fitted to one another."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from runelift.runtime.tuner.autotune import tune_size_guards
from runelift.runtime.tuner.fit.size_guards import SizeGuardKind
from runelift.runtime.tuner.job import TuningJob
from runelift.runtime.tuner.kernel_parameters.tune import ParameterTuning
from runelift.runtime.tuner.measure.protocols import Dataset
from runelift.runtime.tuner.result import EntryTuning, Tuning
from runelift.runtime.tuner.state import State
from runelift.runtime.tuner.thresholds import tune_thresholds
from tests.runtime.tuner.simulated import Simulated, job_for, site

CHAIN = [site("s", ("t0", []), (None, []))]
PARS = {"small": 4, "middle": 40, "large": 400}


def tuned(times: Mapping[int, Mapping[int, float]]) -> tuple[TuningJob, EntryTuning]:
    """The thresholds for a program whose versions take these times, by parallelism."""
    sim = Simulated.of(CHAIN, lambda where, index, par: times[index][par])
    datasets = [Dataset(name, "main", lambda par=par: [par])  # type: ignore[misc]
                for name, par in PARS.items()]
    job = job_for(sim, datasets, verify=False, size_guards=SizeGuardKind.MEMO)
    (entry,) = tune_thresholds(job).entries
    return job, entry


def test_size_guards_are_fitted_to_the_times_with_the_parameters_that_were_chosen() -> None:
    """A threshold is right by default, and none is right with the parameters."""
    job, before = tuned({0: {4: 9.0, 40: 5.0, 400: 1.0}, 1: {4: 1.0, 40: 9.0, 400: 9.0}})
    _, after = tuned({0: {4: 1.0, 40: 9.0, 400: 1.0}, 1: {4: 9.0, 40: 1.0, 400: 9.0}})
    alone = tune_size_guards(job, State(Tuning((before,))))
    assert not alone.guards[0].finer
    settings = {"main.r_0.group": 64}
    kept = ParameterTuning("main", chosen=settings)
    assert not tune_size_guards(job, State(Tuning((before,)), (kept,))).guards[0].finer
    jointly = ParameterTuning("main", chosen={**after.fit.thresholds, **settings}, refitted=after)
    found = tune_size_guards(job, State(Tuning((before,)), (jointly,)))
    assert found.guards[0].finer.keys() == {"s"}
    assert found.guards[0].after == pytest.approx(after.fit.least)
    assert found.guards[0].before == pytest.approx(after.fit.predicted)
    assert sum(after.fit.least.values()) < sum(after.fit.predicted.values())
