"""Random thresholds: what every other search has to beat."""

from __future__ import annotations

from itertools import islice

from runelift.runtime.tuner.strategies.indices import IndexSpace
from runelift.runtime.tuner.strategies.trials import SearchState, strategy


@strategy("random")
def random_search(trials: SearchState, *, tries: int = 300) -> dict[str, int]:
    """So many ``tries`` of thresholds, drawn from the thresholds that choose differently."""
    trials.scout()
    space = IndexSpace.of(trials)
    for vector in islice(space.draw(), tries):
        trials.times(space.thresholds(vector))
    return trials.best
