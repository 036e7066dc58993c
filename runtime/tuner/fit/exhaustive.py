"""The best thresholds by trying all combinations: the yardstick for every other way to find them.

Trees are independent of each other, so each is searched on its own.  All combinations of a tree
are evaluated at once: every guard is an axis of an array, whose length is the number of its
candidates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from runelift.ir.guards import Guard
from runelift.runtime.tuner.costs.cost_model import Costs, DatasetCosts, EncounterCosts
from runelift.runtime.tuner.costs.host_device_time import Clock, Clocks
from runelift.runtime.tuner.costs.objective import Objective
from runelift.runtime.tuner.costs.pareto import Array, Front, Within, below, undominated
from runelift.runtime.tuner.fit.joint_solver import allowed_times, compared
from runelift.runtime.versions.forest import Site


def combinations(costs: Costs) -> int:
    """The number of combinations of thresholds that :func:`exhaustive` evaluates."""
    return sum(math.prod(len(compared(costs.datasets, guard.name)) for guard in _guards(tree))
               for tree in costs.forest.trees)


def exhaustive(costs: Costs, default: Mapping[str, int], *, constrained: bool = True,
               aim: Objective = Objective.RELATIVE) -> tuple[float, dict[str, int]] | None:
    """The least score by the objective ``aim``, and thresholds that give it.

    With ``constrained``, only thresholds that make no dataset slower than ``default`` count;
    None if there are none.  Where nothing has been measured, ``default`` is as good as any.
    """
    datasets = [d for d in costs.compact().datasets if math.isfinite(d.least())]
    if not datasets:
        return 0.0, dict(default)
    weights = np.array(list(aim.weights(datasets).values()))
    allowed = allowed_times(datasets, default, costs.policy.fit)
    clocks = Clocks(datasets)
    within = below(clocks.limits(allowed if constrained else dict.fromkeys(allowed, math.inf)))
    front = Front.single(np.zeros(len(clocks)), dict(default))
    for tree in costs.forest.trees:
        front = front.plus(_tree(tree, datasets, clocks, within), within)
    if not front.choices:
        return None
    scores = aim.scores(clocks.times(front.costs), weights)
    best = int(np.argmin(scores))
    return float(scores[best]), front.choices[best]


def _guards(tree: Site) -> list[Guard]:
    return [guard for site in tree.walk() for guard in site.guards]


def _tree(tree: Site, datasets: Sequence[DatasetCosts], clocks: Clocks, within: Within) -> Front:
    axes = {guard.name: compared(datasets, guard.name) for guard in _guards(tree)}
    shape = tuple(map(len, axes.values()))
    grids = {name: _along(np.array(values, np.int64), axis, len(shape))
             for axis, (name, values) in enumerate(axes.items())}
    costs = np.stack([np.broadcast_to(sum(
        (_cost(p, grids, clock) for p in datasets[index].points if p.site.name == tree.name),
        np.zeros(())), shape).reshape(-1) for index, clock in clocks.columns], axis=1)
    keep = undominated(costs, within)
    rows = [np.unravel_index(int(k), shape) for k in keep]
    return Front(costs[keep], tuple(
        {name: values[int(at)] for (name, values), at in zip(axes.items(), row, strict=True)}
        for row in rows))


def _along(values: Array, axis: int, rank: int) -> Array:
    return values.reshape([-1 if k == axis else 1 for k in range(rank)])


def _cost(point: EncounterCosts, grids: Mapping[str, Array], clock: Clock) -> Array:
    """The cost of an encounter under every combination; axes without influence have length 1."""
    versions = point.site.alternatives
    cost = _version(point, max(point.feasible), grids, clock)
    for index in sorted(point.feasible, reverse=True):
        guard = versions[index].guard
        if guard is not None:
            cost = np.where(grids[guard.name] <= point.par[guard.name],
                            _version(point, index, grids, clock), cost)
    return cost


def _version(point: EncounterCosts, index: int, grids: Mapping[str, Array], clock: Clock) -> Array:
    return sum((_cost(p, grids, clock) for p in point.inner.get(index, ())),
               np.asarray(point.own[index].of(clock)))
