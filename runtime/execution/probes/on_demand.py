"""Devices that are opened with probes, and probes that are imported when they are made.

A device that has passed its probes before makes none, so nothing is imported for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from runelift.codegen.plan.plan import Plan
from runelift.runtime.devices import context
from runelift.runtime.devices.context import LOOK_BACK, Device
from runelift.runtime.devices.info import DeviceInfo
from runelift.runtime.devices.probe_results import is_proven
from runelift.runtime.devices.subgroup_support import ShuffleMethod
from runelift.runtime.execution.probes.subgroup_size import subgroup_size


class _Probe(Protocol):
    """A module of this package with a probe."""

    def probe_plan(self) -> Plan:
        """The plan of the program of the probe."""

    def works(self, device: Device) -> bool:
        """True if the program has the right results on the device."""


def _probes() -> tuple[_Probe, _Probe]:
    """The probes of forward progress and of sub-groups."""
    # late: start-up; they lower and run programs, and most devices are known
    from runelift.runtime.execution.probes import forward_progress, subgroups

    return forward_progress, subgroups


class _OnDemand:
    """The probes of the driver, each run when its answer is first needed."""

    def forward_progress(self, device: Device) -> bool:
        progress, _ = _probes()
        return progress.works(device)

    def subgroup_size(self, device: Device, offer: ShuffleMethod) -> ShuffleMethod | None:
        """The offer with the size of sub-groups; None if they are not work-items in a row."""
        return subgroup_size(device, offer)

    def subgroups(self, device: Device) -> bool:
        """True if the device's sub-groups pass a probe."""
        _, groups = _probes()
        return groups.works(device)


PROBES = _OnDemand()


def open_device(info: DeviceInfo) -> Device:
    """The device, opened once for the process, with the probes of this package."""
    return context.open_device(info, PROBES)


def plan_probes(info: DeviceInfo) -> None:
    """Make the plans of the probes of a device, unless it is known to pass them."""
    if not is_proven(info, LOOK_BACK):
        for probe in _probes():
            probe.probe_plan()


def plans_of_probes() -> Iterator[Callable[[], Plan]]:
    """Functions that make the plan of each probe, once in a process."""
    for probe in reversed(_probes()):
        yield probe.probe_plan
