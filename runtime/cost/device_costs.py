"""The constants of a device that predicted times are made of, and where they come from.

``runelift doctor --measure`` measures them, and the cache keeps them.  A device that was not
measured has the constants of the profile whose name its own contains.  Any other device has the
constants of a profile of its kind.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache

from runelift.runtime.cache import disk
from runelift.runtime.devices.info import DeviceInfo
from runelift.runtime.devices.profiles import profile, profile_names

KIND = "costs"
"""The folder of the cache with measured constants."""
USUAL = {True: "pocl", False: "h200"}
"""The profiles of devices without one: processors of this machine, and all other devices."""


@dataclass(frozen=True, slots=True)
class DeviceCosts:
    """The constants of a device.  Times are in seconds.

    * ``launch``: a kernel that does nothing.  ``round``: a barrier of the device between iterations
      that one kernel runs.  ``wait``: the host reads a value, and issues what depends on it.
    * ``bandwidth``: bytes between memory and chip in a second.  ``cache_bandwidth``: bytes between
      the last cache, of ``cache`` bytes, and all compute units; ``unit_bandwidth``: one unit's.
      ``unit_cache`` are the bytes of a compute unit's own cache.  ``random`` are the bytes that an
      access moves whose place only elements tell.  ``lookup`` are the bytes that a unit's cache
      could move while it looks for one line.
    * ``operation``, ``special``, ``double``: the time of a simple operation, quotient or root, and
      operation on doubles, if all of the device is at work.  ``access``, ``private``, ``local``:
      the time of one access to global, private or local memory.
    * ``atomic``, ``local_atomic``: the time of an atomic operation on global or local memory.
    * ``step``: from one operation of a work-item to the next.  ``hit``: from asking for an element
      to having it from the unit's cache, and ``latency`` more if it comes from beyond.  ``stream``
      and ``ahead`` are these two for elements that loops ask for ahead.  ``sector``: for each
      sector that a sub-group accesses together.  ``barrier``: of a group.
    * ``abreast``: the work-items of a group that run at a time; 1 on processors.
    * ``norm``: the exponent that combines the parts of a time, 1 if none of them overlap.
    * ``items``, ``groups``: the most work-items and groups that a compute unit has at a time;
      ``room`` is its local memory in bytes.
    """

    launch: float
    round: float
    wait: float
    bandwidth: float
    cache_bandwidth: float
    unit_bandwidth: float
    cache: float
    unit_cache: float
    random: float
    lookup: float
    operation: float
    special: float
    double: float
    access: float
    private: float
    local: float
    atomic: float
    local_atomic: float
    step: float
    hit: float
    latency: float
    stream: float
    ahead: float
    sector: float
    barrier: float
    items: float
    groups: float
    room: float
    abreast: float
    norm: float


def costs_of(info: DeviceInfo) -> DeviceCosts:
    """The constants of a device."""
    return _costs(info.label, info.name.lower(), info.is_host)


@cache
def _costs(label: str, name: str, is_host: bool) -> DeviceCosts:
    kept = disk.load(KIND, disk.key(label))
    if kept is not None:
        with suppress(ValueError, TypeError):  # another Runelift may have kept other constants
            return DeviceCosts(**json.loads(kept))
    known = next((each for each in profile_names() if each in name), USUAL[is_host])
    return DeviceCosts(**profile(known).costs)


def keep(info: DeviceInfo, costs: DeviceCosts) -> None:
    """Keep measured constants for later processes."""
    disk.store(KIND, disk.key(info.label), json.dumps(asdict(costs)).encode())
    _costs.cache_clear()
