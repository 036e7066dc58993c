"""What runs and their encounters cost, as if recording had cost nothing, and on one device.

Versions of a dataset that several devices of one make have measured
(:mod:`~runelift.runtime.tuner.workers.work_sharing`) are told as the first of these devices would
have measured them: each of them ran the dataset by default, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from runelift.runtime.records.record import Record
from runelift.runtime.records.statistics import median, median_interval
from runelift.runtime.tuner.costs.host_device_time import Cost
from runelift.runtime.tuner.costs.log import LoggedRun
from runelift.runtime.tuner.costs.pareto import Array

LEAST = 0.5
"""What encounters take at least of what would be theirs if recording cost all kernels in
proportion."""


@dataclass(frozen=True, slots=True)
class CorrectedRecord:
    """A record, what its encounters cost (with those inside of them), and what the whole run.

    ``costs`` are the seconds of the device and those of the host, encounter by encounter; ``works``
    is the part of busy times that recording did not take.  ``timed``: the same was run without a
    record, too; ``reference``: nothing was forced.
    """

    record: Record
    costs: Array
    whole: Cost
    timed: bool
    reference: bool
    works: float = 1.0

    def scaled(self, device: float, host: float) -> CorrectedRecord:
        """The same on a device that takes so many times as long, or with such a host."""
        return replace(self, costs=np.array([[device], [host]]) * self.costs,
                       whole=Cost(device * self.whole.device, host * self.whole.host))


def corrected_records(runs: Sequence[LoggedRun]) -> list[CorrectedRecord]:
    """The records of a dataset with their costs, of all devices as on the first."""
    overlapping = _overlap(runs)
    by_place = {place: list(_priced(own, overlapping=overlapping))
                for place, own in _by_place(runs).items()}
    (_, first), *others = by_place.items() or [(None, [])]
    found = list(first)
    for _, own in others:
        device, host = (_ratio(_references(first, clock), _references(own, clock))
                        for clock in ("device", "host"))
        found += [each.scaled(device or 1.0, host or 1.0) for each in own]
    return found


def unlike(runs: Sequence[LoggedRun], most: float) -> list[str]:
    """The places whose runs of a dataset cannot be compared with those of the first.

    Either there are no runs by default to compare them by, or these differ by more than the factor
    ``most``.
    """
    overlapping = _overlap(runs)
    (_, first), *others = _by_place(runs).items() or [(None, [])]
    known = _references(list(_priced(first, overlapping=overlapping)), "device")
    found = []
    for place, own in others:
        times = _references(list(_priced(own, overlapping=overlapping)), "device")
        ratio = _ratio(known, times)
        if ratio is None or not 1 / most <= ratio <= most:
            found.append(place or "")
    return found


def _by_place(runs: Sequence[LoggedRun]) -> dict[str | None, list[LoggedRun]]:
    """The runs of each device by their names, in whichever order they were made."""
    found: dict[str | None, list[LoggedRun]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: run.place or ""):
        if run.record is not None:
            found[run.place].append(run)
    return found


def _references(priced: Sequence[CorrectedRecord], clock: str) -> list[float]:
    """What runs by default took by a clock."""
    return [getattr(each.whole, clock) for each in priced if each.reference]


def _ratio(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """How many times as long as they we take; 1 within what chance explains, None if unknown."""
    if not ours or not theirs or not median(theirs):
        return None
    (low, high), (least, most) = median_interval(ours), median_interval(theirs)
    return 1.0 if low <= most and least <= high else median(ours) / median(theirs)


def _overlap(runs: Sequence[LoggedRun]) -> bool:
    """Whether host and device work at the same time, as far as there are runs without a record."""
    made = [run for run in runs if run.record is not None]
    timed = [run for run in made if run.time is not None]
    return bool(timed) and all(run.record is not None and not run.record.waits for run in made
                               ) and all(run.issue is not None for run in timed)


def _priced(runs: Sequence[LoggedRun], *, overlapping: bool) -> Iterator[CorrectedRecord]:
    """The records that a device made of a dataset with their costs, each once.

    What recording costs is known of versions that were also run without; others, which were run
    once, are taken to be like them.
    """
    made = [(run.record, run) for run in runs if run.record is not None]
    timed: dict[tuple[tuple[str, int], ...], list[tuple[Record, LoggedRun]]] = defaultdict(list)
    for record, run in made:
        if run.time is not None:
            timed[tuple(sorted(run.force.items()))].append((record, run))
    once = [(record, run) for record, run in made if run.time is None
            and tuple(sorted(run.force.items())) not in timed]
    price = _overlapping if overlapping else _in_turn
    yield from price(list(timed.values()), once)


def _each_once(made: Sequence[tuple[Record, LoggedRun]]) -> Iterator[tuple[Record, LoggedRun]]:
    """The records with the first run of each.

    Those made again have an earlier one; in a tuning that goes on with a log, all may be such.
    """
    seen = set[int]()
    for record, run in made:
        if id(record) not in seen:
            seen.add(id(record))
            yield record, run


def _overlapping(timed: Sequence[Sequence[tuple[Record, LoggedRun]]],
                 once: Sequence[tuple[Record, LoggedRun]]) -> Iterator[CorrectedRecord]:
    """Runs in which the host never waits: both clocks count.

    What the device takes longer for a record it takes for launches, be they long or short: for
    profiling each, or for not doing all of a loop's in one.  Issuing is slower in proportion.  What
    neither clock accounts for (starting and ending) lies outside of encounters.
    """
    recordings = [] if timed else [(_Recording(), 0.0)]

    def priced(record: Record, run: LoggedRun, recording: _Recording,
               slack: float) -> CorrectedRecord:
        return CorrectedRecord(record, recording.costs(record), recording.whole(record, slack),
                               run.time is not None, run.reference)

    for made in timed:
        time, issue, recorded = (median(seconds) for seconds in zip(*(
            (run.time or 0.0, run.issue or 0.0, record.issue) for record, run in made),
            strict=True))
        hosts = issue / recorded if recorded else 0.0
        for record, run in _each_once(made):
            recording = _Recording.of(record, time, hosts)
            slack = max(0.0, time - recording.whole(record).time)
            recordings.append((recording, slack))
            yield priced(record, run, recording, slack)
    typical = _Recording(*map(median, zip(*(each for each, _ in recordings), strict=True)))
    slack = median([slack for _, slack in recordings])
    yield from (priced(*each, typical, slack) for each in once)


class _Recording(NamedTuple):
    """What runs take without a record: each launch so many seconds of the device less.

    In all that leaves a ``part`` of these, and another one of the ``host``'s.
    """

    launch: float = 0.0
    part: float = 1.0
    host: float = 1.0

    @classmethod
    def of(cls, record: Record, seconds: float, host: float) -> _Recording:
        """What is known by a run that takes so long."""
        device = record.device_time
        return cls(max(0.0, device - seconds) / max(1, record.launches),
                   min(1.0, seconds / device) if device else 0.0, host)

    def costs(self, record: Record) -> Array:
        """What encounters take; kernels that are shorter than that have taken some time, too."""
        times = np.array([e.device_time for e in record.encounters])
        launches = np.array([e.launches for e in record.encounters])
        issue = np.array([e.issue for e in record.encounters])
        return np.array([np.maximum(times - self.launch * launches, LEAST * self.part * times),
                         self.host * issue])

    def whole(self, record: Record, slack: float = 0.0) -> Cost:
        """What the run takes, with ``slack`` outside of all that was recorded."""
        device = max(record.device_time - self.launch * record.launches,
                     LEAST * self.part * record.device_time)
        return Cost(device + slack, self.host * record.issue + slack)


def _in_turn(timed: Sequence[Sequence[tuple[Record, LoggedRun]]],
             once: Sequence[tuple[Record, LoggedRun]]) -> Iterator[CorrectedRecord]:
    """Runs in which the host waits for the device: the times between ends count."""
    each = list[float]()

    def priced(record: Record, run: LoggedRun, cost: float) -> CorrectedRecord:
        left = record.shares(max(0.0, cost))
        spent = np.array([left.time(e.busy, e.time) for e in record.encounters])
        return CorrectedRecord(record, np.array([spent, np.zeros_like(spent)]),
                               Cost(left.time(record.busy,
                                              record.span) if run.time is None else run.time),
                               run.time is not None, run.reference, left.works)

    for made in timed:
        cost = median([record.wall for record, _ in made]) - median(
            [run.time for _, run in made if run.time is not None])
        each += [cost / max(1, record.launches) for record, _ in made]
        yield from (priced(record, run, cost) for record, run in _each_once(made))
    launch = median(each) if each else 0.0
    yield from (priced(record, run, launch * record.launches) for record, run in once)
