"""The best and the chosen version at the encounters of each dataset."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from runelift.runtime.tuner.costs.cost_model import DatasetCosts, EncounterCosts
from runelift.runtime.tuner.costs.host_device_time import Cost
from runelift.runtime.tuner.fit.fit import chosen_versions
from runelift.runtime.versions.forest import Forest


@dataclass(frozen=True, slots=True)
class Standing:
    """The result of a version on a dataset.

    ``seconds`` is the device time in it, summed over the ``encounters`` of its site.  It is the
    best at so many of those that happen if every choice is the best (``best``), and chosen at so
    many (``chosen``).
    """

    seconds: float
    encounters: int
    best: int
    chosen: int

    @property
    def wins(self) -> bool:
        """True if it is the best at most encounters of its site."""
        return 2 * self.best > self.encounters


def standings(forest: Forest, dataset: DatasetCosts, thresholds: dict[str, int]
              ) -> dict[str, Standing]:
    """The results of the leaf versions that were met, by label."""
    chosen = Counter[str]()
    for tree in forest.trees:
        chosen.update(chosen_versions(tree, dataset, thresholds))
    best = Counter(label for point in dataset.points for label in _winners(point))
    found = {}
    for leaf in forest.leaves():
        label = leaf.label or ""
        times = [point.own[index].device if index in point.feasible else math.inf
                 for point, index in _points_with(dataset, label)]
        if times:
            found[label] = Standing(sum(times), len(times), best[label], chosen[label])
    return found


def _winners(point: EncounterCosts) -> Iterator[str]:
    """The versions that run if every choice is the best."""
    index = min(point.feasible, key=lambda k: _least(point, k).time)
    label = point.site.alternatives[index].label
    if label:
        yield label
    for inner in point.inner.get(index, ()):
        yield from _winners(inner)


def _least(point: EncounterCosts, index: int) -> Cost:
    """The cost of a version if every choice inside of it is the best."""
    cost = point.own[index]
    for inner in point.inner.get(index, ()):
        cost = cost + inner.bounds()[0]
    return cost


def _points_with(dataset: DatasetCosts, label: str) -> Iterator[tuple[EncounterCosts, int]]:
    """The encounters that have a version, and its index there."""
    for points in dataset.by_site().values():
        for index, alternative in enumerate(points[0].site.alternatives):
            if alternative.label == label:
                yield from ((point, index) for point in points)
