"""Versions that earlier datasets rule out for a larger one.

A run shows one version of every site, and a single hopeless one makes it take a hundred times as
long as the best.  What a version took at the encounters of datasets with less work says what it
takes at those of one with more: with so many times as much parallelism it gains that much on the
others at best, as they may have filled the device before.  Where all of it was busy already, more
of the same parallelism gains nothing but time for launches; rows of another length may
(:mod:`runelift.runtime.outlook` asks the same of outermost sites, before a first run).

What is far behind has run only once, and first runs are late in many ways: only the time of its
kernels counts (as in :mod:`.contenders`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from runelift.ir.guards import Kind
from runelift.runtime.outlook import LEFT_OUT
from runelift.runtime.records import Encounter, Record
from runelift.runtime.tuner.clocks import Cost, total
from runelift.runtime.tuner.contenders import attempts_of
from runelift.runtime.tuner.costs import Costs, DatasetCosts, Point, costs_of, met
from runelift.runtime.tuner.forest import Forest, Site, plans
from runelift.runtime.tuner.log import Measurements, Run

FAR_BEHIND = 8.0
"""A version that should take so many times as long as the best one is not run."""
LESS = 0.5
"""There is less to do where kernels of a version take less than this part of the time."""


@dataclass(frozen=True)
class Trends:
    """What ``runs`` of the datasets so far say of the versions of an entry point.

    More than ``at_once`` work-items take turns on the device.
    """

    forest: Forest
    runs: Sequence[Run]
    at_once: float = math.inf

    @cached_property
    def _telling(self) -> list[Run]:
        """The last run of each plan on each dataset: what is that far behind is so in any."""
        return list({(run.dataset, *sorted(run.force.items())): run
                     for run in self.runs}.values())

    @cached_property
    def _costs(self) -> Costs:
        return costs_of(self.forest, Measurements(self.forest.entry, self._telling))

    @cached_property
    def _known(self) -> dict[str, _Largest]:
        kernels = _busy(self._telling)
        found = {name: _most_work(met(self._costs.datasets, name), kernels)
                 for name in self.forest.sites()}
        return {name: each for name, each in found.items() if each is not None}

    def work_out(self) -> None:
        """Do all that needs no records of the dataset at hand."""
        if self.runs:
            _ = self._known

    def behind(self, records: Sequence[Record]) -> dict[str, dict[int, float]]:
        """The versions that larger datasets can do without, by site, and how far behind they are.

        ``records`` are runs of the dataset at hand: what they chose is not ruled out, nor is
        anything at sites where they had less to do than the datasets before, nor what failed there
        or there was no time for.  These runs are the first ones, so that only kernels tell where
        there was most to do.
        """
        if not self.runs:
            return {}
        largest = dict[str, tuple[Encounter, float]]()
        for record in records:
            for each, own in _own(record):
                if each.site not in largest or each.busy > largest[each.site][0].busy:
                    largest[each.site] = each, own
        usable = {version for record in records for version in record.path}
        given_up = {version for run in self.runs if run.left_out
                    for version in run.force.items()}
        found = dict[str, dict[int, float]]()
        for name, (encounter, own) in largest.items():
            if (known := self._known.get(name)) is None:
                continue
            ratios = {version: ratio for version, ratio
                      in known.ratios(encounter, own, self.at_once).items()
                      if ratio >= FAR_BEHIND and (name, version) not in usable
                      and (ratio < math.inf or (name, version) in given_up)}
            if ratios:
                found[name] = ratios
        return found


_Met: TypeAlias = tuple[str, str, tuple[tuple[str, int], ...], int]
"""A dataset, a site, the sizes there, and a version."""


def _busy(runs: Sequence[Run]) -> dict[_Met, float]:
    """How long the kernels of versions took at least, without those of encounters inside."""
    found = dict[_Met, float]()
    for run in runs:
        for key, version, attempt in attempts_of(run):
            met = run.dataset, key[-1][0], tuple(sorted(attempt.sizes)), version
            found[met] = min(attempt.least, found.get(met, math.inf))
    return found


def _own(record: Record) -> Iterator[tuple[Encounter, float]]:
    """Each encounter, and how long its kernels took without those of encounters inside."""
    inside = record.inside()
    for each in record.encounters:
        yield each, each.busy - sum(inner.busy for inner in inside[each.number])


@dataclass(frozen=True, slots=True)
class _Largest:
    """The point of a site with the most work.

    ``costs`` are those of its versions, with the best ones inside, and ``kernels`` how long their
    own kernels take at least.
    """

    point: Point
    costs: dict[int, Cost]
    kernels: dict[int, float]

    def ratios(self, encounter: Encounter, own_busy: float, at_once: float) -> dict[int, float]:
        """How many times as long as the best a version takes at an encounter with more work.

        ``own_busy`` is how long the encounter's own kernels took.
        """
        point, site, kernels = self.point, self.point.site, self.kernels
        if (encounter.chosen in self.costs
                and own_busy < LESS * kernels[encounter.chosen] < math.inf):
            return {}
        before = {guard.name: max(1, point.par[guard.name]) for guard in site.guards}
        growths = [encounter.par[name] / par for name, par in before.items()]
        if min(growths, default=1.0) < 1:
            return {}
        growth, gain = max(growths, default=1.0), _gain(site, before, encounter.par, at_once)
        best = min(cost.time for cost in self.costs.values())
        found = dict[int, float]()
        for version, cost in self.costs.items():
            own = point.own[version].device
            device = cost.device - own + min(own, kernels[version]) if math.isfinite(own) else own
            found[version] = max(device / growth, (device - cost.host) / gain) / best
        return found


def _most_work(points: Iterator[tuple[DatasetCosts, Point]], busy: Mapping[_Met, float]
               ) -> _Largest | None:
    """The last one of those with the most work; None if there is no work."""
    most, found = 0.0, None
    for dataset, point in points:
        costs = {version: _cost(point, version) for version in sorted(point.feasible)}
        best = min(cost.time for cost in costs.values())
        if best >= most and best:
            most, found = best, (dataset.name, point, costs)
    if found is None:
        return None
    name, point, costs = found
    sizes = tuple(sorted(point.sizes.items()))
    return _Largest(point, costs, {
        version: busy.get((name, point.site.name, sizes, version), point.own[version].device)
        for version in costs})


def _gain(site: Site, before: Mapping[str, int], after: Mapping[str, int], at_once: float
          ) -> float:
    """How much quicker than the work grows kernels get at most.

    More points than there are ``at_once`` take turns.  What they are may have become larger: by as
    much as guards grow that compare with something else, or as points grow unlike each other.
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


