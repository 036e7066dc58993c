"""Measuring all versions of an entry point in the way that a method says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from runelift.runtime.tuner.costs.log import LoggedRun, Measurements, RunStore
from runelift.runtime.tuner.measure import forced_runs, replay_runs
from runelift.runtime.tuner.measure.measurable import Measurable
from runelift.runtime.tuner.measure.protocols import Dataset, Job, MeasuringMethod, Progress
from runelift.runtime.tuner.measure.work_sharing import JobLog, share_out
from runelift.runtime.versions.forest import Forest


def measure_by(method: MeasuringMethod, program: Measurable, forest: Forest,
               datasets: Sequence[Dataset], *, repeats: int | None = None,
               log: RunStore | None = None, progress: Callable[[Progress], None] = lambda _: None
               ) -> Measurements:
    """The runs of all plans on every dataset: shared by devices, forced, or replayed."""
    measure = share_out if method.pool is not None else (
        forced_runs.measure if method.replay is None else replay_runs.measure)
    return measure(program, forest, datasets, method, repeats=repeats or method.repeats, log=log,
                   progress=progress)


def do(job: Job, program: Measurable, place: str,
       take: Callable[[Job, LoggedRun], None] = lambda job, run: None,
       progress: Callable[[Job, Progress], None] = lambda job, step: None) -> Measurements:
    """Do a job with a program at a place; ``take`` is given each new run."""
    found = measure_by(job.method, program, job.forest, [job.dataset], repeats=job.repeats,
                       log=JobLog(job, place, take), progress=lambda step: progress(job, step))
    found.runs = [replace(run, place=place) for run in found.runs]
    return found
