"""The time of a launch: a function of its work and of a device's constants.

Four times overlap: that of memory, of arithmetic, of atomic operations, and of the longest
work-item.  So the longest of them counts most: a norm combines them.  ``docs/design/cost.md`` has
the formulas, and says where the constants come from.
"""

from __future__ import annotations

from typing import NamedTuple

from runelift.codegen.cost.totals import LINE, SECTOR, Work
from runelift.runtime.cost.device_costs import DeviceCosts

SUB_GROUP = 32
"""Work-items that access memory together."""


class LaunchTime(NamedTuple):
    """The predicted ``seconds`` of a launch, and their parts, most of which overlap."""

    start: float
    memory: float
    arithmetic: float
    atomics: float
    chain: float
    seconds: float


def launch_time(costs: DeviceCosts, units: int, groups: int, group: int, room: int, work: Work
                ) -> LaunchTime:
    """The time of a launch on ``units`` compute units.

    ``room`` are the bytes of local memory of a group.  There is at least one group.
    """
    resident = max(1.0, min(costs.groups, costs.items // group,
                            costs.room // room if room else costs.groups))
    used = min(units, groups)
    waves = max(1.0, groups / (units * resident))
    crowd = min(groups / used, resident) * group  # the work-items that a unit runs at a time
    near = work.read + work.written
    moved = near + (work.apart if crowd * LINE > costs.unit_cache else 0.0)
    walked = work.walked if costs.abreast == 1 else 0.0  # processors ask ahead for what follows
    moved += SECTOR * walked
    memory = (moved + costs.random * (work.random - walked) + costs.lookup * work.lookups) / min(
        costs.cache_bandwidth, used * costs.unit_bandwidth)
    if work.distinct > costs.cache:
        memory = max(memory, work.distinct / costs.bandwidth)
    share = units / used
    arithmetic = share * (
        work.operations * costs.operation + work.special * costs.special
        + work.doubles * costs.double + work.accesses * costs.access
        + work.private * costs.private + work.local * costs.local)
    atomics = work.atomics * costs.atomic + share * work.local_atomics * costs.local_atomic
    lanes = min(SUB_GROUP, max(1.0, work.items / groups))
    per = 1 / (SECTOR * work.accesses) if work.accesses else 0.0
    if costs.abreast > 1:
        missed = min(1.0, moved * per * lanes)
    else:  # what a work-item has in a sector is there if its next iteration wants it
        missed = max(0.0, 1.0 - (near + work.apart) * per)
    sectors = (near + work.apart) * per * lanes * costs.sector
    passes = waves * max(1.0, group / costs.abreast)
    if work.uneven > 1:  # the longest work-item is in one of the passes
        passes += work.uneven - 1
    chain = passes * (
        work.steps * costs.step + work.barriers * costs.barrier
        + work.waits * (costs.hit + missed * costs.latency + sectors)
        + work.streams * (costs.stream + missed * costs.ahead + sectors))
    norm = costs.norm
    overlapped = memory ** norm + arithmetic ** norm + atomics ** norm + chain ** norm
    return LaunchTime(costs.launch, memory, arithmetic, atomics, chain,
                      costs.launch + float(overlapped ** (1 / norm)))
