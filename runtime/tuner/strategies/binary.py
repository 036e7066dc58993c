"""Halving the values that are compared, downhill (Breddam 2019, algorithm 5)."""

from __future__ import annotations

from collections.abc import Callable

from runelift.runtime.tuner.strategies.exhaustive import least_of_all
from runelift.runtime.tuner.strategies.node_wise import tune_with
from runelift.runtime.tuner.strategies.trials import SearchState, strategy


@strategy("binary")
def binary(trials: SearchState, *, few: int = 5) -> dict[str, int]:
    """Follows the slope between two neighbouring values: exact where there is one valley.

    As in the thesis's implementation all values are tried where there are at most ``few``.  Its
    pseudo-code compares the middle with the best so far.  That says nothing about the direction in
    which it gets better; two runs at neighbouring values do.  Nothing is returned that is worse
    than what was tried, also while other comparisons were tuned.
    """
    found = tune_with(trials, lambda count, cost: (least_of_all if count <= few else descend)(
        count, cost))
    return min(found, trials.best, key=trials.score)


def descend(count: int, cost: Callable[[int], float]) -> int:
    """The index of a local minimum, by about log2 ``count`` pairs of neighbours.

    The best index looked at is returned, also where there are several valleys.  The first is the
    last one, with which nothing holds: the nodes below have run it.  Algorithm 5 and the binary
    search of ``futhark autotune`` begin so, too.  Where neighbours cost the same (both were
    stopped, or nothing is compared between them), the way is to the last index if that costs less.

    >>> descend(100, lambda k: abs(k - 61)), descend(100, lambda k: 500 if k < 90 else k)
    (61, 90)
    """
    known: dict[int, float] = {}

    def looked(index: int) -> float:
        if index not in known:
            known[index] = cost(index)
        return known[index]

    low, high = 0, count - 1
    looked(high)
    while low < high:
        middle = (low + high) // 2
        here, there = looked(middle), looked(middle + 1)
        if here < there or (here == there and here <= looked(high)):
            high = middle
        else:
            low = middle + 1
    looked(low)
    return min(known, key=lambda index: known[index])
