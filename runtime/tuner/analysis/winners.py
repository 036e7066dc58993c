"""The best and the chosen version at the encounters of each dataset."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from runelift.runtime.tuner.costs.cost_model import DatasetCosts, EncounterCosts
from runelift.runtime.tuner.costs.host_device_time import Cost
from runelift.runtime.tuner.fit.fit import chosen_versions
from runelift.runtime.versions.forest import Forest
from runelift.runtime.versions.size_guards import GuardedThresholds, Leaf
from runelift.runtime.versions.version_names import labels, plan_of


@dataclass(frozen=True, slots=True)
class Standing:
    """The result of a version on a dataset.

    ``seconds`` is the device time in the version, summed over the ``encounters`` of its site.
    ``best`` is the number of encounters at which the version is the best.  It only counts
    encounters that happen if every choice is the best.  ``chosen`` is the number of encounters at
    which the version is chosen.
    """

    seconds: float
    encounters: int
    best: int
    chosen: int

    @property
    def wins(self) -> bool:
        """True if it is the best at most encounters of its site."""
        return 2 * self.best > self.encounters


def standings(forest: Forest, dataset: DatasetCosts, thresholds: Mapping[str, int]
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


def forced_standings(forest: Forest, dataset: DatasetCosts, thresholds: Mapping[str, int]
                     ) -> dict[str, Standing]:
    """The results of the leaf versions if each is forced wherever its tree is reached.

    So their times can be compared: they have all that happens in the tree, not only what the
    version does itself.  The fastest one wins.  Versions that cannot run somewhere are left out.
    """
    found, chosen = dict[str, Standing](), standings(forest, dataset, thresholds)
    for tree in forest.trees:
        points = [point for point in dataset.points if point.site.name == tree.name]
        times = dict[str, float]()
        for label in (each for alternative in tree.alternatives for each in labels(alternative)):
            forced = GuardedThresholds(thresholds, {
                site: Leaf(index) for site, index in plan_of(forest, label).items()})
            seconds = sum(point.cost(forced).time for point in points)
            if label in chosen and math.isfinite(seconds) and all(
                    _runs(point, forced, label) for point in points):
                times[label] = seconds
        best = min(times, key=lambda each: times[each], default="")
        for label, seconds in times.items():
            old = chosen[label]
            found[label] = replace(old, seconds=seconds,
                                   best=old.encounters if label == best and len(times) > 1 else 0)
    return found


def _runs(point: EncounterCosts, thresholds: Mapping[str, int], label: str) -> bool:
    """True if a version runs at an encounter or inside of it."""
    return any(each.site.alternatives[index].label == label
               for each, index in point.reached(thresholds))


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
