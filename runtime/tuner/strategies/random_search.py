"""Random thresholds: what every other search has to beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from runelift.runtime.tuner.strategies.indices import IndexSpace
from runelift.runtime.tuner.strategies.trials import SearchState


@dataclass(frozen=True, slots=True)
class Random:
    """So many ``tries`` of thresholds that are drawn from those that differ."""

    name: ClassVar[str] = "random"
    tries: int = 300

    def search(self, trials: SearchState) -> dict[str, int]:
        """The best thresholds tried."""
        trials.scout()
        space = IndexSpace.of(trials)
        for _ in range(self.tries):
            trials.times(space.thresholds(space.draw(trials.random)))
        return trials.best
