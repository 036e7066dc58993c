"""Runs under thresholds, for all encounters of a dataset at once.

Array operations give the results of :class:`~runelift.runtime.tuner.costs.cost_model.DatasetCosts`.
The choices of a site's encounters do not depend on each other, only on the encounters around them
that happen.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from runelift.runtime.tuner.costs.cost_model import DatasetCosts, EncounterCosts
from runelift.runtime.tuner.costs.host_device_time import Cost
from runelift.runtime.versions.forest import Site
from runelift.runtime.versions.guard_chain import Array, versions_to_run

NOT_REACHED = -1


@dataclass(frozen=True, slots=True)
class _Encounters:
    """The encounters of a site.

    ``par`` is by guard, and so is ``unset``: whether the guard holds under the threshold 0.
    ``feasible`` is by version, ``own`` by version and clock.  The encounters happen where version
    ``version`` runs at the encounters ``around`` of the site with number ``outer``; everywhere if
    there is none.
    """

    guards: Sequence[str]
    par: Array
    unset: Array
    feasible: Array
    own: Array
    outer: int | None
    version: int
    around: Array

    def choose(self, thresholds: Sequence[int], outer: Array | None) -> Array:
        """The version that each encounter runs, or that it does not happen.

        ``thresholds`` has one for each guard of the site.  ``outer`` are the versions that the
        encounters of the site around it run.
        """
        chosen = versions_to_run(thresholds, self.par, self.unset, self.feasible).astype(np.int8)
        if outer is not None:
            chosen[outer[self.around] != self.version] = NOT_REACHED
        return chosen

    def spent(self, chosen: Array) -> Array:
        """The sum of the clocks over the encounters that happen."""
        reached = np.flatnonzero(chosen != NOT_REACHED)
        spent: Array = self.own[reached, chosen[reached]].sum(axis=0)
        return spent


@dataclass(frozen=True, slots=True)
class PathTable:
    """Tells which path thresholds take on a dataset, and how long that takes.

    Paths are remembered with their times.  So are the last choices of each site, with their
    thresholds and the choices around.  A caller that moves one threshold asks for the rest again.
    """

    costs: DatasetCosts
    sites: tuple[_Encounters, ...]
    _seconds: dict[Hashable, float] = field(default_factory=dict)
    _chosen: dict[int, tuple[Sequence[int], Array | None, Array]] = field(default_factory=dict)

    @classmethod
    def of(cls, costs: DatasetCosts) -> PathTable:
        """The encounters of a dataset as arrays, outer sites before inner sites."""
        found: list[_Encounters] = []

        def add(points: Sequence[tuple[int, EncounterCosts]], outer: int | None,
                version: int) -> None:
            for site in {point.site.name: point.site for _, point in points}.values():
                here = [(around, p) for around, p in points if p.site.name == site.name]
                found.append(_encounters(site, here, outer, version))
                own = len(found) - 1
                for index in range(len(site.alternatives)):
                    add([(k, q) for k, (_, p) in enumerate(here) for q in p.inner.get(index, ())],
                        own, index)

        add([(0, point) for point in costs.points], None, 0)
        return cls(costs, tuple(found))

    def look_up(self, thresholds: Mapping[str, int]) -> tuple[Hashable, float]:
        """The path, equal if and only if the same versions run, and the seconds of a run."""
        chosen: list[Array] = []
        for number, site in enumerate(self.sites):
            own = [thresholds[name] for name in site.guards]
            outer = None if site.outer is None else chosen[site.outer]
            last = self._chosen.get(number)
            if last is None or last[0] != own or last[1] is not outer:
                last = self._chosen[number] = own, outer, site.choose(own, outer)
            chosen.append(last[2])
        path = b"".join(each.tobytes() for each in chosen)
        if path not in self._seconds:
            rest = np.array([self.costs.rest.device, self.costs.rest.host])
            device, host = sum((site.spent(versions) for site, versions in
                                zip(self.sites, chosen, strict=True)), rest)
            self._seconds[path] = Cost(float(device), float(host)).time
        return path, self._seconds[path]


def _encounters(site: Site, points: Sequence[tuple[int, EncounterCosts]], outer: int | None,
                version: int
                ) -> _Encounters:
    guards = [guard.name for guard in site.guards]
    unset = [[point.holds(guard, {guard.name: 0}) for guard in site.guards] for _, point in points]
    own = np.full((len(points), len(site.alternatives), 2), np.inf)
    for k, (_, point) in enumerate(points):
        for index, cost in point.own.items():
            own[k, index] = cost.device, cost.host
    return _Encounters(
        guards, np.array([[p.par[name] for name in guards] for _, p in points], np.int64),
        np.array(unset, bool),
        np.array([[k in p.feasible for k in range(len(site.alternatives))] for _, p in points]),
        own, outer, version, np.array([around for around, _ in points], np.intp))
