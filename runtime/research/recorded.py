"""The oracle of a log: what runs would take, summed up from recorded costs, without a device."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from runelift.runtime.records.statistics import median
from runelift.runtime.tuner.costs.cost_model import Costs, costs_of
from runelift.runtime.tuner.costs.log import LoggedRun, Measurements
from runelift.runtime.tuner.fit.batch_eval import PathTable
from runelift.runtime.tuner.fit.joint_solver import compared
from runelift.runtime.tuner.measure.protocols import MeasuringMethod
from runelift.runtime.tuner.strategies.trials import MeasuredCosts, Thresholds, Timed
from runelift.runtime.versions.forest import Forest, plans


@dataclass(frozen=True, slots=True)
class Noise:
    """Ratios of repeated runs of a dataset to their median, as factors to draw from."""

    factors: Mapping[str, Sequence[float]]
    random: np.random.Generator

    @classmethod
    def of(cls, measurements: Measurements, seed: int) -> Noise:
        """The noise of the runs in a log."""
        times: dict[tuple[str, tuple[tuple[str, int], ...]], list[float]] = defaultdict(list)
        for run in measurements.runs:
            if (seconds := run.seconds) is not None:
                times[run.dataset, tuple(sorted(run.force.items()))].append(seconds)
        factors: dict[str, list[float]] = defaultdict(list)
        for (dataset, _), repeated in times.items():
            middle = median(repeated)
            factors[dataset] += [time / middle for time in repeated if middle]
        return cls(factors, np.random.default_rng(seed))

    def factor(self, dataset: str) -> float:
        """By what factor one more run of a dataset is off."""
        drawn = self.factors.get(dataset) or (1.0,)
        return drawn[int(self.random.integers(len(drawn)))]


@dataclass(slots=True)
class Recorded:
    """Simulates the runs of a program from the costs in a log.

    A simulated run takes what the costs of its versions add up to, times a factor drawn from
    ``noise`` if there is any.  What instrumenting took is the time of the runs in
    ``measurements``, each counted once.
    """

    costs: Costs
    default: Thresholds
    measurements: Measurements | None = None
    noise: Noise | None = None
    _tables: dict[str, PathTable] = field(init=False)
    _compared: dict[tuple[str, str], list[int]] = field(init=False)

    def __post_init__(self) -> None:
        self._tables = {d.name: PathTable.of(d) for d in self.costs.datasets}
        self._compared = {(d.name, guard): compared([d], guard)[:-1]
                          for d in self.costs.datasets for guard in self.forest.guards()}

    @property
    def forest(self) -> Forest:
        """The comparisons of the entry point."""
        return self.costs.forest

    @property
    def datasets(self) -> Sequence[str]:
        """The names of the datasets with complete costs."""
        return list(self._tables)

    @property
    def weights(self) -> Mapping[str, float]:
        """Times count relative to a dataset's best, as in :mod:`.fit`."""
        return {d.name: 1.0 / max(d.least(), 1e-12) for d in self.costs.datasets}

    def path(self, dataset: str, thresholds: Thresholds) -> Hashable:
        """The versions that run."""
        return self._tables[dataset].look_up(thresholds)[0]

    def run(self, dataset: str, thresholds: Thresholds) -> Timed:
        """The sum of the costs."""
        seconds = self._tables[dataset].look_up(thresholds)[1]
        if self.noise:
            seconds *= self.noise.factor(dataset)
        return Timed(seconds, seconds if np.isfinite(seconds) else 0.0)

    def compared(self, dataset: str, guard: str) -> Sequence[int]:
        """The distinct values that a guard compares with its threshold, in all versions."""
        return self._compared[dataset, guard]

    def instrument(self, method: MeasuringMethod) -> MeasuredCosts:
        """The costs of the log.  With noise, they are the costs of runs drawn from the log."""
        count = method.runs(self.forest) * len(self.datasets)
        if self.measurements is None:
            return MeasuredCosts(self.costs, 0.0, count, count)
        found = self._forced(self.measurements)
        if method.replay is not None:
            return MeasuredCosts(found.costs, sum(d.replayed() for d in self.costs.datasets),
                                 count, count)
        return found

    def _forced(self, measurements: Measurements) -> MeasuredCosts:
        drawn, spent, count, executions = list[LoggedRun](), 0.0, 0, 0
        for dataset in self.datasets:
            for force in plans(self.forest):
                runs = [run for run in measurements.runs
                        if run.dataset == dataset and run.force == force]
                times = [run.seconds for run in runs if run.seconds is not None]
                spent += median(times) if times else 0.0
                count += any(not run.left_out for run in runs)
                executions += sum(run.executions for run in runs)
                if self.noise and runs:
                    runs = [runs[int(k)] for k in self.noise.random.integers(len(runs), size=3)]
                drawn += runs
        if not self.noise:
            return MeasuredCosts(self.costs, spent, count, executions)
        return MeasuredCosts(costs_of(self.forest, replace(measurements, runs=drawn)), spent, count,
                             executions)
