"""Results of probes, remembered in the cache: abilities that no standard promises."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from runelift.runtime.cache import disk

if TYPE_CHECKING:
    from runelift.runtime.devices.context import Device
    from runelift.runtime.devices.info import DeviceInfo

KEPT = "trials"
"""The kind of cache entries for devices that passed."""
WORKS = b"works"


def proven(device: Device, what: str, trial: Callable[[], bool]) -> bool:
    """Make a probe, or recall its success under the name ``what``; True if the device passes."""
    if is_proven(device.info, what):
        return True
    found = trial()
    if found and not device.info.is_simulator:
        disk.store(KEPT, _name(device.info, what), WORKS)
    return found


def is_proven(info: DeviceInfo, what: str) -> bool:
    """True if such a device has passed a probe before."""
    return disk.load(KEPT, _name(info, what)) == WORKS


def are_any() -> bool:
    """True if any device has passed a probe before."""
    return disk.has_any(KEPT)


def _name(info: DeviceInfo, what: str) -> str:
    return disk.key(what, disk.fingerprint(), info.label)
