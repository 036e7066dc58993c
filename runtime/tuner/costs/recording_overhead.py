"""Costs of runs and their encounters without the overhead of recording, scaled to one device.

Several devices of one model may share the versions of a dataset
(:mod:`~runelift.runtime.tuner.measure.work_sharing`).  Costs are scaled so that they are comparable
with costs on the first device.  The factors come from the runs without forced versions, which each
device makes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, get_args

import numpy as np

from runelift.runtime.records.record import Record
from runelift.runtime.records.statistics import median, median_interval
from runelift.runtime.tuner.costs.host_device_time import Clock, Cost
from runelift.runtime.tuner.costs.log import LoggedRun
from runelift.runtime.tuner.costs.pareto import Array

LEAST_KEPT = 0.5
"""The least part of an encounter's time that remains, relative to the part of the whole run."""
LARGE_OVERHEAD = 5e-5
"""Seconds per launch that recording does not exceed, unless it does so for most versions.

A launch takes less, also where a loop is one launch without recording.
"""


@dataclass(frozen=True, slots=True)
class CorrectedRecord:
    """A record with the costs of its encounters and of the whole run, without recording.

    ``costs`` has two rows, the seconds of the device and of the host.  It has a column for each
    encounter, which includes the encounters nested in it.  ``works`` is the part of busy times that
    remains.  ``timed``: it was run without recording, too.  ``reference``: no version was forced.
    """

    record: Record
    costs: Array
    whole: Cost
    timed: bool
    reference: bool
    works: float = 1.0

    def scaled(self, device: float, host: float) -> CorrectedRecord:
        """The record with the times of the device and of the host multiplied by factors."""
        return replace(self, costs=np.array([[device], [host]]) * self.costs,
                       whole=Cost(device * self.whole.device, host * self.whole.host))


def corrected_records(runs: Sequence[LoggedRun]) -> list[CorrectedRecord]:
    """The records of a dataset with their costs, scaled to the first device."""
    overlapping = _overlap(runs)
    by_place = {place: list(_corrected(own, overlapping=overlapping))
                for place, own in _by_place(runs).items()}
    (_, first), *others = by_place.items() or [(None, [])]
    found = list(first)
    for _, own in others:
        device, host = (_ratio(_references(first, clock), _references(own, clock))
                        for clock in get_args(Clock))
        found += [each.scaled(device or 1.0, host or 1.0) for each in own]
    return found


def incomparable_places(runs: Sequence[LoggedRun], most: float) -> list[str]:
    """The devices whose runs of a dataset cannot be compared with runs on the first device.

    They have no runs without forced versions, or these differ by more than the factor ``most``.
    """
    overlapping = _overlap(runs)
    (_, first), *others = _by_place(runs).items() or [(None, [])]
    known = _references(list(_corrected(first, overlapping=overlapping)), "device")
    found = []
    for place, own in others:
        times = _references(list(_corrected(own, overlapping=overlapping)), "device")
        ratio = _ratio(known, times)
        if ratio is None or not 1 / most <= ratio <= most:
            found.append(place or "")
    return found


def _by_place(runs: Sequence[LoggedRun]) -> dict[str | None, list[LoggedRun]]:
    """The runs of each device, sorted by its name, whatever their order."""
    found: dict[str | None, list[LoggedRun]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: run.place or ""):
        if run.record is not None:
            found[run.place].append(run)
    return found


def _references(corrected: Sequence[CorrectedRecord], clock: Clock) -> list[float]:
    """The times of runs without forced versions by a clock."""
    return [each.whole.of(clock) for each in corrected if each.reference]


