"""The trace of a search: the best score so far, over runs and over seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Best(NamedTuple):
    """The best score after so many runs and seconds."""

    runs: int
    seconds: float
    score: float


def note(trace: list[Best], best: Best) -> bool:
    """Add a score to a trace if it is better than its last one; True if it was added."""
    if trace and best.score >= trace[-1].score:
        return False
    trace.append(best)
    return True


def expected_least(scores: Sequence[float], count: int) -> float:
    """The mean of the least of ``count`` draws, with repetition, from the ascending ``scores``.

    >>> expected_least([1.0, 2.0], 1), expected_least([1.0, 2.0], 2)
    (1.5, 1.25)
    """
    size = len(scores)
    return sum(score * (((size - k) / size) ** count - ((size - k - 1) / size) ** count)
               for k, score in enumerate(scores))


def least_quantile(scores: Sequence[float], count: int, part: float) -> float:
    """The score that the least of ``count`` draws does not exceed in a ``part`` of cases.

    The draws are from ascending ``scores``, with repetition.

    >>> least_quantile([1.0, 2.0, 3.0, 4.0], 1, 0.5), least_quantile([1.0, 2.0, 3.0, 4.0], 3, 0.5)
    (2.0, 1.0)
    """
    size = len(scores)
    return next((score for k, score in enumerate(scores)
                 if 1 - ((size - k - 1) / size) ** count >= part), scores[-1])
