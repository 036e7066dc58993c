"""Robust summaries of repeated measurements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

DRAWN = 1000
"""The samples of a bootstrap."""
ENOUGH = 6
"""Measurements from which on a bootstrap says something."""
Seconds: TypeAlias = Sequence[float]


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


class Ratio(NamedTuple):
    """A ratio of times, and the limits ``low`` and ``high`` of its 95 % confidence interval."""

    value: float
    low: float
    high: float


UNKNOWN = Ratio(math.nan, math.nan, math.nan)
"""The ratio of times that were not measured."""


def median_ratio(over: Seconds, under: Seconds) -> Ratio:
    """The median ratio of times that were measured in turn; its limits are order statistics."""
    ratios = [one / other if other else 1.0 for one, other in zip(over, under, strict=True)]
    return Ratio(median(ratios), *median_interval(ratios))


def ratio_of_medians(times: Sequence[tuple[Seconds, Seconds]], *, paired: bool = True) -> Ratio:
    """The ratio of the sums of medians, of first over second times of some datasets.

    Its limits are a percentile bootstrap (Efron and Tibshirani, An introduction to the bootstrap,
    1993).  ``paired`` times at one place were measured in turn, and are drawn together.  With fewer
    times than :data:`ENOUGH`, the limits span the ratios of all single rounds, and 1: chance puts
    so few on one side too often.  If times are not paired, they span the ratios of any two.

    >>> ratio_of_medians([([2.0] * 9, [1.0] * 9), ([6.0] * 9, [3.0] * 9)])
    Ratio(value=2.0, low=2.0, high=2.0)
    """
    if not times or not all(over and under for over, under in times):
        return UNKNOWN
    value = sum(median(over) for over, _ in times) / sum(median(under) for _, under in times)
    random = np.random.default_rng(0)
    whole, part, limits = np.zeros(DRAWN), np.zeros(DRAWN), list[float]()
    for over, under in times:
        drawn = random.integers(len(under), size=(DRAWN, len(under)))
        others = drawn if paired else random.integers(len(over), size=(DRAWN, len(over)))
        whole += np.median(np.array(over)[others], axis=1)
        part += np.median(np.array(under)[drawn], axis=1)
        if min(len(over), len(under)) < ENOUGH:
            limits += [1.0, *(one / other for one, other in zip(over, under, strict=True))] \
                if paired else [min(over) / max(under), max(over) / min(under)]
    limits += np.percentile(whole / part, [2.5, 97.5]).tolist()
    return Ratio(value, min(limits), max(limits))
