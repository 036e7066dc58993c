"""The time of a launch: a function of its work and of a device's constants.

Four times overlap, and the longest of them counts most: that of memory, of arithmetic, of atomic
operations, and of the longest work-item.  They are combined as a p-norm.  ``docs/design/cost.md``
has the formulas, and says how the constants are measured.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from runelift.codegen.cost.work import Work
from runelift.ir.errors import UserError

if TYPE_CHECKING:
    from runelift.runtime.devices.info import DeviceInfo

NORM = 2.0
"""The exponent of the norm that combines the four times."""


@dataclass(frozen=True, slots=True)
class DeviceCosts:
    """The constants of a device.  Times are in seconds.

    * ``launch``: from the end of a kernel to that of the next one, if that does nothing.
    * ``round``: a barrier of the device between iterations that one kernel runs.
    * ``wait``: the host reads a value, and issues what depends on it.
    * ``bandwidth``: bytes between memory and chip in a second; ``cache_bandwidth`` those between
      the last cache, of ``cache`` bytes, and compute units.  ``item_cache`` are the bytes of a
      compute unit's own cache.
    * ``operation``, ``special``, ``double``, ``access``, ``local``: the time that one simple
      operation, quotient or root, operation on doubles, access to memory, or access to local
      memory takes the whole device, if all of it works.
    * ``atomic``, ``local_atomic``: the same for atomic operations that do not meet.
    * ``step``: from one step of a work-item to the next.  ``latency``: from asking for an element
      to having it, if nothing else is to do.  ``barrier``: of a group.
    * ``items``, ``groups``: the most work-items and groups that a compute unit has at a time;
      ``room`` the bytes of its local memory.  ``rest`` is the share of a wave that its last, partly
      filled one takes at least.
    """

    launch: float
    round: float
    wait: float
    bandwidth: float
    cache_bandwidth: float
    cache: float
    item_cache: float
    operation: float
    special: float
    double: float
    access: float
    local: float
    atomic: float
    local_atomic: float
    step: float
    latency: float
    barrier: float
    items: int
    groups: int
    room: int


@dataclass(frozen=True, slots=True)
class LaunchTime:
    """The parts of the predicted time of a launch, in seconds."""

    start: float
    memory: float
    arithmetic: float
    atomics: float
    longest: float

    @property
    def seconds(self) -> float:
        """The predicted time."""
        parts = self.memory, self.arithmetic, self.atomics, self.longest
        return self.start + float(sum(part ** NORM for part in parts) ** (1 / NORM))

    @property
    def bound(self) -> str:
        """The part that takes longest."""
        return max(("start", "memory", "arithmetic", "atomics", "longest"),
                   key=lambda name: getattr(self, name))


def launch_parts(costs: DeviceCosts, units: int, groups: int, group: int, room: int, work: Work
                 ) -> LaunchTime:
    """The parts of the time of a launch on ``units`` compute units.

    ``room`` are the bytes of local memory of a group.
    """
    resident = max(1, min(costs.groups, costs.items // group,
                          costs.room // room if room else costs.groups))
    waves = max(1.0, groups / (units * resident))
    crowd = min(groups, units * resident) * group / units
    moved = work.read + work.written + (
        work.apart if crowd * CACHED_LINE > costs.item_cache else 0.0) + 32 * work.random
    memory = max((moved if work.distinct > costs.cache else work.distinct) / costs.bandwidth,
                 moved / costs.cache_bandwidth)
    arithmetic = (work.operations * costs.operation + work.special * costs.special
                  + work.doubles * costs.double + work.accesses * costs.access
                  + work.local * costs.local)
    atomics = work.atomics * costs.atomic + work.local_atomics * costs.local_atomic
    longest = waves * (work.steps * costs.step + work.waits * costs.latency
                       + work.barriers * costs.barrier)
    return LaunchTime(costs.launch, memory, arithmetic, atomics, longest)


def launch_time(costs: DeviceCosts, units: int, groups: int, group: int, room: int, work: Any
                ) -> float:
    """The predicted seconds of a launch, as :func:`launch_parts` has them."""
    return launch_parts(costs, units, groups, group, room, Work(*work)).seconds


CACHED_LINE = 128
"""The bytes of a work-item's line in the cache of its compute unit."""


@cache
def _profile(name: str) -> Any:
    return json.loads((files("runelift.runtime.devices") / "profiles" / f"{name}.json").read_text())


def costs_of(info: "DeviceInfo") -> DeviceCosts:
    return DeviceCosts(launch=2.2e-6, round=1.5e-6, wait=1e-5, bandwidth=4e12, cache_bandwidth=7e12, cache=5e7, item_cache=2e5,
      operation=3e-14, special=3e-13, double=6e-14, access=1e-13, local=5e-14, atomic=1e-12, local_atomic=1e-13, step=4e-9,latency=6e-7,barrier=3e-8,items=2048,groups=32,room=227*1024)
