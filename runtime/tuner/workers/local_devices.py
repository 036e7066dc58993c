"""Devices of this machine that measure at the same time, one worker process each."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait

from runelift.runtime.host import interrupts
from runelift.runtime.tuner.costs.log import LoggedRun, Measurements
from runelift.runtime.tuner.measure.measurable import Measurable
from runelift.runtime.tuner.measure.measuring import do
from runelift.runtime.tuner.measure.protocols import Job, Progress

POLL_SECONDS = 0.05
"""The time between looks for Ctrl-C (seconds)."""
JOIN_SECONDS = 2.0
"""The seconds of measuring after which other devices join the first one.

To start their processes, and to bring inputs and kernels there, takes longer than they save in a
short tuning.
"""


class LocalDevices:
    """Programs on devices of this machine, by their places; a thread waits for each of them."""

    def __init__(self, programs: Mapping[str, Measurable]) -> None:
        self._programs = dict(programs)
        self._since: float | None = None

    def __len__(self) -> int:
        return len(self._programs)

    def places(self) -> Collection[str]:
        """The names of the devices."""
        return self._programs.keys()

    def parts(self, datasets: int) -> int:
        """As many as there are devices: one that is through helps another."""
        return len(self)

    def measure(self, jobs: Sequence[Job], take: Callable[[Job, LoggedRun], None],
                progress: Callable[[Job, Progress], None]) -> list[tuple[Job, Measurements]]:
        """Do all jobs.  A job that a device has begun is for this device alone."""
        queue, found = _Queue(jobs), dict[int, Measurements]()
        first, self._since = next(iter(self._programs)), self._since or time.perf_counter()
        joining = self._since + JOIN_SECONDS

        def work(place: str, program: Measurable) -> None:
            while place != first and time.perf_counter() < joining and queue.waits(place):
                time.sleep(POLL_SECONDS)
            while (job := queue.next(place)) is not None:
                found[id(job)] = do(job, program, place, take, progress)
                if found[id(job)].interrupted:
                    return

        with ThreadPoolExecutor(len(self._programs)) as pool:
            futures = [pool.submit(work, *each) for each in self._programs.items()]
            _wait(futures, queue)
        for future in futures:
            if (error := future.exception()) is not None:
                raise error
        return [(job, found[id(job)]) for job in jobs if id(job) in found]


class _Queue:
    """Jobs that no device has begun, and the devices that work on each dataset."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = list(jobs)
        self._there: dict[str, set[str]] = {job.dataset.name: set() for job in jobs}
        for job in jobs:
            self._there[job.dataset.name].update([job.place] if job.place else [])
        self._taking = threading.Lock()

    def next(self, place: str) -> Job | None:
        """A job for a device; None if there is no more.

        A dataset that it has begun comes first, then one without a device.  Last comes a part of
        the dataset with most parts left.
        """
        with self._taking:
            free = [job for job in self._jobs if job.place in (None, place)]
            job = min(free, key=lambda job: self._rank(job, place), default=None)
            if job is not None:
                self._jobs = [each for each in self._jobs if each is not job]
                self._there[job.dataset.name].add(place)
            return job

    def waits(self, place: str) -> bool:
        """True if there are jobs, none of which is for this device alone."""
        with self._taking:
            return bool(self._jobs) and not any(job.place == place for job in self._jobs)

    def _rank(self, job: Job, place: str) -> tuple[bool, bool, bool, int]:
        there = self._there[job.dataset.name]
        left = sum(each.dataset.name == job.dataset.name for each in self._jobs)
        return job.place is None, place not in there, bool(there), -left if there else 0

    def clear(self) -> None:
        """Let no further job begin."""
        with self._taking:
            self._jobs.clear()


def _wait(futures: Sequence[Future[None]], queue: _Queue) -> None:
    """Wait for all devices.

    After Ctrl-C, or an error on one of them, no device begins another job.
    """
    try:
        while wait(futures, POLL_SECONDS, FIRST_EXCEPTION).not_done:
            if any(each.done() and each.exception() is not None for each in futures):
                queue.clear()
                wait(futures, POLL_SECONDS)
    except KeyboardInterrupt:
        queue.clear()
        interrupts.request()
        wait(futures)
