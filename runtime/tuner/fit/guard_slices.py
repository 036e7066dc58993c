"""The part of a run that depends on one guard, while all other thresholds are given.

A guard decides at the encounters that happen under these thresholds, and at which the guards
before it fail.  Moving its threshold changes nothing elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from runelift.runtime.tuner.costs.cost_model import DatasetCosts, EncounterCosts, thresholds_key
from runelift.runtime.tuner.costs.host_device_time import NO_COST, Cost, total
from runelift.runtime.tuner.costs.pareto import Array
from runelift.runtime.versions.forest import Site


class _GuardSides(NamedTuple):
    """An encounter at which a guard decides: the value that it compares, and both costs."""

    value: int
    holding: Cost
    failing: Cost


@dataclass(frozen=True, slots=True)
class _GuardSlice:
    """A run, as far as one guard decides, and what it costs ``elsewhere``."""

    elsewhere: Cost
    encounters: tuple[_GuardSides, ...]

    def times(self, thresholds: Sequence[int]) -> Array:
        values = np.array([each.value for each in self.encounters], np.int64)
        holding = np.array([each.holding for each in self.encounters]).reshape(-1, 2)
        failing = np.array([each.failing for each in self.encounters]).reshape(-1, 2)
        holds = values >= np.array(thresholds, np.int64)[:, None]
        spent = np.where(holds[..., None], holding, failing).sum(axis=1)
        times: Array = (spent + np.array(self.elsewhere)).max(axis=1)
        return times


def guard_slice(dataset: DatasetCosts, site: Site, index: int, thresholds: Mapping[str, int]
                ) -> _GuardSlice:
    """The decisions of guard ``index`` of a site on a dataset."""
    encounters: list[_GuardSides] = []

    def elsewhere(point: EncounterCosts) -> Cost:
        """The cost of an encounter, without the nested encounters at which the guard decides."""
        if point.site.name == site.name:
            if not point.decides(index, thresholds):
                return point.cost(thresholds)
            encounters.append(_GuardSides(point.par[site.guards[index].name],
                                          *point.sides(index, thresholds)))
            return NO_COST
        version = point.choose(thresholds)
        own, inner = point.own[version], point.inner.get(version)
        return total([own, *map(elsewhere, inner)]) if inner else own

    def found() -> _GuardSlice:
        trees = {root.site.name: root.site for root in dataset.points}
        around = {name for name, tree in trees.items()
                  if any(each.name == site.name for each in tree.walk())}
        left = total([dataset.rest, *(
            elsewhere(root) if root.site.name in around else cost
            for root, cost in zip(dataset.points, dataset.spent(thresholds), strict=True))])
        return _GuardSlice(left, tuple(encounters))

    return dataset.once(("decided", site.name, index, *thresholds_key(thresholds)), found)
