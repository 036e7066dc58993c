"""Measuring by replay: one run per dataset tells what every version costs at every encounter.

The result has the records that forced runs would have made.  So all later stages treat both alike.
They are corrected by an ordinary run without a record, as recording makes issuing slower.
Recording slows the other versions down as much as the default versions, relative to their time.

A dataset that does not fit on the device twice, or whose run fails, is measured by forced runs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from runelift.ir.base.errors import CompilerLimitation, UserError
from runelift.runtime.records.estimates import Estimates
from runelift.runtime.records.record import Record, Timing
from runelift.runtime.records.statistics import median
from runelift.runtime.tuner.costs.log import LoggedRun, Measurements, RunStore, complete
from runelift.runtime.tuner.measure.forced_runs import forced_runs, summary, with_builds_begun
from runelift.runtime.tuner.measure.measurable import Args, Force, Measurable
from runelift.runtime.tuner.measure.protocols import (
    FORCED_REPEATS,
    Dataset,
    MeasuringMethod,
    Progress,
)
from runelift.runtime.tuner.policy import RepetitionPolicy, TuningPolicy
from runelift.runtime.tuner.replay.racing import Race
from runelift.runtime.tuner.replay.replay_records import (
    OutOfReplayMemory,
    ReplayRecord,
    UnknownCost,
)
from runelift.runtime.versions.forest import Forest, plans


def measure(program: Measurable, forest: Forest, datasets: Sequence[Dataset],
            method: MeasuringMethod, *, repeats: int = 1, log: RunStore | None = None,
            progress: Callable[[Progress], None] = lambda _: None) -> Measurements:
    """The records of all plans, from ``repeats`` runs per dataset.

    An interruption (Ctrl-C) ends the measuring; datasets that were over by then count.
    """
    assert method.replay is not None
    result = Measurements(forest.entry)
    policy, banned = method.policy, dict[str, str]()
    factor = math.inf if method.every else method.replay.factor
    estimates = Estimates(at_once=program.occupancy, policy=policy.pruning)
    single = frozenset(site.name for site in forest.trees if not site.loops)
    end = time.perf_counter() + method.budget
    try:
        before = {d.name: log.known(forest.entry, d.name) if log else [] for d in datasets}
        datasets, *_ = with_builds_begun(program, forest, datasets, before, policy.repetition)
        for done, dataset in enumerate(datasets, start=1):
            known = before[dataset.name]
            if complete(known, plans(forest), repeats):
                result.runs += known
                continue
            now = time.perf_counter()
            if now > end:
                result.left_out.append(dataset.name)
                continue
            stopped = dict(method.stopped.get(dataset.name, {}))
            result.stopped[dataset.name] = stopped
            race = Race(factor, method.replay.rounds, banned=banned, stopped=stopped,
                        estimates=estimates, single=single,
                        deadline=now + (end - now) / (len(datasets) - done + 1))
            for run in _dataset_runs(program, forest, dataset, race, repeats, policy):
                result.runs.append(run)
                if log:
                    log.append(forest.entry, run)
            progress(Progress(dataset.name, done, len(datasets), summary=summary(
                forest, dataset.name, result.runs)))
    except KeyboardInterrupt:
        result.interrupted = True
    return result


def _dataset_runs(program: Measurable, forest: Forest, dataset: Dataset, race: Race,
                  repeats: int, policy: TuningPolicy) -> Iterator[LoggedRun]:
    todo = plans(forest)
    try:
        args = program.place(dataset.arguments())
        race.estimates.begin(program.prebuild(dataset.entry, args, [{}, *todo]))
        program.time(dataset.entry, args)  # what other versions may take depends on it
        if why := dataset.unexpected(program, args):
            yield from (LoggedRun(dataset.name, dict(force), None, why, replay=0)
                        for force in todo)
            return
        numbered = _replays(partial(program.replay, dataset.entry, args, race), race, repeats, todo,
                            policy.repetition)
        right = _right(numbered[0][1], todo)
        timing = _timing(program, forest.entry, args, right, policy.repetition)
    except (OutOfReplayMemory, UnknownCost, UserError, CompilerLimitation):
        args = ()  # there is to be room for them again
        yield from forced_runs(program, forest, dataset, FORCED_REPEATS, race.estimates,
                               MeasuringMethod(policy=policy))
        return
    for number, replayed in numbered:
        correction = RecordingCorrection.of(replayed.record(right), timing)
        for force in todo:
            run = _run(dataset.name, force, number, replayed, correction, race)
            if run is not None:
                yield run


def _replays(replay: Callable[[], ReplayRecord], race: Race, repeats: int, todo: Sequence[Force],
             policy: RepetitionPolicy) -> list[tuple[int, ReplayRecord]]:
    """Runs with their numbers; one in which a version was wrong is repeated without it.

    Where a run without replay is short, there are more; the race goes on from one to the next.
    """
    kept: list[tuple[int, ReplayRecord]] = []
    number, wanted = 0, repeats
    while len(kept) < wanted:
        number += 1
        race.repeated = bool(kept)
        replayed = replay()
        if replayed.banned:
            kept.clear()
            continue
        kept.append((number, replayed))
        if replayed.record(_right(replayed, todo)).span < policy.short_seconds:
            wanted = policy.replay_runs * repeats
        if race.late:
            break
    return kept


def _right(replayed: ReplayRecord, todo: Sequence[Force]) -> Force | None:
    """The versions of a run that gives right results; None if the default versions do."""
    for force in (None, *todo[:-1]):
        with suppress(UnknownCost):
            replayed.record(force)
            return force
    replayed.record(todo[-1])
    return todo[-1]


def _timing(program: Measurable, entry: str, args: Args, force: Force | None,
            policy: RepetitionPolicy) -> Timing:
    """The times of a run without a record, after one to warm up."""
    long = program.timing(entry, args, force=force).seconds
    count = policy.replay_runs * (policy.short_factor if long < policy.short_seconds else 1)
    times = [program.timing(entry, args, force=force) for _ in range(count)]
    return Timing(median([t.seconds for t in times]), median([t.issue for t in times]))


def _run(dataset: str, force: Force, number: int, replayed: ReplayRecord,
         correction: RecordingCorrection, race: Race) -> LoggedRun | None:
    """The run that forces versions, as it would have been; None if there was no time for it."""
    try:
        record = replayed.record(force)
    except UnknownCost as version:
        if (why := race.banned.get(str(version))) is not None:
            why = f"version {version} must not run: {why}"
        elif (why := race.stopped.get(str(version))) is not None:
            why = f"version {version}: {why}"
        else:
            return None
        return LoggedRun(dataset, dict(force), None, why, replay=number)
    timing = correction.timing(record)
    return LoggedRun(dataset, dict(force), record, time=timing.seconds, issue=timing.issue,
                     replay=number)


@dataclass(frozen=True, slots=True)
class RecordingCorrection:
    """Converts records to times of runs without a record.

    ``device`` and ``host`` are factors for the times of either, ``slack`` is what neither accounts
    for.  Where the host waits for the device, ``extra`` seconds are added to the span of commands.
    If recording made the default run slower, they are shared among its ``launches``.  At least the
    part ``works`` of kernels' own times remains.
    """

    device: float
    host: float
    slack: float
    extra: float
    launches: int
    works: float = 1.0

    @classmethod
    def of(cls, record: Record, timing: Timing) -> RecordingCorrection:
        """The correction that makes a record of the default run right."""
        device = min(1.0, timing.seconds / record.device_time) if record.device_time else 1.0
        host = timing.issue / record.issue if record.issue else 0.0
        slack = timing.seconds - max(device * record.device_time, host * record.issue)
        return cls(device, host, max(0.0, slack), timing.seconds - record.span, record.launches,
                   min(1.0, timing.seconds / record.busy) if record.busy else 1.0)

    def timing(self, record: Record) -> Timing:
        """The times of the run of a record, if it were made without."""
        issue = self.host * record.issue
        if not record.waits:
            device = max(self.device * record.device_time, self.works * record.busy)
            return Timing(max(device, issue) + self.slack, issue)
        share = record.launches / self.launches if self.extra < 0 and self.launches else 1.0
        return Timing(max(record.busy, record.span + share * self.extra), issue)