def _ratio(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """The ratio of our median to theirs; 1 if it may be chance, None if unknown."""
    if not ours or not theirs or not median(theirs):
        return None
    (low, high), (least, most) = median_interval(ours), median_interval(theirs)
    return 1.0 if low <= most and least <= high else median(ours) / median(theirs)


def _overlap(runs: Sequence[LoggedRun]) -> bool:
    """Test whether host and device work at the same time; False if no run was timed alone."""
    made = [run for run in runs if run.record is not None]
    timed = [run for run in made if run.time is not None]
    return bool(timed) and all(run.record is not None and not run.record.waits for run in made
                               ) and all(run.issue is not None for run in timed)


def _corrected(runs: Sequence[LoggedRun], *, overlapping: bool) -> Iterator[CorrectedRecord]:
    """The records of a dataset from one device with their costs, each once.

    The overhead is known for versions that were also run without recording.  Versions that were run
    once are assumed to have a typical overhead.
    """
    made = [(run.record, run) for run in runs if run.record is not None]
    timed: dict[tuple[tuple[str, int], ...], list[tuple[Record, LoggedRun]]] = defaultdict(list)
    for record, run in made:
        if run.time is not None:
            timed[tuple(sorted(run.force.items()))].append((record, run))
    once = [(record, run) for record, run in made if run.time is None
            and tuple(sorted(run.force.items())) not in timed]
    correct = _overlapping if overlapping else _in_turn
    yield from correct(list(timed.values()), once)


def _each_once(made: Sequence[tuple[Record, LoggedRun]]) -> Iterator[tuple[Record, LoggedRun]]:
    """The records with the first run of each.

    Repeated runs share the record of an earlier one, which a resumed log may lack.
    """
    seen = set[int]()
    for record, run in made:
        if id(record) not in seen:
            seen.add(id(record))
            yield record, run


def _overlapping(timed: Sequence[Sequence[tuple[Record, LoggedRun]]],
                 once: Sequence[tuple[Record, LoggedRun]]) -> Iterator[CorrectedRecord]:
    """Correct runs in which the host never waits: both clocks count.

    Recording costs the device a constant time per launch, long or short.  It profiles each launch,
    and a loop is not run by one launch.  Issuing is slower in proportion.  The time that neither
    clock accounts for (starting and ending) lies outside of encounters.

    A record with a much larger overhead than most records was slow by chance.  That slows all parts
    of a run alike.
    """
    overheads = [] if timed else [(_Overhead(), 0.0)]
    usual = median([_launch_overhead(record, median([run.time or 0.0 for _, run in made]))
                    for made in timed for record, _ in _each_once(made)]) if timed else 0.0
    most = max(usual, LARGE_OVERHEAD)

    def corrected(record: Record, run: LoggedRun, overhead: _Overhead,
               slack: float) -> CorrectedRecord:
        return CorrectedRecord(record, overhead.costs(record), overhead.whole(record, slack),
                               run.time is not None, run.reference)

    for made in timed:
        time, issue, recorded = (median(seconds) for seconds in zip(*(
            (run.time or 0.0, run.issue or 0.0, record.issue) for record, run in made),
            strict=True))
        hosts = issue / recorded if recorded else 0.0
        for record, run in _each_once(made):
            overhead = _Overhead.of(record, time, hosts, most)
            slack = max(0.0, time - overhead.whole(record).time)
            overheads.append((overhead, slack))
            yield corrected(record, run, overhead, slack)
    typical = _Overhead(*map(median, zip(*(each for each, _ in overheads), strict=True))
                        )._replace(scale=1.0)
    slack = median([slack for _, slack in overheads])
    yield from (corrected(*each, typical, slack) for each in once)


def _launch_overhead(record: Record, seconds: float) -> float:
    """The overhead of recording a launch, of a run that takes so many ``seconds`` without it."""
    return max(0.0, record.device_time - seconds) / max(1, record.launches)


class _Overhead(NamedTuple):
    """The overhead of recording: the seconds of the device for each ``launch``.

    Without it a ``part`` of the device's time remains, and the part ``host`` of the host's.  Of
    kernels' own times at least the part ``works`` remains.  Times of the device are ``scale`` times
    as long as usual by chance.
    """

    launch: float = 0.0
    part: float = 1.0
    host: float = 1.0
    works: float = 1.0
    scale: float = 1.0

    @classmethod
    def of(cls, record: Record, seconds: float, host: float, most: float) -> _Overhead:
        """The overhead of a run that takes so many ``seconds`` without recording.

        What exceeds ``most`` seconds for each launch is chance.
        """
        scale = max(1.0, record.device_time / (seconds + most * max(1, record.launches)))
        device = record.device_time / scale
        return cls(max(0.0, device - seconds) / max(1, record.launches),
                   min(1.0, seconds / device) if device else 0.0, host,
                   1.0 if seconds >= record.busy / scale else 0.0, scale)

    def costs(self, record: Record) -> Array:
        """The costs of encounters.  Costs of very short kernels are positive, too."""
        times = np.array([e.device_time for e in record.encounters]) / self.scale
        launches = np.array([e.launches for e in record.encounters])
        busy = np.array([e.busy for e in record.encounters]) / self.scale
        issue = np.array([e.issue for e in record.encounters])
        device = np.maximum(times - self.launch * launches, LEAST_KEPT * self.part * times)
        return np.array([np.maximum(device, self.works * busy), self.host * issue])

    def whole(self, record: Record, slack: float = 0.0) -> Cost:
        seconds = record.device_time / self.scale
        device = max(seconds - self.launch * record.launches,
                     LEAST_KEPT * self.part * seconds, self.works * record.busy / self.scale)
        return Cost(device + slack, self.host * record.issue + slack)


def _in_turn(timed: Sequence[Sequence[tuple[Record, LoggedRun]]],
             once: Sequence[tuple[Record, LoggedRun]]) -> Iterator[CorrectedRecord]:
    """Correct runs in which the host waits for the device: telescoped times count."""
    each, works = list[float](), list[float]()

    def corrected(record: Record, run: LoggedRun, cost: float, seconds: float) -> CorrectedRecord:
        left = record.shares(max(0.0, cost), seconds)
        spent = np.array([left.time(e.busy, e.time) for e in record.encounters])
        return CorrectedRecord(record, np.array([spent, np.zeros_like(spent)]),
                               Cost(left.time(record.busy,
                                              record.span) if run.time is None else run.time),
                               run.time is not None, run.reference, left.works)

    for made in timed:
        seconds = median([run.time for _, run in made if run.time is not None])
        cost = median([record.wall for record, _ in made]) - seconds
        each += [cost / max(1, record.launches) for record, _ in made]
        works += [min(1.0, seconds / record.busy) for record, _ in made if record.busy]
        yield from (corrected(record, run, cost, seconds) for record, run in _each_once(made))
    launch, part = median(each) if each else 0.0, median(works) if works else 1.0
    yield from (corrected(record, run, launch * record.launches, part * record.busy)
                for record, run in once)
