"""Datasets that want different sides of a guard although one threshold decides for both.

A guard holds for all parallelism from its threshold on.  Say one dataset wants it to hold at some
value, and another does not at an equal or a greater value.  Then no threshold serves both (Breddam
2019, section 2.2.2).  An exact memo or a decision tree does
(:mod:`~runelift.runtime.tuner.fit.size_guards`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from runelift.runtime.tuner.costs.cost_model import Costs, DatasetCosts
from runelift.runtime.tuner.fit.guard_slices import guard_slice
from runelift.runtime.versions.forest import Site

MATTERS = 0.01
"""Part of a dataset's time that the wrong side must cost for it to want the other one."""


@dataclass(frozen=True, slots=True)
class _Preference:
    """The side that a dataset wants at a parallelism; the other takes ``loss`` of its time more."""

    dataset: str
    value: int
    loss: float


@dataclass(frozen=True, slots=True)
class _Conflict:
    """No threshold of ``guard`` gives both what they want; of all pairs the one that loses most."""

    guard: str
    holds: _Preference
    fails: _Preference

    def __str__(self) -> str:
        least, most = sorted(round(100 * each.loss) for each in (self.holds, self.fails))
        cost = f"{least} to {most} %" if least < most else f"{most} %"
        return (f"{self.guard}: '{self.holds.dataset}' and '{self.fails.dataset}' want opposite "
                f"choices here; one threshold costs one of them {cost}")


def conflicts(costs: Costs, thresholds: Mapping[str, int]) -> Iterator[_Conflict]:
    """The largest conflict of each guard, while ``thresholds`` decide all other guards."""
    for site in costs.forest.sites().values():
        for index, guard in enumerate(site.guards):
            holds, fails = list[_Preference](), list[_Preference]()
            for dataset in costs.datasets:
                for value, gain in _gains(dataset, site, index, thresholds).items():
                    if abs(gain) >= MATTERS:
                        (holds if gain > 0 else fails).append(
                            _Preference(dataset.name, value, abs(gain)))
            pairs = [_Conflict(guard.name, one, other) for one in holds for other in fails
                     if one.value <= other.value]
            if pairs:
                yield max(pairs, key=lambda pair: min(pair.holds.loss, pair.fails.loss))


def _gains(dataset: DatasetCosts, site: Site, index: int, thresholds: Mapping[str, int]
           ) -> dict[int, float]:
    """The gain of a dataset if a guard holds, by value, as a part of its time."""
    whole = dataset.total(thresholds)
    gains = defaultdict[int, float](float)
    for value, holding, failing in guard_slice(dataset, site, index, thresholds).encounters:
        if math.isfinite(holding.time) and math.isfinite(failing.time) and whole:
            gains[value] += (failing.time - holding.time) / whole
    return gains
