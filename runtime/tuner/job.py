"""A tuning job: a program, its datasets, and how to tune it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from runelift.runtime.tuner.costs.log import Measurements, RunStore
from runelift.runtime.tuner.costs.objective import Objective
from runelift.runtime.tuner.fit.memory_front import EstimateMemory
from runelift.runtime.tuner.fit.size_guards import SizeGuardKind
from runelift.runtime.tuner.measure.machine_load import busy_part
from runelift.runtime.tuner.measure.measurable import Measurable
from runelift.runtime.tuner.measure.protocols import (
    FORCED_REPEATS,
    Dataset,
    MeasuringMethod,
    Progress,
)
from runelift.runtime.tuner.policy import TuningPolicy
from runelift.runtime.tuner.result import EntryTuning, Tuning, default_thresholds
from runelift.runtime.tuner.searched_gains import SearchedGain
from runelift.runtime.versions.forest import Forest, Forests


@dataclass(frozen=True, slots=True)
class ParameterSearch:
    """The search for parameters of kernels: a strategy of
    :mod:`~runelift.runtime.tuner.kernel_parameters.proposals`, and where its random numbers start.

    ``progress`` hears of each operation, and ``within`` of the seconds that the search may take.
    """

    strategy: str = "local"
    seed: int = 0
    progress: Callable[[str], None] = lambda _: None
    within: Callable[[float], None] = lambda _: None


@dataclass(frozen=True, slots=True)
class TuningJob:
    """All that a tuning is given.

    ``program`` runs the versions of ``forests`` on ``datasets``.  ``method`` measures costs; it
    says how many ``repeats`` are needed if none are given.  With ``verify``, results are run
    beside the default before they are kept.  ``log`` keeps all runs, and ``aim`` is the objective.
    It has ``begun`` and is over by ``end``, times of :func:`time.perf_counter`.

    ``parameters`` is the search for parameters of kernels, if they are to be tuned, and
    ``size_guards`` the kind of guards beside thresholds.  ``held_back`` are datasets that are only
    run by default and tuned.  ``recorded`` are runs by entry point.  If they are given, no new runs
    are made.

    ``memory`` has the device memory of runs, where the objective asks for it.

    ``gains`` are what a search over schedules has proved, if there was one.

    ``busy`` tells the part of the processors that other work has.

    A thread does ``meanwhile`` while the result of an entry point is run beside the default, and
    ``report`` while size guards are.
    """

    program: Measurable
    forests: Forests
    datasets: Sequence[Dataset]
    method: MeasuringMethod = field(default_factory=MeasuringMethod)
    repeats: int | None = None
    verify: bool = True
    log: RunStore | None = None
    progress: Callable[[Progress], None] = lambda _: None
    aim: Objective = Objective.RELATIVE
    begun: float = field(default_factory=time.perf_counter)
    end: float = math.inf
    parameters: ParameterSearch | None = None
    size_guards: SizeGuardKind = SizeGuardKind.THRESHOLD
    held_back: Sequence[Dataset] = ()
    recorded: Mapping[str, Measurements] | None = None
    meanwhile: Callable[[EntryTuning], object] | None = None
    report: Callable[[Tuning], object] | None = None
    memory: EstimateMemory | None = None
    gains: Sequence[SearchedGain] | None = None
    busy: Callable[[], float] = busy_part

    @property
    def policy(self) -> TuningPolicy:
        """The numbers that decide how much is done."""
        return self.method.policy

    @property
    def measured_repeats(self) -> int:
        """The repetitions of each measured version."""
        return self.repeats or self.method.repeats

    @property
    def compared_repeats(self) -> int:
        """The repetitions of a direct comparison."""
        return self.repeats or FORCED_REPEATS

    @property
    def seconds_left(self) -> float:
        """The seconds until the end."""
        return max(0.0, self.end - time.perf_counter())

    def datasets_of(self, entry: str) -> list[Dataset]:
        """The datasets of an entry point."""
        return [dataset for dataset in self.datasets if dataset.entry == entry]

    def defaults(self, forest: Forest) -> dict[str, int]:
        """The thresholds that hold without tuning."""
        return default_thresholds(forest)

    def on(self, forest: Forest) -> TuningJob:
        """The job for a single entry point."""
        return replace(self, forests=Forests((forest,)), datasets=self.datasets_of(forest.entry))

    @property
    def forest(self) -> Forest:
        """The forest of a job with a single entry point."""
        (forest,) = self.forests.entries
        return forest

    def until(self, part: float) -> TuningJob:
        """The job with this part of the time that is left."""
        now = time.perf_counter()
        return replace(self, end=now + part * (self.end - now))
