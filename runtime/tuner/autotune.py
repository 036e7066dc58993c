"""Tuning from start to end: measure, fit, verify.

ForcedRuns runs, or replay, give complete information; the thresholds are solved from it; the tuned
program is then run beside the default one, in turn and without records, until it is certain which
one is faster.  A dataset that turns out slower after all keeps the versions that it has by default
in the next fit; where no dataset gains for certain, the default stays.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from runelift.ir.errors import UserError
from runelift.runtime.host.background import in_background
from runelift.runtime.tuner.costs.cost_model import costs_of
from runelift.runtime.tuner.costs.log import NO_TIME, Log, Measurements
from runelift.runtime.tuner.costs.objective import Objective
from runelift.runtime.tuner.fit.fit import Fit, fit, objective
from runelift.runtime.tuner.measure.forced_runs import ForcedRuns
from runelift.runtime.tuner.measure.measurable import Measurable
from runelift.runtime.tuner.measure.paired_comparison import (
    UNTUNED,
    PairedRun,
    PairedTimes,
    compare_all_paired,
)
from runelift.runtime.tuner.measure.protocols import Dataset, MeasuringMethod, Progress
from runelift.runtime.tuner.policy import NORMAL, TuningPolicy
from runelift.runtime.tuner.result import EntryTuning, Tuning, default_thresholds
from runelift.runtime.tuner.workers.remote import Remote
from runelift.runtime.tuner.workers.runners import running
from runelift.runtime.versions.forest import Forest, Forests

if TYPE_CHECKING:
    from runelift.runtime.program import Program


def autotune(program: Measurable, forests: Forests, datasets: Sequence[Dataset], device: int, *,
             method: MeasuringMethod | None = None, repeats: int | None = None, verify: bool = True,
             log: Log | None = None, progress: Callable[[Progress], None] = lambda _: None,
             aim: Objective = Objective.RELATIVE, end: float = math.inf,
             meanwhile: Callable[[EntryTuning], object] | None = None) -> Tuning:
    """Tune all entry points that have datasets.

    ``device`` is the threshold that the device has by default, ``method`` how costs are measured:
    by forced runs if it is not given.  It says how many ``repeats`` are needed, if nobody else
    does.  ``aim`` is what is made small.  After Ctrl-C the thresholds are fitted to what has been
    measured.  Entry points share the time until ``end`` (by :func:`time.perf_counter`).  A thread
    does ``meanwhile`` what can be done with a fit before it has been run beside the default.
    """
    method = method or ForcedRuns()
    repeats = repeats or method.repeats
    entries: list[EntryTuning] = []
    forests_with = {forest.entry: forest for forest in forests.entries if forest.trees}
    tuned = [name for name in forests_with if any(d.entry == name for d in datasets)]
    for number, name in enumerate(tuned):
        forest, own = forests_with[name], [d for d in datasets if d.entry == name]
        now = time.perf_counter()
        left = max(0.0, end - now) / (len(tuned) - number)
        part = method.policy.repetition.measuring_part if verify else 1
        parts = method if math.isinf(end) else method.within(left * part)
        defaults = default_thresholds(forest, device)
        entries.append(_concluded(program, forest, own, defaults, parts, repeats, log, progress,
                                  aim))
        if entries[-1].interrupted:
            break
        if verify:
            entries[-1] = _worthwhile(entries[-1])
            with _meanwhile(meanwhile, entries[-1]):
                entries[-1] = _verified(program, entries[-1], own, repeats, now + left)
    return Tuning(tuple(entries))


@contextmanager
def _meanwhile(work: Callable[[EntryTuning], object] | None, tuning: EntryTuning) -> Iterator[None]:
    """Have a thread do ``work`` while this one mostly waits for runs, if there will be any."""
    if work is None or tuning.fit.kept_default:
        yield
        return
    with in_background(partial(work, tuning)) as done:
        yield
        done()


def _concluded(program: Measurable, forest: Forest, datasets: Sequence[Dataset],
               defaults: dict[str, int], method: MeasuringMethod, repeats: int, log: Log | None,
               progress: Callable[[Progress], None], aim: Objective) -> EntryTuning:
    """Measure and fit; if what is chosen has only been estimated on a dataset, measure that."""
    measurements = method.measure(program, forest, datasets, repeats=repeats, log=log,
                                  progress=progress)
    tuning = conclude(forest, defaults, measurements, aim, method.policy)
    guessed = {d.name for d in tuning.costs.datasets
               if any(point.guesses(tuning.fit.thresholds) for point in d.points)}
    if measurements.interrupted or not guessed:
        return tuning
    further = method.surely(measurements).measure(
        program, forest, [d for d in datasets if d.name in guessed], repeats=repeats, log=log,
        progress=progress)
    return conclude(forest, defaults, measurements.with_further(further), aim, method.policy)


def conclude(forest: Forest, defaults: dict[str, int], measurements: Measurements,
             aim: Objective = Objective.RELATIVE, policy: TuningPolicy = NORMAL) -> EntryTuning:
    """Fit thresholds to measurements, of this moment or from a log.

    Where there was no time for what runs by default, nobody can say what would be faster: such a
    dataset is left out.
    """
    costs = costs_of(forest, measurements, policy)
    hasty = {run.dataset for run in measurements.runs if run.error == NO_TIME}
    if unknown := [d.name for d in costs.datasets
                   if d.name in hasty and not math.isfinite(d.total(defaults))]:
        costs = costs.without(unknown)
        measurements = replace(measurements, left_out=[*measurements.left_out, *unknown])
    return EntryTuning(forest, defaults, measurements, costs, fit(costs, defaults, aim=aim),
                       interrupted=measurements.interrupted, aim=aim)


def _worthwhile(tuning: EntryTuning) -> EntryTuning:
    """The same, by default if other thresholds would gain next to nothing."""
    found, costs = tuning.fit, tuning.costs
    worthwhile = costs.policy.comparison.worthwhile
    if found.kept_default or objective(costs, found.thresholds, tuning.aim) <= (
            1 - worthwhile) * objective(costs, tuning.defaults, tuning.aim):
        return tuning
    return _by_default(tuning, found, set(),
                       f"others would gain less than {100 * worthwhile:.0f} %")


def _verified(program: Measurable, tuning: EntryTuning, datasets: Sequence[Dataset],
              repeats: int, end: float = math.inf) -> EntryTuning:
    """Run tuned and default side by side; what got slower keeps its versions in the next fit."""
    found, times, kept = tuning.fit, dict[str, PairedTimes](), set[str]()
    seen: dict[tuple[str, tuple[int, ...]], PairedRun] = {}
    try:
        while not found.kept_default:
            times = _compare_all(program, tuning, found, datasets, repeats, end, seen)
            slower = {name for name, both in times.items() if both.slower}
            if not slower:
                break
            if slower <= kept:
                return _by_default(tuning, found, kept,
                                   f"runs of {_listed(slower)} contradict the records")
            kept |= slower
            found = replace(fit(tuning.costs.frozen(kept, tuning.defaults), tuning.defaults,
                                aim=tuning.aim), least=tuning.fit.least)
    except KeyboardInterrupt:
        return replace(tuning, fit=found, verified=times, interrupted=True)
    if found.kept_default and kept:
        return _by_default(tuning, found, kept,
                           f"the fitted thresholds made {_listed(kept)} slower when run")
    if not (found.kept_default or _hopeless(tuning)
            or any(both.faster for both in times.values())):
        return _by_default(tuning, found, kept | set(times),
                           "no dataset is faster for certain with the fitted ones")
    return replace(tuning, fit=found, verified=times, first=tuning.fit if kept else None,
                   unmoved=frozenset(kept))


def _by_default(tuning: EntryTuning, found: Fit, kept: set[str], why: str) -> EntryTuning:
    default = replace(found, thresholds=dict(tuning.defaults), predicted=found.default,
                      kept_default=why)
    return replace(tuning, fit=default, first=tuning.fit if kept else None,
                   unmoved=frozenset(kept))


def _hopeless(tuning: EntryTuning) -> set[str]:
    """The datasets on which the default thresholds lead to versions that must not or cannot run."""
    return {d.name for d in tuning.costs.datasets
            if not math.isfinite(d.total(tuning.defaults))}


def _listed(names: Collection[str]) -> str:
    return ", ".join(sorted(names))


def _compare_all(program: Measurable, tuning: EntryTuning, found: Fit, datasets: Sequence[Dataset],
                 repeats: int, end: float,
                 seen: dict[tuple[str, tuple[int, ...]], PairedRun]) -> dict[str, PairedTimes]:
    """Comparisons by dataset; where both thresholds lead to the same versions, none is needed.

    Nor is a second one of the same versions: ``seen`` are those that have been made.
    """
    paths = {d.name: d.launched(found.thresholds) for d in tuning.costs.datasets
             if not tuning.costs.incomplete[d.name]}
    same = {d.name for d in tuning.costs.datasets if d.name in paths
            and d.launched(tuning.defaults) == paths[d.name]}
    seconds = {d.name: d.total(tuning.defaults) for d in tuning.costs.datasets}
    pairs, policy = dict[str, PairedRun](), tuning.costs.policy.comparison
    for dataset in datasets:
        if dataset.name in same | _hopeless(tuning):
            continue
        key = dataset.name, paths.get(dataset.name, ())
        if not key[1] or key not in seen:
            seen[key] = PairedRun(program, dataset, UNTUNED, found.thresholds,
                                  max(repeats, policy.pairs), end,
                                  seconds.get(dataset.name, 0.0), policy=policy)
        pairs[dataset.name] = seen[key]
    return compare_all_paired(pairs, anyway=lambda: bool(_hopeless(tuning)))


def tune(program: Program, datasets: Mapping[str, tuple[str, Sequence[Any]]], *,
         method: MeasuringMethod | None = None, repeats: int | None = None, verify: bool = True,
         log: Log | None = None, progress: Callable[[Progress], None] = lambda _: None,
         time_limit: str | None = None) -> Tuning:
    """Tune a compiled program for datasets: name to entry point and arguments.

    It runs in a process of its own; ``time_limit`` is as for the command line, so that ``none``
    means that it runs in this one.
    """
    info = program.device_info
    if info is None:
        raise UserError("Tuning needs an OpenCL device, and there is none here; 'runelift "
                        "doctor' says why.")
    inputs = [Dataset(name, entry, lambda args=args: args)  # type: ignore[misc]
              for name, (entry, args) in datasets.items()]
    with running(program, time_limit) as runner:
        found = autotune(runner, program.tree, inputs, info.choice.threshold, method=method,
                         repeats=repeats, verify=verify, log=log, progress=progress)
        if isinstance(runner, Remote) and not found.interrupted:
            runner.save_manifest()
        return found
