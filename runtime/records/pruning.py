"""Pruning: one verdict on versions that need not be run again, or not at all.

Several sources tell what a version takes: its first run, smaller inputs, similar sizes.  Each of
them hands its evidence to :func:`verdict`, which compares it with the factors of one policy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Literal, NamedTuple, TypeAlias


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


class Source(Enum):
    """A source of evidence about the time of a version."""

    KERNELS = "kernels"
    """The kernels and launches of the version in a run, which is a lower bound."""
    FIRST_RUN = "first run"
    """The whole first run of the version, with all delays."""
    RUN = "run"
    """A run by itself, however long other versions take."""
    SMALLER_INPUTS = "smaller inputs"
    """Runs with less to do, from which its time is extrapolated."""
    OTHER_INPUTS = "other inputs"
    """Runs of other inputs, from which its time is estimated."""
    FEW_ITEMS = "few work-items"
    """The least time that so few work-items need."""
    SIMILAR_SIZES = "similar sizes"
    """Attempts of a replay at the two nearest sizes."""


class Evidence(NamedTuple):
    """The seconds that a version takes, and the seconds that the best version takes.

    Where only their ratio is known, ``seconds`` is the ratio and ``best`` is 1.  ``items`` is the
    number of work-items, where it matters.
    """

    source: Source
    seconds: float
    best: float = 1.0
    items: int = 0


Decision: TypeAlias = Literal["keep", "run once", "skip"]
"""Decisions about a version."""


class _Verdict(NamedTuple):
    """A decision about a version, and its reason in words if it is not kept."""

    decision: Decision
    why: str = ""

    @property
    def keeps(self) -> bool:
        """True for a version that is run as often as any other version."""
        return self.decision == "keep"


KEEP = _Verdict("keep")


class _Rule(NamedTuple):
    """The limit of a source: ``factor`` times the best, but not fewer than ``seconds``.

    A version at the limit is kept, unless that is ``reached``.
    """

    decision: Decision
    factor: float
    seconds: float = 0.0
    reached: bool = False


def _rule(source: Source, policy: PruningPolicy) -> _Rule:
    match source:
        case Source.KERNELS:
            return _Rule("run once", policy.kernels_factor)
        case Source.FIRST_RUN:
            return _Rule("run once", policy.first_run_factor, policy.first_run_seconds)
        case Source.RUN:
            return _Rule("run once", 0.0, policy.once_seconds, reached=True)
        case Source.SMALLER_INPUTS:
            return _Rule("skip", policy.smaller_inputs_factor, reached=True)
        case Source.OTHER_INPUTS:
            return _Rule("skip", policy.estimate_factor, policy.estimate_seconds)
        case Source.FEW_ITEMS:
            return _Rule("skip", policy.estimate_factor, policy.few_items_seconds)
        case Source.SIMILAR_SIZES:
            return _Rule("skip", policy.similar_sizes_factor)


def verdict(evidence: Evidence, policy: PruningPolicy) -> _Verdict:
    """The decision about a version by one piece of evidence."""
    rule = _rule(evidence.source, policy)
    limit = max(rule.seconds, rule.factor * evidence.best) if rule.factor else rule.seconds
    if evidence.seconds > limit or (rule.reached and evidence.seconds == limit):
        return _Verdict(rule.decision, reason(evidence))
    return KEEP


def reason(evidence: Evidence) -> str:
    """The reason for a decision against a version, in words."""
    seconds = evidence.seconds
    ratio = seconds / evidence.best if evidence.best else math.inf
    match evidence.source:
        case Source.KERNELS:
            return f"run once: its kernels alone take {ratio:.0f}x as long as the best version"
        case Source.FIRST_RUN:
            return f"run once: its first run took {ratio:.0f}x as long as the best version"
        case Source.RUN:
            return f"run once: it takes {seconds:.2g} s"
        case Source.OTHER_INPUTS:
            return f"skipped: expected to take about {seconds:.2g} s, judging by other inputs"
        case Source.FEW_ITEMS:
            return (f"skipped: {evidence.items:,} work-items would take more than {seconds:.2g} s "
                    "for what other versions spread over the device")
    if math.isinf(ratio):
        return f"skipped: as for {evidence.source.value}"
    return (f"skipped: expected to be more than {ratio:.0f}x slower, judging by "
            f"{evidence.source.value}")
