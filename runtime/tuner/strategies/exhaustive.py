"""Every value that is compared, tried (Breddam 2019, algorithm 4)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from runelift.runtime.tuner.strategies.indices import IndexSpace
from runelift.runtime.tuner.strategies.loops import tune_with
from runelift.runtime.tuner.strategies.nodes import all_false
from runelift.runtime.tuner.strategies.trials import SearchState, strategy


@strategy("exhaustive")
def exhaustive(trials: SearchState, *, joint: bool = False) -> dict[str, int]:
    """All thresholds that differ, of one comparison after the other.

    With ``joint`` all combinations within a tree are tried.  That finds the optimum, but their
    number is the product of the numbers of candidates.
    """
    if not joint:
        return tune_with(trials, least_of_all)
    trials.scout()
    found = all_false(trials.forest)
    for tree in trials.forest.trees:
        space = IndexSpace.of(trials, [tree])
        found |= min((space.thresholds(indices)
                      for indices in product(*map(range, map(int, space.lengths)))),
                     key=lambda thresholds, found=found: trials.score(  # type: ignore[misc]
                         found | thresholds), default={})
    return found


def least_of_all(count: int, cost: Callable[[int], float]) -> int:
    """The cheapest of so many indices."""
    return min(range(count), key=cost)
