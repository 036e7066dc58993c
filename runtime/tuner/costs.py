"""What each version costs at each encounter, put together from runs with forced versions.

An encounter is the same in two runs if it is the same occurrence of its site within the same
encounter around it, with the same sizes.  The *own* time of a version is its time without
that of the encounters inside it; so the cost of any combination of choices is a sum.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from runelift.ir.syntax import Guard
from runelift.runtime.records import Encounter, Record
from runelift.runtime.statistics import median
from runelift.runtime.tuner.forest import Forest, Site
from runelift.runtime.tuner.measure import Measurements, Run

Thresholds: TypeAlias = Mapping[str, int]
Key: TypeAlias = tuple[tuple[str, int, tuple[tuple[str, int], ...]], ...]
"""The way to an encounter: site, occurrence and sizes, from the outermost encounter inwards."""


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """One encounter on one dataset.

    ``own`` is the time of each version without the encounters ``inner`` to it, infinite where
    the version failed.  ``par`` maps guards to the parallelism they compare with; those that are
    ``scarce`` do not hold by default, which the threshold 0 stands for.
    """

    site: Site
    sizes: dict[str, int]
    par: dict[str, int]
    feasible: frozenset[int]
    own: dict[int, float]
    inner: dict[int, tuple[Point, ...]]
    scarce: frozenset[str] = frozenset()

    def holds(self, guard: Guard, thresholds: Thresholds) -> bool:
        """Whether ``guard`` holds under these thresholds."""
        least = thresholds[guard.name]
        if least == 0 and guard.default is not None:
            return guard.default <= self.par[guard.name] and guard.name not in self.scarce
        return least <= self.par[guard.name]

    def path(self, thresholds: Thresholds) -> Iterator[int]:
        """The versions that run, of this encounter and of those inside of it."""
        index = self.choose(thresholds)
        yield index
        for point in self.inner.get(index, ()):
            yield from point.path(thresholds)

    def frozen(self, thresholds: Thresholds, penalty: float) -> Point:
        """The same, but that choices other than those of these thresholds cost ``penalty`` more."""
        index = self.choose(thresholds)
        own = {k: time + (penalty if k != index else 0.0) for k, time in self.own.items()}
        inner = {k: tuple(p.frozen(thresholds, penalty) for p in points)
                 for k, points in self.inner.items()}
        return replace(self, own=own, inner=inner)

    def choose(self, thresholds: Thresholds) -> int:
        """The version that these thresholds lead to: the runtime's rule."""
        for index, alternative in enumerate(self.site.alternatives):
            guard = alternative.guard
            if index in self.feasible and (guard is None or self.holds(guard, thresholds)):
                return index
        return max(self.feasible)

    def version_cost(self, index: int, thresholds: Thresholds) -> float:
        """What the encounter costs when it runs version ``index``."""
        return self.own[index] + sum(p.cost(thresholds) for p in self.inner.get(index, ()))

    def cost(self, thresholds: Thresholds) -> float:
        """What the encounter costs under these thresholds."""
        return self.version_cost(self.choose(thresholds), thresholds)

    def least_cost(self) -> float:
        """What it costs when every choice is the best for this very encounter."""
        return min(self.own[index] + sum(p.least_cost() for p in self.inner.get(index, ()))
                   for index in self.feasible)


