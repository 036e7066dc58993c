"""Robust statistics of noisy timings."""

from __future__ import annotations

from collections.abc import Sequence


def median(samples: Sequence[float]) -> float:
    """The middle sample, or the mean of the two in the middle."""
    ordered = sorted(samples)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def mad(samples: Sequence[float]) -> float:
    """The median absolute deviation from the median."""
    middle = median(samples)
    return median([abs(sample - middle) for sample in samples])


def show_time(seconds: float) -> str:
    """A time with three digits and a fitting unit.

    >>> show_time(0.0123), show_time(4.5e-5)
    ('12.3ms', '45us')
    """
    unit, scale = next(((u, s) for u, s in (("s", 1.0), ("ms", 1e-3)) if seconds >= s),
                       ("us", 1e-6))
    return f"{seconds / scale:.3g}{unit}"