def _cost(point: Point, version: int) -> Cost:
    """What a version took at an encounter, with the best ones inside of it."""
    return total([point.own[version],
                  *(inner.bounds()[0] for inner in point.inner.get(version, ()))])


def beside(behind: Mapping[str, Mapping[int, float]], known: Mapping[str, Mapping[int, float]]
           ) -> dict[str, dict[int, float]]:
    """The versions that are behind, but for those of which it was known."""
    left = {site: {version: ratio for version, ratio in ratios.items()
                   if version not in known.get(site, ())} for site, ratios in behind.items()}
    return {site: ratios for site, ratios in left.items() if ratios}


def merged(one: Mapping[str, Mapping[int, float]], other: Mapping[str, Mapping[int, float]]
           ) -> dict[str, dict[int, float]]:
    """The versions of both."""
    return {site: {**one.get(site, {}), **other.get(site, {})} for site in {**one, **other}}


def without(forest: Forest, behind: Mapping[str, Mapping[int, float]], records: Sequence[Record]
            ) -> list[dict[str, int]]:
    """The fewest plans that show all other versions, but for those that the records have shown."""
    sites = forest.sites().values()
    others = {site.name: {version for version in range(len(site.alternatives))
                          if version not in behind.get(site.name, ())} for site in sites}
    shown = {version for record in records for version in record.path}
    return [plan for plan in plans(forest, others) if not shown.issuperset(plan.items())]


def left_out(behind: Mapping[str, Mapping[int, float]], dataset: str) -> Iterator[Run]:
    """Runs that are not made: so many that each of these versions is forced in one of them."""
    for number in range(max(map(len, behind.values()), default=0)):
        force = {site: sorted(ratios)[number] for site, ratios in behind.items()
                 if number < len(ratios)}
        names = ", ".join(f"{site}/{version}" for site, version in force.items())
        least = min(behind[site][version] for site, version in force.items())
        why = "as on other datasets" if math.isinf(least) else (
            f"would take more than {least:.0f} times as long as others, by what it took on other "
            "datasets")
        yield Run(dataset, force, None, f"version {names}: {LEFT_OUT}: {why}", left_out=force)
