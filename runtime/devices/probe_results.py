"""What devices can do though no standard promises it, found out by trial before it is trusted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from runelift.runtime.cache import disk

if TYPE_CHECKING:
    from runelift.runtime.devices.context import Device
    from runelift.runtime.devices.info import DeviceInfo

KEPT = "trials"
"""What the cache calls devices that passed."""
WORKS = b"works"


def proven(device: Device, what: str, trial: Callable[[], bool]) -> bool:
    """Whether a device passes a trial; success is remembered under the name ``what``."""
    if is_proven(device.info, what):
        return True
    found = trial()
    if found and not device.info.is_simulator:
        disk.store(KEPT, _name(device.info, what), WORKS)
    return found


def is_proven(info: DeviceInfo, what: str) -> bool:
    """Whether such a device has passed a trial before."""
    return disk.load(KEPT, _name(info, what)) == WORKS


def are_any() -> bool:
    """Whether any device has passed a trial before."""
    return disk.has_any(KEPT)


def _name(info: DeviceInfo, what: str) -> str:
    return disk.key(what, disk.fingerprint(), info.label)
