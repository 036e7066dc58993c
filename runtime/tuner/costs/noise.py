"""The times of runs with forced versions, and their noise: the spread of repeated runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from runelift.runtime.records.statistics import median
from runelift.runtime.tuner.costs.log import Measurements
from runelift.runtime.versions.forest import Forest
from runelift.runtime.versions.version_names import names_of_plan


@dataclass(frozen=True, slots=True)
class RepeatedRuns:
    """The times (seconds) of runs of one dataset with the same versions, in order."""

    dataset: str
    force: Mapping[str, int]
    seconds: tuple[float, ...]

    @property
    def middle(self) -> float:
        """The median."""
        return median(self.seconds)

    @property
    def deviation(self) -> float:
        """The median distance of the runs from their median, as a fraction of it."""
        middle = self.middle
        return median([abs(each - middle) for each in self.seconds]) / middle if middle else 0.0

    def versions(self, forest: Forest) -> str:
        """The names of the versions that ran."""
        return names_of_plan(forest, self.force)


def repeated_runs(measurements: Measurements) -> list[RepeatedRuns]:
    """The runs that were made more than once, by dataset and versions."""
    seconds: dict[tuple[str, tuple[tuple[str, int], ...]], list[float]] = defaultdict(list)
    for run in measurements.runs:
        if (found := run.seconds) is not None:
            seconds[run.dataset, tuple(run.force.items())].append(found)
    return [RepeatedRuns(dataset, dict(force), tuple(times))
            for (dataset, force), times in seconds.items() if len(times) > 1]


def forced_seconds(forest: Forest, measurements: Measurements
                   ) -> dict[str, dict[str, list[float]]]:
    """The seconds of runs with forced versions, by dataset and the names of these versions."""
    found: dict[str, dict[str, list[float]]] = {}
    for run in measurements.runs:
        seconds = run.seconds
        if seconds is not None and run.force and run.replay is None:
            found.setdefault(run.dataset, {}).setdefault(
                names_of_plan(forest, run.force), []).append(seconds)
    return found
