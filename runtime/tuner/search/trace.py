"""The trace of a search: the best score so far, over runs and over seconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, NamedTuple, TypeAlias


class Best(NamedTuple):
    """The best score after so many runs and seconds."""

    runs: int
    seconds: float
    score: float


LOW, HIGH = 0.1, 0.9
"""The parts of random drawings that are lucky, and that are not unlucky."""
Curve: TypeAlias = list[tuple[int, float]]
"""Scores after so many runs."""


def note(trace: list[Best], best: Best) -> None:
    """Add a score to a trace if it is better than the last one."""
    if not trace or best.score < trace[-1].score:
        trace.append(best)


@dataclass(frozen=True, slots=True)
class Convergence:
    """The best score so far by runs: of a ``search``, and of drawing at random.

    Nothing is run for random drawing.  It has the scores of the candidates that the search has
    drawn at random, each as likely as any other.  ``random_mean`` is the mean over all random
    drawings.  Eight in ten of them lie from ``random_lucky`` to ``random_unlucky``.
    """

    search: Curve
    random_mean: Curve
    random_lucky: Curve
    random_unlucky: Curve

    @classmethod
    def of(cls, tried: Sequence[tuple[Best, bool]]) -> Convergence:
        """The course of first scores, each with whether the candidate was drawn at random."""
        pool = sorted(each.score for each, at_random in tried if at_random)
        least: list[Callable[[int], float]] = [partial(expected_least, pool), *(
            partial(least_quantile, pool, part=part) for part in (LOW, HIGH))] if pool else []
        search = [(each.runs, min(other.score for other, _ in tried[:number]))
                  for number, (each, _) in enumerate(tried, 1)]
        search = [(runs, min(1.0, score)) for runs, score in search]
        random = [[(runs, of(number)) for number, (runs, _) in enumerate(search, 1)]
                  for of in least]
        return cls(search, *(random or [[], [], []]))

    def runs_at_random(self) -> int | None:
        """The runs after which random drawing is as good on average; None if it never is."""
        best = self.search[-1][1] if self.search else 1.0
        return next((runs for runs, score in self.random_mean if score <= best), None)

    def facts(self) -> dict[str, Any]:
        """The curves for a JSON file."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


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
