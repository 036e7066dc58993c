"""Robust summaries of repeated measurements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Summary:
    """The median of some measurements and how far they typically lie from it."""

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