@dataclass(frozen=True, slots=True)
class DatasetCosts:
    """All encounters of a dataset.  ``rest`` is the time of a run outside of them."""

    name: str
    rest: float
    points: tuple[Point, ...]

    def total(self, thresholds: Thresholds) -> float:
        """The time of a run under these thresholds."""
        return self.rest + sum(point.cost(thresholds) for point in self.points)

    def path(self, thresholds: Thresholds) -> tuple[int, ...]:
        """The versions that run: with the same path, thresholds make no difference."""
        return tuple(index for point in self.points for index in point.path(thresholds))

    def frozen(self, thresholds: Thresholds) -> DatasetCosts:
        """The same, but that choices other than those of these thresholds cost far too much."""
        penalty = 1e3 * max(self.total(thresholds), 1e-6)
        return replace(self, points=tuple(p.frozen(thresholds, penalty) for p in self.points))

    def least(self) -> float:
        """The time of a run in which every choice is the best; no thresholds may reach it."""
        return self.rest + sum(point.least_cost() for point in self.points)


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of all datasets; ``incomplete`` counts encounters that not all versions met."""

    forest: Forest
    datasets: tuple[DatasetCosts, ...]
    incomplete: dict[str, int] = field(default_factory=dict)

    def frozen(self, names: Collection[str], thresholds: Thresholds) -> Costs:
        """The same, but that these datasets keep to the choices of these thresholds."""
        return replace(self, datasets=tuple(d.frozen(thresholds) if d.name in names else d
                                            for d in self.datasets))


@dataclass(slots=True)
class _Gathered:
    """What the runs of a dataset say about one encounter."""

    encounter: Encounter
    feasible: set[int]
    own: dict[int, list[float]]
    inner: dict[int, dict[Key, None]]


def costs_of(forest: Forest, measurements: Measurements) -> Costs:
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
    return Costs(forest, tuple(datasets), incomplete)


def _dataset_costs(forest: Forest, name: str, runs: Sequence[Run]) -> tuple[DatasetCosts, int]:
    gathered: dict[Key, _Gathered] = {}
    rests = [max(0.0, time - _gather(record, gathered)) for record, time in _corrected(runs)]
    tried: dict[str, set[int]] = defaultdict(set)
    for run in runs:
        for site, index in run.force.items():
            tried[site].add(index)
    sites = forest.sites()
    points: dict[Key, Point] = {}
    dropped = 0
    for key in sorted(gathered, key=len, reverse=True):
        found = gathered[key]
        site = found.encounter.site
        own = {index: median(times) for index, times in found.own.items()}
        missing = found.feasible - set(own)
        inner = {index: tuple(points[k] for k in keys if k in points)
                 for index, keys in found.inner.items()}
        lost = any(k not in points for keys in found.inner.values() for k in keys)
        measured = found.feasible & set(own)
        if site not in sites or not missing <= tried[site] or lost or not measured:
            dropped += 1
            continue
        own.update((index, math.inf) for index in missing)
        points[key] = Point(sites[site], found.encounter.sizes, found.encounter.par,
                            frozenset(found.feasible), own, inner,
                            frozenset(found.encounter.scarce))
    roots = tuple(points[key] for key in gathered if len(key) == 1 and key in points)
    return DatasetCosts(name, median(rests) if rests else 0.0, roots), dropped


def _corrected(runs: Sequence[Run]) -> Iterator[tuple[Record, float]]:
    """The records of a dataset, each without what recording cost the runs of its plan.

    With each comes the time of the whole run, which the encounters and the rest add up to.
    """
    plans: dict[tuple[tuple[str, int], ...], list[tuple[Record, float | None]]] = defaultdict(list)
    for run in runs:
        if run.record is not None:
            plans[tuple(sorted(run.force.items()))].append((run.record, run.time))
    for made in plans.values():
        times = [time for _, time in made if time is not None]
        cost = median([record.wall for record, _ in made]) - median(times) if times else 0.0
        for record, time in made:
            corrected = record.without_recording(max(0.0, cost))
            yield corrected, corrected.span if time is None else time


def _gather(record: Record, gathered: dict[Key, _Gathered]) -> float:
    """Add the encounters of a run; the time that the run spent inside of them."""
    keys: dict[int, Key] = {}
    occurrences: dict[tuple[Key, str], int] = defaultdict(int)
    inside: dict[int | None, float] = defaultdict(float)
    chosen = {encounter.number: encounter.chosen for encounter in record.encounters}
    for encounter in record.encounters:
        inside[encounter.parent] += encounter.time
    for encounter in sorted(record.encounters, key=lambda e: e.number):
        around = keys[encounter.parent] if encounter.parent is not None else ()
        occurrence = occurrences[around, encounter.site]
        occurrences[around, encounter.site] += 1
        key = (*around, (encounter.site, occurrence, tuple(sorted(encounter.sizes.items()))))
        keys[encounter.number] = key
        found = gathered.setdefault(key, _Gathered(
            encounter, set(encounter.feasible), defaultdict(list), defaultdict(dict)))
        found.feasible &= set(encounter.feasible)
        found.own[encounter.chosen].append(
            max(0.0, encounter.time - inside[encounter.number]))
        if encounter.parent is not None:
            gathered[around].inner[chosen[encounter.parent]][key] = None
    return inside[None]
