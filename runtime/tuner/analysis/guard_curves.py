"""Curves of measured costs over the parallelism that a guard compares with.

There are two views of a guard.  The first view shows the cost of its version and of the other
versions (Breddam 2019, figure 3.4).  The second view shows the score of the whole tuning as its
threshold moves (figure 2.4).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from runelift.runtime.records.statistics import median
from runelift.runtime.tuner.costs.cost_model import Costs, EncounterCosts, Thresholds, encounters_at
from runelift.runtime.tuner.fit.chain_solver import NEVER
from runelift.runtime.tuner.fit.guard_slices import guard_slice
from runelift.runtime.tuner.fit.joint_solver import compared
from runelift.runtime.versions.forest import Site
from runelift.runtime.versions.version_names import (
    described_version,
    labels,
    version_name,
)

Curve: TypeAlias = tuple[tuple[int, float], ...]
"""Parallelism and seconds, ascending."""
MOST_SCORES = 200
"""Most thresholds of a guard whose score is worked out; of more, some evenly spread."""
INDIFFERENT = 0.01
"""A guard does not matter if no threshold of it changes the score by more than this fraction."""


@dataclass(frozen=True, slots=True)
class GuardCurves:
    """Costs of the versions of a site at the values that one of its guards compares with.

    ``versions`` has a curve by version; encounters with one value are summed up by their median.
    ``holding`` is the curve of the version that runs if the guard holds.  ``failing`` is the curve
    of the versions that run if it fails.  ``sides`` are the names of these two sides.
    ``crossovers`` are the values at which both sides have equal costs, by interpolation.
    ``average``: the values are average parallelism, of rows of different lengths.
    """

    guard: str
    site: str
    versions: Mapping[str, Curve]
    holding: Curve
    failing: Curve
    crossovers: tuple[float, ...]
    sides: tuple[str, str] = ("one side", "the other")
    average: bool = False

    @property
    def break_even(self) -> str:
        """The parallelism at which both sides have equal costs, in words; empty if unknown."""
        if not self.crossovers:
            return ""
        low, high = (f"{pick(self.crossovers):,.0f}" for pick in (min, max))
        where = f"{low} to {high}" if low != high else low
        what = (f"near an average parallelism of {where}, between lengths that were measured"
                if self.average else f"at {where} work-items")
        return f"{self.sides[0]} and {self.sides[1]} break even {what}"


@dataclass(frozen=True, slots=True)
class ScoreCurve:
    """The mean over the datasets of the time relative to the best possible, by threshold.

    The other thresholds are those chosen.  ``omitted`` thresholds lie between those shown.
    ``average``: thresholds are compared with average parallelism, of rows of different lengths.
    """

    guard: str
    scores: tuple[tuple[int, float], ...]
    omitted: int = 0
    average: bool = False

    @property
    def worst(self) -> float:
        """The score with the worst threshold relative to the best; NaN if nothing is known."""
        scores = [score for _, score in self.scores]
        least = min(scores, default=0.0)
        return max(scores) / least if least else math.nan

    @property
    def matters(self) -> bool:
        """True if some threshold is worse than another by more than chance."""
        return self.worst > 1 + INDIFFERENT


def guard_curves(costs: Costs, thresholds: Thresholds) -> Iterator[GuardCurves]:
    """The curves of every guard that was compared with two different values or more."""
    for site in costs.forest.sites().values():
        points = [point for _, point in encounters_at(costs.datasets, site.name)]
        for index, guard in enumerate(site.guards):
            if len({p.par[guard.name] for p in points}) > 1:
                yield _curves(site, index, points, thresholds)


def _curves(site: Site, index: int, points: Sequence[EncounterCosts], thresholds: Thresholds
            ) -> GuardCurves:
    name = site.guards[index].name
    versions = {described_version(alternative): _curve(points, name, lambda p, k=k: (  # type: ignore[misc]
        p.version_cost(k, thresholds).time if k in p.feasible else math.inf))
        for k, alternative in enumerate(site.alternatives)}
    possible = [p for p in points if index in p.feasible]
    holding = _curve(possible, name, lambda p: p.sides(index, thresholds)[0].time)
    failing = _curve(possible, name, lambda p: p.sides(index, thresholds)[1].time)
    others = [label for alternative in site.alternatives[index + 1:]
              for label in labels(alternative)]
    rest = others[0] if len(others) == 1 else f"{others[0]} to {others[-1]}"
    return GuardCurves(name, site.name, {v: c for v, c in versions.items() if c}, holding, failing,
                       crossovers(holding, failing),
                       (version_name(site.alternatives[index]), rest),
                       site.guards[index].lengths is not None)


def _curve(points: Sequence[EncounterCosts], guard: str,
           seconds: Callable[[EncounterCosts], float]) -> Curve:
    by_value: dict[int, list[float]] = defaultdict(list)
    for point in points:
        if math.isfinite(found := seconds(point)):
            by_value[point.par[guard]].append(found)
    return tuple((value, median(by_value[value])) for value in sorted(by_value))


def crossovers(one: Curve, other: Curve) -> tuple[float, ...]:
    """Points at which two curves cross, interpolated in the logarithms of both axes.

    >>> [round(x, 3) for x in crossovers(((1, 4.0), (4, 1.0)), ((1, 2.0), (4, 2.0)))]
    [2.0]
    """
    there = dict(other)
    gaps = [(math.log(value), math.log(seconds / there[value])) for value, seconds in one
            if value > 0 and seconds > 0 and there.get(value, 0.0) not in (0.0, seconds)]
    return tuple(math.exp(x + (next_x - x) * gap / (gap - next_gap))
                 for (x, gap), (next_x, next_gap) in pairwise(gaps) if gap * next_gap < 0)


def score_curves(costs: Costs, thresholds: Thresholds) -> list[ScoreCurve]:
    """The score as one threshold moves, for each threshold.

    All other ``thresholds`` stay as chosen.
    """
    datasets = [d for d in costs.datasets if math.isfinite(d.least())]
    found = []
    for site in costs.forest.sites().values() if datasets else ():
        for index, guard in enumerate(site.guards):
            values = compared(datasets, guard.name)
            shown = _spread(values)
            relative = [guard_slice(d.compact(), site, index, thresholds).times(shown)
                        / max(d.least(), 1e-12) for d in datasets]
            scores: list[float] = np.mean(relative, axis=0).tolist()
            found.append(ScoreCurve(guard.name, tuple(zip(shown, scores, strict=True)),
                                    len(values) - len(shown), guard.lengths is not None))
    return found


def _spread(values: Sequence[int]) -> list[int]:
    """Up to :data:`MOST_SCORES` of the values, the first and the last among them."""
    if len(values) <= MOST_SCORES:
        return list(values)
    return [values[k * (len(values) - 1) // (MOST_SCORES - 1)] for k in range(MOST_SCORES)]


def is_never(threshold: int) -> bool:
    """True if no parallelism that was met reaches a threshold."""
    return threshold >= NEVER
