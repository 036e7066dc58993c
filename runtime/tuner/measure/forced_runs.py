"""Forced runs: measuring every version of a program on every dataset.

Each run forces one version at every site (see
:func:`runelift.runtime.versions.forest.plans`).  So a dataset needs as many runs as the largest
tree has leaf versions.  Runs are repeated in turn (A B C A B C), so that a drift of the clock
frequency affects all versions alike.  Short runs are repeated more often.

Recording costs time: a launch with profiling takes the host twice as long on some devices, and
loops do not run as persistent kernels.  So each run is made with and without a record, and the
record is corrected by the difference (:mod:`~runelift.runtime.tuner.costs.recording_overhead`).
Further repetitions are made without one
(:class:`~runelift.runtime.tuner.measure.repetitions.Schedule`).
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter

import numpy as np

from runelift.ir.base.errors import CompilerLimitation, RuneliftError, UserError
from runelift.ir.base.numerals import counted
from runelift.runtime.host.background import in_background
from runelift.runtime.records.estimates import Estimates
from runelift.runtime.records.format import show_seconds
from runelift.runtime.records.record import Record
from runelift.runtime.tuner.costs.log import NO_TIME, LoggedRun, Measurements, RunStore
from runelift.runtime.tuner.measure.measurable import (
    Args,
    Measurable,
    RecordAndTime,
)
from runelift.runtime.tuner.measure.protocols import (
    FORCED_REPEATS,
    Dataset,
    MeasuringMethod,
    Progress,
)
from runelift.runtime.tuner.measure.repetitions import Schedule, runs_as
from runelift.runtime.tuner.measure.warm_up import WarmUp
from runelift.runtime.tuner.policy import NORMAL, RepetitionPolicy, TuningPolicy
from runelift.runtime.tuner.prune.contenders import missed
from runelift.runtime.tuner.prune.extrapolation import Extrapolation
from runelift.runtime.versions.forest import Forest, plans
from runelift.runtime.versions.version_names import names_of_plan

USUAL = MeasuringMethod()
"""The method that runs every plan, as far as no other dataset rules it out."""


@dataclass(frozen=True, slots=True)
class _AwaitBuilds:
    """Further runs of a dataset wait for kernels that are being built.

    Its ``first`` runs, if they are to be repeated yet, are evidence for other datasets meanwhile.
    """

    first: tuple[LoggedRun, ...] = ()


@dataclass(frozen=True, slots=True)
class EntryScope:
    """All that the datasets of an entry point share while they are measured.

    A ``patient`` caller is told before runs whose kernels are still being built, and can do other
    things first.  ``builds``: kernels are being built from the start.
    """

    program: Measurable
    forest: Forest
    repeats: int
    estimates: Estimates
    method: MeasuringMethod = USUAL
    patient: bool = False
    builds: bool = False

    @property
    def policy(self) -> TuningPolicy:
        """The policy of the method."""
        return self.method.policy

    @property
    def turns(self) -> int:
        """The most repetitions of a run."""
        return self.policy.repetition.short_factor * self.repeats


def measure(program: Measurable, forest: Forest, datasets: Sequence[Dataset],
            method: MeasuringMethod = USUAL, *, repeats: int = FORCED_REPEATS,
            log: RunStore | None = None, progress: Callable[[Progress], None] = lambda _: None
            ) -> Measurements:
    """Run every plan on every dataset, once to warm up and then at least ``repeats`` times.

    Short runs are repeated more often, which ``progress`` does not count.  An interruption (Ctrl-C)
    ends the measuring, and the runs so far are returned.  Runs that the log knows are not repeated.
    """
    entry = EntryScope(program, forest, repeats, Estimates(
        at_once=program.occupancy, policy=method.policy.pruning), method)
    return _Measuring(entry, datasets, log, progress).measure()


class _Measuring:
    """The measuring of an entry point: the runs so far, and the datasets that wait."""

    def __init__(self, entry: EntryScope, datasets: Sequence[Dataset], log: RunStore | None,
                 progress: Callable[[Progress], None]) -> None:
        self._entry, self._datasets, self._log, self._progress = entry, datasets, log, progress
        self._result = Measurements(entry.forest.entry)
        self._counted = len(entry.method.plans(entry.forest)) * entry.repeats
        self._end = time.perf_counter() + entry.method.budget
        self._numbers: list[int] = []
        self._first: list[LoggedRun] = []
        self._waiting = deque[tuple[int, Iterator[LoggedRun | _AwaitBuilds]]]()

    def measure(self) -> Measurements:
        """Measure all datasets in turn.  Datasets that wait for kernels come last."""
        result = self._result
        try:
            self._measure()
        except KeyboardInterrupt:
            result.interrupted = True
        places = {dataset.name: place for place, dataset in enumerate(self._datasets)}
        result.runs.sort(key=lambda run: places[run.dataset])
        return result

    def _measure(self) -> None:
        entry, name = self._entry, self._entry.forest.entry
        before = {d.name: self._log.known(name, d.name) if self._log else []
                  for d in self._datasets}
        self._numbers = [len(before[d.name]) for d in self._datasets]
        self._datasets, small, builds = with_builds_begun(
            entry.program, entry.forest, self._datasets, before, entry.policy.repetition)
        entry = replace(entry, patient=small and math.isinf(entry.method.budget), builds=builds)
        for index, dataset in enumerate(self._datasets):
            known = before[dataset.name]
            self._result.runs += known
            if (now := time.perf_counter()) > self._end:
                self._result.left_out += [] if known else [dataset.name]
                continue
            deadline = now + (self._end - now) / (len(self._datasets) - index)
            self._take(index, _DatasetRuns(entry, dataset, known, deadline,
                                           self._extrapolation(dataset.name)).runs())
        while self._waiting:
            self._take(*self._waiting.popleft())

    def _extrapolation(self, dataset: str) -> Extrapolation | None:
        """The evidence of other datasets, if versions may be skipped."""
        entry, method = self._entry, self._entry.method
        if method.every or method.only is not None:
            return None
        others = [run for run in (*self._first, *self._result.runs) if run.dataset != dataset]
        return Extrapolation(entry.forest, others, entry.program.occupancy, entry.policy.pruning)

    def _take(self, index: int, runs: Iterator[LoggedRun | _AwaitBuilds]) -> None:
        """Take runs of a dataset, until further runs wait for kernels that are being built."""
        entry = self._entry
        for run in runs:
            if isinstance(run, _AwaitBuilds):
                self._first.extend(run.first)
                self._waiting.append((index, runs))
                return
            self._result.runs.append(run)
            if self._log:
                self._log.append(entry.forest.entry, run)
            self._numbers[index] += 1
            self._tell(run.dataset, math.inf if run.seconds is None else run.seconds)
        self._numbers[index] = self._counted
        if entry.method.only is None:
            name = self._datasets[index].name
            self._tell(name, math.inf, summary(entry.forest, name, self._result.runs))

    def _tell(self, dataset: str, seconds: float, found: str = "") -> None:
        done = sum(min(number, self._counted) for number in self._numbers)
        self._progress(Progress(dataset, done, len(self._datasets) * self._counted, seconds, found))


def with_builds_begun(program: Measurable, forest: Forest, datasets: Sequence[Dataset],
                      known: Mapping[str, Sequence[LoggedRun]],
                      policy: RepetitionPolicy = NORMAL.repetition
                      ) -> tuple[Sequence[Dataset], bool, bool]:
    """The datasets with their inputs made.

    Kernels for datasets that are not ``known`` begin to be built.  Inputs that are too large to be
    kept until they are measured are not made.  The other results say if there is room for all
    inputs on the device, and if anything is being built.
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


