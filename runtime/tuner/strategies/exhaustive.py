"""Every value that is compared, tried (Breddam 2019, algorithm 4)."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter

from runelift.runtime.tuner.strategies.indices import IndexSpace
from runelift.runtime.tuner.strategies.node_wise import tune_with
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
        scores = ((trials.score(found | each), each) for each in map(space.thresholds, space.all()))
        found = found | min(scores, key=itemgetter(0), default=(0.0, {}))[1]
    return found


def least_of_all(count: int, cost: Callable[[int], float]) -> int:
    """The cheapest of so many indices."""
    return min(range(count), key=cost)
