"""The gains that a search over schedules has proved, as evidence for the tuning after it.

The search runs schedules beside the program without them, in turn.  That tuning may have no time
for some versions or datasets, or too little to be certain.  What the search has proved then counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from runelift.runtime.tuner.costs.cost_model import DatasetCosts, Thresholds
from runelift.runtime.tuner.costs.log import NO_TIME
from runelift.runtime.tuner.policy import TuningPolicy
from runelift.runtime.tuner.result import EntryTuning


@dataclass(frozen=True, slots=True)
class SearchedGain:
    """A schedule of an entry point that gained in a search.

    ``ratios`` are its times on datasets, relative to the program without it.  The ``thresholds``
    choose its versions.
    """

    entry: str
    schedule: tuple[str, ...]
    ratios: Mapping[str, float]
    thresholds: Mapping[str, int]

    def proved(self, dataset: str, policy: TuningPolicy) -> bool:
        """True if it gained notably on a dataset."""
        return self.ratios.get(dataset, math.inf) < 1 - policy.schedules.worthwhile

    def is_chosen(self, thresholds: Mapping[str, int]) -> bool:
        """True if thresholds choose it for all sizes."""
        return all(thresholds.get(name) == value for name, value in self.thresholds.items())

    def runs_on(self, costs: DatasetCosts | None, thresholds: Thresholds) -> bool:
        """True if thresholds choose it on a dataset, whose costs may not be known."""
        if costs is None:
            return self.is_chosen(thresholds)
        return any(point.site.alternatives[index].schedule == self.schedule
                   for point, index in costs.reached(thresholds))

    def lacks_time(self, dataset: str, tuning: EntryTuning) -> bool:
        """True if a tuning had no time for its versions on a dataset."""
        return any(
            {run.error for run in tuning.measurements.runs
             if run.dataset == dataset and run.force.get(site.name) == index} == {NO_TIME}
            for site in tuning.forest.sites().values()
            for index, each in enumerate(site.alternatives) if each.schedule == self.schedule)


def searched_before(gains: Sequence[SearchedGain], tuning: EntryTuning, thresholds: Thresholds
                    ) -> dict[str, bool]:
    """The datasets on which thresholds choose a schedule that was quicker in the search.

    True if it gained notably.
    """
    return {name: gain.proved(name, tuning.costs.policy)
            for gain in gains if gain.entry == tuning.forest.entry
            for name, ratio in gain.ratios.items()
            if ratio < 1 and gain.runs_on(tuning.costs.of(name), thresholds)}


def with_searched(gains: Sequence[SearchedGain], datasets: Sequence[str], tuning: EntryTuning
                  ) -> EntryTuning:
    """The tuning with the best schedule of the search on datasets that lack its time.

    It must gain on all of these, and no other dataset may get slower.
    """
    failed = set(tuning.measurements.datasets) - set(tuning.measurements.left_out)
    able = [name for name in datasets if name not in failed or name in tuning.fit.default]
    ours = [each for each in gains if each.entry == tuning.forest.entry]
    better = [(score, gain) for gain in ours if (score := _score(gain, able, tuning)) is not None]
    if not better:
        return tuning
    _, best = min(better, key=lambda each: each[0])
    thresholds = {**tuning.fit.thresholds, **best.thresholds}
    return replace(tuning, fit=tuning.fit_with(thresholds))


def _score(gain: SearchedGain, datasets: Sequence[str], tuning: EntryTuning) -> float | None:
    """The mean logarithm of the time with a schedule where only the search has measured it.

    None if that is nowhere, or if a dataset got slower than with the fitted thresholds.
    """
    found, fit, policy = list[float](), tuning.fit, tuning.costs.policy
    for name in datasets:
        known = tuning.costs.of(name)
        if known is not None and not gain.lacks_time(name, tuning):
            thresholds = {**fit.thresholds, **gain.thresholds}
            if known.total(thresholds) > (1 + policy.fit.noise) * known.total(fit.thresholds):
                return None
            continue
        ratio = gain.ratios.get(name, math.inf)
        if known is not None:
            now = known.total(fit.thresholds)
            ratio *= known.total(tuning.defaults) / now if now else math.inf
        if not ratio < 1:
            return None
        found.append(math.log(max(ratio, policy.fit.rounding)))
    notable = found and min(found) < math.log(1 - policy.schedules.worthwhile)
    return sum(found) / len(found) if notable else None
