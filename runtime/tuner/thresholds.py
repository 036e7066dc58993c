"""Thresholds: measure every version, fit thresholds to the costs, and verify the result.

Runs with forced versions, or replay, give complete information, and the thresholds are solved from
it.  The tuned program then runs beside the default one, in turn and without records, until it is
certain which is faster.  A dataset that turns out slower keeps its default versions in the next
fit.  Where no dataset gains for certain, the default stays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from runelift.runtime.host.background import in_background
from runelift.runtime.tuner.costs.cost_model import costs_of
from runelift.runtime.tuner.costs.log import NO_TIME, Measurements
from runelift.runtime.tuner.costs.objective import Objective
from runelift.runtime.tuner.fit.fit import Fit, fit, objective
from runelift.runtime.tuner.fit.memory_front import memory_front
from runelift.runtime.tuner.job import TuningJob
from runelift.runtime.tuner.measure.measuring import measure_by
from runelift.runtime.tuner.measure.paired_comparison import (
    UNTUNED,
    PairedRun,
    PairedTimes,
    compare_all_paired,
)
from runelift.runtime.tuner.policy import NORMAL, TuningPolicy
from runelift.runtime.tuner.result import EntryTuning, Tuning
from runelift.runtime.tuner.searched_gains import searched_before, with_searched
from runelift.runtime.versions.forest import Forest

Stage: TypeAlias = Callable[[TuningJob, EntryTuning], EntryTuning]
"""A step of tuning an entry point, which the job is restricted to."""


def tune_thresholds(job: TuningJob) -> Tuning:
    """Tune the thresholds of all entry points that have datasets.

    Entry points share the time of the job.  After Ctrl-C the thresholds are fitted to what has
    been measured.
    """
    tuned = [forest for forest in job.forests.entries
             if forest.trees and job.datasets_of(forest.entry)]
    entries = list[EntryTuning]()
    for number, forest in enumerate(tuned):
        entries.append(tune_entry(job.on(forest).until(1 / (len(tuned) - number))))
        if entries[-1].interrupted:
            break
    return Tuning(tuple(entries))


def tune_entry(job: TuningJob) -> EntryTuning:
    """Tune the thresholds of the only entry point of a job: all stages, unless Ctrl-C ends one."""
    found = measure(job)
    if found.interrupted:
        return take_searched(job, found)
    for stage in STAGES:
        if found.interrupted:
            break
        found = stage(job, found)
    return found


def conclude_recorded(job: TuningJob) -> Tuning:
    """Fit the thresholds to the recorded runs of a job."""
    recorded = job.recorded or {}
    return Tuning(tuple(conclude(forest, job.defaults(forest), recorded[forest.entry], job.aim,
                                 job.policy)
                        for forest in job.forests.entries if forest.entry in recorded))


# Measuring and fitting


def measure(job: TuningJob) -> EntryTuning:
    """Measure every version on every dataset, and fit the thresholds."""
    method = job.method
    if not math.isinf(job.end):
        part = job.policy.repetition.measuring_part if job.verify else 1
        method = method.within(job.seconds_left * part)
    return _concluded(job, measure_by(
        method, job.program, job.forest, job.datasets, repeats=job.measured_repeats, log=job.log,
        progress=job.progress))


def measure_estimates(job: TuningJob, tuning: EntryTuning) -> EntryTuning:
    """Measure the datasets whose chosen versions have only been estimated, and fit again."""
    guessed = {d.name for d in tuning.costs.datasets
               if any(point.guesses(tuning.fit.thresholds) for point in d.points)}
    if not guessed:
        return tuning
    further = measure_by(
        job.method.surely(tuning.measurements),
        job.program, job.forest, [d for d in job.datasets if d.name in guessed],
        repeats=job.measured_repeats, log=job.log, progress=job.progress)
    return _concluded(job, tuning.measurements.with_further(further))


def _concluded(job: TuningJob, measurements: Measurements) -> EntryTuning:
    return conclude(job.forest, job.defaults(job.forest), measurements, job.aim, job.policy)


def conclude(forest: Forest, defaults: dict[str, int], measurements: Measurements,
             aim: Objective = Objective.RELATIVE, policy: TuningPolicy = NORMAL) -> EntryTuning:
    """Fit thresholds to measurements, of this moment or from a log.

    A dataset without time for the default versions is left out: nothing can be said to be faster.
    """
    costs = costs_of(forest, measurements, policy)
    without_time = {run.dataset for run in measurements.runs if run.error == NO_TIME}
    if unknown := [d.name for d in costs.datasets
                   if d.name in without_time and not math.isfinite(d.total(defaults))]:
        costs = costs.without(unknown)
        measurements = replace(measurements, left_out=[*measurements.left_out, *unknown])
    return EntryTuning(forest, defaults, measurements, costs, fit(costs, defaults, aim=aim),
                       interrupted=measurements.interrupted, aim=aim)


def take_searched(job: TuningJob, tuning: EntryTuning) -> EntryTuning:
    """Choose what a search over schedules has proved where there was no time to measure it."""
    return with_searched(job.gains or (), [each.name for each in job.datasets], tuning)


# Verifying


def drop_small_gains(job: TuningJob, tuning: EntryTuning) -> EntryTuning:
    """Keep the default thresholds if the found thresholds would gain next to nothing."""
    found, costs = tuning.fit, tuning.costs
    worthwhile = costs.policy.comparison.worthwhile
    if not job.verify or found.kept_default or objective(
            costs, found.thresholds, tuning.aim) <= (1 - worthwhile) * objective(
            costs, tuning.defaults, tuning.aim):
        return tuning
    return _by_default(tuning, found, set(),
                       f"other thresholds would gain less than {100 * worthwhile:.0f} %")


def verify(job: TuningJob, tuning: EntryTuning) -> EntryTuning:
    """Run tuned and default side by side; slower datasets keep their versions in the next fit."""
    if not job.verify:
        return tuning
    with _meanwhile(job.meanwhile, tuning):
        return _verified(job, tuning)


@contextmanager
def _meanwhile(work: Callable[[EntryTuning], object] | None, tuning: EntryTuning) -> Iterator[None]:
    """Have a thread do ``work`` while this one mostly waits for runs, if there will be any."""
    if work is None or tuning.fit.kept_default:
        yield
        return
    with in_background(partial(work, tuning)) as done:
        yield
        done()


def _verified(job: TuningJob, tuning: EntryTuning) -> EntryTuning:
    found, times, kept, proved = tuning.fit, dict[str, PairedTimes](), set[str](), set[str]()
    compared: dict[tuple[str, tuple[int, ...]], PairedRun] = {}
    try:
        while not found.kept_default:
            times = _compare_all(job, tuning, found, compared)
            before = searched_before(job.gains or (), tuning, found.thresholds)
            proved = {name for name, notable in before.items() if notable}
            slower = {name for name, both in times.items()
                      if both.slower and not (name in proved and both.doubtful)}
            if not slower:
                break
            if slower <= kept:
                return _by_default(tuning, found, kept,
                                   f"{_listed(slower)} got slower, against the prediction")
            kept |= slower
            found = replace(fit(tuning.costs.frozen(kept, tuning.defaults), tuning.defaults,
                                aim=tuning.aim), least=tuning.fit.least)
    except KeyboardInterrupt:
        return replace(tuning, fit=found, verified=times, interrupted=True)
    if found.kept_default and kept:
        return _by_default(tuning, found, kept,
                           f"{_listed(kept)} got slower with the fitted thresholds")
    if not (found.kept_default or _hopeless(tuning) or proved
            or any(both.faster for both in times.values())):
        return _by_default(tuning, found, kept | set(times), "no certain gain")
    return replace(tuning, fit=found, verified=times, first=tuning.fit if kept else None,
                   unmoved=frozenset(kept))


def _by_default(tuning: EntryTuning, found: Fit, kept: set[str], why: str) -> EntryTuning:
    default = replace(found, thresholds=dict(tuning.defaults), predicted=found.default,
                      kept_default=why)
    return replace(tuning, fit=default, first=tuning.fit if kept else None,
                   unmoved=frozenset(kept))


def kept_default(tuning: EntryTuning, why: str) -> EntryTuning:
    """The default thresholds in place of the found thresholds, for the reason ``why``."""
    if tuning.fit.kept_default:
        return tuning
    return replace(_by_default(tuning, tuning.fit, set(), why), verified={})


def _hopeless(tuning: EntryTuning) -> set[str]:
    """The datasets on which the default thresholds lead to versions that must not or cannot run."""
    return {d.name for d in tuning.costs.datasets
            if not math.isfinite(d.total(tuning.defaults))}


def _listed(names: Collection[str]) -> str:
    return ", ".join(sorted(names))


def _compare_all(job: TuningJob, tuning: EntryTuning, found: Fit,
                 compared: dict[tuple[str, tuple[int, ...]], PairedRun]) -> dict[str, PairedTimes]:
    """Comparisons by dataset; where both thresholds lead to the same versions, none is needed.

    Versions that have been ``compared`` on a dataset are not compared again.
    """
    paths = tuning.costs.paths(found.thresholds)
    same = {d.name for d in tuning.costs.datasets if d.name in paths
            and d.launched(tuning.defaults) == paths[d.name]}
    seconds = tuning.costs.totals(tuning.defaults)
    pairs, policy = dict[str, PairedRun](), tuning.costs.policy.comparison
    for dataset in job.datasets:
        if dataset.name in same | _hopeless(tuning) or (
                dataset.name not in seconds and not job.seconds_left):
            continue
        key = dataset.name, paths.get(dataset.name, ())
        if not key[1] or key not in compared:
            compared[key] = PairedRun(
                job.program, dataset, UNTUNED, found.thresholds,
                max(job.measured_repeats, policy.pairs), job.end, seconds.get(dataset.name, 0.0),
                policy=policy)
        pairs[dataset.name] = compared[key]
    return compare_all_paired(pairs, anyway=lambda: bool(_hopeless(tuning)))


# Memory


def weigh_memory(job: TuningJob, tuning: EntryTuning) -> EntryTuning:
    """Find the front of time and memory, and take the choice of least memory if that is asked."""
    if job.memory is None or not job.aim.weighs_memory or not tuning.costs.datasets:
        return tuning
    front = memory_front(tuning.known, tuning.defaults, tuning.fit.thresholds, job.aim, job.memory)
    tuning, found = replace(tuning, front=front), tuning.fit
    if job.aim is Objective.PARETO:
        return tuning
    chosen = front.least_within(tuning.costs.policy.fit.memory_slack)
    if chosen.thresholds == found.thresholds:
        return tuning
    return replace(tuning, verified={}, front=replace(front, taken=chosen), fit=replace(
        found, thresholds=dict(chosen.thresholds), intervals={}, predicted=chosen.times,
        kept_default=None if chosen.thresholds != tuning.defaults else "they need least memory",
        exact=False))


STAGES: tuple[Stage, ...] = (
    measure_estimates,
    drop_small_gains,
    take_searched,
    verify,
    weigh_memory,
)
"""The steps of tuning an entry point after it has been measured."""
