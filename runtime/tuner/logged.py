"""The forest that a log tells of: for comparing strategies on a log without its program.

A log has the sites, the names of their guards in order, and which encounter happened inside of
which version.  It does not have the thresholds that hold without tuning.
"""

from __future__ import annotations

from collections.abc import Iterator

from runelift.ir.guards import Guard, Kind
from runelift.ir.names import VName
from runelift.ir.sizes import Size
from runelift.runtime.records import Encounter
from runelift.runtime.tuner.forest import Alternative, Forest, Site
from runelift.runtime.tuner.log import Measurements

Inside = tuple[str, int]
"""A version: its site, and its index there."""


def logged_forest(measurements: Measurements) -> Forest:
    """The sites, guards and versions that the runs in a log met, in the order they met them.

    Versions are labelled from the left, as in :mod:`.forest`.  How many loops there are around a
    site is not known; those met several times in a run stand in one.
    """
    guards: dict[str, list[str]] = {}
    inside: dict[str, Inside | None] = {}
    looped: set[str] = set()
    for run in measurements.runs:
        met: dict[int, Encounter] = {}
        times: set[tuple[int | None, str]] = set()
        for encounter in sorted(run.record.encounters if run.record else (),
                                key=lambda each: each.number):
            met[encounter.number] = encounter
            guards.setdefault(encounter.site, list(encounter.par))
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
                    alternative(name, index) for index in range(len(guards[name]) + 1)))

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
