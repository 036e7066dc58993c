"""Algorithm 5 of Breddam 2019 to the letter: halving by comparison with the best so far."""

from __future__ import annotations

from collections.abc import Callable

from runelift.runtime.tuner.strategies.node_wise import tune_with
from runelift.runtime.tuner.strategies.trials import SearchState, strategy


@strategy("binary-literal")
def binary_literal(trials: SearchState) -> dict[str, int]:
    """Goes up while the middle is faster than all before it, else down.

    The first of its tries is that with which nothing holds, which the nodes below have made.  So
    halving N thresholds takes log2 N runs, rounded down, or one less.  The comparison does not say
    in which direction it gets better.  So the best may be missed even where there is one valley;
    :mod:`~runelift.runtime.tuner.strategies.binary` follows the slope.
    """
    return tune_with(trials, halve)


def halve(count: int, cost: Callable[[int], float]) -> int:
    """The best index looked at, of at most ``floor(log2(count)) + 1``; the last is the first.

    Where ``count + 1`` is a power of two, exactly its logarithm is the number looked at.

    >>> halve(7, lambda k: abs(k - 5)), halve(7, lambda k: abs(k - 4))
    (5, 3)
    """
    lower, upper = 0, count - 1
    best, index = cost(upper), upper
    while upper > lower:
        middle = (lower + upper + 1) // 2
        found = cost(middle)
        if found < best:
            best, index, lower = found, middle, middle + 1
        else:
            upper = middle - 1
    return index
