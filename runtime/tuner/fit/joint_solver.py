"""The best thresholds for all datasets together with which none is slower than by default.

Weighted sums are solved exactly and quickly, trade-offs between datasets exactly where they are
few.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TypeAlias

import numpy as np

from runelift.runtime.tuner.costs.cost_model import Costs, DatasetCosts, EncounterCosts
from runelift.runtime.tuner.costs.host_device_time import Clock, Clocks, Cost
from runelift.runtime.tuner.costs.objective import Objective
from runelift.runtime.tuner.costs.pareto import Array, Front, Thresholds, Within, below, union
from runelift.runtime.tuner.fit.chain_solver import (
    Chain,
    TooManyChoices,
    candidates,
    descend,
    solve_chain,
)
from runelift.runtime.tuner.policy import FitPolicy
from runelift.runtime.versions.forest import Site


def allowed_times(datasets: Sequence[DatasetCosts], default: Mapping[str, int], policy: FitPolicy
                  ) -> dict[str, float]:
    """The time that each dataset may take at most."""
    return {d.name: d.total(default) * (1 + policy.noise) for d in datasets}


def never_slower(costs: Costs, datasets: list[DatasetCosts], aim: Objective,
                  default: Mapping[str, int], enough: int
                  ) -> tuple[dict[str, int] | None, bool]:
    """The best thresholds with which no dataset is slower than by default; whether exactly.

    Where the objective and the time of each dataset are sums, the best of all are found first.
    They may slow datasets down.  Then it is first checked if any thresholds are as fast on each of
    these, by itself.  Next the weights of datasets that are too slow are raised until none is.
    Last, all trade-offs between datasets that may be better are solved for, unless there are too
    many.
    """
    clocks, weights = Clocks(datasets), aim.weights(datasets)
    allowed = allowed_times(datasets, default, costs.policy.fit)
    slower = list(allowed)
    if clocks.linear and aim is not Objective.MAX_REGRET:
        found, exact = solve(costs, datasets, weights, default, enough)
        slower = _too_slow(datasets, found, allowed)
        if not slower:
            return found, exact
    try:
        floors = _floors(costs, datasets, clocks, default, enough)
        if not (sum(floors.values()) <= clocks.limits(allowed) - clocks.least).all():
            return None, True
    except TooManyChoices:
        floors = {}
    best = _raising(costs, datasets, aim, default, enough, slower)
    try:
        better = _best_allowed(costs, datasets, clocks, aim, default,
                               min(enough, costs.policy.fit.trade_offs), floors, best or default)
    except TooManyChoices:
        return best, False
    return better or best, True


def _too_slow(datasets: Sequence[DatasetCosts], thresholds: Mapping[str, int],
              allowed: Mapping[str, float]) -> list[str]:
    return [d.name for d in datasets if d.total(thresholds) > allowed[d.name]]


def _raising(costs: Costs, datasets: list[DatasetCosts], aim: Objective,
             default: Mapping[str, int], enough: int, slower: list[str]) -> dict[str, int] | None:
    """Thresholds that slow nothing down, with greater weights for what they would slow down."""
    policy, raised = costs.policy.fit, aim.weights(datasets)
    allowed = allowed_times(datasets, default, policy)
    best: dict[str, int] | None = None
    for _ in range(policy.raises):
        for name in slower:
            raised[name] *= policy.raise_factor
        found, _exact = solve(costs, datasets, raised, default, enough)
        slower = _too_slow(datasets, found, allowed)
        if not slower:
            if best is None or aim.score(datasets, found) < aim.score(datasets, best):
                best = found
            if aim is not Objective.MAX_REGRET:
                break
            slower = [_worst(datasets, found)]
    return best


def _worst(datasets: Sequence[DatasetCosts], thresholds: Mapping[str, int]) -> str:
    """The dataset whose time is the longest, relative to its best possible time."""
    return max(datasets, key=lambda d: d.total(thresholds) / max(d.least(), 1e-12)).name


def _floors(costs: Costs, datasets: list[DatasetCosts], clocks: Clocks,
            default: Mapping[str, int], enough: int) -> dict[str, Array]:
    """The least regrets that thresholds of each tree can have, each component by itself."""
    parts = costs.policy.fit.regret_parts

    def of(dataset: DatasetCosts, clock: Clock, tree: Site) -> float:
        def solved() -> float:
            chain = dataset.once(("chain", tree.name),
                                 lambda: Chain(tree, roots_of([dataset], tree)))
            amounts = _by_clock(dataset, clock)
            untuned = sum(cost.of(clock) for root, cost in zip(
                dataset.points, dataset.spent(default), strict=True)
                if root.site.name == tree.name)
            regret = untuned - sum(amounts[root][1] for root in chain.points)
            for most in (*(part * regret for part in parts), math.inf):
                best = solve_chain(_Sums(amounts, most), default, enough, chain)
                if best is not None:
                    return best[0]
            return math.inf

        return dataset.once(("floor", clock, tree.name, tuple(default.items()), enough), solved)

    return {tree.name: np.array([of(datasets[index], clock, tree)
                                 for index, clock in clocks.columns])
            for tree in costs.forest.trees}


def _by_clock(dataset: DatasetCosts, clock: Clock) -> dict[EncounterCosts, Amounts]:
    return dataset.once(("amounts", clock), lambda: _amounts_of(
        dataset.points, attrgetter(clock)))


def _chain(costs: Costs, datasets: Sequence[DatasetCosts], tree: Site) -> Chain:
    """A tree with its encounters on all of the datasets that are compared."""
    return costs.once(("chain", tree.name, tuple(d.name for d in datasets)),
                      lambda: Chain(tree, roots_of(datasets, tree)))


def _best_allowed(costs: Costs, datasets: list[DatasetCosts], clocks: Clocks, aim: Objective,
                  default: Mapping[str, int], enough: int, floors: Mapping[str, Array],
                  known: Mapping[str, int]) -> dict[str, int] | None:
    """The best of all trade-offs between the datasets; None if it is no better than what is known.

    ``floors`` are the least regrets of trees, as far as they are known.
    """
    policy, weights = costs.policy.fit, np.array([*aim.weights(datasets).values()])
    fast_enough = below(clocks.limits(allowed_times(datasets, default, policy)))
    score = aim.score(datasets, known)

    def scores(spent: Array) -> Array:
        return aim.scores(clocks.times(spent), weights)

    def within(least: Array) -> Within:
        """Tells the regrets that may lead to a solution if all else costs at least so much."""
        def found(regrets: Array) -> Array:
            spent = least + regrets
            allowed = fast_enough(spent)
            if allowed.any():
                allowed &= scores(spent) <= (1 + policy.rounding) * score
            return allowed

        return found

    amounts = {point: [(component, _by_clock(dataset, clock)[point])
                       for component, clock in components]
               for dataset, components in zip(datasets, clocks.components, strict=True)
               for root in dataset.points for point in root.walk()}
    floor = sum(floors.values(), np.zeros(len(clocks)))
    fronts = []
    for tree in costs.forest.trees:
        others = floor - floors[tree.name] if floors else floor
        sought = _Fronts(amounts, len(clocks), within(clocks.least + others), policy.sets)
        found = solve_chain(sought, default, enough, _chain(costs, datasets, tree))
        if found is None:
            return None
        fronts.append(found)
    front: Front | None = Front.single(np.zeros(len(clocks)), dict(default))
    for found in fronts:
        front = None if front is None else _Fronts(
            amounts, len(clocks), within(clocks.least), policy.sets).plus(front, found)
    return None if front is None else front.choices[
        int(np.argmin(scores(clocks.least + front.costs)))]


def roots_of(datasets: Sequence[DatasetCosts], tree: Site) -> list[EncounterCosts]:
    """The outermost encounters of a tree."""
    return [p for d in datasets for p in d.points if p.site.name == tree.name]


def solve(costs: Costs, datasets: list[DatasetCosts], weights: Mapping[str, float],
           default: Mapping[str, int], enough: int) -> tuple[dict[str, int], bool]:
    """Thresholds of all trees if only the clock counts that is late by default; whether exact.

    The trees are independent, as costs then are sums.
    """
    thresholds, exact = dict(default), True
    amounts, untuned = dict[EncounterCosts, Amounts](), dict[EncounterCosts, float]()
    for dataset in datasets:
        amount = _weighted(weights[dataset.name], dataset.cost(default).late)
        amounts |= _amounts_of(dataset.points, amount)
        untuned |= zip(dataset.points, map(amount, dataset.spent(default)), strict=True)
    for tree in costs.forest.trees:
        roots = roots_of(datasets, tree)
        most = (1 + costs.policy.fit.rounding) * sum(untuned[root] for root in roots)
        sums = _Sums(amounts, most - sum(amounts[root][1] for root in roots))
        try:
            found = solve_chain(sums, default, enough, _chain(costs, datasets, tree))
            thresholds |= _thresholds_of(found[1]) if found is not None else {}
        except TooManyChoices:
            exact = False
            thresholds |= _descend(tree, datasets, weights, thresholds)
    return thresholds, exact


def _weighted(weight: float, clock: Clock) -> Callable[[Cost], float]:
    seconds: Callable[[Cost], float] = attrgetter(clock)
    return lambda cost: weight * seconds(cost)


def _descend(tree: Site, datasets: list[DatasetCosts], weights: Mapping[str, float],
             thresholds: Mapping[str, int]) -> dict[str, int]:
    """Better thresholds for one tree, while the thresholds of all other trees are given."""
    choices = {g.name: compared(datasets, g.name) for s in tree.walk() for g in s.guards}
    starts = [thresholds, dict.fromkeys(choices, 1), {n: c[-1] for n, c in choices.items()}]

    def cost(chosen: Mapping[str, int]) -> float:
        return sum(weights[d.name] * d.total({**thresholds, **chosen}) for d in datasets)

    return descend(tree, cost, starts, choices)


def compared(datasets: Sequence[DatasetCosts], guard: str) -> list[int]:
    """The values compared with a guard, ascending, and one above all."""
    return candidates([value for d in datasets for value in d.compared(guard)])


# Goals

Choice: TypeAlias = "Thresholds | tuple[Choice, Choice]"
"""Thresholds that are put together when it is known that they are the best."""
Sum: TypeAlias = tuple[float, Choice]
"""A regret, and the choice that leads to it."""


Amounts: TypeAlias = tuple[Mapping[int, float], float]
"""The cost of each version of an encounter with the best choices inside, and the least of these."""


def _amounts_of(points: Iterable[EncounterCosts],
                amount: Callable[[Cost], float]) -> dict[EncounterCosts, Amounts]:
    """The amounts of these encounters and of all inside of them."""
    found: dict[EncounterCosts, Amounts] = {}

    def least(point: EncounterCosts) -> float:
        if point not in found:
            amounts = dict[int, float]()
            for version in point.feasible:
                spent = amount(point.own[version])
                for inner in point.inner.get(version, ()):
                    spent += least(inner)
                amounts[version] = spent
            found[point] = amounts, min(amounts.values())
        return found[point][1]

    for point in points:
        least(point)
    return found


def _excess(amounts: Amounts, version: int) -> float:
    """By how much more a version costs than the best one; nothing if none can run.

    What is not feasible runs the last version that is.
    """
    by_version, least = amounts
    spent = by_version[version if version in by_version else max(by_version)]
    return 0.0 if math.isinf(least) else spent - least


@dataclass(slots=True)
class _Sums:
    """The choice with the least sum of costs, if its regret is at most ``most``."""

    amounts: Mapping[EncounterCosts, Amounts]
    most: float = math.inf
    nothing: float = 0.0

    def regret(self, point: EncounterCosts, version: int) -> float:
        return _excess(self.amounts[point], version)

    def single(self, regret: float, chosen: Thresholds) -> Sum | None:
        return (regret, chosen) if regret <= self.most else None

    def plus(self, one: Sum, other: Sum) -> Sum | None:
        regret = one[0] + other[0]
        return (regret, (one[1], other[1])) if regret <= self.most else None

    def gather(self, found: list[Sum], more: Sum, name: str, threshold: int) -> None:
        if not found or more[0] <= found[0][0]:
            found[:] = [(more[0], ({name: threshold}, more[1]))]

    def beaten(self, part: Sum, found: Sequence[Sum]) -> bool:
        return bool(found) and part[0] > found[0][0]

    def best(self, found: Sequence[Sum]) -> Sum | None:
        return found[0] if found else None

    def count(self, found: Sum | None) -> int:
        return 0 if found is None else 1


def _thresholds_of(choice: Choice) -> Thresholds:
    if isinstance(choice, dict):
        return choice
    one, other = choice
    return _thresholds_of(one) | _thresholds_of(other)


@dataclass(slots=True)
class _Fronts:
    """All trade-offs between cost vectors of a ``width``, as far as regrets are ``within`` what
    counts.

    ``amounts`` has the costs of each encounter by component.  A component that is not listed costs
    nothing.
    """

    amounts: Mapping[EncounterCosts, Sequence[tuple[int, Amounts]]]
    width: int
    within: Within
    most: int
    nothing: Array = field(init=False)
    _free: bool = field(init=False)

    def __post_init__(self) -> None:
        self.nothing = np.zeros(self.width)
        self._free = bool(self.within(self.nothing[None])[0])

    def regret(self, point: EncounterCosts, version: int) -> Array:
        found = np.zeros(self.width)
        for component, amounts in self.amounts[point]:
            found[component] = _excess(amounts, version)
        return found

    def single(self, regret: Array, chosen: Thresholds) -> Front | None:
        counts = self.within(regret[None])[0] if regret.any() else self._free
        return Front.single(regret, chosen) if counts else None

    def plus(self, one: Front, other: Front) -> Front | None:
        if len(one.choices) * len(other.choices) > self.most:
            raise TooManyChoices
        return _any(one.plus(other, self.within))

    def gather(self, found: list[Front], more: Front, name: str, threshold: int) -> None:
        found.append(more.choosing({name: threshold}))

    def beaten(self, part: Front, found: Sequence[Front]) -> bool:
        return False

    def best(self, found: Sequence[Front]) -> Front | None:
        return _any(union(found[::-1], self.within)) if found else None

    def count(self, found: Front | None) -> int:
        return 0 if found is None else len(found.choices)


def _any(front: Front) -> Front | None:
    return front if front.choices else None
