"""Measuring that several devices share: each takes a dataset, until there are no more.

Only times of one make of device are compared (:mod:`runelift.runtime.devices.comparable`).  A
dataset is measured by one device.  If fewer are left than there are devices, and measuring one
takes long, its versions are divided among devices.  Each of them also runs the dataset by default:
that relates its times to the times of the first device
(:mod:`~runelift.runtime.tuner.costs.recording_overhead`).  Each needs the inputs and kernels, so
short runs gain nothing.  A dataset on which devices differ too much is measured by one of them
anew.  Devices know nothing of each other; what they measure comes together in the log, which says
which one made each run.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from runelift.runtime.host import interrupts
from runelift.runtime.tuner.costs.log import LoggedRun, Measurements, RunStore
from runelift.runtime.tuner.costs.recording_overhead import incomparable_places
from runelift.runtime.tuner.measure.forced_runs import with_builds_begun
from runelift.runtime.tuner.measure.measurable import Force, Measurable
from runelift.runtime.tuner.measure.protocols import (
    Dataset,
    DevicePool,
    Job,
    MeasuringMethod,
    Progress,
)
from runelift.runtime.tuner.measure.repetitions import Schedule
from runelift.runtime.tuner.policy import TuningPolicy
from runelift.runtime.tuner.prune.contenders import missed
from runelift.runtime.versions.forest import Forest, plans

STEPS = 100
"""Into how many steps the work on a dataset is divided, for the display."""


LOST = "lost"
"""The first word of the reason why a dataset was not measured, if a machine was lost."""


@dataclass(slots=True)
class JobLog:
    """The log of a job that is done at a ``place``: what was known, and where new runs go."""

    job: Job
    place: str
    take: Callable[[Job, LoggedRun], None]

    def known(self, entry: str, dataset: str) -> list[LoggedRun]:
        """The runs from before."""
        return list(self.job.known)

    def append(self, entry: str, run: LoggedRun) -> None:
        """Hand on a run."""
        self.take(self.job, replace(run, place=self.place))

    def forget(self, entry: str, dataset: str) -> None:
        """Never asked for: who shares out jobs has seen to it."""
        raise AssertionError(f"{entry}: {dataset}")


def share_out(program: Measurable, forest: Forest, datasets: Sequence[Dataset],
              method: MeasuringMethod, *, repeats: int, log: RunStore | None = None,
              progress: Callable[[Progress], None] = lambda _: None) -> Measurements:
    """The runs of all datasets, wherever they were made; ``program`` is for what comes after.

    What a device has begun is gone on with by this device or begun anew.
    """
    pool = method.pool
    assert pool is not None
    work = _Work(replace(method, budget=math.inf, pool=None), pool, forest, repeats, log, progress,
                 time.perf_counter() + method.budget)
    jobs, fresh = list[Job](), list[Dataset]()
    for dataset in datasets:
        known = log.known(forest.entry, dataset.name) if log is not None else []
        if known and _complete(known, plans(forest), repeats, method.policy) and not _lost(known):
            work.found[dataset.name] = Measurements(forest.entry, known)
            continue
        if known and not _goes_on(known, pool):
            work.forget(dataset)
            known = []
        if known or not pool.places():
            jobs += work.parts(dataset, known, pool.parts(len(datasets)))
        else:
            fresh.append(dataset)
    fresh = [*with_builds_begun(program, forest, fresh, {each.name: () for each in fresh},
                                 method.policy.repetition)[0]]
    last = len(fresh) - len(fresh) % len(pool)
    work.do([*jobs, *map(work.whole, fresh[:last])], later=last < len(fresh))
    work.do(work.shared_out(fresh[last:]))
    for further in (work.references, work.anew, work.beside):
        if not work.interrupted:
            work.do([job for dataset in datasets for job in further(dataset)])
    return work.together(datasets)


def _goes_on(known: Sequence[LoggedRun], pool: DevicePool) -> bool:
    """True if ``pool`` has the devices of the ``known`` runs, and so can make the other runs."""
    made, places = {run.place for run in known}, pool.places()
    return bool(places) and (made == {None} or made <= set(places))


@dataclass(slots=True)
class _Work:
    """The state of the datasets of an entry point, by name."""

    method: MeasuringMethod
    pool: DevicePool
    forest: Forest
    repeats: int
    log: RunStore | None
    progress: Callable[[Progress], None]
    end: float
    found: dict[str, Measurements] = field(default_factory=dict)
    steps: dict[int, tuple[Job, float]] = field(default_factory=dict)
    divided: set[str] = field(default_factory=set)
    interrupted: bool = False
    longest: float = 0.0
    """The most seconds of a job so far, on average of those done at the same time."""

    # Jobs

    def parts(self, dataset: Dataset, known: Sequence[LoggedRun], count: int) -> list[Job]:
        """The jobs for a dataset: what each device has begun, and the rest in so many parts."""
        begun, fresh, every = dict[str, list[Force]](), list[Force](), plans(self.forest)
        for plan in every:
            place = next((run.place for run in known if run.force == plan), None)
            (fresh if place is None else begun.setdefault(place, [])).append(plan)
        shares = [part for k in range(count) if (part := fresh[k::count])]
        if (len(begun) + len(shares) < 2 or any(run.place is None for run in known)
                or self.method.replay is not None):
            return [self._job(dataset, None, known, known[0].place if known else None)]
        self.divided.add(dataset.name)
        self.found[dataset.name] = Measurements(
            self.forest.entry, [run for run in known if run.force not in every])
        reference: list[Force] = [] if self.pool.places() else [{}]
        return [*(self._job(dataset, [*own, *reference],
                            [run for run in known if run.force in own], place)
                  for place, own in begun.items()),
                *(self._job(dataset, [*own, *reference]) for own in shares)]

    def references(self, dataset: Dataset) -> list[Job]:
        """The jobs that run a dataset by default on each device that measured versions of it."""
        runs = self._runs(dataset)
        made = dict.fromkeys(run.place for run in runs if run.record is not None)
        known = {run.place for run in runs if run.reference}
        return [self._job(dataset, [{}], (), place) for place in made if place not in known
                ] if len(made) > 1 and self.pool.places() else []

    def whole(self, dataset: Dataset, place: str | None = None) -> Job:
        return self._job(dataset, None, (), place)

    def shared_out(self, datasets: Sequence[Dataset]) -> list[Job]:
        """The jobs for fewer datasets than devices, which are divided if measuring takes long.

        How long that is the datasets before say, or else a run of each of these by default.
        """
        runs = 2 * (self.repeats + 1) * len(self.method.plans(self.forest))
        seconds = dict.fromkeys((d.name for d in datasets), self.longest)
        if not self.longest and self.method.replay is None:
            self.do([self._job(dataset, [{}]) for dataset in datasets], later=True)
            seconds = {d.name: runs * max((run.time or 0.0 for run in self._runs(d)), default=0.0)
                       for d in datasets}
        jobs: list[Job] = []
        for place, dataset in zip(self.pool.places(), datasets, strict=False):
            if seconds[dataset.name] > self.method.policy.repetition.divide_seconds:
                jobs += self.parts(dataset, self._runs(dataset), len(self.pool))
            else:  # by the device that is likely to have the kernels
                jobs.append(self.whole(dataset, next(
                    (run.place for run in self._runs(dataset)), place)))
        return jobs if not self.interrupted else []

    def anew(self, dataset: Dataset) -> list[Job]:
        """The job that measures a dataset anew where the devices that did differ too much."""
        if not incomparable_places(self._runs(dataset), self.method.policy.fit.unlike_devices):
            return []
        self.forget(dataset)
        return [self.whole(dataset)]

    def beside(self, dataset: Dataset) -> list[Job]:
        """The job for versions that seem good, but ran beside bad versions only.

        A device that measures a dataset alone has run them already.
        """
        runs = self._runs(dataset)
        made = sorted({run.place for run in runs if run.record is not None and run.place})
        if not made or (len(made) == 1 and dataset.name not in self.divided):
            return []
        seen = [{each.site: each.chosen} for run in runs if run.record and run.time is not None
                for each in run.record.encounters]
        wanted = missed(self.forest, runs, seen, self.method.policy.pruning)
        places = self.pool.places()
        return [self._job(dataset, wanted if places else [*wanted, {}], (),
                          made[0] if made[0] in places else None)] if wanted else []

    def _job(self, dataset: Dataset, some: Sequence[Force] | None, known: Sequence[LoggedRun] = (),
             place: str | None = None) -> Job:
        method = self.method
        if some is not None and method.replay is None:
            method = replace(method, only=tuple(some))
        return Job(self.forest, dataset, method, self.repeats, tuple(known), place)

    def forget(self, dataset: Dataset) -> None:
        self.found.pop(dataset.name, None)
        self.divided.discard(dataset.name)
        if self.log is not None:
            self.log.forget(self.forest.entry, dataset.name)

    # Doing them

    def do(self, jobs: Sequence[Job], *, later: bool = False) -> None:
        """Have all jobs done.

        They share the time that is left with the jobs that come ``later``.
        """
        if not jobs:
            return
        started, rounds = time.perf_counter(), math.ceil(len(jobs) / len(self.pool))
        left = max(0.0, self.end - started)
        jobs = [replace(job, method=job.method.within(left / (rounds + later))) for job in jobs]
        self.steps |= {id(job): (job, 0.0) for job in jobs}
        for job, own in self.pool.measure(jobs, self._take, self._tell):
            result = self.found.setdefault(job.dataset.name, Measurements(self.forest.entry))
            result.runs += own.runs
            result.left_out += [name for name in own.left_out if name not in result.left_out]
            result.stopped |= own.stopped
            self.interrupted |= own.interrupted
        self.longest = max(self.longest, (time.perf_counter() - started) / rounds)
        try:
            interrupts.check()
        except KeyboardInterrupt:
            self.interrupted = True

    def _take(self, job: Job, run: LoggedRun) -> None:
        if self.log is not None:
            self.log.append(self.forest.entry, run)

    def _tell(self, job: Job, step: Progress) -> None:
        self.steps[id(job)] = job, step.done / step.total
        summary = "" if step.what in self.divided else step.summary
        self.progress(Progress(step.what, round(STEPS * sum(
            done for _, done in self.steps.values())), STEPS * len(self.steps), step.seconds,
            summary))

    def _runs(self, dataset: Dataset) -> list[LoggedRun]:
        return self.found[dataset.name].runs if dataset.name in self.found else []

    def together(self, datasets: Sequence[Dataset]) -> Measurements:
        """One after the other what was measured at the same time."""
        result = Measurements(self.forest.entry, interrupted=self.interrupted)
        for own in (self.found[d.name] for d in datasets if d.name in self.found):
            result.runs += own.runs
            result.left_out += own.left_out
            result.stopped |= own.stopped
        return result


def _complete(runs: Sequence[LoggedRun], todo: Sequence[dict[str, int]], repeats: int,
              policy: TuningPolicy) -> bool:
    """True if no plan of a dataset is to be run again."""
    schedule = Schedule(todo, repeats, [run for run in runs if run.force in todo], policy)
    turns = policy.repetition.short_factor * repeats
    return not any(schedule.wants(number, turns) for number in range(len(todo)))


def _lost(runs: Sequence[LoggedRun]) -> bool:
    """True if no device has measured this dataset so far."""
    return any(run.error and run.error.startswith(f"{LOST}:") for run in runs)
