"""Searches for one threshold at a time: all values, halving, parabolas (Breddam 2019).

These are algorithms 4 to 7, the last two by active learning (section 3.4).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import itemgetter

import numpy as np

from runelift.runtime.tuner.strategies.indices import IndexSpace
from runelift.runtime.tuner.strategies.node_wise import tune_with
from runelift.runtime.tuner.strategies.nodes import all_false
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


@strategy("active")
def active(trials: SearchState, *, guesses: int = 3) -> dict[str, int]:
    """Tries where a second-degree polynomial through the tries is least (algorithm 6).

    It starts from ``guesses`` random tries and ends when the least point has been tried already.
    Where all of these tries fail, new tries are drawn: there is no polynomial through failures.
    """
    def line(count: int, cost: Callable[[int], float]) -> int:
        known = _first(count, cost, guesses, trials.random)
        while (predicted := _least_of_parabola(known, range(count))) not in known:
            known[predicted] = cost(predicted)
        return min(known, key=lambda index: known[index])

    return tune_with(trials, line)


@strategy("active-endpoints")
def active_endpoints(trials: SearchState, *, guesses: int = 3) -> dict[str, int]:
    """Like :func:`active`, until both neighbours of the best try are worse (algorithm 7)."""
    def line(count: int, cost: Callable[[int], float]) -> int:
        known = _first(count, cost, guesses, trials.random)
        while True:
            best = min(known, key=lambda index: known[index])
            untried = [index for index in range(count) if index not in known]
            if untried:
                predicted = _least_of_parabola(known, untried)
                known[predicted] = cost(predicted)
            if min(known.values()) < known[best]:
                continue
            for neighbour in (best + 1, best - 1):
                if 0 <= neighbour < count and neighbour not in known:
                    known[neighbour] = cost(neighbour)
                    if known[neighbour] < known[best]:
                        break
            else:
                return best

    return tune_with(trials, line)


def _first(count: int, cost: Callable[[int], float], guesses: int, random: np.random.Generator
           ) -> dict[int, float]:
    drawn = random.choice(count, size=min(guesses, count), replace=False)
    known = {int(index): cost(int(index)) for index in drawn}
    if not any(map(math.isfinite, known.values())):
        for index in map(int, random.permutation(count)):
            if index not in known:
                known[index] = cost(index)
                if math.isfinite(known[index]):
                    break
    return known


def _least_of_parabola(known: dict[int, float], among: list[int] | range) -> int:
    """The least point of the parabola that fits the known scores best, without failed tries."""
    points = {index: value for index, value in known.items() if np.isfinite(value)}
    if len(points) < 2:
        return among[len(among) // 2]
    indices = np.array(list(points), np.float64)
    centre, scale = indices.mean(), max(float(np.ptp(indices)), 1.0)
    model = np.polynomial.Polynomial.fit(
        (indices - centre) / scale, np.array(list(points.values())), min(2, len(points) - 1),
        domain=[])
    predicted = model((np.array(among) - centre) / scale)
    return among[int(np.argmin(predicted))]
