"""The forest that a log tells of: for comparing strategies on a log without its program.

A log has the sites, the names of their guards in order, and which encounter happened inside of
which version.  It does not have the thresholds that hold without tuning.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace

from runelift.ir.guards import Guard, Kind
from runelift.ir.names import VName
from runelift.ir.sizes import Size
from runelift.runtime.records.record import Encounter
from runelift.runtime.tuner.costs.cost_model import Costs, EncounterCosts
from runelift.runtime.tuner.costs.host_device_time import Cost
from runelift.runtime.tuner.costs.log import Measurements
from runelift.runtime.versions.forest import Alternative, Forest, Site

Inside = tuple[str, int]
"""A version: its site, and its index there."""


def logged_forest(measurements: Measurements) -> Forest:
    """The sites, guards and versions that the runs in a log met, in the order they met them.

    Versions are labelled from the left, as in :mod:`~runelift.runtime.versions.forest`.  How many
    loops there are around a site is not known; those met several times in a run stand in one.
    Guards that were compared with several values in a run are size-variant.
    """
    guards: dict[str, list[str]] = {}
    inside: dict[str, Inside | None] = {}
    looped: set[str] = set()
    variant: set[str] = set()
    for run in measurements.runs:
        met: dict[int, Encounter] = {}
        times: set[tuple[int | None, str]] = set()
        seen: dict[str, int] = {}
        for encounter in sorted(run.record.encounters if run.record else (),
                                key=lambda each: each.number):
            met[encounter.number] = encounter
            guards.setdefault(encounter.site, list(encounter.par))
            variant |= {guard for guard, par in encounter.par.items()
                        if seen.setdefault(guard, par) != par}
            around = None if encounter.parent is None else met[encounter.parent]
            inside.setdefault(encounter.site,
                              (around.site, around.chosen) if around is not None else None)
            if (encounter.parent, encounter.site) in times:
                looped.add(encounter.site)
            times.add((encounter.parent, encounter.site))
    labels = iter(range(1, 1 << 30))

    def sites(version: Inside | None) -> Iterator[Site]:
        for name in guards:
            if inside[name] == version:
                yield Site(name, int(name in looped), tuple(
                    alternative(name, index) for index in range(len(guards[name]) + 1)),
                           frozenset(variant.intersection(guards[name])))

    def alternative(name: str, index: int) -> Alternative:
        guarded = index < len(guards[name])
        guard = _guard(guards[name][index]) if guarded else None
        below = tuple(sites((name, index)))
        return Alternative(guard, guard.kind if guard else Kind.FLAT,
                           None if below else f"V{next(labels)}", below)

    return Forest(measurements.entry, tuple(sites(None)))


def _guard(name: str) -> Guard:
    kind = Kind.INTRA if "suff_intra" in name else Kind.OUTER
    return Guard(name, name, kind, Size.var(VName("par", 0)))


def without_gaps(costs: Costs, measurements: Measurements) -> tuple[Costs, int]:
    """The costs with an estimate for what was left out, and how many estimates these are.

    The estimate is the factor of the pruning policy for versions that cannot run.  That is far too
    long to be chosen.  Searches would not learn from infinite times.
    """
    factor = costs.policy.pruning.cannot_run_factor
    left_out = defaultdict[str, set[Inside]](set)
    for run in measurements.runs:
        left_out[run.dataset] |= run.left_out.items()
    filled = replace(costs, datasets=tuple(
        replace(d, points=tuple(_filled(p, left_out[d.name], factor) for p in d.points))
        for d in costs.datasets))
    count = sum(one.estimates() - other.estimates()
                for one, other in zip(filled.datasets, costs.datasets, strict=True))
    return filled, count


def _filled(point: EncounterCosts, left_out: AbstractSet[Inside], factor: float) -> EncounterCosts:
    """An encounter and its nested encounters, with estimates for versions ``left_out``."""
    inner = {k: tuple(_filled(p, left_out, factor) for p in points)
             for k, points in point.inner.items()}
    gaps = {k for k, cost in point.own.items()
            if math.isinf(cost.device) and (point.site.name, k) in left_out}
    least = point.bounds()[0]
    if math.isinf(least.time):
        gaps = set()
    guess = Cost(factor * least.device, factor * least.host)
    return replace(point, inner=inner, own={**point.own, **dict.fromkeys(gaps, guess)},
                   estimated=point.estimated | gaps)
