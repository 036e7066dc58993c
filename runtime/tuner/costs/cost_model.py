"""The cost model: the cost of each version at each encounter, from runs with forced versions.

Encounters of two runs are matched by their place: the n-th encounter of a site with these sizes
within the encounter around it.  The *own* cost of a version is its exclusive cost: that without
the encounters inside it.  So the cost of any combination of choices is a sum.

Host and device work at the same time in a run that never waits for the device.  Its cost has two
parts (:mod:`runelift.runtime.tuner.costs.host_device_time`).  They work in turn where the host
reads values from the device.  Then the times between the ends of commands count
(:mod:`runelift.runtime.records.record`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np

from runelift.ir.guards import Guard
from runelift.runtime.records.record import Encounter
from runelift.runtime.records.statistics import median
from runelift.runtime.tuner.costs.host_device_time import NO_COST, Cost, least, most, total
from runelift.runtime.tuner.costs.log import LoggedRun, Measurements
from runelift.runtime.tuner.costs.pareto import exclusive
from runelift.runtime.tuner.costs.recording_overhead import CorrectedRecord, corrected_records
from runelift.runtime.tuner.policy import NORMAL, TuningPolicy
from runelift.runtime.versions.forest import Forest, Site
from runelift.runtime.versions.guard_chain import guard_holds, version_to_run
from runelift.runtime.versions.size_guards import GuardedThresholds, size_guards_of

SHORTEST_COMMAND = 0.5e-9
"""The least seconds of a command; clocks count nanoseconds."""
NO_LAUNCH = -1
"""The number of all versions that launch nothing."""
Result = TypeVar("Result")
Thresholds: TypeAlias = Mapping[str, int]
_Place: TypeAlias = tuple[str, int, int]
"""The place of an encounter in the one around it: site, occurrence, and number of the sizes."""
_Seconds: TypeAlias = tuple[float, ...]
"""Seconds of the device and seconds of the host."""


@dataclass(frozen=True, slots=True, eq=False)
class EncounterCosts:
    """The costs of all versions at one encounter on one dataset.

    * ``par`` maps guards to the parallelism that they compare with.
    * ``own`` is the exclusive cost of each version, infinite if it failed.
    * ``inner`` are the encounters inside of each version.
    * ``scarce`` guards do not hold by default, which the threshold 0 stands for.
    * ``estimated`` versions were not run, since they were much slower at similar encounters.
    * ``idle`` versions gave the device nothing to do, except for the encounters inside.
    """

    site: Site
    sizes: dict[str, int]
    par: dict[str, int]
    feasible: frozenset[int]
    own: dict[int, Cost]
    inner: dict[int, tuple[EncounterCosts, ...]]
    scarce: frozenset[str] = frozenset()
    estimated: frozenset[int] = frozenset()
    idle: frozenset[int] = frozenset()

    def walk(self) -> Iterator[EncounterCosts]:
        """The encounter and all inside of it, whichever version runs."""
        yield self
        for points in self.inner.values():
            for inner in points:
                yield from inner.walk()

    def holds(self, guard: Guard, thresholds: Thresholds) -> bool:
        """Test whether ``guard`` holds under these thresholds."""
        return guard_holds(guard, self.par, thresholds, self.scarce)

    def reached(self, thresholds: Thresholds) -> Iterator[tuple[EncounterCosts, int]]:
        """The encounter and the inner encounters that happen, with the version of each."""
        index = self.choose(thresholds)
        yield self, index
        for point in self.inner.get(index, ()):
            yield from point.reached(thresholds)

    def launched(self, thresholds: Thresholds) -> tuple[int, ...]:
        """The versions that run; :data:`NO_LAUNCH` stands for a version without any launch."""
        index = self.choose(thresholds)
        inner = [version for point in self.inner.get(index, ())
                 for version in point.launched(thresholds)]
        idle = index in self.idle and all(version == NO_LAUNCH for version in inner)
        return (NO_LAUNCH,) if idle else (index, *inner)

    def guesses(self, thresholds: Thresholds) -> bool:
        """Test whether versions run whose cost is only estimated."""
        return any(index in point.estimated for point, index in self.reached(thresholds))

    def frozen(self, thresholds: Thresholds, penalty: Cost) -> EncounterCosts:
        """The encounter with ``penalty`` added to choices that these thresholds do not make."""
        index = self.choose(thresholds)
        own = {k: cost if k == index else cost + penalty for k, cost in self.own.items()}
        return self._with(own, {k: tuple([p.frozen(thresholds, penalty) for p in points])
                                for k, points in self.inner.items()})

    def preferring(self, thresholds: Thresholds, margin: float) -> EncounterCosts:
        """The encounter with higher costs of choices that these thresholds do not make.

        They exceed the cost of these choices by the fraction ``margin`` at least.
        """
        return self._preferring(thresholds, margin)[0]

    def _preferring(self, thresholds: Thresholds, margin: float) -> tuple[EncounterCosts, Cost]:
        """These costs, and the cost of the choices of the thresholds."""
        inner = {k: [p._preferring(thresholds, margin) for p in points]
                 for k, points in self.inner.items()}
        costs = {k: total([own, *(cost for _, cost in inner.get(k, ()))])
                 for k, own in self.own.items()}
        index = self.choose(thresholds)
        chosen = costs[index]
        least = Cost((1 + margin) * chosen.device, (1 + margin) * chosen.host)
        own = {k: cost if k == index else cost + least.without(costs[k])
               for k, cost in self.own.items()}
        return self._with(own, {k: tuple([point for point, _ in points])
                                for k, points in inner.items()}), chosen

    def _with(self, own: dict[int, Cost],
              inner: dict[int, tuple[EncounterCosts, ...]]) -> EncounterCosts:
        return replace(self, own=own, inner=inner)

    def choose(self, thresholds: Thresholds) -> int:
        """The index of the version that runs at this encounter under ``thresholds``."""
        if isinstance(thresholds, GuardedThresholds):
            finer = thresholds.version(self.site.name, self.sizes, self.par)
            if finer in self.feasible:
                return finer
        return version_to_run(self.site.tests, self.feasible, self.par, thresholds, self.scarce)

    def _choose(self, feasible: Collection[int], thresholds: Thresholds) -> int:
        return version_to_run(self.site.tests, feasible, self.par, thresholds, self.scarce)

    def decides(self, index: int, thresholds: Thresholds) -> bool:
        """Test whether the result of guard ``index`` decides about the version that runs.

        Then this version would run if no later version were there.
        """
        return (index in self.feasible and index < max(self.feasible)
                and index == self._choose([k for k in self.feasible if k <= index], thresholds))

    def version_cost(self, index: int, thresholds: Thresholds) -> Cost:
        """The cost of the encounter if it runs version ``index``."""
        inner, own = self.inner.get(index), self.own[index]
        return total([own, *[p.cost(thresholds) for p in inner]]) if inner else own

    def sides(self, index: int, thresholds: Thresholds) -> tuple[Cost, Cost]:
        """The cost of the encounter if guard ``index`` holds, and the cost if it does not.

        Guards before it are assumed to fail.  Later and inner guards go by ``thresholds``.
        """
        later = [k for k in self.feasible if k > index]
        return (self.version_cost(index, thresholds),
                self.version_cost(self._choose(later, thresholds), thresholds) if later
                else Cost(math.inf))

    def cost(self, thresholds: Thresholds) -> Cost:
        """The cost of the encounter under these thresholds."""
        return self.version_cost(self.choose(thresholds), thresholds)

    def estimates(self) -> int:
        """The number of versions whose cost is only estimated, here and inside."""
        return len(self.estimated) + sum(
            p.estimates() for points in self.inner.values() for p in points)

    def replayed(self) -> Cost:
        """The cost of running every version that does not fail."""
        return total([*(cost for cost in self.own.values() if math.isfinite(cost.time)),
                      *(p.replayed() for points in self.inner.values() for p in points)])

    def bounds(self) -> tuple[Cost, Cost]:
        """The least and the greatest seconds of both clocks, over all choices."""
        low, high = list[Cost](), list[Cost]()
        for index in self.feasible:
            own, inner = self.own[index], self.inner.get(index)
            if inner:
                bounds = [p.bounds() for p in inner]
                low.append(total([own, *[each for each, _ in bounds]]))
                high.append(total([own, *[each for _, each in bounds]]))
            else:
                low.append(own)
                high.append(own)
        return least(low), most(high)


@dataclass(frozen=True, slots=True)
class _Cached:
    """Costs with a cache of results that depend on them only."""

    _results: dict[Hashable, Any] = field(default_factory=dict, init=False, compare=False,
                                          repr=False)

    def once(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """A result, computed at the first call; two threads may do so at the same time."""
        if key not in self._results:
            self._results.setdefault(key, compute())
        found: Result = self._results[key]
        return found


@dataclass(frozen=True, slots=True)
class DatasetCosts(_Cached):
    """The costs of all encounters of a dataset; ``rest`` is the cost outside of them."""

    name: str
    rest: Cost
    points: tuple[EncounterCosts, ...]

    def compact(self) -> DatasetCosts:
        """The costs with encounters merged that no guard can tell apart."""
        def made() -> DatasetCosts:
            found = replace(self, points=merged(self.points))
            found._results["compact"] = found
            return found

        return self.once("compact", made)

    def cost(self, thresholds: Thresholds) -> Cost:
        """The cost of a run under these thresholds; computed once."""
        return self.once(("cost", *thresholds_key(thresholds)),
                         lambda: total([self.rest, *self.spent(thresholds)]))

    def spent(self, thresholds: Thresholds) -> Sequence[Cost]:
        """The cost of each encounter under these thresholds; computed once."""
        return self.once(("spent", *thresholds_key(thresholds)),
                         lambda: [point.cost(thresholds) for point in self.points])

    def total(self, thresholds: Thresholds) -> float:
        """The time of a run under these thresholds."""
        return self.cost(thresholds).time

    def estimates(self) -> int:
        """The number of versions whose cost is only estimated."""
        return sum(point.estimates() for point in self.points)

    def by_site(self) -> Mapping[str, Sequence[EncounterCosts]]:
        """The encounters of each site, in all versions; computed once."""
        def found() -> dict[str, list[EncounterCosts]]:
            sites: dict[str, list[EncounterCosts]] = defaultdict(list)
            for root in self.points:
                for point in root.walk():
                    sites[point.site.name].append(point)
            return dict(sites)

        return self.once("by site", found)

    def compared(self, guard: str) -> frozenset[int]:
        """The values that are compared with a guard; computed once."""
        return self.once(("compared", guard), lambda: frozenset(
            point.par[guard] for points in self.by_site().values() if guard in points[0].par
            for point in points))

    def replayed(self) -> float:
        """The time of a run in which every version runs at every encounter."""
        return total([self.rest, *(point.replayed() for point in self.points)]).time

    def reached(self, thresholds: Thresholds) -> Iterator[tuple[EncounterCosts, int]]:
        """The encounters that happen, outer before inner, and the versions that they run."""
        for point in self.points:
            yield from point.reached(thresholds)

    def path(self, thresholds: Thresholds) -> tuple[int, ...]:
        """The versions that run; thresholds with equal paths make no difference."""
        return tuple(index for _, index in self.reached(thresholds))

    def launched(self, thresholds: Thresholds) -> tuple[int, ...]:
        """The versions that run; versions without any launch are not told apart."""
        return tuple(index for point in self.points for index in point.launched(thresholds))

    def frozen(self, thresholds: Thresholds) -> DatasetCosts:
        """The dataset with a large penalty on choices that these thresholds do not make."""
        penalty = Cost(1e3 * max(self.total(thresholds), 1e-6))
        return replace(self, points=tuple(p.frozen(thresholds, penalty) for p in self.points))

    def preferring(self, thresholds: Thresholds, margin: float) -> DatasetCosts:
        """The dataset with higher costs of choices that these thresholds do not make."""
        return replace(self, points=tuple(p.preferring(thresholds, margin) for p in self.points))

    def bounds(self) -> tuple[Cost, Cost]:
        """The least and the greatest seconds of both clocks of a run; computed once."""
        def added_up() -> tuple[Cost, Cost]:
            bounds = [point.bounds() for point in self.points]
            return (total([self.rest, *(low for low, _ in bounds)]),
                    total([self.rest, *(high for _, high in bounds)]))

        return self.once("bounds", added_up)

    def least(self) -> float:
        """The time of a run with the best choice at every encounter, a bound for thresholds."""
        return self.bounds()[0].time


@dataclass(frozen=True, slots=True)
class Costs(_Cached):
    """The costs of all datasets.

    ``incomplete`` counts the encounters of each that lack versions.

    Fits to them go by the ``policy`` of the tuning.
    """

    forest: Forest
    datasets: tuple[DatasetCosts, ...]
    incomplete: dict[str, int] = field(default_factory=dict)
    policy: TuningPolicy = NORMAL

    def of(self, dataset: str) -> DatasetCosts | None:
        """The costs of a dataset; None if they are not known."""
        return next((d for d in self.datasets if d.name == dataset), None)

    def totals(self, thresholds: Thresholds) -> dict[str, float]:
        """The time of each dataset with thresholds."""
        return {d.name: d.total(thresholds) for d in self.datasets}

    def paths(self, thresholds: Thresholds) -> dict[str, tuple[int, ...]]:
        """The versions that run, by dataset, where they are known at all encounters."""
        return {d.name: d.launched(thresholds) for d in self.datasets
                if not self.incomplete[d.name]}

    def without(self, names: Collection[str]) -> Costs:
        """The costs of all other datasets."""
        return Costs(self.forest, tuple(d for d in self.datasets if d.name not in names),
                     {name: n for name, n in self.incomplete.items() if name not in names},
                     self.policy)

    def frozen(self, names: Collection[str], thresholds: Thresholds) -> Costs:
        """The costs with these datasets ``frozen`` (:meth:`DatasetCosts.frozen`)."""
        def made() -> Costs:
            return replace(self, datasets=tuple(d.frozen(thresholds) if d.name in names else d
                                                for d in self.datasets))

        return self.once(("frozen", frozenset(names), tuple(thresholds.items())), made)

    def compact(self) -> Costs:
        """The costs with encounters merged that no guard can tell apart."""
        return self.once("compact", lambda: replace(self, datasets=tuple(
            d.compact() for d in self.datasets)))

    def preferring(self, names: Collection[str], thresholds: Thresholds) -> Costs:
        """The costs, of which no choice of these datasets is cheaper than that of the thresholds.

        Choices that cost more anyway keep their costs.
        """
        margin = self.policy.fit.preference
        return replace(self, datasets=tuple(
            d.preferring(thresholds, margin) if d.name in names else d for d in self.datasets))


def thresholds_key(thresholds: Thresholds) -> tuple[Hashable, ...]:
    """A key of thresholds with their size guards."""
    return (*thresholds.items(), *size_guards_of(thresholds).items())


def merged(points: Sequence[EncounterCosts]) -> tuple[EncounterCosts, ...]:
    """The encounters with those merged that no guard can tell apart; costs are added."""
    groups: dict[Hashable, list[EncounterCosts]] = defaultdict(list)
    for number, point in enumerate(points):
        if any(point.inner.values()):
            point = replace(point, inner={k: merged(p) for k, p in point.inner.items()})
            groups[number].append(point)
        else:
            groups[point.site.name, tuple(point.sizes.items()), tuple(point.par.items()),
                   point.feasible, point.scarce].append(point)
    return tuple(group[0] if len(group) == 1 else replace(
        group[0], own={k: total(p.own[k] for p in group) for k in group[0].own},
        estimated=frozenset().union(*(p.estimated for p in group)),
        idle=frozenset.intersection(*(p.idle for p in group)))
        for group in groups.values())


def encounters_at(datasets: Sequence[DatasetCosts],
                  site: str) -> Iterator[tuple[DatasetCosts, EncounterCosts]]:
    """The encounters of a site in all versions."""
    for dataset in datasets:
        yield from ((dataset, point) for point in dataset.by_site().get(site, ()))


@dataclass(slots=True, eq=False)
class _Gathered:
    """The costs of one encounter in all runs of a dataset.

    ``within`` are all inner encounters, ``inner`` the inner encounters of each version.  Costs from
    runs made ``once`` count for versions without other runs.
    """

    encounter: Encounter
    depth: int
    feasible: set[int]
    within: dict[_Place, _Gathered] = field(default_factory=dict)
    own: dict[int, list[_Seconds]] = field(default_factory=dict)
    inner: dict[int, dict[_Gathered, None]] = field(default_factory=dict)
    estimates: dict[int, list[_Seconds]] = field(default_factory=dict)
    once: dict[int, list[_Seconds]] = field(default_factory=dict)
    busy: set[int] = field(default_factory=set)


def costs_of(forest: Forest, measurements: Measurements, policy: TuningPolicy = NORMAL) -> Costs:
    """Match the encounters of different runs, and take medians over repeated runs.

    A dataset is left out if none of its encounters has costs of all feasible versions.
    """
    datasets, incomplete = [], {}
    for name in measurements.datasets:
        runs = [run for run in measurements.runs if run.dataset == name]
        dataset, dropped = _dataset_costs(forest, name, runs)
        incomplete[name] = dropped
        if dataset.points:
            datasets.append(dataset)
    return Costs(forest, tuple(datasets), incomplete, policy)


def _dataset_costs(forest: Forest, name: str, runs: Sequence[LoggedRun]) -> tuple[DatasetCosts,
                                                                                  int]:
    gathering = _Gathering()
    found = [(corrected.whole.without(gathering.add(corrected)), corrected.timed)
             for corrected in corrected_records(runs)]
    rests = [tuple(rest) for rest, timed in found if timed] or [tuple(rest) for rest, _ in found]
    tried: dict[str, set[int]] = defaultdict(set)
    for run in runs:
        for site, index in run.force.items():
            tried[site].add(index)
    sites = forest.sites()
    points: dict[_Gathered, EncounterCosts] = {}
    dropped = 0
    for gathered in sorted(gathering.found, key=lambda each: each.depth, reverse=True):
        site = gathered.encounter.site
        measured = gathered.once | gathered.own
        estimated = gathered.estimates.keys() - measured.keys()
        own = {index: _median(costs) for index, costs in (gathered.estimates | measured).items()}
        missing = gathered.feasible - own.keys()
        inner = {index: tuple(points[each] for each in inside if each in points)
                 for index, inside in gathered.inner.items()}
        lost = any(each not in points for inside in gathered.inner.values() for each in inside)
        if site not in sites or not missing <= tried[site] or lost or missing == gathered.feasible:
            dropped += 1
            continue
        own.update((index, Cost(math.inf)) for index in missing)
        points[gathered] = EncounterCosts(
            sites[site], gathered.encounter.sizes, gathered.encounter.par,
            frozenset(gathered.feasible), own, inner, frozenset(gathered.encounter.scarce),
            frozenset(estimated), frozenset(measured.keys() - gathered.busy))
    roots = tuple(points[each] for each in gathering.outermost.values() if each in points)
    return DatasetCosts(name, _median(rests) if rests else NO_COST, roots), dropped


def _median(costs: Sequence[_Seconds]) -> Cost:
    if len(costs) == 1:
        return Cost(*costs[0])
    devices, hosts = zip(*costs, strict=True)
    return Cost(median(devices), median(hosts))


class _Gathering:
    """The encounters of all runs of a dataset, in the order of their first occurrence.

    Encounters of a run with equal sizes mostly share one dictionary, which is looked up once.
    """

    def __init__(self) -> None:
        self.found: list[_Gathered] = []
        self.outermost: dict[_Place, _Gathered] = {}
        self._kinds: dict[tuple[tuple[str, int], ...], int] = {}

    def add(self, corrected: CorrectedRecord) -> Cost:
        """Add the encounters of a run; the result is the cost of all of them."""
        encounters = corrected.record.encounters
        whole, own, works = _without_inner(corrected)
        entered: dict[int, tuple[_Gathered, int]] = {}
        occurrences: dict[tuple[int | None, str], int] = {}
        kinds = self._kinds_of(encounters)
        for each, kind, seconds, busy in sorted(zip(encounters, kinds, own, works, strict=True),
                                                key=lambda row: row[0].number):
            parent, chosen = each.parent, each.chosen
            siblings = parent, each.site
            occurrence = occurrences[siblings] = occurrences.get(siblings, -1) + 1
            place = each.site, occurrence, kind
            if parent is None:
                found = self.outermost.get(place) or self._new(each, place, None)
            else:
                around, version = entered[parent]
                found = around.within.get(place) or self._new(each, place, around)
                around.inner.setdefault(version, {})[found] = None
            entered[each.number] = found, chosen
            if each.feasible != found.encounter.feasible:
                found.feasible.intersection_update(each.feasible)
            kept = (found.estimates if each.censored else
                    found.own if corrected.timed else found.once)
            kept.setdefault(chosen, []).append(seconds)
            if busy:
                found.busy.add(chosen)
        return whole

    def _new(self, encounter: Encounter, place: _Place, around: _Gathered | None) -> _Gathered:
        depth, within = (0, self.outermost) if around is None else (around.depth + 1, around.within)
        found = within[place] = _Gathered(encounter, depth, set(encounter.feasible))
        self.found.append(found)
        return found

    def _kinds_of(self, encounters: Sequence[Encounter]) -> list[int]:
        """The number of the sizes of each encounter."""
        known = {id(sizes): self._kinds.setdefault(tuple(sorted(sizes.items())), len(self._kinds))
                 for sizes in {id(each.sizes): each.sizes for each in encounters}.values()}
        return [known[id(each.sizes)] for each in encounters]


def _without_inner(corrected: CorrectedRecord) -> tuple[Cost, Iterable[_Seconds], list[bool]]:
    """The total cost of encounters, the exclusive cost of each, and whether the device worked.

    The last is False for a version whose only launches are in inner encounters.
    """
    encounters = corrected.record.encounters
    busy = corrected.works * np.array([each.busy for each in encounters])
    launches = np.array([each.launches for each in encounters])
    own, whole = exclusive(encounters, np.array([*corrected.costs, busy, launches]))
    device, host, busy, launches = own
    works = (launches > 0) | (busy > SHORTEST_COMMAND)
    return Cost(float(whole[0]), float(whole[1])), zip(
        np.maximum(0.0, device).tolist(), np.maximum(0.0, host).tolist(), strict=True
        ), works.tolist()
