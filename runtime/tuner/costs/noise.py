"""Noise: the spread of repeated runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from runelift.runtime.records.statistics import median
from runelift.runtime.tuner.costs.log import LoggedRun, Measurements


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

    @property
    def versions(self) -> str:
        """The version at each site, in the order of the program."""
        return "/".join(str(index) for index in self.force.values()) or "default"


def repeated_runs(measurements: Measurements) -> list[RepeatedRuns]:
    """The runs that were made more than once, by dataset and versions."""
    seconds: dict[tuple[str, tuple[tuple[str, int], ...]], list[float]] = defaultdict(list)
    for run in measurements.runs:
        if (found := run_seconds(run)) is not None:
            seconds[run.dataset, tuple(run.force.items())].append(found)
    return [RepeatedRuns(dataset, dict(force), tuple(times))
            for (dataset, force), times in seconds.items() if len(times) > 1]


def run_seconds(run: LoggedRun) -> float | None:
    """The seconds of a run, without recording if known; None if it failed."""
    if run.record is None:
        return None
    return run.record.span if run.time is None else run.time
