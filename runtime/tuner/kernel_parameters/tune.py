"""Tuning the parameters of kernels: each operation by itself, where it stands.

It follows the tuning of thresholds.  Operations are tried with other settings if they take a good
part of the time of a version that can win.  They are tried on their inputs in a run
(*micro-replay*).  Times of operations add up, so the best settings of each are best together.  The
thresholds are then fitted again with the new times, and the result is compared with the program
before.

Lengths of segments between checkpoints are tried first, in whole runs, as they change the work of
other operations.
"""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from runelift.codegen.plan.parameters import Quantity
from runelift.ir.base.errors import RuneliftError
from runelift.runtime.tuner.costs.log import LoggedRun
from runelift.runtime.tuner.fit.memory_front import EstimateMemory
from runelift.runtime.tuner.job import ParameterSearch, TuningJob
from runelift.runtime.tuner.kernel_parameters.search import SettingSearch, Trial
from runelift.runtime.tuner.measure.measurable import Measurable
from runelift.runtime.tuner.measure.paired_comparison import PairedRun, PairedTimes
from runelift.runtime.tuner.measure.protocols import Dataset, MeasuringMethod
from runelift.runtime.tuner.policy import ParameterPolicy
from runelift.runtime.tuner.result import EntryTuning
from runelift.runtime.tuner.search.trace import Best
from runelift.runtime.tuner.thresholds import tune_thresholds
from runelift.runtime.tuner.trials.protocol import OperationId, OperationTime
from runelift.runtime.versions.forest import plans

TRIAL_RUNS = 2
"""Times as long as a run that trials of one of its operations take at least."""
CONFIRMING_RUNS = 8
"""Runs of a dataset that confirm settings: two whose results are compared, and three pairs."""


@dataclass(frozen=True, slots=True)
class OperationResult:
    """The result of the trials of an operation, and the trials.

    ``impossible`` counts the settings that could not be built or launched, by reason.  ``history``
    has the tries, the seconds and the best time relative to the default, whenever it got better.
    """

    operation: str
    settings: int
    tries: int
    chosen: dict[str, int]
    ratio: float
    weight: float
    impossible: dict[str, int]
    trials: tuple[Trial, ...] = ()
    history: tuple[Best, ...] = ()

    @property
    def gain(self) -> float:
        """By how much the objective should get better."""
        return self.weight * (1 - self.ratio)


@dataclass(frozen=True, slots=True)
class ParameterTuning:
    """The result of tuning the parameters of an entry point; ``why`` tells why nothing is changed.

    ``chosen`` are thresholds and parameters together, ``verified`` compares them with what there
    was before.  ``refitted`` has the costs with these parameters and the thresholds for them, if
    both were chosen.
    """

    entry: str
    settled: tuple[OperationResult, ...] = ()
    chosen: dict[str, int] = field(default_factory=dict)
    verified: dict[str, PairedTimes] = field(default_factory=dict)
    why: str = ""
    seconds: float = 0.0
    refitted: EntryTuning | None = None


@dataclass(frozen=True, slots=True)
class _SampledOperation:
    """Meetings of an operation in a run, of which a few stand for all; weights by operation.

    The run takes so many ``seconds``.
    """

    dataset: Dataset
    force: dict[str, int]
    weights: dict[OperationId, float]
    seconds: float


def tune_parameters(job: TuningJob, thresholds: Mapping[str, int], *,
                    seconds: float | None = None, known: Sequence[LoggedRun] = ()
                    ) -> ParameterTuning:
    """Tune the parameters of a job's only entry point, which runs with ``thresholds`` so far.

    Trials take so many ``seconds`` at most, as the policy says if none are given.  Runs that are
    ``known`` are not made again.
    """
    started = time.perf_counter()
    search, policy = job.parameters or ParameterSearch(), job.policy.parameters
    scope = _SearchScope(job, thresholds, known,
                         started + (policy.seconds if seconds is None else seconds))
    made = [*_try_lengths(scope, search), *_try_settings(scope, search)]
    settled = tuple(map(_settled, made))
    chosen = {name: value for each in settled for name, value in each.chosen.items()}
    if not chosen:
        return ParameterTuning(job.forest.entry, settled, why="no setting is clearly better",
                               seconds=time.perf_counter() - started)
    search.progress("other thresholds with these settings")
    refitted, tunings = dict(thresholds), tuple[EntryTuning, ...]()
    if job.forest.trees:
        again = tune_thresholds(replace(
            job, memory=_with_settings(job.memory, chosen), method=MeasuringMethod(
                policy=job.policy, thresholds={**scope.program.thresholds, **chosen}),
            repeats=job.compared_repeats, verify=False, log=None,
            progress=lambda _: None))
        refitted, tunings = refitted | again.thresholds, again.entries
    search.progress("the result beside the settings before")
    gainful = sorted((each for each in settled if each.chosen), key=lambda each: -each.gain)
    best = gainful[:policy.single] if len(gainful) > 1 else []
    jointly = {**refitted, **chosen}
    chosen, verified, why = _confirmed(scope, [
        jointly, *({**thresholds, **some} for some in (
            chosen, *(each.chosen for each in best)))])
    return ParameterTuning(job.forest.entry, settled, chosen, verified, why,
                           time.perf_counter() - started,
                           tunings[0] if tunings and chosen == jointly else None)


