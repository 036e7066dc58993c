"""Measuring that several devices share: each takes a dataset, until there are no more.

Only times of one make of device are compared (:mod:`runelift.runtime.alike`), and all versions of
a dataset are measured on the same device of them.  Devices know nothing of each other; what they
measure comes together in the log, which says which one made each run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from runelift.runtime import interrupts
from runelift.runtime.tuner.forest import Forest, plans
from runelift.runtime.tuner.log import Measurements, Run, Runs, complete
from runelift.runtime.tuner.measure import Dataset, Measurable, Method, Progress

STEPS = 100
"""Into how many steps the work on a dataset is divided, for the display."""


LOST = "lost"
"""How the reason begins why a dataset was not measured if that is no fault of it."""


@dataclass(frozen=True, slots=True)
class Job:
    """A dataset to be measured by one device.

    ``known`` are runs from before, which the device ``place`` has made; None if there are none.
    """

    forest: Forest
    dataset: Dataset
    method: Method
    repeats: int
    known: tuple[Run, ...] = ()
    place: str | None = None


@dataclass(slots=True)
class Notes:
    """The log of a job that is done at a ``place``: what was known, and where new runs go."""

    job: Job
    place: str
    take: Callable[[Job, Run], None] = lambda job, run: None

    def measure(self, program: Measurable,
                progress: Callable[[Progress], None] = lambda _: None) -> Measurements:
        """Do the job."""
        job = self.job
        found = job.method.measure(program, job.forest, [job.dataset], repeats=job.repeats,
                                   log=self, progress=progress)
        found.runs = [replace(run, place=self.place) for run in found.runs]
        return found

    def known(self, entry: str, dataset: str) -> list[Run]:
        """The runs from before."""
        return list(self.job.known)

    def append(self, entry: str, run: Run) -> None:
        """Hand on a run."""
        self.take(self.job, replace(run, place=self.place))

    def forget(self, entry: str, dataset: str) -> None:
        """Never asked for: who shares out jobs has seen to it."""
        raise AssertionError(f"{entry}: {dataset}")


class Crew(Protocol):
    """Devices of one make, here or elsewhere."""

    def places(self) -> Collection[str]:
        """The names of those that can go on with what they began, as logs have them."""
        ...

    def __len__(self) -> int:
        """How many measure at the same time."""
        ...

    def measure(self, jobs: Sequence[Job], take: Callable[[Job, Run], None],
                progress: Callable[[Progress], None]) -> dict[str, Measurements]:
        """Do all jobs; what was measured, by dataset.

        Runs say where they were made.  ``take`` is given each new one, ``progress`` hears of each
        job as if there were no other; both may be called by any thread.  After Ctrl-C what is not
        over is left.
        """
        ...


@dataclass(frozen=True, slots=True)
class Shared:
    """A method whose datasets are shared out among devices, in at most ``seconds``."""

    method: Method
    crew: Crew = field(repr=False)
    seconds: float = math.inf

    @property
    def repeats(self) -> int:
        """As the method has it."""
        return self.method.repeats

    def runs(self, forest: Forest) -> int:
        """As the method needs."""
        return self.method.runs(forest)

    def surely(self, known: Measurements | None = None) -> Shared:
        """The same, but that nothing is estimated."""
        return replace(self, method=self.method.surely(known))

    def within(self, seconds: float) -> Shared:
        """The same in at most so many seconds."""
        return replace(self, seconds=min(seconds, self.seconds))

    def measure(self, program: Measurable, forest: Forest, datasets: Sequence[Dataset], *,
                repeats: int, log: Runs | None = None,
                progress: Callable[[Progress], None] = lambda _: None) -> Measurements:
        """The runs of all datasets, wherever they were made; ``program`` is for what comes after.

        A dataset that a device has begun is gone on with by this device or begun anew.
        """
        done: dict[str, float] = dict.fromkeys((d.name for d in datasets), 0.0)
        parts = self._parts(len(datasets))

        def tell(step: Progress) -> None:
            done[step.what] = step.done / step.total
            progress(Progress(step.what, round(STEPS * sum(done.values())), STEPS * len(done),
                              step.seconds))

        def take(job: Job, run: Run) -> None:
            if log is not None:
                log.append(forest.entry, run)

        whole: dict[str, Measurements] = {}
        jobs: list[Job] = []
        for dataset in datasets:
            known = log.known(forest.entry, dataset.name) if log is not None else []
            if known and complete(known, plans(forest), repeats) and not _lost(known):
                whole[dataset.name] = Measurements(forest.entry, known)
                continue
            if known and not self._goes_on(known):
                assert log is not None
                log.forget(forest.entry, dataset.name)
                known = []
            jobs.append(Job(forest, dataset, self.method.within(parts), repeats, tuple(known),
                            known[0].place if known else None))
        whole |= self.crew.measure(jobs, take, tell) if jobs else {}
        return self._together(forest.entry, datasets, whole)

    def _goes_on(self, known: Sequence[Run]) -> bool:
        """Whether the device that made these runs can make the others."""
        (place, *others), places = {run.place for run in known}, self.crew.places()
        return bool(places) and not others and (place is None or place in places)

    def _parts(self, datasets: int) -> float:
        """The time that one dataset may take."""
        return self.seconds / max(1, math.ceil(datasets / len(self.crew)))

    @staticmethod
    def _together(entry: str, datasets: Sequence[Dataset],
                  found: dict[str, Measurements]) -> Measurements:
        """One after the other what was measured at the same time."""
        result = Measurements(entry)
        for own in (found[d.name] for d in datasets if d.name in found):
            result.runs += own.runs
            result.left_out += own.left_out
            result.stopped |= own.stopped
            result.interrupted |= own.interrupted
        try:
            interrupts.check()
        except KeyboardInterrupt:
            result.interrupted = True
        return result


def _lost(runs: Sequence[Run]) -> bool:
    """Whether nobody has measured this dataset so far."""
    return any(run.error and run.error.startswith(f"{LOST}:") for run in runs)
