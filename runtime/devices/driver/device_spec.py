"""How users name devices: ``NAME``, or ``NAME:K`` for the K-th of those that the name fits.

The module imports nothing of ours, so that drivers can be asked
(:mod:`~runelift.runtime.devices.driver.icd`) before the rest of Runelift is there.
"""

from __future__ import annotations

import os

INTERPRETER = "interpreter"
"""The name of the device that is no device."""
VARIABLE = "RUNELIFT_DEVICE"
"""Who names no device means what this says, if it says anything."""


def asked(spec: str | None) -> str | None:
    """The device that is asked for; None for whichever is best."""
    return spec or os.environ.get(VARIABLE)


def parted(spec: str) -> tuple[str, int]:
    """A name, and which of those that it fits.

    >>> parted("H200:1"), parted("H200"), parted("a:b")
    (('H200', 1), ('H200', 0), ('a:b', 0))
    """
    name, _, number = spec.rpartition(":")
    return (name, int(number)) if number.isdigit() else (spec, 0)


def fits(name: str, device: str, platform: str) -> bool:
    """Whether users may mean this device by a name."""
    return (name.lower() in device.lower() or name.lower() in platform.lower()
            or (name.lower() == "pocl" and "Portable Computing" in platform))
