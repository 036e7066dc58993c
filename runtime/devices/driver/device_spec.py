"""Names of devices: ``NAME``, or ``NAME:K`` for the K-th device that the name matches.

The module imports nothing of Runelift, so that drivers can be called
(:mod:`~runelift.runtime.devices.driver.icd`) before the rest is imported.
"""

from __future__ import annotations

import os

from runelift.ir.base.numerals import whole_number

INTERPRETER = "interpreter"
"""The name of the interpreter, which takes the place of a device."""
VARIABLE = "RUNELIFT_DEVICE"
"""The environment variable with the name of the device, where the user names none."""


def requested(spec: str | None) -> str | None:
    """The requested device; None for the best one."""
    return spec or os.environ.get(VARIABLE)


def split_number(spec: str) -> tuple[str, int]:
    """Split a specification into a name and a number among the matching devices.

    >>> split_number("H200:1"), split_number("H200"), split_number("a:b")
    (('H200', 1), ('H200', 0), ('a:b', 0))
    """
    name, _, number = spec.rpartition(":")
    found = whole_number(number)
    return (spec, 0) if found is None else (name, found)


def matches(name: str, device: str, platform: str) -> bool:
    """Test whether a name stands for a device on a platform."""
    return (name.lower() in device.lower() or name.lower() in platform.lower()
            or (name.lower() == "pocl" and "Portable Computing" in platform))
