"""The final choice of a tuning: what runs on each dataset, and a last comparison of its times."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from runelift.runtime.tuner.costs.cost_model import DatasetCosts
from runelift.runtime.tuner.job import TuningJob
from runelift.runtime.tuner.measure.paired_comparison import UNTUNED
from runelift.runtime.tuner.measure.side_by_side import (
    BEST,
    DEFAULT,
    TUNED,
    Choice,
    SideBySide,
    run_side_by_side,
)
from runelift.runtime.tuner.result import EntryTuning
from runelift.runtime.versions.forest import Forest, plans
from runelift.runtime.versions.size_guards import GuardedThresholds, Leaf

CANDIDATES = 3
"""The most single versions that run beside the default and the tuned choice, ..."""
NEAR = 1.5
"""... of versions that take no more times as long as the best version, by the records."""


def compare_choices(job: TuningJob, entries: Mapping[str, EntryTuning], tuned: GuardedThresholds
                    ) -> Iterator[SideBySide]:
    """The default, the tuned program and the best single version on each dataset.

    ``entries`` have the latest costs by entry point.  Datasets that are still to be done after the
    time for that are left out.
    """
    policy = job.policy.comparison
    end = min(job.end + policy.final_part * (job.end - job.begun) if math.isfinite(job.end)
              else math.inf, time.perf_counter() + policy.final_seconds)
    for dataset in job.datasets:
        if time.perf_counter() > end:
            break
        entry = entries.get(dataset.entry)
        choices = {DEFAULT: Choice(UNTUNED), TUNED: Choice(tuned)}
        for costs in entry.costs.datasets if entry else ():
            if entry is not None and costs.name == dataset.name:
                choices = _choices(entry, costs, tuned)
        found = run_side_by_side(job.program, dataset, choices, policy, end)
        if found is not None:
            yield _with_best(found)


def _choices(entry: EntryTuning, costs: DatasetCosts, tuned: GuardedThresholds
             ) -> dict[str, Choice]:
    """The choices to run.  Choices that lead to equal runs are one object.

    Single versions run with the parameters that were chosen, too.  Several single versions run, as
    records may mislead where versions are nearly equally fast.
    """
    forest, defaults = entry.forest, entry.defaults
    known = not entry.costs.incomplete.get(costs.name)
    has_settings = any(name.startswith(f"{forest.entry}.") and name not in defaults
                       for name in tuned)
    default = Choice(UNTUNED, versions_run(forest, costs, defaults))
    chosen = Choice(tuned, versions_run(forest, costs, tuned))
    if known and not has_settings and costs.launched(tuned) == costs.launched(defaults):
        chosen = default
    same = {costs.launched(tuned): chosen} if known else {}
    if known and not has_settings:
        same[costs.launched(defaults)] = default
    found = {DEFAULT: default, TUNED: chosen}
    forced = sorted(single_versions(forest, tuned), key=lambda each: _seconds(costs, each))
    limit = NEAR * _seconds(costs, forced[0])
    for each in forced:
        path = costs.launched(each)
        if path not in same and len(found) < CANDIDATES + 2 and _seconds(costs, each) <= limit:
            same[path] = Choice(each, versions_run(forest, costs, each))
        if path in same and same[path] not in [found[n] for n in found if n.startswith(BEST)]:
            found[f"{BEST}{len(found)}"] = same[path]
    return found


def _seconds(costs: DatasetCosts, thresholds: Mapping[str, int]) -> float:
    """The time of a dataset by the records, which is infinite where it is not known."""
    found = costs.total(thresholds)
    return math.inf if math.isnan(found) else found


def _with_best(found: SideBySide) -> SideBySide:
    """The comparison with the quickest single version alone."""
    single = [name for name in found.seconds if name.startswith(BEST)]
    kept = {DEFAULT: DEFAULT, TUNED: TUNED} | (
        {BEST: min(single, key=found.median)} if single else {})
    seconds, versions = found.seconds, found.versions
    return replace(
        found, seconds={name: seconds[of] for name, of in kept.items() if of in seconds},
        versions={name: versions[of] for name, of in kept.items()})


def single_versions(forest: Forest, thresholds: Mapping[str, int]) -> list[GuardedThresholds]:
    """The plans that force one version at every site.

    A version that cannot run somewhere gives way to what ``thresholds`` choose.
    """
    return [GuardedThresholds(thresholds, {site: Leaf(index) for site, index in plan.items()})
            for plan in plans(forest)]


def versions_run(forest: Forest, costs: DatasetCosts, thresholds: Mapping[str, int]
                 ) -> tuple[str, ...]:
    """The versions that run on a dataset.

    A version has a count if its site also runs another version.  Versions that launch nothing are
    left out.
    """
    sites, counts, all_of = forest.sites(), Counter[str](), Counter[str]()
    for point in costs.points:
        idle = {(each.site.name, index) for each in point.walk() for index in each.idle}
        for each, index in point.reached(thresholds):
            name, label = each.site.name, each.site.alternatives[index].label
            if label and (name, index) not in idle:
                counts[label] += 1
                all_of[name] += 1
    site_of = {each.label: site.name for site in sites.values() for each in site.alternatives}
    return tuple(label if counts[label] == all_of[site_of[label]] else f"{label} ×{counts[label]}"
                 for label in sorted(counts, key=lambda each: int(each[1:])))
