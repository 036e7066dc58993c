"""Robust summaries of repeated measurements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Summary:
    """The median, median absolute deviation, minimum and number of some measurements."""

    median: float
    mad: float
    least: float
    count: int


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the two in the middle; NaN if there are none.

    >>> median([3.0, 1.0, 10.0, 2.0])
    2.5
    """
    if not values:
        return math.nan
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def mad(values: Sequence[float]) -> float:
    """The median absolute deviation from the median.

    >>> mad([1.0, 2.0, 2.0, 9.0])
    0.5
    """
    centre = median(values)
    return median([abs(value - centre) for value in values])


def summarise(values: Sequence[float]) -> Summary:
    """Median, deviation and minimum of ``values``."""
    return Summary(median(values), mad(values), min(values, default=math.nan), len(values))


def median_interval(values: Sequence[float], error: float = 0.05) -> tuple[float, float]:
    """A confidence interval of the median, from order statistics.

    It misses the median in at most the fraction ``error`` of cases, whatever the distribution.
    Few values cannot promise that: then it spans all of ``values``.

    >>> median_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
    (1.0, 8.0)
    >>> median_interval([float(k) for k in range(1, 10)])
    (2.0, 8.0)
    """
    ordered, n = sorted(values), len(values)
    outside, below = 0, 0.0  # so many values on either side may be left out
    while 2 * (below + math.comb(n, outside) / 2**n) <= error:
        below += math.comb(n, outside) / 2**n
        outside += 1
    first = max(outside - 1, 0)
    return ordered[first], ordered[n - 1 - first]
