"""Leave-one-out cross validation: each dataset with thresholds fitted to all other datasets."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from runelift.runtime.records.statistics import median
from runelift.runtime.tuner.costs.cost_model import Costs, DatasetCosts
from runelift.runtime.tuner.costs.objective import Objective
from runelift.runtime.tuner.fit.fit import fit
from runelift.runtime.tuner.fit.size_guards import SizeGuardKind, fit_size_guards


@dataclass(frozen=True, slots=True)
class HeldOut:
    """A dataset with the thresholds that are fitted to all other datasets.

    ``seconds`` is its time with them, ``default`` that without tuning, and ``oracle`` that with
    the thresholds that are best for it alone.
    """

    dataset: str
    thresholds: dict[str, int]
    seconds: float
    default: float
    oracle: float

    @property
    def regret(self) -> float:
        """The fraction by which it is slower than with its own thresholds."""
        return max(0.0, self.seconds / self.oracle - 1) if self.oracle else 0.0


def leave_one_out(costs: Costs, default: Mapping[str, int],
                  aim: Objective = Objective.RELATIVE,
                  guards: SizeGuardKind = SizeGuardKind.THRESHOLD
                  ) -> list[HeldOut]:
    """Each dataset with thresholds fitted to all other datasets; empty for a single dataset.

    Finer ``guards`` are fitted to the other datasets as well.  The oracle has thresholds alone.
    """
    found = []
    for dataset, others, thresholds in fitted_to_others(costs, default, aim):
        fitted = fit_size_guards(others, thresholds, guards, aim)
        alone = fit(replace(costs, datasets=(dataset,)), default, aim=aim)
        untuned = dataset.total(default)
        found.append(HeldOut(dataset.name, dict(fitted), dataset.total(fitted), untuned,
                             min(alone.predicted[dataset.name], untuned)))
    return found


def fitted_to_others(costs: Costs, default: Mapping[str, int], aim: Objective
                     ) -> Iterator[tuple[DatasetCosts, Costs, dict[str, int]]]:
    """Each dataset, the costs of the other datasets, and the thresholds that are best for these."""
    complete = [d for d in costs.datasets if math.isfinite(d.least())]
    for dataset in complete if len(complete) > 1 else ():
        others = replace(costs, datasets=tuple(d for d in complete if d is not dataset))
        yield dataset, others, fit(others, default, aim=aim).thresholds


def summary(found: list[HeldOut]) -> str:
    """The median and the worst regret, in words."""
    known = [each for each in found if math.isfinite(each.regret)]
    lost = "" if len(known) == len(found) else (
        f"; of {len(found) - len(known)}, the thresholds of the others lead to versions that "
        "cannot run, or were not measured")
    if not known:
        return f"Nothing is known of datasets that are left out{lost}"
    worst = max(known, key=lambda each: each.regret)
    untuned = [max(0.0, each.default / each.oracle - 1) for each in found
               if each.oracle and math.isfinite(each.default)]
    by_default = f"; by default {100 * median(untuned):.1f} % (median)" if untuned else ""
    return (f"Left out, a dataset is {100 * median([each.regret for each in known]):.1f} % slower "
            f"than with its best thresholds (median), {100 * worst.regret:.1f} % at worst "
            f"({worst.dataset}){by_default}{lost}")


def held_out_facts(found: list[HeldOut]) -> dict[str, Any]:
    """Datasets left out of the fit, for the JSON file; times in seconds, regrets as fractions."""
    return {each.dataset: {"thresholds": each.thresholds, "seconds": finite(each.seconds),
                           "default": finite(each.default), "oracle": finite(each.oracle),
                           "regret": finite(each.regret)}
            for each in found}


def finite(seconds: float) -> float | None:
    """A number that JSON has: versions that cannot run take no time that could be told."""
    return seconds if math.isfinite(seconds) else None
