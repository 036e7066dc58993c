"""Costs of records, corrected by runs in turn: what both measured, runs in turn know better."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from runelift.runtime.records.statistics import median
from runelift.runtime.tuner.costs.cost_model import Costs, DatasetCosts, EncounterCosts
from runelift.runtime.tuner.costs.host_device_time import Cost
from runelift.runtime.tuner.measure.side_by_side import BEST, DEFAULT, Choice, SideBySide

LEAST_FACTOR = 0.02
"""The least factor of a cost: a version takes some time, whatever the difference of runs is."""


@dataclass(frozen=True, slots=True)
class RunsInTurn:
    """The runs of a dataset in turn, and the choices that ran."""

    found: SideBySide
    choices: Mapping[str, Choice]


def corrected(costs: Costs, defaults: Mapping[str, int], runs: Sequence[RunsInTurn]) -> Costs:
    """The costs with which single versions take as long as they did in turn.

    Versions that did not run in turn get the factor of the whole machine between both moments.
    """
    by_name = {each.found.dataset: each for each in runs}
    return Costs(costs.forest, tuple(
        _corrected(dataset, defaults, by_name[dataset.name]) if dataset.name in by_name
        else dataset for dataset in costs.datasets), costs.incomplete, costs.policy)


def _corrected(dataset: DatasetCosts, defaults: Mapping[str, int], runs: RunsInTurn
               ) -> DatasetCosts:
    factors: dict[tuple[int, int], list[float]] = defaultdict(list)
    whole = list[float]()
    for name, choice in runs.choices.items():
        if not name.startswith((BEST, DEFAULT)) or name not in runs.found.seconds:
            continue
        thresholds = choice.thresholds or defaults
        measured, recorded = runs.found.median(name), dataset.total(thresholds)
        if not (math.isfinite(recorded) and recorded > 0):
            continue
        whole.append(measured / recorded)
        if name == DEFAULT:
            continue
        reached = list(dataset.reached(thresholds))
        own = sum(point.own[index].time for point, index in reached)
        factor = max(LEAST_FACTOR, (own + measured - recorded) / own) if own > 0 else 1.0
        for point, index in reached:
            factors[id(point), index].append(factor)
    others = median(whole) if whole else 1.0

    def scaled(point: EncounterCosts) -> EncounterCosts:
        def factor(index: int) -> float:
            known = factors.get((id(point), index))
            return sum(known) / len(known) if known else others

        return replace(
            point, own={k: Cost(cost.device * factor(k), cost.host * factor(k))
                        for k, cost in point.own.items()},
            inner={k: tuple(map(scaled, points)) for k, points in point.inner.items()})

    return replace(dataset, points=tuple(map(scaled, dataset.points)))
