"""Hints for machines on which no OpenCL device can be used."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from runelift.runtime.devices.bindings import HINT as BINDINGS_HINT
from runelift.runtime.devices.bindings import bindings_problem

if TYPE_CHECKING:
    from runelift.runtime.devices.info import DeviceInfo


def advice(devices: Sequence[DeviceInfo]) -> list[str]:
    """Hints, a line each, that lead to a device; none if there is a usable one."""
    usable = [each for each in devices if each.problem is None and not each.is_simulator]
    if usable:
        return []
    lines = [f"hint: {each.hint}" for each in devices if each.hint]
    if not devices and bindings_problem():
        lines.append(BINDINGS_HINT)
    elif all(each.is_simulator for each in devices):
        lines.append("hint: 'pip install \"pyopencl[pocl]\"' brings a CPU device on Linux x86-64; "
                     "for a GPU install its vendor's driver.")
    if vendors := os.environ.get("OCL_ICD_VENDORS"):
        lines.append(f"hint: OCL_ICD_VENDORS is set to '{vendors}', so other runtimes are not "
                     "looked for.")
    return lines
