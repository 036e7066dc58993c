"""The convergence of a tuning: the best time of each dataset after so many runs and seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runelift.runtime.tuner.costs.log import Measurements
from runelift.runtime.tuner.search.trace import Best, note


def convergence(measurements: Measurements) -> Mapping[str, Sequence[Best]]:
    """The least seconds of each dataset, in the order of the runs; the last is after its last run.

    Each run of a single version counts.  All versions of a replay count as one run.  Time to build
    kernels is not known.
    """
    found: dict[str, list[Best]] = {}
    last: dict[str, Best] = {}
    replays = set[tuple[str, int]]()
    runs, spent = 0, 0.0
    for run in measurements.runs:
        seconds = run.seconds
        if run.replay is None or (run.dataset, run.replay) not in replays:
            runs += run.executions
            spent += (seconds or 0.0) * run.executions
        if run.replay is not None:
            replays.add((run.dataset, run.replay))
        if seconds is None or run.replay is not None or run.reference:
            continue
        steps = found.setdefault(run.dataset, [])
        note(steps, Best(runs, spent, seconds))
        last[run.dataset] = Best(runs, spent, steps[-1].score)
    return {name: [*steps, last[name]] for name, steps in found.items()}
