"""From records to thresholds, exactly and jointly over all datasets.

For every encounter of a site we know the parallelism that each guard is compared with and the
time of each version.  A threshold matters only through which encounters it lets pass, so the
candidates are the values that occurred, and one that is above them all.  The cost of a choice
is the sum of the chosen times, each dataset weighted by the inverse of its best time.

Source: Breddam 2019, algorithm 8, made joint over datasets, chains and nested sites.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ALWAYS = 1
"""A threshold that any parallelism reaches."""
NEVER = 2**31 - 1
"""A threshold that no parallelism reaches."""
EXHAUSTIVE = 200_000
"""Up to how many evaluations of a sample a chain is solved by enumeration."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One encounter: its weight, what each guard compares, and what each version costs.

    ``costs`` holds one entry per version, infinity where the version could not run.
    """

    weight: float
    par: tuple[int, ...]
    costs: tuple[float, ...]

    def choice(self, thresholds: Sequence[int]) -> int:
        """The version that runs under these thresholds: the first feasible one that passes."""
        feasible = [k for k, cost in enumerate(self.costs) if not math.isinf(cost)]
        for k in feasible:
            if k == len(self.par) or self.par[k] >= thresholds[k]:
                return k
        return feasible[-1]

    def cost(self, thresholds: Sequence[int]) -> float:
        """The weighted cost under these thresholds."""
        return self.weight * self.costs[self.choice(thresholds)]


@dataclass(frozen=True, slots=True)
class Fit:
    """The thresholds of a chain, the interval of equally good values of each, and the cost."""

    thresholds: tuple[int, ...]
    intervals: tuple[tuple[int, int], ...]
    cost: float


def candidates(samples: Sequence[Sample], guard: int) -> list[int]:
    """The thresholds of a guard that make a difference: NEVER, then the values, falling."""
    return [NEVER, *sorted({s.par[guard] for s in samples}, reverse=True)]


def total(samples: Sequence[Sample], thresholds: Sequence[int]) -> float:
    """The cost of all samples under these thresholds."""
    return sum(s.cost(thresholds) for s in samples)


def fit_chain(samples: Sequence[Sample], guards: int) -> Fit:
    """The best thresholds of a chain of guards.

    Exact by enumeration while that takes at most :data:`EXHAUSTIVE` evaluations, else by
    coordinate descent from several starts, each step of which is exact.
    """
    if not samples or not guards:
        return Fit((NEVER,) * guards, ((ALWAYS, NEVER),) * guards, 0.0)
    options = [candidates(samples, g) for g in range(guards)]
    if math.prod(len(o) for o in options) * len(samples) <= EXHAUSTIVE:
        best = min(itertools.product(*options), key=lambda t: total(samples, t))
    else:
        starts = [(NEVER,) * guards, (ALWAYS,) * guards]
        starts += [tuple(ALWAYS if g == k else NEVER for g in range(guards))
                   for k in range(guards)]
        best = min((_descend(samples, list(start)) for start in starts),
                   key=lambda t: total(samples, t))
    return _centre(samples, best, options)


def _descend(samples: Sequence[Sample], thresholds: list[int]) -> tuple[int, ...]:
    """Improve one threshold at a time until none can be improved."""
    cost = total(samples, thresholds)
    improved = True
    while improved:
        improved = False
        for guard in range(len(thresholds)):
            value, new = best_threshold(samples, thresholds, guard)
            if new < cost * (1 - 1e-12):
                thresholds[guard], cost, improved = value, new, True
    return tuple(thresholds)


def best_threshold(samples: Sequence[Sample], thresholds: Sequence[int],
                   guard: int) -> tuple[int, float]:
    """The best value of one threshold with the others fixed, by prefix sums in O(m log m)."""
    passing, failing = list(thresholds), list(thresholds)
    passing[guard], failing[guard] = ALWAYS, NEVER
    ordered = sorted(samples, key=lambda s: -s.par[guard])
    cost = sum(s.cost(failing) for s in samples)
    best, best_cost = NEVER, cost
    for k, sample in enumerate(ordered):
        cost += sample.cost(passing) - sample.cost(failing)
        last = k + 1 == len(ordered) or ordered[k + 1].par[guard] != sample.par[guard]
        if last and cost < best_cost:
            best, best_cost = sample.par[guard], cost
    return best, best_cost


def _centre(samples: Sequence[Sample], best: Sequence[int],
            options: Sequence[Sequence[int]]) -> Fit:
    """Move each threshold to the middle of the interval of values that choose the same.

    The interval ends at the next smaller parallelism, which must not pass; its geometric mean
    generalises better to sizes in between than its ends.
    """
    cost = total(samples, best)
    chosen = list(best)
    intervals: list[tuple[int, int]] = []
    for guard, value in enumerate(best):
        below = [o for o in options[guard] if o < value]
        low = max(below) + 1 if below else ALWAYS
        intervals.append((low, value))
        if value != NEVER:
            chosen[guard] = max(low, min(value, round(math.sqrt(low * value))))
    return Fit(tuple(chosen), tuple(intervals), cost)


def exhaustive_best(samples: Sequence[Sample], guards: int) -> float:
    """The least cost that any thresholds reach, by trying all that make a difference."""
    if not samples:
        return 0.0
    options = [candidates(samples, g) for g in range(guards)]
    return min(total(samples, t) for t in itertools.product(*options))


def weights(best_times: Mapping[str, float]) -> dict[str, float]:
    """The weight of each dataset: its loss counts relative to its best possible time."""
    return {name: 1 / best if best > 0 else 1.0 for name, best in best_times.items()}