def _with_settings(memory: EstimateMemory | None, chosen: Mapping[str, int]
                   ) -> EstimateMemory | None:
    """The memory of runs with the chosen settings, which may divide reductions otherwise."""
    if memory is None:
        return None
    return lambda name, thresholds: memory(name, {**chosen, **thresholds})


# Which operations


@dataclass(frozen=True, slots=True)
class _SearchScope:
    """An entry point whose operations are looked at, with its thresholds and ``known`` runs.

    Trials are over by the ``end``.
    """

    job: TuningJob
    thresholds: Mapping[str, int]
    known: Sequence[LoggedRun]
    end: float = math.inf

    @property
    def program(self) -> Measurable:
        return self.job.program

    @property
    def policy(self) -> ParameterPolicy:
        return self.job.policy.parameters

    def has_time(self, seconds: float) -> bool:
        return time.perf_counter() + seconds <= self.end


def _occasions(scope: _SearchScope, dataset: Dataset) -> list[_SampledOperation]:
    """Runs of a dataset with the operations that matter there: the run that is chosen first."""
    program = scope.program
    if not scope.has_time(0.0):
        return []
    try:
        args = program.place(dataset.arguments())
        runs = _rivals(scope, dataset, args)
        best = min(runs.values(), default=0.0)
        found, seen = list[_SampledOperation](), set[str]()
        for force, seconds in sorted(runs.items(), key=lambda run: run[1]):
            if not scope.has_time(TRIAL_RUNS * seconds):
                break
            met = program.try_settings(dataset.entry, args, force=dict(force),
                                       thresholds=scope.thresholds)
            weights = _representatives([m for m in met if m[0][0] not in seen],
                                       sum(time for _, time in met), best / seconds, scope.policy)
            seen |= {name for name, _ in weights}
            if weights:
                found.append(_SampledOperation(dataset, dict(force), weights, seconds))
    except RuneliftError:
        return []
    return found


def _rivals(scope: _SearchScope, dataset: Dataset, args: Sequence[Any]
            ) -> dict[tuple[tuple[str, int], ...], float]:
    """The versions that can win on a dataset, with the time of a run."""
    times: dict[tuple[tuple[str, int], ...], float] = {}
    for force in [{}, *(each for each in plans(scope.job.forest) if each)]:
        if times and not scope.has_time(min(times.values())):
            break
        measured = [run.time or math.inf for run in scope.known
                    if run.dataset == dataset.name and run.force == force]
        try:
            times[tuple(force.items())] = min(measured) if measured else _quickest(partial(
                scope.program.time, dataset.entry, args, force=force,
                thresholds=scope.thresholds), scope.policy)
        except RuneliftError:
            continue
    best = min(times.values(), default=0.0)
    return {force: seconds for force, seconds in times.items()
            if seconds <= scope.policy.rival_factor * best}


def _quickest(run: Callable[[], float], policy: ParameterPolicy) -> float:
    seconds = [run()]
    while len(seconds) < policy.version_runs and seconds[0] < policy.once_seconds:
        seconds.append(run())
    return min(seconds)


def _representatives(met: Sequence[OperationTime], whole: float,
                     weight: float, policy: ParameterPolicy) -> dict[OperationId, float]:
    """A few meetings of each operation that takes a good part of the time, with their weights.

    The meetings are chosen at equal parts of the operation's whole time.
    """
    by_name = defaultdict[str, list[OperationTime]](list)
    for operation, seconds in met:
        by_name[operation[0]].append((operation, seconds))
    found: dict[OperationId, float] = {}
    for meetings in by_name.values():
        total = sum(seconds for _, seconds in meetings)
        if not whole or total < policy.share * whole:
            continue
        parts = min(policy.occasions, len(meetings))
        sofar, marks = 0.0, [total * (2 * k + 1) / (2 * parts) for k in range(parts)]
        for operation, seconds in meetings:
            sofar += seconds
            while marks and sofar >= marks[0]:
                del marks[0]
                found[operation] = found.get(operation, 0.0) + (
                    weight * total / whole / parts)
    return found


# Trials


def _try_lengths(scope: _SearchScope, search: ParameterSearch) -> list[SettingSearch]:
    """The searches for lengths of segments that runs meet, in half of the time at most."""
    searches = {space.operation.name: SettingSearch(
        space, search.seed, scope.policy, strategy=search.strategy)
        for space in scope.program.spaces(scope.job.forest.entry)
        if any(each.parameter.quantity is Quantity.SEGMENT for each in space.ranges)}
    if not searches:
        return []
    met = [(dataset, name) for dataset in scope.job.datasets
           for name in _met(scope, dataset) if name in searches]
    end = (time.perf_counter() + scope.end) / 2
    for number, (dataset, name) in enumerate(met):
        search.progress(f"{name} on {dataset.name}")
        seconds = max(0.0, end - time.perf_counter()) / (len(met) - number)
        _tried_in_runs(scope, dataset, searches[name], seconds)
    return [each for each in searches.values() if each.samples]


