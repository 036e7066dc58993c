"""What devices can do though no standard promises it, found out by trial before it is trusted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from runelift.runtime import cache as disk

if TYPE_CHECKING:
    from runelift.runtime.opened import Device

KEPT = "trials"
"""What the cache calls devices that passed."""


def proven(device: Device, what: str, trial: Callable[[], bool]) -> bool:
    """Whether a device passes a trial; success is remembered under the name ``what``."""
    name = disk.key(what, disk.ourselves(), device.info.label)
    if disk.load(KEPT, name) == b"works":
        return True
    found = trial()
    if found and not device.info.is_simulator:
        disk.store(KEPT, name, b"works")
    return found
