"""The front of time and device memory: choices of thresholds of which no other one is better.

Memory is known before versions run, and time is measured.  For each amount of memory that some
version needs, thresholds are fitted with a penalty on the versions that need more.  What they lead
to is then counted and added up without penalties.

Sources: Mogers 2023, section 4.5.3, asks for such a front.  The method is that of epsilon
constraints (Haimes, Lasdon and Wismer 1971).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from runelift.runtime.tuner.costs.cost_model import Costs, DatasetCosts, EncounterCosts
from runelift.runtime.tuner.costs.host_device_time import Cost
from runelift.runtime.tuner.costs.objective import Objective
from runelift.runtime.tuner.costs.pareto import below, undominated
from runelift.runtime.tuner.fit.fit import fit
from runelift.runtime.versions.size_guards import size_guards_of

if TYPE_CHECKING:
    from runelift.runtime.memory.memory_run import MemoryEstimate, VersionNeed

PENALTY = 1e3
"""The cost of a version that needs too much memory, in times of the default thresholds."""


EstimateMemory: TypeAlias = Callable[[str, Mapping[str, int]], "MemoryEstimate"]
"""The memory of a run on a dataset, by name, under thresholds."""
_Place: TypeAlias = tuple[str, tuple[tuple[str, int], ...]]


@dataclass(frozen=True, slots=True)
class MemoryChoice:
    """Thresholds: their ``score`` by the objective, and times and bytes by dataset."""

    thresholds: Mapping[str, int]
    score: float
    times: dict[str, float]
    bytes: dict[str, int]

    @property
    def greatest(self) -> int:
        """The bytes that suffice for all datasets."""
        return max(self.bytes.values(), default=0)


@dataclass(frozen=True, slots=True)
class MemoryFront:
    """Choices by ascending bytes, and so by descending score; ``unknown`` has reasons by dataset.

    If a dataset has a reason, its bytes only count the part of a run that is known.  ``taken`` is
    the choice that runs, which another one may beat.
    """

    choices: tuple[MemoryChoice, ...]
    unknown: Mapping[str, str]
    taken: MemoryChoice

    @property
    def with_taken(self) -> tuple[MemoryChoice, ...]:
        """The choices by ascending bytes, with the choice that runs if another one beats it."""
        if any(choice is self.taken for choice in self.choices):
            return self.choices
        return tuple(sorted((*self.choices, self.taken), key=lambda choice: choice.greatest))

    def least_within(self, slack: float) -> MemoryChoice:
        """The choice of least bytes whose score is at most this fraction above the best."""
        best = min(choice.score for choice in self.choices)
        return next(choice for choice in self.choices if choice.score <= (1 + slack) * best)


def memory_front(costs: Costs, defaults: Mapping[str, int], fitted: Mapping[str, int],
                 aim: Objective, estimate: EstimateMemory) -> MemoryFront:
    """The front of the score of ``aim`` and the greatest bytes of a dataset.

    The default thresholds and the choice ``fitted`` to time are considered, too.
    """
    datasets = [d for d in costs.compact().datasets if math.isfinite(d.least())]
    known = {d.name: estimate(d.name, defaults) for d in datasets}
    needs = {name: _needs(each) for name, each in known.items()}
    guards = bool(size_guards_of(fitted))
    tried: list[Mapping[str, int]] = [fitted] if fitted == defaults and not guards else [
        fitted, dict(defaults)]
    for limit in _levels(needs.values(), costs.policy.fit.memory_levels):
        burdened = replace(costs, datasets=tuple(
            _burdened(d, needs.get(d.name, {}), limit, defaults) for d in costs.datasets))
        found = fit(burdened, defaults, aim=aim).thresholds
        if found not in (tried[1:] if guards else tried):
            tried.append(found)
    choices = [_choice(datasets, thresholds, aim, estimate) for thresholds in tried]
    usable = [choice for choice in choices if math.isfinite(choice.score)] or choices[:1]
    rows = np.array([[choice.greatest, choice.score] for choice in usable])
    keep = undominated(rows, below(np.array([math.inf, math.inf])))
    front = [usable[k] for k in keep]
    alike = [k for k, choice in enumerate(front)
             if choice.bytes == choices[0].bytes and choice.times == choices[0].times]
    for k in alike:
        front[k] = choices[0]
    unknown = {name: each.unknown for name, each in known.items() if each.unknown}
    return MemoryFront(tuple(front), unknown, choices[0])


def _choice(datasets: Sequence[DatasetCosts], thresholds: Mapping[str, int], aim: Objective,
            estimate: EstimateMemory) -> MemoryChoice:
    """The score, times and bytes that thresholds lead to."""
    return MemoryChoice(thresholds, aim.score(datasets, thresholds),
                        {d.name: d.total(thresholds) for d in datasets},
                        {d.name: estimate(d.name, thresholds).bytes for d in datasets})


def _needs(found: MemoryEstimate) -> dict[_Place, Mapping[int, VersionNeed]]:
    return {(each.site, tuple(sorted(each.sizes.items()))): each.needs
            for each in found.encounters}


def _levels(needs: Iterable[Mapping[_Place, Mapping[int, VersionNeed]]], most: int) -> list[int]:
    """The bytes that versions need, the greatest first: all, or so many with equal distances."""
    found = sorted({need.bytes for each in needs for versions in each.values()
                    for need in versions.values() if need.bytes is not None}, reverse=True)
    if len(found) <= most:
        return found
    return [found[k * (len(found) - 1) // (most - 1)] for k in range(most)]


def _burdened(dataset: DatasetCosts, needs: Mapping[_Place, Mapping[int, VersionNeed]], limit: int,
              defaults: Mapping[str, int]) -> DatasetCosts:
    """The dataset with a penalty on versions that need more than ``limit`` bytes."""
    total = dataset.total(defaults)
    penalty = Cost(PENALTY * max(total if math.isfinite(total) else dataset.least(), 1e-6))

    def burdened(point: EncounterCosts) -> EncounterCosts:
        known = needs.get((point.site.name, tuple(sorted(point.sizes.items()))), {})
        too_large: Collection[int] = {
            k for k, need in known.items() if need.bytes is not None and need.bytes > limit}
        return replace(point, own={k: cost + penalty if k in too_large else cost
                                   for k, cost in point.own.items()},
                       inner={k: tuple(map(burdened, each)) for k, each in point.inner.items()})

    return replace(dataset, points=tuple(map(burdened, dataset.points)))
