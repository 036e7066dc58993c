"""Candidates of a search over schedules, and which of them are worth a version."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from runelift.runtime.tuner.schedules.drawing import Drawn
from runelift.runtime.tuner.schedules.measuring import Measured
from runelift.runtime.tuner.search.trace import Best

LEAST = 1e-6
"""The least relative time that is told apart from none."""


@dataclass(slots=True)
class Candidate:
    """A drawn schedule with its time on datasets, relative to the program without it.

    A dataset is missing whose sizes do not meet the needs, or on which it is ``slow``: it was
    stopped.  ``failed`` says why no version could run that should have.  ``times`` counts the times
    that it was measured.
    """

    drawn: Drawn
    ratios: Mapping[str, float] = field(default_factory=dict)
    failed: str = ""
    slow: set[str] = field(default_factory=set)
    times: int = 0
    first: Best | None = None

    def score(self, datasets: Sequence[str]) -> float:
        """The mean time relative to the program without it, which runs where that is quicker."""
        if self.failed or not self.times:
            return math.inf
        logs = [math.log(min(1.0, max(self.ratios.get(name, 1.0), LEAST))) for name in datasets]
        return math.exp(sum(logs) / len(logs)) if logs else math.inf

    def gains(self, datasets: Sequence[str]) -> bool:
        """True if it was quicker than the program without it on all datasets."""
        return all(self.ratios.get(name, math.inf) < 1 for name in datasets)

    def take(self, found: Measured, datasets: Sequence[str], runs: int = 0, seconds: float = 0.0
             ) -> None:
        """Take what runs have found out, after so many of them and seconds in all."""
        lines = self.drawn.lines
        ratios, slow = found.ratios.get(lines, {}), found.slow.get(lines, set())
        if ratios or slow:
            self.ratios = {**self.ratios, **ratios}
            self.slow |= slow
            self.times += 1
        elif lines in found.errors:
            self.failed = found.errors[lines]
        elif found.datasets >= set(datasets) and not self.ratios:
            self.failed = "no dataset meets its needs"
        if self.first is None and (self.times or self.failed):
            self.first = Best(runs, seconds, min(1.0, self.score(datasets)))


def best_somewhere(found: Sequence[Candidate], datasets: Sequence[str], worthwhile: float
                   ) -> list[Candidate]:
    """The candidates that are the best on a dataset, and gain there.

    Better candidates come first.
    """
    best = list[Candidate]()
    for name in datasets:
        quick = min(found, key=lambda each: each.ratios.get(name, math.inf), default=None)
        if quick is not None and quick.ratios.get(name, math.inf) < 1 - worthwhile:
            best.append(quick)
    kept = [each for each in found if any(each is other for other in best)]
    return sorted(kept, key=lambda each: each.score(datasets))
