"""Thresholds from costs: exact, jointly over all datasets, never worse than the default.

An :class:`~runelift.runtime.tuner.costs.objective.Objective` is minimised.  By default it is the
sum over the datasets of the time relative to the dataset's best possible time.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from runelift.ir.guards import Guard
from runelift.runtime.tuner.costs.cost_model import (
    Costs,
    DatasetCosts,
    EncounterCosts,
    encounters_at,
)
from runelift.runtime.tuner.costs.objective import Objective
from runelift.runtime.tuner.fit.chain_solver import never
from runelift.runtime.tuner.fit.joint_solver import compared, never_slower, roots_of
from runelift.runtime.versions.forest import Site


@dataclass(frozen=True, slots=True)
class Interval:
    """The thresholds in ``(low, high]`` make the same choices at every measured encounter."""

    low: int
    high: int

    def middle(self) -> int:
        """The geometric mean: as far from a wrong choice on either side, by factors."""
        value = round(math.sqrt(max(1, self.low) * self.high))
        return min(max(value, self.low + 1), self.high)


@dataclass(frozen=True, slots=True)
class Fit:
    """The result of fitting.

    ``predicted``, ``default`` and ``least`` are times per dataset.  ``predicted`` is with the
    thresholds, and ``default`` with the default thresholds.  ``least`` is the time if every single
    choice were the best.  ``kept_default`` says why the default thresholds are the result, if they
    are.  ``exact`` says that no thresholds do better on the measured costs; where there were too
    many choices, they may.
    """

    thresholds: dict[str, int]
    intervals: dict[str, Interval]
    predicted: dict[str, float]
    default: dict[str, float]
    least: dict[str, float]
    kept_default: str | None = None
    exact: bool = False


def fit(costs: Costs, default: Mapping[str, int], *, aim: Objective = Objective.RELATIVE,
        enough: int | None = None) -> Fit:
    """The best thresholds for the measured costs, by the objective ``aim``.

    ``default`` are the thresholds that hold without tuning.  No dataset becomes slower than
    with ``default``, by more than the noise: if the best thresholds do that, the dataset's
    weight is raised.  Solutions look at ``enough`` sets of encounters, as the policy of the costs
    says if it is not given.
    """
    costs = costs.compact()
    datasets = [d for d in costs.datasets if math.isfinite(d.least())]
    if not datasets:
        return Fit(dict(default), {}, {}, {}, {}, "nothing was measured completely")
    kept: str | None = None
    found, exact = never_slower(costs, datasets, aim, default,
                                costs.policy.fit.sets if enough is None else enough)
    if found is None:
        kept, best = "no other thresholds do better without slowing a dataset down", dict(default)
    elif aim.score(datasets, found) < aim.score(datasets, default):
        best = found
    else:
        kept, best = "the default thresholds are as good as any", dict(default)
    thresholds, intervals = _centre(costs, datasets, best, default, move=kept is None)
    return Fit(thresholds, intervals,
               predicted={d.name: d.total(thresholds) for d in datasets},
               default={d.name: d.total(default) for d in datasets},
               least={d.name: d.least() for d in datasets}, kept_default=kept, exact=exact)


def objective(costs: Costs, thresholds: Mapping[str, int],
              aim: Objective = Objective.RELATIVE) -> float:
    """The score that :func:`fit` minimises."""
    return aim.score([d for d in costs.compact().datasets if math.isfinite(d.least())], thresholds)


def _centre(costs: Costs, datasets: list[DatasetCosts],
            thresholds: Mapping[str, int], default: Mapping[str, int],
            move: bool) -> tuple[dict[str, int], dict[str, Interval]]:
    """Put every threshold where it generalises best in the interval in which it is equally good.

    A threshold that makes no difference to the measured encounters keeps its default.  So does
    every threshold of a tree in which no thresholds are better than the default.  The default may
    be 0, which is no number to move.  With ``move`` unset only the intervals are found.
    """
    result, intervals = dict(thresholds), {}
    for tree in costs.forest.trees:
        reached = defaultdict(list, {tree.name: roots_of(datasets, tree)})
        for site in tree.walk():
            for index, guard in enumerate(site.guards):
                decided = [p for p in reached[site.name] if p.decides(index, result)]
                interval = _interval(decided, compared(datasets, guard.name), result, guard)
                if interval is None:
                    continue
                intervals[guard.name] = interval
                everywhere = interval.low == 0 and interval.high >= never([])
                if move and result[guard.name] > 0:
                    result[guard.name] = default[guard.name] if everywhere else _within(
                        interval, datasets, site, index, result, costs.policy.fit.steepness)
            for point in reached[site.name]:
                for inner in point.inner.get(point.choose(result), ()):
                    reached[inner.site.name].append(inner)
    return result, intervals


def _within(interval: Interval, datasets: Sequence[DatasetCosts], site: Site, index: int,
            thresholds: Mapping[str, int], steepness: float) -> int:
    """The threshold of an interval that should do best for parallelism that was not measured.

    The factor by which the version is slower than what runs otherwise is taken for a power of the
    parallelism.  The threshold lies where that is 1, if that is in the interval; else in the
    middle.
    """
    name = site.guards[index].name
    sides = [(point.par[name], *(cost.time for cost in point.sides(index, thresholds)))
             for _, point in encounters_at(datasets, site.name) if index in point.feasible]
    usable = [(math.log(par), math.log(one / other)) for par, one, other in sides
              if par > 0 and 0 < one < math.inf and 0 < other < math.inf]
    if len({par for par, _ in usable}) > 1:
        slope, level = map(float, np.polyfit([x for x, _ in usable], [y for _, y in usable], 1))
        if slope < -steepness and 0 <= -level / slope < math.log(interval.high + 1):
            crossing = round(math.exp(-level / slope))
            if interval.low < crossing <= interval.high:
                return crossing
    return interval.middle()


def _interval(points: Sequence[EncounterCosts], candidates: list[int], thresholds: dict[str, int],
              guard: Guard) -> Interval | None:
    """The interval of a guard's threshold with the same choices, the other thresholds fixed.

    The guard decides at ``points``.  There it must still hold for the least parallelism for which
    it does now, and still fail for the greatest for which it fails.  No threshold may do that if
    predicted times decide now.
    """
    holds, fails = list[int](), list[int]()
    for point in points:
        (holds if point.holds(guard, thresholds) else fails).append(point.par[guard.name])
    least, greatest = max(fails, default=-math.inf), min(holds, default=math.inf)
    able = [k for k, c in enumerate(candidates) if least < c <= greatest]
    return Interval(candidates[able[0] - 1] if able[0] else 0, max(
        candidates[able[-1]], thresholds[guard.name])) if able else None


def chosen_versions(tree: Site, dataset: DatasetCosts,
                    thresholds: Mapping[str, int]) -> dict[str, int]:
    """The number of runs of each leaf version of a tree on a dataset under these thresholds."""
    counts: dict[str, int] = {}
    for root in dataset.points:
        if root.site.name == tree.name:
            for point, index in root.reached(thresholds):
                if label := point.site.alternatives[index].label:
                    counts[label] = counts.get(label, 0) + 1
    return counts
