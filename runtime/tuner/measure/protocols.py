"""Datasets, the progress of measuring, ways to measure, and jobs for devices that share it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from runelift.runtime.tuner.costs.log import LoggedRun, Measurements
from runelift.runtime.tuner.measure.measurable import Args, Force, Measurable, Thresholds
from runelift.runtime.tuner.policy import NORMAL, TuningPolicy
from runelift.runtime.versions.forest import Forest, plans

FORCED_REPEATS = 3
"""The repetitions of a run with forced versions."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A named input of an entry point, made when it is needed, and its output, if one is given."""

    name: str
    entry: str
    arguments: Callable[[], Sequence[Any]]
    expected: Callable[[], Sequence[Any] | None] = lambda: None

    def unexpected(self, program: Measurable, args: Args) -> str | None:
        """The difference of a program's results by default from the given output, in words."""
        expected = self.expected()
        how = None if expected is None else program.unexpected(self.entry, args, expected)
        return how and f"the program does not give the output of the dataset: {how}"


@dataclass(frozen=True, slots=True)
class Progress:
    """A step of measuring: the ``done``-th of ``total`` runs, of ``what``, and its time.

    ``summary`` says what was found, if this was the last run of a dataset.
    """

    what: str
    done: int
    total: int
    seconds: float = math.inf
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Replay:
    """Measuring by one run per dataset that runs every version at every encounter.

    :class:`runelift.runtime.tuner.replay.racing.Race` explains ``rounds`` and ``factor``.
    """

    rounds: int = 5
    factor: float = 3.0


@dataclass(frozen=True, slots=True)
class MeasuringMethod:
    """A way to find the costs of all versions, as data.

    A run forces one version of each site, unless there is a ``replay``.  Datasets share ``budget``
    seconds, which a run that has begun may exceed.  Devices of a ``pool`` share the datasets.

    ``only`` are the plans to run, if not all.  Then the caller looks for further plans
    (:mod:`~runelift.runtime.tuner.prune.contenders`).  With ``every``, nothing is estimated:
    versions are run that other datasets rule out
    (:mod:`~runelift.runtime.tuner.prune.extrapolation`), and none leaves the race of a replay.
    The ``thresholds``, if there are any, take the place of the program's.  ``stopped`` are versions
    that were not over in time, by dataset: a replay does not run them again.
    """

    budget: float = math.inf
    only: tuple[Force, ...] | None = None
    every: bool = False
    policy: TuningPolicy = NORMAL
    thresholds: Thresholds | None = None
    replay: Replay | None = None
    stopped: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    pool: DevicePool | None = field(default=None, repr=False)

    @property
    def repeats(self) -> int:
        """The default number of repetitions of a run."""
        return FORCED_REPEATS if self.replay is None else 1

    def plans(self, forest: Forest) -> Sequence[Force]:
        """All plans, or the plans that were asked for."""
        return plans(forest) if self.only is None else self.only

    def runs(self, forest: Forest) -> int:
        """The number of runs of a dataset that it needs, without repetitions."""
        return len(plans(forest)) if self.replay is None else 1

    def surely(self, known: Measurements | None = None) -> MeasuringMethod:
        """The method without estimates; versions ``known`` to be stopped do not run again."""
        return replace(self, every=True, stopped=known.stopped if known else {})

    def within(self, seconds: float) -> MeasuringMethod:
        """The method in at most so many seconds."""
        return replace(self, budget=min(seconds, self.budget))


@dataclass(frozen=True, slots=True)
class Job:
    """A dataset, or some of its versions, to be measured by one device.

    ``known`` are runs from before, which the device ``place`` has made; None if there are none.
    """

    forest: Forest
    dataset: Dataset
    method: MeasuringMethod
    repeats: int
    known: tuple[LoggedRun, ...] = ()
    place: str | None = None


class DevicePool(Protocol):
    """Devices of one make, here or elsewhere."""

    def places(self) -> Collection[str]:
        """The names of the devices that can go on with the work they began, as logs have them."""

    def __len__(self) -> int:
        """The number of devices that measure at the same time."""

    def parts(self, datasets: int) -> int:
        """Into how many parts each of so many datasets is best divided."""

    def measure(self, jobs: Sequence[Job], take: Callable[[Job, LoggedRun], None],
                progress: Callable[[Job, Progress], None]) -> list[tuple[Job, Measurements]]:
        """Do all jobs; what was measured, in the order of the jobs.

        Runs say where they were made.  ``take`` is given each new one, ``progress`` hears of
        each job as if there were no other; both may be called by any thread.  After Ctrl-C what is
        not over is left.
        """
