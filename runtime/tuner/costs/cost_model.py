"""What each version costs at each encounter, put together from runs with forced versions.

An encounter is the same in two runs if it is the same occurrence of its site within the same
encounter around it, with the same sizes.  The *own* cost of a version is its cost without
that of the encounters inside it; so the cost of any combination of choices is a sum.

While a run never waits for the device, host and device work at the same time, and the cost has
two parts (:mod:`runelift.runtime.tuner.costs.host_device_time`).  Where the host reads what the
device has computed before it goes on, they work in turn: the times between the ends of the
encounters' commands count (:mod:`runelift.runtime.records.record`).
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
from runelift.runtime.tuner.costs.exclusive_costs import EncounterNesting
from runelift.runtime.tuner.costs.host_device_time import NOTHING, Cost, least, most, total
from runelift.runtime.tuner.costs.log import LoggedRun, Measurements
from runelift.runtime.tuner.costs.recording_overhead import CorrectedRecord, corrected_records
from runelift.runtime.tuner.policy import NORMAL, TuningPolicy
from runelift.runtime.versions.forest import Forest, Site
from runelift.runtime.versions.size_guards import GuardedThresholds, size_guards_of

LEAST = 0.5e-9
"""No command takes fewer seconds: clocks count nanoseconds."""
IDLE = -1
"""Stands for any version that launches nothing."""
Result = TypeVar("Result")
Thresholds: TypeAlias = Mapping[str, int]
_Place: TypeAlias = tuple[str, int, int]
"""Which encounter inside of another one: site, occurrence, and a number for the sizes."""
_Seconds: TypeAlias = tuple[float, ...]
"""Those of the device and those of the host."""


@dataclass(frozen=True, slots=True, eq=False)
class EncounterCosts:
    """One encounter on one dataset.

    ``own`` is the cost of each version without the encounters ``inner`` to it, infinite where
    the version failed.  ``par`` maps guards to the parallelism they compare with; those that are
    ``scarce`` do not hold by default, which the threshold 0 stands for.  Versions that are
    ``estimated`` were not run: at encounters like this one they were much slower than others.
    Those that are ``idle`` had nothing for the device to do, but for the encounters inside.
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
        """Whether ``guard`` holds under these thresholds."""
        least = thresholds[guard.name]
        if least == 0 and guard.groups is not None:
            return guard.name not in self.scarce
        return least <= self.par[guard.name]

    def path(self, thresholds: Thresholds) -> Iterator[int]:
        """The versions that run, of this encounter and of those inside of it."""
        index = self.choose(thresholds)
        yield index
        for point in self.inner.get(index, ()):
            yield from point.path(thresholds)

    def launched(self, thresholds: Thresholds) -> tuple[int, ...]:
        """The same, as far as they have anything for the device to do."""
        index = self.choose(thresholds)
        inner = [version for point in self.inner.get(index, ())
                 for version in point.launched(thresholds)]
        idle = index in self.idle and all(version == IDLE for version in inner)
        return (IDLE,) if idle else (index, *inner)

    def guesses(self, thresholds: Thresholds) -> bool:
        """Whether versions run whose cost is only estimated."""
        index = self.choose(thresholds)
        return index in self.estimated or any(
            point.guesses(thresholds) for point in self.inner.get(index, ()))

    def frozen(self, thresholds: Thresholds, penalty: Cost) -> EncounterCosts:
        """The same, but that choices other than those of these thresholds cost ``penalty`` more."""
        index = self.choose(thresholds)
        own = {k: cost if k == index else cost + penalty for k, cost in self.own.items()}
        return self._with(own, {k: tuple([p.frozen(thresholds, penalty) for p in points])
                                for k, points in self.inner.items()})

    def preferring(self, thresholds: Thresholds, margin: float) -> EncounterCosts:
        """Costs by which other choices cost more than those of these thresholds.

        They do so by the fraction ``margin`` at least.
        """
        return self._preferring(thresholds, margin)[0]

    def _preferring(self, thresholds: Thresholds, margin: float) -> tuple[EncounterCosts, Cost]:
        """These costs, with the cost of what the thresholds choose."""
        inner = {k: [p._preferring(thresholds, margin) for p in points]
                 for k, points in self.inner.items()}
        costs = {k: total([own, *(cost for _, cost in inner.get(k, ()))])
                 for k, own in self.own.items()}
        index = self.choose(thresholds)
        wanted = costs[index]
        least = Cost((1 + margin) * wanted.device, (1 + margin) * wanted.host)
        own = {k: cost if k == index else cost + least.without(costs[k])
               for k, cost in self.own.items()}
        return self._with(own, {k: tuple([point for point, _ in points])
                                for k, points in inner.items()}), wanted

    def _with(self, own: dict[int, Cost],
              inner: dict[int, tuple[EncounterCosts, ...]]) -> EncounterCosts:
        """The same with other costs."""
        return EncounterCosts(self.site, self.sizes, self.par, self.feasible, own, inner,
                              self.scarce,
                              self.estimated, self.idle)

    def choose(self, thresholds: Thresholds) -> int:
        """The version that these thresholds lead to: the runtime's rule."""
        if isinstance(thresholds, GuardedThresholds):
            finer = thresholds.version(self.site.name, self.sizes, self.par)
            if finer in self.feasible:
                return finer
        feasible, par = self.feasible, self.par
        for index, guard, sized in self.site.tests:
            if index in feasible:
                if guard is None:
                    return index
                least = thresholds[guard]
                if guard not in self.scarce if sized and least == 0 else least <= par[guard]:
                    return index
        return max(feasible)

    def decides(self, index: int, thresholds: Thresholds) -> bool:
        """Whether another version would run if guard ``index`` held, or did not, other than now."""
        return index in self.feasible and index < max(self.feasible) and not any(
            k in self.feasible and self.holds(guard, thresholds)
            for k, guard in enumerate(self.site.guards[:index]))

    def version_cost(self, index: int, thresholds: Thresholds) -> Cost:
        """What the encounter costs when it runs version ``index``."""
        inner, own = self.inner.get(index), self.own[index]
        return total([own, *[p.cost(thresholds) for p in inner]]) if inner else own

    def sides(self, index: int, thresholds: Thresholds) -> tuple[Cost, Cost]:
        """What the encounter costs if guard ``index`` holds, and if it does not.

        Guards before it are taken to fail, those after it and inside are by ``thresholds``.
        """
        later = [k for k in sorted(self.feasible) if k > index]
        otherwise = next((k for k in later if (guard := self.site.alternatives[k].guard) is None
                          or self.holds(guard, thresholds)), later[-1] if later else None)
        return (self.version_cost(index, thresholds),
                Cost(math.inf) if otherwise is None else self.version_cost(otherwise, thresholds))

    def cost(self, thresholds: Thresholds) -> Cost:
        """What the encounter costs under these thresholds."""
        return self.version_cost(self.choose(thresholds), thresholds)

    def estimates(self) -> int:
        """How many costs of versions are only estimated, here and inside."""
        return len(self.estimated) + sum(
            p.estimates() for points in self.inner.values() for p in points)

    def replayed(self) -> Cost:
        """What it costs to run every version, those that fail aside."""
        return total([*(cost for cost in self.own.values() if math.isfinite(cost.time)),
                      *(p.replayed() for points in self.inner.values() for p in points)])

    def bounds(self) -> tuple[Cost, Cost]:
        """Both clocks at least and at most, whatever is chosen."""
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
class DatasetCosts:
    """All encounters of a dataset.  ``rest`` is the time of a run outside of them."""

    name: str
    rest: Cost
    points: tuple[EncounterCosts, ...]
    _worked_out: dict[Hashable, Any] = field(default_factory=dict, init=False, compare=False,
                                             repr=False)

    def once(self, what: Hashable, work: Callable[[], Result]) -> Result:
        """What follows from these costs alone, worked out when it is first asked for."""
        return _once(self._worked_out, what, work)

    def compact(self) -> DatasetCosts:
        """The same with encounters that no guard can tell apart as one."""
        def made() -> DatasetCosts:
            found = replace(self, points=together(self.points))
            found._worked_out["compact"] = found
            return found

        return self.once("compact", made)

    def cost(self, thresholds: Thresholds) -> Cost:
        """The cost of a run under these thresholds; added up once."""
        return self.once(("cost", *asked(thresholds)),
                         lambda: total([self.rest, *self.spent(thresholds)]))

    def spent(self, thresholds: Thresholds) -> Sequence[Cost]:
        """What each of the encounters costs under these thresholds; told once."""
        return self.once(("spent", *asked(thresholds)),
                         lambda: [point.cost(thresholds) for point in self.points])

    def total(self, thresholds: Thresholds) -> float:
        """The time of a run under these thresholds."""
        return self.cost(thresholds).time

    def estimates(self) -> int:
        """How many costs of versions are only estimated."""
        return sum(point.estimates() for point in self.points)

    def met(self) -> Mapping[str, Sequence[EncounterCosts]]:
        """The encounters of each site, inside of whichever version; looked for once."""
        def found() -> dict[str, list[EncounterCosts]]:
            by_site: dict[str, list[EncounterCosts]] = defaultdict(list)
            for root in self.points:
                for point in root.walk():
                    by_site[point.site.name].append(point)
            return dict(by_site)

        return self.once("met", found)

    def compared(self, guard: str) -> frozenset[int]:
        """The values that are compared with a guard; looked for once."""
        return self.once(("compared", guard), lambda: frozenset(
            point.par[guard] for points in self.met().values() if guard in points[0].par
            for point in points))

    def replayed(self) -> float:
        """The time of a run in which every version runs at every encounter."""
        return total([self.rest, *(point.replayed() for point in self.points)]).time

    def path(self, thresholds: Thresholds) -> tuple[int, ...]:
        """The versions that run: with the same path, thresholds make no difference."""
        return tuple(index for point in self.points for index in point.path(thresholds))

    def launched(self, thresholds: Thresholds) -> tuple[int, ...]:
        """The same, as far as they launch anything: the rest makes no run slower."""
        return tuple(index for point in self.points for index in point.launched(thresholds))

    def frozen(self, thresholds: Thresholds) -> DatasetCosts:
        """The same, but that choices other than those of these thresholds cost far too much."""
        penalty = Cost(1e3 * max(self.total(thresholds), 1e-6))
        return replace(self, points=tuple(p.frozen(thresholds, penalty) for p in self.points))

    def preferring(self, thresholds: Thresholds, margin: float) -> DatasetCosts:
        """Costs by which other choices cost more than those of these thresholds."""
        return replace(self, points=tuple(p.preferring(thresholds, margin) for p in self.points))

    def bounds(self) -> tuple[Cost, Cost]:
        """Both clocks of a run at least and at most, whatever is chosen; added up once."""
        def added_up() -> tuple[Cost, Cost]:
            bounds = [point.bounds() for point in self.points]
            return (total([self.rest, *(low for low, _ in bounds)]),
                    total([self.rest, *(high for _, high in bounds)]))

        return self.once("bounds", added_up)

    def least(self) -> float:
        """The time of a run in which every choice is the best; no thresholds may reach it."""
        return self.bounds()[0].time


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of all datasets; ``incomplete`` counts encounters that not all versions met.

    Fits to them go by the ``policy`` of the tuning.
    """

    forest: Forest
    datasets: tuple[DatasetCosts, ...]
    incomplete: dict[str, int] = field(default_factory=dict)
    policy: TuningPolicy = NORMAL
    _worked_out: dict[Hashable, Any] = field(default_factory=dict, init=False, compare=False,
                                             repr=False)

    def without(self, names: Collection[str]) -> Costs:
        """The costs of all other datasets."""
        return Costs(self.forest, tuple(d for d in self.datasets if d.name not in names),
                     {name: n for name, n in self.incomplete.items() if name not in names},
                     self.policy)

    def frozen(self, names: Collection[str], thresholds: Thresholds) -> Costs:
        """The same, but that these datasets keep to the choices of these thresholds."""
        def made() -> Costs:
            return replace(self, datasets=tuple(d.frozen(thresholds) if d.name in names else d
                                                for d in self.datasets))

        return self.once(("frozen", frozenset(names), tuple(thresholds.items())), made)

    def once(self, what: Hashable, work: Callable[[], Result]) -> Result:
        """What follows from these costs alone, worked out when it is first asked for."""
        return _once(self._worked_out, what, work)

    def compact(self) -> Costs:
        """The same with encounters that no guard can tell apart as one."""
        return self.once("compact", lambda: replace(self, datasets=tuple(
            d.compact() for d in self.datasets)))

    def preferring(self, names: Collection[str], thresholds: Thresholds) -> Costs:
        """The same, but that on these datasets nothing is cheaper than what thresholds choose.

        What other choices cost there is still told, if it is more.
        """
        margin = self.policy.fit.preference
        return replace(self, datasets=tuple(
            d.preferring(thresholds, margin) if d.name in names else d for d in self.datasets))


def asked(thresholds: Thresholds) -> tuple[Hashable, ...]:
    """What tells thresholds apart, with the finer guards that come with them."""
    return (*thresholds.items(), *size_guards_of(thresholds).items())


def _once(known: dict[Hashable, Any], what: Hashable, work: Callable[[], Result]) -> Result:
    """What is known, or is worked out: twice, if two threads ask at the same time."""
    if what not in known:
        known.setdefault(what, work())
    found: Result = known[what]
    return found


def together(points: Sequence[EncounterCosts]) -> tuple[EncounterCosts, ...]:
    """The same encounters with those that no guard can tell apart as one, which costs their sum."""
    alike: dict[Hashable, list[EncounterCosts]] = defaultdict(list)
    for number, point in enumerate(points):
        if any(point.inner.values()):
            point = replace(point, inner={k: together(p) for k, p in point.inner.items()})
            alike[number].append(point)
        else:
            alike[point.site.name, tuple(point.sizes.items()), tuple(point.par.items()),
                  point.feasible, point.scarce].append(point)
    return tuple(several[0] if len(several) == 1 else replace(
        several[0], own={k: total(p.own[k] for p in several) for k in several[0].own},
        estimated=frozenset().union(*(p.estimated for p in several)),
        idle=frozenset.intersection(*(p.idle for p in several)))
        for several in alike.values())


def met(datasets: Sequence[DatasetCosts],
        site: str) -> Iterator[tuple[DatasetCosts, EncounterCosts]]:
    """The encounters of a site, inside of whichever version."""
    for dataset in datasets:
        yield from ((dataset, point) for point in dataset.met().get(site, ()))


@dataclass(slots=True, eq=False)
class _Gathered:
    """What the runs of a dataset say about one encounter; those made ``once`` if no others do.

    ``within`` are all encounters inside of it, ``inner`` those inside of each version.
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
    """Match the encounters of different runs and take medians over repeated ones.

    A dataset without any encounter that all its feasible versions met is left out.
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
    found = [(priced.whole.without(gathering.add(priced)), priced.timed)
             for priced in corrected_records(runs)]
    rests = [tuple(rest) for rest, timed in found if timed] or [tuple(rest) for rest, _ in found]
    tried: dict[str, set[int]] = defaultdict(set)
    for run in runs:
        for site, index in run.force.items():
            tried[site].add(index)
    sites = forest.sites()
    points: dict[_Gathered, EncounterCosts] = {}
    dropped = 0
    for met in sorted(gathering.found, key=lambda each: each.depth, reverse=True):
        site = met.encounter.site
        measured = met.once | met.own
        estimated = met.estimates.keys() - measured.keys()
        own = {index: _median(costs) for index, costs in (met.estimates | measured).items()}
        missing = met.feasible - own.keys()
        inner = {index: tuple(points[each] for each in inside if each in points)
                 for index, inside in met.inner.items()}
        lost = any(each not in points for inside in met.inner.values() for each in inside)
        if site not in sites or not missing <= tried[site] or lost or missing == met.feasible:
            dropped += 1
            continue
        own.update((index, Cost(math.inf)) for index in missing)
        points[met] = EncounterCosts(sites[site], met.encounter.sizes, met.encounter.par,
                                     frozenset(met.feasible), own, inner,
                                     frozenset(met.encounter.scarce), frozenset(estimated),
                                     frozenset(measured.keys() - met.busy))
    roots = tuple(points[met] for met in gathering.outermost.values() if met in points)
    return DatasetCosts(name, _median(rests) if rests else NOTHING, roots), dropped


def _median(costs: Sequence[_Seconds]) -> Cost:
    """The median of either clock."""
    if len(costs) == 1:
        return Cost(*costs[0])
    devices, hosts = zip(*costs, strict=True)
    return Cost(median(devices), median(hosts))


class _Gathering:
    """The encounters of all runs of a dataset, in the order in which they were first met.

    What is the same size is asked for once: encounters of a run that happen at the same sizes
    mostly share the table of these.
    """

    def __init__(self) -> None:
        self.found: list[_Gathered] = []
        self.outermost: dict[_Place, _Gathered] = {}
        self._kinds: dict[tuple[tuple[str, int], ...], int] = {}

    def add(self, priced: CorrectedRecord) -> Cost:
        """Add the encounters of a run; what the run spent inside of them."""
        encounters = priced.record.encounters
        whole, own, works = _without_inner(priced)
        here: dict[int, tuple[_Gathered, int]] = {}
        occurrences: dict[tuple[int | None, str], int] = {}
        kinds = self._kinds_of(encounters)
        for each, kind, seconds, busy in sorted(zip(encounters, kinds, own, works, strict=True),
                                                key=lambda row: row[0].number):
            parent, chosen = each.parent, each.chosen
            beside = parent, each.site
            occurrence = occurrences[beside] = occurrences.get(beside, -1) + 1
            place = each.site, occurrence, kind
            if parent is None:
                found = self.outermost.get(place) or self._new(each, place, None)
            else:
                around, version = here[parent]
                found = around.within.get(place) or self._new(each, place, around)
                around.inner.setdefault(version, {})[found] = None
            here[each.number] = found, chosen
            if each.feasible != found.encounter.feasible:
                found.feasible.intersection_update(each.feasible)
            kept = (found.estimates if each.censored else
                    found.own if priced.timed else found.once)
            kept.setdefault(chosen, []).append(seconds)
            if busy:
                found.busy.add(chosen)
        return whole

    def _new(self, encounter: Encounter, place: _Place, around: _Gathered | None) -> _Gathered:
        """An encounter that no run has met before."""
        depth, beside = (0, self.outermost) if around is None else (around.depth + 1, around.within)
        found = beside[place] = _Gathered(encounter, depth, set(encounter.feasible))
        self.found.append(found)
        return found

    def _kinds_of(self, encounters: Sequence[Encounter]) -> list[int]:
        """A number for the sizes of each."""
        known = {id(sizes): self._kinds.setdefault(tuple(sorted(sizes.items())), len(self._kinds))
                 for sizes in {id(each.sizes): each.sizes for each in encounters}.values()}
        return [known[id(each.sizes)] for each in encounters]


def _without_inner(priced: CorrectedRecord) -> tuple[Cost, Iterable[_Seconds], list[bool]]:
    """What the encounters of a run took without those inside of each, and what they took in all.

    Besides, whether there was anything for the device to do, but for what inner encounters did.
    """
    encounters = priced.record.encounters
    nesting, (device, host) = EncounterNesting(encounters), priced.costs
    busy = priced.works * np.array([each.busy for each in encounters])
    launches = np.array([each.launches for each in encounters])
    works = (nesting.own(launches) > 0) | (nesting.own(busy) > LEAST)
    whole = Cost(float(nesting.inside(device)[-1]), float(nesting.inside(host)[-1]))
    return whole, zip(np.maximum(0.0, nesting.own(device)).tolist(),
                      np.maximum(0.0, nesting.own(host)).tolist(), strict=True), works.tolist()
