"""Devices of this machine that measure at the same time, each in a worker process of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait

from runelift.runtime import interrupts
from runelift.runtime.tuner.log import Measurements, Run
from runelift.runtime.tuner.measure import Measurable, Progress
from runelift.runtime.tuner.shared import Job, Notes

TICK = 0.05
"""How often to look for Ctrl-C (seconds)."""


class LocalCrew:
    """Programs on devices of this machine, by their places; a thread waits for each of them."""

    def __init__(self, programs: Mapping[str, Measurable]) -> None:
        self._programs = dict(programs)

    def __len__(self) -> int:
        return len(self._programs)

    def places(self) -> Collection[str]:
        """The names of the devices."""
        return self._programs.keys()

    def measure(self, jobs: Sequence[Job], take: Callable[[Job, Run], None],
                progress: Callable[[Progress], None]) -> dict[str, Measurements]:
        """Do all jobs; those that a device has begun are for it alone."""
        queue, found = _Queue(jobs), dict[str, Measurements]()

        def work(place: str, program: Measurable) -> None:
            while (job := queue.next(place)) is not None:
                found[job.dataset.name] = Notes(job, place, take).measure(program, progress)
                if found[job.dataset.name].interrupted:
                    return

        with ThreadPoolExecutor(len(self._programs)) as pool:
            futures = [pool.submit(work, *each) for each in self._programs.items()]
            _wait(futures, queue)
        for future in futures:
            if (error := future.exception()) is not None:
                raise error
        return found


class _Queue:
    """Jobs that nobody does yet."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = list(jobs)
        self._taking = threading.Lock()

    def next(self, place: str) -> Job | None:
        """A job for a device, its own first; None if there is no more."""
        with self._taking:
            own = [job for job in self._jobs if job.place == place]
            job = next(iter([*own, *(each for each in self._jobs if each.place is None)]), None)
            if job is not None:
                self._jobs.remove(job)
            return job

    def clear(self) -> None:
        """No further job is to be begun."""
        with self._taking:
            self._jobs.clear()


def _wait(futures: Sequence[Future[None]], queue: _Queue) -> None:
    """Wait for all; after Ctrl-C, or an error in one of them, the others begin nothing more."""
    try:
        while wait(futures, TICK, FIRST_EXCEPTION).not_done:
            if any(each.done() and each.exception() is not None for each in futures):
                queue.clear()
                wait(futures, TICK)
    except KeyboardInterrupt:
        queue.clear()
        interrupts.request()
        wait(futures)
