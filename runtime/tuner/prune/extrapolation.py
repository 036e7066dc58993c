"""Extrapolation from smaller datasets: versions that are skipped on a larger one.

A run shows one version of every site, and a hopeless one may take a hundred times as long as the
best.  The times of a version on datasets with less work bound its time on one with more work:

* It gains on other versions as much as the parallelism grows at most, as those may have filled
  the device before.
* Where it filled the device already, more parallelism of that kind gains nothing but the time of
  launches.  Longer rows may gain
  (:mod:`runelift.runtime.records.estimates` treats outermost sites, before a first run).
* With more to do it takes no less than before, while the best takes no more than the runs at hand
  show.

A version that was skipped on a dataset has no time there.  So its last run decides on larger
datasets.

A version that is far behind has run only once, and first runs are late in many ways.  So only the
time of its kernels counts (as in :mod:`~runelift.runtime.tuner.prune.contenders`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from runelift.ir.guards import Kind
from runelift.runtime.records.pruning import (
    NORMAL_PRUNING,
    Evidence,
    PruningPolicy,
    Source,
    reason,
    verdict,
)
from runelift.runtime.records.record import Encounter, Record
from runelift.runtime.tuner.costs.cost_model import (
    Costs,
    DatasetCosts,
    EncounterCosts,
    costs_of,
    encounters_at,
)
from runelift.runtime.tuner.costs.host_device_time import Cost, total
from runelift.runtime.tuner.costs.log import LoggedRun, Measurements
from runelift.runtime.tuner.costs.pareto import exclusive
from runelift.runtime.tuner.prune.contenders import attempts_of
from runelift.runtime.versions.forest import Forest, Site, plans


@dataclass(frozen=True)
class Extrapolation:
    """Conclusions about versions of an entry point from ``runs`` of the datasets so far.

    More than ``at_once`` work-items take turns on the device.
    """

    forest: Forest
    runs: Sequence[LoggedRun]
    at_once: float = math.inf
    policy: PruningPolicy = NORMAL_PRUNING

    @cached_property
    def _telling(self) -> list[LoggedRun]:
        """The last run of each plan on each dataset: a version far behind is so in any run."""
        return list({(run.dataset, *sorted(run.force.items())): run
                     for run in self.runs}.values())

    @cached_property
    def _costs(self) -> Costs:
        return costs_of(self.forest, Measurements(self.forest.entry, self._telling))

    @cached_property
    def _known(self) -> dict[str, _Known]:
        kernels = _busy(self._telling, self.policy)
        found = {name: _known(encounters_at(self._costs.datasets, name), kernels, self.policy)
                 for name in self.forest.sites()}
        return {name: each for name, each in found.items() if each is not None}

    def work_out(self) -> None:
        """Work out ahead all that needs no records of the dataset at hand."""
        if self.runs:
            _ = self._known

    def behind(self, records: Sequence[Record]) -> dict[str, dict[int, float]]:
        """The versions that are skipped, by site, with their times relative to the best.

        ``records`` are runs of the dataset at hand.  Versions that they chose are not skipped.  Nor
        are versions that failed on the datasets before, or that there was no time for.  At sites
        with less work than on these datasets, no version is skipped.  These runs are first runs, so
        only kernels tell where the most work was.
        """
        if not self.runs:
            return {}
        usable = {version for record in records for version in record.path}
        given_up = {version for run in self.runs if run.left_out
                    for version in run.force.items()}
        found = dict[str, dict[int, float]]()
        for name, (encounter, own) in _most_to_do(records, self.policy).items():
            known = self._known.get(name)
            if known is None or known.largest.has_more(encounter, own):
                continue
            ratios = {version: ratio for version, ratio
                      in known.ratios(encounter, self.at_once).items()
                      if not verdict(Evidence(Source.SMALLER_INPUTS, ratio), self.policy).keeps
                      and (name, version) not in usable
                      and (known.largest.shows(version) or (name, version) in given_up)}
            if ratios:
                found[name] = ratios
        return found


_Met: TypeAlias = tuple[str, str, tuple[tuple[str, int], ...], int]
"""A dataset, a site, the sizes there, and a version."""


def _busy(runs: Sequence[LoggedRun], policy: PruningPolicy) -> dict[_Met, float]:
    """The least kernel seconds of versions, without the seconds of nested encounters."""
    found = dict[_Met, float]()
    for run in runs:
        for name, version, attempt in attempts_of(run, policy):
            key = run.dataset, name, tuple(sorted(attempt.sizes)), version
            found[key] = min(attempt.least, found.get(key, math.inf))
    return found


def _own(record: Record) -> Iterator[tuple[Encounter, float]]:
    """Each encounter with its kernel seconds, without the seconds of nested encounters."""
    encounters = record.encounters
    (own,), _ = exclusive(encounters, np.array([[each.busy for each in encounters]]))
    yield from zip(encounters, own.tolist(), strict=True)


def _most_to_do(records: Sequence[Record], policy: PruningPolicy
                ) -> dict[str, tuple[Encounter, float]]:
    """The encounter of each site with the most work, and its kernel seconds.

    Nested encounters do not count.  Of encounters in several records the quickest counts.
    """
    quickest = dict[Hashable, tuple[Encounter, float]]()
    for record in records:
        times = Counter[Hashable]()
        for each, own in _own(record):
            kind = each.site, *each.sizes.items(), *each.par.items()
            times[kind] += 1
            key = kind, times[kind]
            if key not in quickest or each.busy < quickest[key][0].busy:
                quickest[key] = each, own
    found = dict[str, tuple[Encounter, float]]()
    for each, own in quickest.values():
        most, _ = found.get(each.site, (None, 0.0))
        if most is None or _is_more(each.par, each.busy, most.par, most.busy, policy.less_work):
            found[each.site] = each, own
    return found


def _is_more(par: Mapping[str, int], seconds: float, other: Mapping[str, int], taken: float,
             less_work: float) -> bool:
    """True if there is no less to do than where guards compare with ``other`` sizes.

    Sizes tell, unless times are far apart: where kernels are short, these are chance.
    """
    larger = all(size >= other[name] for name, size in par.items())
    smaller = all(size <= other[name] for name, size in par.items())
    least = 1.0 if larger == smaller else less_work if larger else 1 / less_work
    return seconds >= least * taken


@dataclass(frozen=True, slots=True)
class _Work:
    """A point of a site.

    ``costs`` has the cost of each of its versions, with the best versions inside.  ``kernels`` has
    their least kernel seconds, without nested encounters.
    """

    point: EncounterCosts
    costs: dict[int, Cost]
    kernels: dict[int, float]
    policy: PruningPolicy

    @property
    def best(self) -> float:
        return min(cost.time for cost in self.costs.values())

    def shows(self, version: int) -> bool:
        return version in self.costs and math.isfinite(self.costs[version].time)

    def has_more(self, encounter: Encounter, own_busy: float) -> bool:
        """True if there is more to do than at an encounter whose own kernels took so long."""
        kernels = self.kernels.get(encounter.chosen, math.inf)
        return (own_busy < self.policy.less_work * kernels < math.inf
                or self._growths(encounter)[0] < 1)

    def ratio(self, version: int, encounter: Encounter, at_once: float) -> float:
        """The time of a version relative to the best one, where there is more to do.

        0 if it is not known that there is.
        """
        least_growth, growth = self._growths(encounter)
        if least_growth < 1:
            return 0.0
        gain = _gain(self.point.site, self._before, encounter.par, at_once)
        cost, own = self.costs[version], self.point.own[version].device
        least = cost.device - own + min(own, self.kernels[version])
        best = max(self.best, self.policy.least_seconds(encounter.busy, encounter.launches))
        return max(least / growth / self.best, (least - cost.host) / gain / self.best, least / best)

    @property
    def _before(self) -> dict[str, int]:
        return {guard.name: max(1, self.point.par[guard.name]) for guard in self.point.site.guards}

    def _growths(self, encounter: Encounter) -> tuple[float, float]:
        """The growth of the values that guards compare with, at least and at most."""
        growths = [encounter.par[name] / par for name, par in self._before.items()] or [1.0]
        return min(growths), max(growths)


@dataclass(frozen=True, slots=True)
class _Known:
    """The point of a site with the most work.

    For each version, ``was_run`` has the point with the most work of all points where it was run.
    """

    largest: _Work
    was_run: dict[int, _Work]

    def ratios(self, encounter: Encounter, at_once: float) -> dict[int, float]:
        """The times of versions relative to the best, at an encounter with more work."""
        return {version: self.was_run[version].ratio(version, encounter, at_once)
                if version in self.was_run else math.inf for version in self.largest.costs}


def _known(points: Iterator[tuple[DatasetCosts, EncounterCosts]], busy: Mapping[_Met, float],
           policy: PruningPolicy) -> _Known | None:
    """The knowledge of a site; None if there is no work."""
    each = [_work(dataset.name, point, busy, policy) for dataset, point in points]
    largest = _most_work(each)
    if largest is None:
        return None
    own = {version: _most_work(work for work in each if work.shows(version))
           for version in largest.costs}
    return _Known(largest, {version: work for version, work in own.items() if work is not None})


def _work(dataset: str, point: EncounterCosts, busy: Mapping[_Met, float],
          policy: PruningPolicy) -> _Work:
    costs = {version: _cost(point, version) for version in sorted(point.feasible)}
    sizes = tuple(sorted(point.sizes.items()))
    return _Work(point, costs, {
        version: busy.get((dataset, point.site.name, sizes, version), point.own[version].device)
        for version in costs}, policy)


def _most_work(each: Iterable[_Work]) -> _Work | None:
    """The point with the most work; of several the last.  None if there is no work."""
    found: _Work | None = None
    for work in each:
        if work.best and (found is None or _is_more(
                work.point.par, work.best, found.point.par, found.best, work.policy.less_work)):
            found = work
    return found


def _gain(site: Site, before: Mapping[str, int], after: Mapping[str, int], at_once: float
          ) -> float:
    """The greatest factor by which kernels get faster than the work grows.

    More points than there are ``at_once`` take turns.  Points may have become larger.  They did by
    as much as other guards grow, or as numbers of points grow unlike each other.
    """
    points = [(before[guard.name], after[guard.name]) for guard in site.guards
              if guard.kind is Kind.OUTER]
    larger = [after[guard.name] / before[guard.name] for guard in site.guards
              if guard.kind is not Kind.OUTER]
    if points:
        growths = [new / old for old, new in points]
        larger.append(max(growths) / min(growths))
    filling = max((min(new, at_once) / min(old, at_once) for old, new in points), default=1.0)
    return filling * max(larger, default=1.0)


def _cost(point: EncounterCosts, version: int) -> Cost:
    return total([point.own[version],
                  *(inner.bounds()[0] for inner in point.inner.get(version, ()))])


def newly_behind(behind: Mapping[str, Mapping[int, float]], known: Mapping[str, Mapping[int, float]]
                 ) -> dict[str, dict[int, float]]:
    """The versions that are ``behind`` and were not ``known`` to be behind."""
    left = {site: {version: ratio for version, ratio in ratios.items()
                   if version not in known.get(site, ())} for site, ratios in behind.items()}
    return {site: ratios for site, ratios in left.items() if ratios}


def merged(one: Mapping[str, Mapping[int, float]], other: Mapping[str, Mapping[int, float]]
           ) -> dict[str, dict[int, float]]:
    """The versions of both."""
    return {site: {**one.get(site, {}), **other.get(site, {})} for site in {**one, **other}}


def remaining_plans(forest: Forest, behind: Mapping[str, Mapping[int, float]],
                    records: Sequence[Record]) -> list[dict[str, int]]:
    """The fewest plans that show all versions neither ``behind`` nor in the ``records``."""
    sites = forest.sites().values()
    others = {site.name: {version for version in range(len(site.alternatives))
                          if version not in behind.get(site.name, ())} for site in sites}
    shown = {version for record in records for version in record.path}
    return [plan for plan in plans(forest, others) if not shown.issuperset(plan.items())]


def skipped_runs(behind: Mapping[str, Mapping[int, float]], dataset: str) -> Iterator[LoggedRun]:
    """Runs that are not made: so many that each of these versions is forced in one of them."""
    for number in range(max(map(len, behind.values()), default=0)):
        force = {site: sorted(ratios)[number] for site, ratios in behind.items()
                 if number < len(ratios)}
        names = ", ".join(f"{site}/{version}" for site, version in force.items())
        least = min(behind[site][version] for site, version in force.items())
        why = reason(Evidence(Source.SMALLER_INPUTS, least))
        yield LoggedRun(dataset, force, None, f"version {names}: {why}", left_out=force)
