"""Pruning: the factors by which versions are run once only, or not at all."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PruningPolicy:
    """All factors that decide about hopeless versions.

    A *factor* is how many times as long as the best version a version takes.  An estimate may be
    wrong by more than a measurement, so its factor is larger.
    """

    kernels_factor: float = 2.0
    """A version is not repeated if its kernels and launches alone take longer by this factor.

    Kernels of a first run are late by less than a factor of two.
    """
    launch_seconds: float = 2e-6
    """Seconds that a host needs at least to issue a launch."""
    little_gain: float = 0.002
    """Fraction of a run's time; a version that can gain no more than that is not repeated."""
    first_run_factor: float = 10.0
    """A version is not repeated if its whole first run took longer by this factor, ..."""
    first_run_seconds: float = 0.1
    """... and more seconds than these: the delays of a first run are shorter."""
    once_seconds: float = 2.0
    """A run that takes so many seconds is made once only: chance hardly distorts it."""
    smaller_inputs_factor: float = 8.0
    """A version is skipped if smaller inputs show that it takes longer by this factor."""
    less_work: float = 0.5
    """An input has less work than another if kernels take less than this part of the time.

    Sizes decide where times differ less: times of short kernels are chance.
    """
    estimate_factor: float = 20.0
    """A version is skipped if an estimate says that it takes longer by this factor.

    Even if the estimate is wrong by a factor of two, the version is far behind.
    """
    estimate_seconds: float = 0.1
    """Versions are run anyway if other inputs let expect fewer seconds, ..."""
    few_items_seconds: float = 0.02
    """... or if so few work-items need at least fewer seconds, which is no estimate."""
    similar_sizes_factor: float = 20.0
    """A replayed version is skipped if it took longer by this factor at the two nearest sizes."""
    size_steps: int = 4
    """Kinds of encounters that replay tells apart while a size doubles."""
    similar_doublings: int = 4
    """Doublings by which a size may differ from the nearest sizes: a factor of 16."""
    cannot_run_factor: float = 30.0
    """Factor that a fit assumes for versions that cannot run, and the largest that it tells.

    It no longer matters then how bad a version is.
    """

    def least_seconds(self, busy: float, launches: int) -> float:
        """Seconds that a run needs at least by its kernels and its launches."""
        return max(busy, launches * self.launch_seconds)


NORMAL_PRUNING = PruningPolicy()
"""The policy where none is given."""
