"""Active learning: a parabola through what is known says what to try (Breddam 2019, 3.4)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from runelift.runtime.tuner.strategies.node_wise import tune_with
from runelift.runtime.tuner.strategies.trials import SearchState, strategy


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
