"""Forced runs: measuring every version of a program on every dataset.

Each run forces one version at every site (see
:func:`runelift.runtime.versions.forest.plans`).  So a dataset needs as many runs as the largest
tree has leaf versions.  Runs are repeated in turn (A B C A B C), so that a drift of the clock
frequency affects all versions alike.  Short runs are repeated more often.

Recording costs time: a launch with profiling takes the host twice as long on some devices, and
loops do not run as persistent kernels.  So each run is made with and without a record, and the
record is corrected by the difference (:meth:`~.records.Record.without_recording`).
Further repetitions are made without one
(:class:`~runelift.runtime.tuner.measure.repetitions.Schedule`).
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from runelift.ir.errors import CompilerLimitation, RuneliftError, UserError
from runelift.runtime.host.background import in_background as beside_runs
from runelift.runtime.records.estimates import Estimates
from runelift.runtime.records.record import Record
from runelift.runtime.tuner.costs.log import NO_TIME, LoggedRun, Measurements, RunStore
from runelift.runtime.tuner.measure.measurable import Args, Force, Measurable, RecordAndTime
from runelift.runtime.tuner.measure.protocols import Dataset, Progress
from runelift.runtime.tuner.measure.repetitions import Schedule, runs_as
from runelift.runtime.tuner.measure.warm_up import WarmUp
from runelift.runtime.tuner.policy import NORMAL, RepetitionPolicy, TuningPolicy
from runelift.runtime.tuner.prune.contenders import missed
from runelift.runtime.tuner.prune.extrapolation import Extrapolation
from runelift.runtime.versions.forest import Forest, plans


@dataclass(frozen=True, slots=True)
class ForcedRuns:
    """Measures by runs with forced versions; datasets share ``budget`` seconds.

    ``only`` are the plans to run, if not all.  Then the caller looks for further ones
    (:mod:`~runelift.runtime.tuner.prune.contenders`).  With ``every``, versions are run that other
    datasets rule out (:mod:`~runelift.runtime.tuner.prune.extrapolation`), too.
    """

    repeats: ClassVar[int] = 3
    budget: float = math.inf
    only: tuple[Force, ...] | None = None
    every: bool = False
    policy: TuningPolicy = NORMAL

    def runs(self, forest: Forest) -> int:
        """One for each plan."""
        return len(plans(forest))

    def measure(self, program: Measurable, forest: Forest, datasets: Sequence[Dataset], *,
                repeats: int = 3, log: RunStore | None = None,
                progress: Callable[[Progress], None] = lambda _: None) -> Measurements:
        """See :func:`measure`."""
        return measure(program, forest, datasets, repeats=repeats, log=log, progress=progress,
                       method=self)

    def surely(self, known: Measurements | None = None) -> ForcedRuns:
        """There are no estimates, but no version is left out either."""
        return replace(self, every=True)

    def within(self, seconds: float) -> ForcedRuns:
        """The same in at most so many seconds."""
        return replace(self, budget=min(seconds, self.budget))

    def following(self, policy: TuningPolicy) -> ForcedRuns:
        """The method with another policy."""
        return replace(self, policy=policy)

    def of(self, some: Sequence[Force]) -> ForcedRuns:
        """The same for some plans only."""
        return replace(self, only=tuple(some))

    def plans(self, forest: Forest) -> Sequence[Force]:
        """All, or those that were asked for."""
        return plans(forest) if self.only is None else self.only


@dataclass(frozen=True, slots=True)
class AwaitBuilds:
    """Further runs of a dataset wait for what is being built.

    Its ``first`` runs, if they are to be repeated yet, tell of other datasets meanwhile.
    """

    first: tuple[LoggedRun, ...] = ()


def measure(program: Measurable, forest: Forest, datasets: Sequence[Dataset], *,
            repeats: int = 3, log: RunStore | None = None,
            progress: Callable[[Progress], None] = lambda _: None,
            method: ForcedRuns = ForcedRuns()) -> Measurements:
    """Run every plan on every dataset, once to warm up and then at least ``repeats`` times.

    Short runs are repeated more often, which ``progress`` does not count.  An interruption (Ctrl-C)
    ends the measuring, and what has been measured is returned.  Runs that the log knows are not
    repeated.
    """
    pruning = method.policy.pruning
    result = Measurements(forest.entry)
    estimates = Estimates(at_once=program.occupancy, policy=pruning)
    counted = len(method.plans(forest)) * repeats
    end = time.perf_counter() + method.budget
    later, first = deque[Callable[[], bool]](), list[LoggedRun]()

    def take(index: int, runs: Iterator[LoggedRun | AwaitBuilds]) -> bool:
        """Take runs of a dataset; False if further ones wait for what is being built."""
        for run in runs:
            if isinstance(run, AwaitBuilds):
                first.extend(run.first)
                return False
            result.runs.append(run)
            if log:
                log.append(forest.entry, run)
            numbers[index] += 1
            progress(Progress(run.dataset, sum(min(n, counted) for n in numbers),
                              len(datasets) * counted, _best(run)))
        numbers[index] = counted
        return True

    try:
        before = {d.name: log.known(forest.entry, d.name) if log else [] for d in datasets}
        numbers = [len(before[d.name]) for d in datasets]
        datasets, small, builds = with_builds_begun(program, forest, datasets, before,
                                                    method.policy.repetition)
        for index, dataset in enumerate(datasets):
            known = before[dataset.name]
            result.runs += known
            if (now := time.perf_counter()) > end:
                result.left_out += [] if known else [dataset.name]
                continue
            deadline = now + (end - now) / (len(datasets) - index)
            extrapolation = None if method.every or method.only is not None else Extrapolation(
                forest, [run for run in (*first, *result.runs) if run.dataset != dataset.name],
                program.occupancy, pruning)
            patient = small and math.isinf(method.budget)
            runs = measure_dataset(program, forest, dataset, repeats, estimates, known, deadline,
                                   method, extrapolation, patient=patient, builds=builds)
            if not take(index, runs):
                later.append(partial(take, index, runs))
        while later:
            rest = later.popleft()
            if not rest():
                later.append(rest)
    except KeyboardInterrupt:
        result.interrupted = True
    places = {dataset.name: place for place, dataset in enumerate(datasets)}
    result.runs.sort(key=lambda run: places[run.dataset])
    return result


def with_builds_begun(program: Measurable, forest: Forest, datasets: Sequence[Dataset],
                      known: Mapping[str, Sequence[LoggedRun]],
                      policy: RepetitionPolicy = NORMAL.repetition
                      ) -> tuple[Sequence[Dataset], bool, bool]:
    """The same datasets; kernels for those of which nothing is known begin to be built.

    Not if their inputs are too large to be kept until they are measured.  It is told whether there
    is room for all of them on the device, and whether anything is being built.
    """
    made, builds = dict[str, Args](), False
    room, beside = policy.kept_bytes, policy.device_bytes
    new = [dataset for dataset in datasets if not known[dataset.name]]
    with suppress(UserError, CompilerLimitation):
        for dataset in new:
            made[dataset.name] = values = dataset.arguments()
            room -= sum(value.nbytes for value in values if isinstance(value, np.ndarray))
            beside -= sum(getattr(value, "nbytes", 0) for value in values)
            if room < 0:
                return datasets, False, False
        if made:
            builds = program.prebuild_all(forest.entry, list(made.values()), [{}, *plans(forest)])
    return [replace(each, arguments=partial(made.__getitem__, each.name)) if each.name in made
            else each for each in datasets], len(made) == len(datasets) and beside >= 0, builds


def _best(run: LoggedRun) -> float:
    return math.inf if run.record is None else run.time or run.record.span


def forced_runs(program: Measurable, forest: Forest, dataset: Dataset, repeats: int,
                estimates: Estimates, method: ForcedRuns = ForcedRuns()) -> Iterator[LoggedRun]:
    """As :func:`measure_dataset`, all at once."""
    return (run for run in measure_dataset(program, forest, dataset, repeats, estimates,
                                       method=method)
            if isinstance(run, LoggedRun))


def measure_dataset(program: Measurable, forest: Forest, dataset: Dataset, repeats: int,
                    estimates: Estimates, known: Sequence[LoggedRun] = (),
                    deadline: float = math.inf, method: ForcedRuns = ForcedRuns(),
                    extrapolation: Extrapolation | None = None, *,
                    patient: bool = False,
                    builds: bool = False) -> Iterator[LoggedRun | AwaitBuilds]:
    """Runs of every plan, in turn; short ones are repeated more often, unless they are far off.

    The default version runs first, and then those with most parallelism.  Limits of others depend
    on these (:mod:`~runelift.runtime.tuner.measure.time_limits`,
    :mod:`runelift.runtime.records.estimates`).  Plans that are far behind are not repeated.  Where
    only such plans show a version that may be the best of its site, it is repeated with the best
    ones of others.  After the deadline there is no further run, and plans that have
    not been run are left out.  Versions that the ``extrapolation`` rules out are skipped, once a
    first run has shown how large the dataset is.

    A ``patient`` caller is told before runs whose kernels are still being built, and can do other
    things first.  That is before further plans, and before first runs are repeated if anything
    ``builds`` from the start.
    """
    only, policy = method.only, method.policy
    asked = [dict(force) for force in method.plans(forest)]
    turns = policy.repetition.short_factor * repeats
    schedule = Schedule(asked, repeats, [run for run in known if run.force in asked
                                         or (only is None and not run.reference)], policy)
    todo = schedule.todo
    if {} in asked:
        schedule.keep({})  # devices are compared by it
    wanted = [n for n in reversed(range(len(todo))) if schedule.wants(n, turns)]
    if not wanted:
        return
    try:
        args = program.place(dataset.arguments())
    except (UserError, CompilerLimitation) as error:  # it does not fit on the device
        yield from (LoggedRun(dataset.name, todo[number], None, str(error)) for number in wanted)
        return
    warming = WarmUp(program, forest, dataset, args, estimates, asked, extrapolation)
    schedule.saw_default(warming.default)
    first = dict[int, LoggedRun]()
    records = {todo.index(run.force): run.record for run in known
               if run.record is not None and run.time is not None and run.force in todo}
    warming.rule_out([run.record for run in known if run.record is not None])
    made_before = [run.force for run in known]
    while wanted or warming.skipped:
        if warming.skipped:
            for run in warming.skipped:
                schedule.ran(schedule.add(run.force), run)
            yield from (run for run in warming.skipped if run.force not in made_before)
            wanted = schedule.replace(wanted, warming.instead[::-1], turns)
            warming.skipped = []
            continue
        number = wanted.pop(0)
        if first and time.perf_counter() > deadline:
            yield LoggedRun(dataset.name, todo[number], None, NO_TIME)
            continue
        first[number], over = warming.run(todo[number])
        if schedule.warmed_up(number, first[number], over):
            yield first[number]

    def repeated(numbers: Sequence[int], repeat: int) -> Iterator[LoggedRun]:
        wanted = [number for number in numbers if schedule.wants(number, repeat)]
        size = len(wanted) if math.isinf(deadline) else 1
        while wanted and (begun := time.perf_counter()) < deadline:
            some, wanted = wanted[:size], wanted[size:]
            made = program.measure_all(
                dataset.entry, args, [todo[number] for number in some],
                recorded=[number not in records or schedule.records(number) for number in some])
            for number, outcome in zip(some, made, strict=True):
                run = _made(dataset, todo[number], outcome, records.get(number))
                if run.record is not None:
                    records[number] = run.record
                before, begun = begun, time.perf_counter()
                schedule.ran(number, run, begun - before)
                yield run

    numbers = [number for number in first if not schedule.behind(number)]
    if again := [todo[number] for number in numbers if schedule.wants(number, turns)]:
        forced = [force for force in again if force]  # what runs by default has been timed
        if patient and builds and forced and program.prebuild_all(
                dataset.entry, [dataset.arguments()], forced):
            yield AwaitBuilds(tuple(first.values()))
        program.prebuild(dataset.entry, args, again)
    made = [*known, *first.values()]
    for run in repeated(numbers, 0):
        made.append(run)
        yield run
    numbers = [number for number in first if not schedule.behind(number)]
    for number in first.keys() - set(numbers):
        if not schedule.once(number):
            schedule.ran(number, first[number])
            yield first[number]
    further = list[dict[str, int]]()
    if only is None:
        look = partial(missed, forest, made.copy(), [todo[each] for each in numbers],
                       policy.pruning)
        with beside_runs(look) if program.out_of_process else nullcontext(look) as found:
            if program.out_of_process:
                yield from repeated(numbers, 1)
            further = [force for force in found()
                       if not any(runs_as(force, first[number]) for number in numbers)]
    schedule.repeat(len(numbers) + len(further) if only is None else len(plans(forest)))
    if further and patient and program.prebuild_all(dataset.entry, [dataset.arguments()], further):
        for repeat in range(turns):
            yield from repeated(numbers, repeat)
        yield AwaitBuilds()
    if further:
        program.prebuild(dataset.entry, args, further)
    numbers += map(schedule.keep, further)
    for repeat in range(turns):
        yield from repeated(numbers, repeat)
    yield from (run for number, run in first.items() if not schedule.once(number))


def _made(dataset: Dataset, force: dict[str, int], outcome: RecordAndTime | RuneliftError,
          before: Record | None) -> LoggedRun:
    if isinstance(outcome, RuneliftError):
        return LoggedRun(dataset.name, force, None, str(outcome))
    record, timing = outcome
    return LoggedRun(dataset.name, force, record or before, time=timing.seconds, issue=timing.issue,
                     again=record is None)