def _met(scope: _SearchScope, dataset: Dataset) -> list[str]:
    """The operations of a run with the present thresholds, by name."""
    try:
        met = scope.program.try_settings(dataset.entry, scope.program.place(dataset.arguments()),
                                         thresholds=scope.thresholds)
    except RuneliftError:
        return []
    return [*dict.fromkeys(name for (name, _), _ in met)]


def _tried_in_runs(scope: _SearchScope, dataset: Dataset, found: SettingSearch, seconds: float
                   ) -> None:
    """Answer a search for so many seconds by the times of whole runs of a dataset."""
    program = scope.program
    args = program.place(dataset.arguments())
    trials = found.search(dataset.name, 1.0, seconds)
    answer: float | str | None = None
    with suppress(StopIteration):
        while True:
            request = trials.send(answer)
            try:
                answer = program.time(dataset.entry, args, thresholds={
                    **scope.thresholds, **found.space.named(request)}) if isinstance(
                        request, tuple) else None
            except RuneliftError as error:
                answer = str(error)


def _try_settings(scope: _SearchScope, search: ParameterSearch) -> list[SettingSearch]:
    """The searches made before the end; operations that take more time are tried longer."""
    program = scope.program
    occasions = [o for d in scope.job.datasets for o in _occasions(scope, d)]
    searches = {space.operation.name: SettingSearch(
        space, search.seed, scope.policy, program.builders, search.strategy)
        for space in program.spaces(scope.job.forest.entry)}
    left = sum(weight for o in occasions for weight in o.weights.values())
    made: dict[str, SettingSearch] = {}
    for occasion in sorted(occasions, key=lambda o: -sum(o.weights.values())):
        args = program.place(occasion.dataset.arguments())
        for operation, weight in sorted(occasion.weights.items(), key=lambda each: -each[1]):
            if not scope.has_time(TRIAL_RUNS * occasion.seconds):
                left -= weight
                continue
            name = operation[0]
            halving = made.setdefault(name, searches[name])
            seconds = max(0.0, scope.end - time.perf_counter()) * weight / left
            left -= weight
            search.progress(f"{name} on {occasion.dataset.name}")
            try:
                program.try_settings(
                    occasion.dataset.entry, args, force=occasion.force,
                    thresholds=scope.thresholds, searches={operation: partial(
                        halving.search, occasion.dataset.name, weight, seconds)})
            except RuneliftError:
                continue
    return [*made.values()]


def _settled(contest: SettingSearch) -> OperationResult:
    best, space = contest.best(), contest.space
    return OperationResult(contest.name, space.count, contest.tries,
                           space.named(best),
                           contest.score(best) if best != space.default else 1.0,
                           sum(sample.weight for sample in contest.samples),
                           dict(Counter(contest.impossible.values())), tuple(contest.trials()),
                           tuple(contest.history))


# What came of it


def _confirmed(scope: _SearchScope, candidates: Sequence[dict[str, int]]
               ) -> tuple[dict[str, int], dict[str, PairedTimes], str]:
    """The first candidate that is faster on some dataset for certain, and slower on none."""
    why, job, policy = "", scope.job, scope.job.policy.comparison
    for candidate in candidates:
        if not all(_has_time_to_confirm(scope, dataset) for dataset in job.datasets):
            return {}, {}, why or "there was no time to run them beside the settings before"
        if any(_differs(scope, dataset, candidate) for dataset in job.datasets):
            return {}, {}, "the settings gave another result"
        verified = {d.name: found for d in job.datasets if (found := PairedRun(
            job.program, d, scope.thresholds, candidate,
            max(job.compared_repeats, policy.pairs), job.end, policy=policy).surely()) is not None}
        slower = sorted(name for name, both in verified.items() if both.slower)
        if not slower and any(both.faster for both in verified.values()):
            return candidate, verified, ""
        why = (f"a direct comparison found {', '.join(slower)} slower" if slower else
               "a direct comparison showed no certain gain")
    return {}, {}, why


def _has_time_to_confirm(scope: _SearchScope, dataset: Dataset) -> bool:
    """True if there is time for runs of a dataset, by the time of one run with the thresholds."""
    if math.isinf(scope.job.end):
        return True
    try:
        args = scope.program.place(dataset.arguments())
        seconds = scope.program.time(dataset.entry, args, thresholds=scope.thresholds)
    except RuneliftError:
        return False
    return scope.job.seconds_left > CONFIRMING_RUNS * seconds


def _differs(scope: _SearchScope, dataset: Dataset, after: Mapping[str, int]) -> bool:
    args = scope.program.place(dataset.arguments())
    try:
        return scope.program.difference(dataset.entry, args, scope.thresholds, after) is not None
    except RuneliftError:
        return True
