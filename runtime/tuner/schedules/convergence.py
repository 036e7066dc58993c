"""The best schedule so far over program runs: of the search, and of drawing at random.

Nothing is run for the comparison.  Random drawing has the scores of the candidates that the search
has drawn at random, each as likely as any other.  It has no scores of other candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from runelift.runtime.tuner.schedules.search import ScheduleSearch

Curve: TypeAlias = list[tuple[int, float]]
"""Scores after so many program runs."""
LOW, HIGH = 0.1, 0.9


@dataclass(frozen=True, slots=True)
class Convergence:
    """The best time so far relative to the program without schedule, by program runs.

    ``found`` is that of the search by first comparisons, ``expected`` the mean over all random
    drawings.  Eight in ten of these lie from ``lucky`` to ``unlucky``.
    """

    found: Curve
    expected: Curve
    lucky: Curve
    unlucky: Curve

    def runs_at_random(self) -> int | None:
        """The runs after which random drawing is as good on average; None if it never is."""
        best = self.found[-1][1] if self.found else 1.0
        return next((runs for runs, score in self.expected if score <= best), None)


def convergence(search: ScheduleSearch) -> Convergence:
    """The course of the best score, beside random drawing of as many schedules."""
    tried = [(each.first, each.drawn.at_random) for each in search.candidates if each.first]
    pool = sorted(first.score for first, at_random in tried if at_random)
    best, found = 1.0, Curve()
    for first, _ in tried:
        best = min(best, first.score)
        found.append((first.runs, best))
    return Convergence(
        found, *([(runs, of(pool, number)) for number, (runs, _) in enumerate(found, 1)]
                 if pool else []
                 for of in (expected_least, lambda pool, k: least_quantile(pool, k, LOW),
                            lambda pool, k: least_quantile(pool, k, HIGH))))


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


def convergence_facts(search: ScheduleSearch) -> dict[str, Any]:
    """The curves for the JSON file: runs and scores."""
    found = convergence(search)
    return {"search": found.found, "random_mean": found.expected,
            "random_lucky": found.lucky, "random_unlucky": found.unlucky}
