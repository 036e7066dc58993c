"""Size guards from measured costs, for sites where thresholds cannot be right.

Sites are refined from the inside out.  The encounters of all datasets with the same sizes form a
group, with a weighted cost for each version.  A memo keeps the best version of each group.  A tree
asks a few questions about sizes.  They are the best questions of all.  Where either gains too
little, the thresholds decide.  Nearest sizes keep the costs of all versions, so that they can
decide between known sizes.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from runelift.runtime.tuner.costs.cost_model import Costs, DatasetCosts, EncounterCosts
from runelift.runtime.tuner.costs.host_device_time import Cost, total
from runelift.runtime.tuner.costs.objective import Objective
from runelift.runtime.tuner.costs.pareto import Array
from runelift.runtime.tuner.fit.fit import Interval, objective
from runelift.runtime.tuner.fit.joint_solver import allowed_times
from runelift.runtime.tuner.policy import FitPolicy, TuningPolicy
from runelift.runtime.versions.forest import Site
from runelift.runtime.versions.size_guards import (
    GuardedThresholds,
    Leaf,
    NearestSizes,
    SizeGuard,
    SizeTable,
    Split,
    Tree,
)

_Items: TypeAlias = tuple[tuple[str, int], ...]


class SizeGuardKind(Enum):
    """Kinds of guards; ``AUTO`` is nearest sizes unless they guess badly."""

    AUTO = "auto"
    THRESHOLD = "threshold"
    MEMO = "memo"
    NEAR = "near"
    TREE = "tree"


@dataclass(frozen=True, slots=True)
class _Group:
    """The encounters with the same sizes: the weighted cost of each version.

    ``asked`` are the sizes with what guards compare, which follows from them.  ``now`` is the
    version that runs by thresholds.  It takes the place of versions that cannot run.  ``runs`` says
    of each version if it can run.
    """

    sizes: Mapping[str, int]
    asked: Mapping[str, int]
    costs: Sequence[float]
    now: int
    runs: Sequence[bool]

    def best(self) -> int:
        return self.costs.index(min(self.costs))

    def ratios(self, most: float) -> tuple[float, ...]:
        """Times relative to the best version, ``most`` at most and for versions that cannot run."""
        least = min(cost for cost, runs in zip(self.costs, self.runs, strict=True) if runs)
        return tuple(round(min(cost / least if least > 0 else 1.0, most), 4)
                     if runs else most
                     for cost, runs in zip(self.costs, self.runs, strict=True))


def fit_size_guards(costs: Costs, thresholds: Mapping[str, int], guards: SizeGuardKind,
                    aim: Objective = Objective.RELATIVE, depth: int | None = None
                    ) -> GuardedThresholds:
    """The thresholds with finer guards where these gain something; trees of up to ``depth``.

    No dataset becomes slower than with the thresholds: what does keeps its versions, and the
    guards are fitted again.  The greatest regret is no sum over encounters, so for that objective
    times count relatively.
    """
    if guards is SizeGuardKind.THRESHOLD:
        return GuardedThresholds(thresholds, {})
    costs = costs.compact()
    policy = costs.policy.fit
    allowed = allowed_times(costs.datasets, thresholds, policy)
    near = partial(_nearby, policy=costs.policy,
                   matters=policy.guard_alone * objective(costs, thresholds, aim))
    tree = partial(_tree, depth=policy.guard_depth if depth is None else depth, policy=policy)
    fitted: dict[SizeGuardKind, Callable[[Sequence[_Group]], SizeGuard | None]] = {
        SizeGuardKind.MEMO: partial(_memo, policy=policy), SizeGuardKind.NEAR: near,
        SizeGuardKind.AUTO: near, SizeGuardKind.TREE: tree}
    for _ in range(policy.guard_rounds):
        found, seconds = _refined(costs, thresholds, fitted[guards], aim)
        slower = {name for name, each in seconds.items() if each > allowed[name]}
        if not slower:
            return found if guards in (SizeGuardKind.NEAR,
                                       SizeGuardKind.AUTO) else _pruned(costs, found, aim)
        costs = keeping(costs, slower, thresholds, guards)
    return GuardedThresholds(thresholds, {})


def keeping(costs: Costs, names: Collection[str], thresholds: Mapping[str, int],
            guards: SizeGuardKind) -> Costs:
    """The costs with which guards leave these datasets the versions that thresholds choose.

    The costs of the other versions there still help to choose versions for nearby sizes.
    """
    if guards in (SizeGuardKind.NEAR, SizeGuardKind.AUTO):
        return costs.preferring(names, thresholds)
    return costs.frozen(names, thresholds)


def _pruned(costs: Costs, found: GuardedThresholds, aim: Objective) -> GuardedThresholds:
    """The same without the finer guards that all datasets together hardly gain by."""
    score = objective(costs, found, aim) if found.finer else 0.0
    for site in found.finer:
        trial = GuardedThresholds(found, {name: each for name,
                                          each in found.finer.items() if name != site})
        if (without := objective(costs, trial, aim)) < (1 + costs.policy.fit.guard_alone) * score:
            found, score = trial, without
    return found


def _refined(costs: Costs, thresholds: Mapping[str, int],
             fitted: Callable[[Sequence[_Group]], SizeGuard | None], aim: Objective
             ) -> tuple[GuardedThresholds, dict[str, float]]:
    """The thresholds with finer guards, and what each dataset takes with them (seconds)."""
    datasets = [d for d in costs.datasets if math.isfinite(d.least())]
    weights = aim.weights(datasets)
    found, spent = GuardedThresholds(thresholds, {}), dict[EncounterCosts, Cost]()
    for site in reversed(costs.forest.sites().values()):
        alike = defaultdict[_Asked, list[tuple[float, _Priced]]](list)
        for dataset in datasets:
            for asked, points in _alike(dataset, site.name).items():
                alike[asked] += [(weights[dataset.name], _Priced(point, spent))
                                 for point in points]
        groups = [_group(site, asked, priced, thresholds) for asked, priced in alike.items()]
        finer = fitted([group for group in groups if any(group.runs)])
        if finer is not None:
            found = GuardedThresholds(found, {**found.finer, site.name: finer})
        for group, priced in zip(groups, alike.values(), strict=True):
            finest = None if finer is None else finer.version(group.asked)
            for _, each in priced:
                spent[each.point] = each.costs[
                    finest if finest in each.point.feasible else each.point.choose(thresholds)]
    return found, {d.name: total([d.rest, *(spent[point] for point in d.points)]).time
                   if d.name in weights else d.total(found) for d in costs.datasets}


_Asked: TypeAlias = tuple[_Items, _Items]
"""Sizes, and what guards compare with."""


def _alike(dataset: DatasetCosts, site: str) -> Mapping[_Asked, Sequence[EncounterCosts]]:
    """The encounters of a site by what can be asked there; looked for once."""
    def found() -> dict[_Asked, list[EncounterCosts]]:
        together = defaultdict[_Asked, list[EncounterCosts]](list)
        for point in dataset.by_site().get(site, ()):
            together[tuple(point.sizes.items()), tuple(point.par.items())].append(point)
        return together

    return dataset.once(("alike", site), found)


class _Priced:
    """An encounter with the cost of each version.

    The encounters nested in it have the costs ``spent``.
    """

    def __init__(self, point: EncounterCosts, spent: Mapping[EncounterCosts, Cost]) -> None:
        self.point = point
        self.costs = point.own if not point.inner else {
            version: total([own, *[spent[each] for each in inner]])
            if (inner := point.inner.get(version)) else own
            for version, own in point.own.items()}


def _group(site: Site, asked: _Asked, priced: Sequence[tuple[float, _Priced]],
           thresholds: Mapping[str, int]) -> _Group:
    """Encounters with the same sizes, each with the weight of its dataset.

    None of the versions runs if each was left out on some dataset: then nothing can be said.
    """
    now = priced[0][1].point.choose(thresholds)
    costs, runs = [0.0 for _ in site.alternatives], [True for _ in site.alternatives]
    for weight, each in priced:
        for version in range(len(costs)):
            if version in each.point.feasible:
                costs[version] += weight * each.costs[version].time
            else:
                costs[version] += weight * each.costs[now].time
                runs[version] = False
    runs = [each and math.isfinite(cost) for each, cost in zip(runs, costs, strict=True)]
    sizes, par = map(dict, asked)
    return _Group(sizes, {**sizes, **par},
                  [cost if each else costs[now] for each, cost in zip(runs, costs, strict=True)],
                  now, runs)


# Tables of sizes


def _memo(groups: Sequence[_Group], policy: FitPolicy) -> SizeTable | None:
    names = list(groups[0].sizes) if groups else []  # also those that were the same so far
    versions = {tuple(g.sizes[name] for name in names): g.best() for g in groups
                if min(g.costs) < (1 - policy.guard_worthwhile) * g.costs[g.now]}
    return SizeTable(tuple(names), versions) if versions else None


def _nearby(groups: Sequence[_Group], matters: float, policy: TuningPolicy
            ) -> NearestSizes | None:
    """The costs of all versions at known sizes, with the values that guards compare with.

    None if one version is the best at all of them, or the choice matters less than that.
    """
    asked = [g.asked for g in groups]
    columns = {tuple(each[name] for each in asked): name for name in reversed(_telling(asked))}
    names = tuple(sorted(columns.values()))
    always = len({g.now for g in groups}) == 1 and all(
        g.costs[g.now] <= (1 + policy.fit.guard_question) * min(g.costs) for g in groups)
    if not names or always or sum(max(g.costs) - min(g.costs) for g in groups) < matters:
        return None
    table = {tuple(each[name] for name in names): g.ratios(policy.pruning.cannot_run_factor)
             for each, g in zip(asked, groups, strict=True)}
    step = -(-len(table) // policy.fit.guard_sizes)
    return NearestSizes(names, {values: table[values] for values in sorted(table)[::step]})


def _telling(sizes: Sequence[Mapping[str, int]]) -> list[str]:
    """The sizes that tell some groups apart."""
    return [name for name in (sizes[0] if sizes else ())
            if len({each[name] for each in sizes}) > 1]


# A tree


def _tree(groups: Sequence[_Group], depth: int, policy: FitPolicy) -> Tree | None:
    """The tree of least cost; None if the thresholds cost about as little."""
    asked = [g.asked for g in groups]
    names = _telling(asked)
    if not names:
        return None
    table = np.array([[each[name] for name in names] for each in asked], np.int64)
    costs = np.array([g.costs for g in groups])
    least, tree = _best(names, table, costs, depth, policy)
    now = sum(g.costs[g.now] for g in groups)
    return tree if least < (1 - policy.guard_worthwhile) * now and isinstance(tree, Split) else None


def _best(names: Sequence[str], table: Array, costs: Array, depth: int, policy: FitPolicy
          ) -> tuple[float, Tree]:
    """The cost of the best tree of up to so many questions one after the other, and the tree.

    A question must gain a part of the cost, so that trees ask no more than is needed.
    """
    best = _leaf(costs)
    least_score = best[0]
    for column, least in _questions(table, costs, depth, policy.guard_splits):
        above = table[:, column] >= least
        sides = [_best(names, table[side], costs[side], depth - 1, policy)
                 for side in (above, ~above)]
        cost = sum(cost for cost, _ in sides)
        tree = Split(names[column], least, sides[0][1], sides[1][1])
        score = cost * (1 + policy.guard_question * tree.questions)
        if score < least_score * (1 - 1e-9):
            best, least_score = (cost, tree), score
    return best


def _leaf(costs: Array) -> tuple[float, Tree]:
    totals = costs.sum(axis=0)
    return float(totals.min()), Leaf(int(totals.argmin()))


def _questions(table: Array, costs: Array, depth: int, splits: int) -> list[tuple[int, int]]:
    """The questions to look at, as columns and least values; the last one is the best alone."""
    if depth == 0:
        return []
    if depth == 1:
        found = [(_last(table[:, column], costs), column) for column in range(table.shape[1])]
        (_, least), column = min(found, key=lambda each: each[0][0])
        return [(column, least)] if least else []
    every = [(column, value) for column in range(table.shape[1])
             for value in _between(table[:, column])]
    return every[:: -(-len(every) // splits) or 1]


def _last(values: Array, costs: Array) -> tuple[float, int]:
    """The best single question about some values: what it leads to, and the least value above."""
    order = np.argsort(values, kind="stable")
    ordered, below = values[order], np.cumsum(costs[order], axis=0)[:-1]
    above = np.cumsum(costs[order][::-1], axis=0)[-2::-1]  # differences of infinite sums are none
    tells = np.flatnonzero(ordered[1:] != ordered[:-1])
    if not len(tells):
        return math.inf, 0
    both = below[tells].min(axis=1) + above[tells].min(axis=1)
    at = int(tells[both.argmin()])
    return float(both.min()), Interval(int(ordered[at]), int(ordered[at + 1])).middle()


def _between(values: Array) -> Iterator[int]:
    """Between which values a question can tell: as far from both as factors go."""
    for low, high in pairwise(sorted(set(values.tolist()))):
        yield Interval(low, high).middle()