def forced_runs(program: Measurable, forest: Forest, dataset: Dataset, repeats: int,
                estimates: Estimates, method: MeasuringMethod = USUAL) -> Iterator[LoggedRun]:
    """The runs of a single dataset, without waiting for kernels."""
    runs = _DatasetRuns(EntryScope(program, forest, repeats, estimates, method), dataset).runs()
    return (run for run in runs if isinstance(run, LoggedRun))


class _DatasetRuns:
    """The runs of a dataset: every plan in turn, and short competitive plans more often.

    The default version runs first.  Then come the versions that are predicted to take least, or
    that have most parallelism.  Time limits of all other versions depend on these runs
    (:mod:`~runelift.runtime.tuner.measure.time_limits`, :mod:`runelift.runtime.records.estimates`).
    Plans that are far behind are not repeated.  A version that may be the best of its site may only
    occur in such plans.  It is then repeated together with the best versions of the other sites.
    After the ``deadline`` there is no further run, and plans that have not been run are left out.
    Versions that the ``extrapolation`` rules out are skipped, once a first run has shown how large
    the dataset is.  Runs that are ``known`` are not made again.
    """

    def __init__(self, entry: EntryScope, dataset: Dataset, known: Sequence[LoggedRun] = (),
                 deadline: float = math.inf, extrapolation: Extrapolation | None = None) -> None:
        self._entry, self._dataset, self._known = entry, dataset, known
        self._deadline, self._extrapolation = deadline, extrapolation
        self._asked = [dict(force) for force in entry.method.plans(entry.forest)]
        self._schedule = Schedule(self._asked, entry.repeats, [
            run for run in known if run.force in self._asked
            or (entry.method.only is None and not run.reference)], entry.policy)
        self._todo = todo = self._schedule.todo
        if {} in self._asked:
            self._schedule.keep({})  # devices are compared by it
        self._args: Args = ()
        self._first: dict[int, LoggedRun] = {}
        self._records = {todo.index(run.force): run.record for run in known
                         if run.record is not None and run.time is not None and run.force in todo}

    def runs(self) -> Iterator[LoggedRun | _AwaitBuilds]:
        """Run A B C, A B C, until it is sure: no plan is wanted in a further turn."""
        wanted = [number for number in reversed(range(len(self._todo)))
                  if self._schedule.wants(number, self._entry.turns)]
        if not wanted:
            return
        if (why := self._place()) is not None:
            yield from (LoggedRun(self._dataset.name, self._todo[number], None, why)
                        for number in wanted)
            return
        yield from self._warm_up(wanted)
        made = [*self._known, *self._first.values()]
        for run in self._repeat_first():
            made += [run] if isinstance(run, LoggedRun) else []
            yield run
        contenders = yield from self._contenders(made)
        for turn in range(self._entry.turns):
            yield from self._repeated(contenders, turn)
        yield from (run for number, run in self._first.items() if not self._schedule.once(number))

    def _place(self) -> str | None:
        """Bring the inputs to the device; why nothing can be measured, if that is so."""
        program = self._entry.program
        try:
            self._args = program.place(self._dataset.arguments())
        except (UserError, CompilerLimitation) as error:  # it does not fit on the device
            return str(error)
        with suppress(UserError, CompilerLimitation):
            return self._dataset.unexpected(program, self._args)
        return None

    def _competitive(self) -> list[int]:
        """The first runs that are not far behind."""
        return [number for number in self._first if not self._schedule.behind(number)]

    def _warm_up(self, wanted: list[int]) -> Iterator[LoggedRun]:
        """Make the first runs, as far as these and other datasets do not rule them out."""
        entry, schedule, name = self._entry, self._schedule, self._dataset.name
        wanted = self._quickest_first(wanted)
        warming = WarmUp(entry, self._dataset, self._args, self._asked, self._todo[wanted[0]],
                         self._extrapolation)
        schedule.saw_default(warming.default)
        warming.rule_out([run.record for run in self._known if run.record is not None])
        made_before = [run.force for run in self._known]
        while wanted or warming.skipped:
            if warming.skipped:
                for run in warming.skipped:
                    schedule.ran(schedule.add(run.force), run)
                yield from (run for run in warming.skipped if run.force not in made_before)
                wanted = self._quickest_first(
                    schedule.replace(wanted, warming.instead[::-1], entry.turns))
                warming.skipped = []
                continue
            number = wanted.pop(0)
            if self._first and time.perf_counter() > self._deadline and not (
                    warming.is_by_default(self._todo[number])):
                yield LoggedRun(name, self._todo[number], None, NO_TIME)
                continue
            self._first[number], over = warming.run(self._todo[number])
            if schedule.warmed_up(number, self._first[number], over):
                yield self._first[number]

    def _quickest_first(self, numbers: list[int]) -> list[int]:
        """Plans in the order of their predicted times."""
        entry = self._entry
        seconds = entry.program.predicted(
            self._dataset.entry, self._args, [self._todo[number] for number in numbers],
            entry.method.thresholds)
        ahead = dict(zip(numbers, seconds, strict=True))
        return sorted(numbers, key=lambda number: ahead[number])

    def _repeat_first(self) -> Iterator[LoggedRun | _AwaitBuilds]:
        """Repeat competitive first runs once, when their kernels have been built."""
        entry, name = self._entry, self._dataset.entry
        numbers = self._competitive()
        again = [self._todo[number] for number in numbers
                 if self._schedule.wants(number, entry.turns)]
        if again:
            forced = [force for force in again if force]  # the default version has been timed
            if entry.patient and entry.builds and forced and entry.program.prebuild_all(
                    name, [self._dataset.arguments()], forced):
                yield _AwaitBuilds(tuple(self._first.values()))
            entry.program.prebuild(name, self._args, again)
        yield from self._repeated(numbers, 0)

    def _contenders(self, made: Sequence[LoggedRun]
                    ) -> Generator[LoggedRun | _AwaitBuilds, None, list[int]]:
        """The competitive plans, and further plans that the ``made`` runs call for."""
        entry, name, schedule = self._entry, self._dataset.entry, self._schedule
        numbers = self._competitive()
        for number in self._first.keys() - set(numbers):
            if not schedule.once(number):
                schedule.ran(number, self._first[number])
                yield self._first[number]
        further = yield from self._further(numbers, made)
        schedule.repeat(len(numbers) + len(further) if entry.method.only is None
                        else len(plans(entry.forest)))
        if further and entry.patient and entry.program.prebuild_all(
                name, [self._dataset.arguments()], further):
            for turn in range(entry.turns):
                yield from self._repeated(numbers, turn)
            yield _AwaitBuilds()
        if further:
            entry.program.prebuild(name, self._args, further)
        return [*numbers, *map(schedule.keep, further)]

    def _further(self, numbers: Sequence[int], made: Sequence[LoggedRun]
                 ) -> Generator[LoggedRun, None, list[dict[str, int]]]:
        """Plans that show the best versions of sites together, looked for while runs repeat."""
        entry = self._entry
        if entry.method.only is not None:
            return []
        look = partial(missed, entry.forest, list(made), [self._todo[each] for each in numbers],
                       entry.policy.pruning)
        apart = entry.program.out_of_process
        with in_background(look) if apart else nullcontext(look) as found:
            if apart:
                yield from self._repeated(numbers, 1)
            return [force for force in found()
                    if not any(runs_as(force, self._first[number]) for number in numbers)]

    def _repeated(self, numbers: Sequence[int], repeat: int) -> Iterator[LoggedRun]:
        """Repeat the plans, by number, that are wanted again after ``repeat`` repetitions."""
        schedule, todo = self._schedule, self._todo
        wanted = [number for number in numbers if schedule.wants(number, repeat)]
        size = len(wanted) if math.isinf(self._deadline) else 1
        while wanted and (begun := time.perf_counter()) < self._deadline:
            some, wanted = wanted[:size], wanted[size:]
            made = self._entry.program.measure_all(
                self._dataset.entry, self._args, [todo[number] for number in some],
                self._entry.method.thresholds,
                [number not in self._records or schedule.records(number) for number in some])
            for number, outcome in zip(some, made, strict=True):
                run = _made(self._dataset, todo[number], outcome, self._records.get(number))
                if run.record is not None:
                    self._records[number] = run.record
                before, begun = begun, time.perf_counter()
                schedule.ran(number, run, begun - before)
                yield run


def _made(dataset: Dataset, force: dict[str, int], outcome: RecordAndTime | RuneliftError,
          before: Record | None) -> LoggedRun:
    if isinstance(outcome, RuneliftError):
        return LoggedRun(dataset.name, force, None, str(outcome))
    record, timing = outcome
    return LoggedRun(dataset.name, force, record or before, time=timing.seconds, issue=timing.issue,
                     again=record is None)


def summary(forest: Forest, dataset: str, runs: Iterable[LoggedRun]) -> str:
    """The number of versions, and the best version that ran: ``5 versions, best V2 0.40 ms``."""
    text = counted(len(forest.leaves()), "version")
    made = [(run.seconds, run) for run in runs
            if run.dataset == dataset and run.force and run.seconds is not None]
    if not made:
        return f"{text}, none measured"
    seconds, best = min(made, key=itemgetter(0))
    return f"{text}, best {names_of_plan(forest, best.force)} {show_seconds(seconds)}"
