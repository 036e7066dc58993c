"""The choices that a tuning ends with: what runs on each dataset, and what runs beside it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from runelift.runtime.tuner.costs.cost_model import DatasetCosts
from runelift.runtime.tuner.measure.paired_comparison import UNTUNED
from runelift.runtime.tuner.measure.side_by_side import (
    BEST,
    DEFAULT,
    TUNED,
    Choice,
    SideBySide,
)
from runelift.runtime.tuner.result import EntryTuning
from runelift.runtime.versions.forest import Forest, plans
from runelift.runtime.versions.size_guards import GuardedThresholds, Leaf

CANDIDATES = 3
"""The most single versions that run beside the default and the tuned choice, ..."""
NEAR = 1.5
"""... of versions that take no more times as long as the best version, by the records."""


Settings: TypeAlias = frozenset[tuple[str, int]]
"""Settings of kernels, by the names of their parameters."""


class Candidates(NamedTuple):
    """The single versions that run beside the default and the tuned choice.

    There are ``most`` at most, of versions that take no more than ``near`` times as long as the
    best version, by the records.
    """

    most: int
    near: float


NONE = Candidates(0, 0.0)
"""No single versions, where these are known to be no better."""
USUAL = Candidates(CANDIDATES, NEAR)
"""The single versions of records that are hardly disturbed."""


def choices_on(entry: EntryTuning, costs: DatasetCosts, tuned: Mapping[str, GuardedThresholds],
               candidates: Candidates = USUAL) -> dict[str, Choice]:
    """The choices to run on a dataset.  Choices that lead to equal runs are one object.

    ``tuned`` are choices by name.  Single versions run with the settings of the first, too.
    Several single versions run, as records may mislead.
    """
    forest = entry.forest
    known = not entry.costs.incomplete.get(costs.name)
    same = dict[tuple[object, ...], Choice]()

    plain = (entry.untuned or entry.costs).of(costs.name) or costs

    def choice(thresholds: Mapping[str, int], meant: Mapping[str, int]) -> Choice:
        settings = settings_of(entry, thresholds)
        of = costs if settings else plain  # predicted times depend on settings
        made = Choice(thresholds, versions_run(forest, of, meant))
        return same.setdefault((of.launched(meant), settings), made) if known else made

    found = {DEFAULT: choice(UNTUNED, entry.defaults),
             **{name: choice(each, each) for name, each in tuned.items()}}
    base, count = next(iter(tuned.values())), len(found)
    forced = sorted(single_versions(forest, base), key=lambda each: _seconds(costs, each))
    limit = candidates.near * _seconds(costs, forced[0]) if forced else 0.0
    for each in forced:
        path = costs.launched(each), settings_of(entry, each)
        if path in same or (len(found) < candidates.most + count
                            and _seconds(costs, each) <= limit):
            made = choice(each, each)
            if not any(made is found[name] for name in found if name.startswith(BEST)):
                found[f"{BEST}{len(found)}"] = made
    return found


def in_fixed_order(entry: EntryTuning, costs: DatasetCosts, choices: Mapping[str, Choice],
                   settings: Settings) -> tuple[str, ...]:
    """The choices with some settings that lead to different runs, the default's versions first."""
    found = dict[tuple[int, ...], str]()
    for name, choice in choices.items():
        if settings_of(entry, choice.thresholds) == settings:
            found.setdefault(_launched(entry, costs, choice), name)
    usual = entry.by_default(costs.name)
    return tuple(found[path] for path in sorted(found, key=lambda path: (path != usual, path)))


def runs_like(entry: EntryTuning, costs: DatasetCosts, choices: Mapping[str, Choice],
              thresholds: Mapping[str, int]) -> str | None:
    """The name of a choice that leads to the runs that thresholds lead to; None if none does."""
    path, settings = costs.launched(thresholds), settings_of(entry, thresholds)
    return next((name for name in in_fixed_order(entry, costs, choices, settings)
                 if _launched(entry, costs, choices[name]) == path), None)


def _launched(entry: EntryTuning, costs: DatasetCosts, choice: Choice) -> tuple[int, ...]:
    usual = None if choice.thresholds else entry.by_default(costs.name)
    return costs.launched(choice.thresholds or entry.defaults) if usual is None else usual


def settings_of(entry: EntryTuning, thresholds: Mapping[str, int]) -> Settings:
    """The settings of kernels of an entry point that come with thresholds."""
    return frozenset((name, value) for name, value in thresholds.items()
                     if name.startswith(f"{entry.forest.entry}.") and name not in entry.defaults)


def _seconds(costs: DatasetCosts, thresholds: Mapping[str, int]) -> float:
    """The time of a dataset by the records, which is infinite where it is not known."""
    found = costs.total(thresholds)
    return math.inf if math.isnan(found) else found


def with_best(found: SideBySide, tuned: str) -> SideBySide:
    """The comparison with a choice as the tuned choice, and the quickest single version alone."""
    single = [name for name in found.seconds if name.startswith(BEST)]
    kept = {DEFAULT: DEFAULT, TUNED: tuned} | (
        {BEST: min(single, key=found.median)} if single else {})
    seconds, versions = found.seconds, found.versions
    return replace(
        found, seconds={name: seconds[of] for name, of in kept.items() if of in seconds},
        versions={name: versions.get(of, ()) for name, of in kept.items()})


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
