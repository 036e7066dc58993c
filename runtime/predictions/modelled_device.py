"""Devices that are not there: host plans are followed as if on them, by their profiles.

Nothing is built or run, and OpenCL is not called.  The probes of such a device count as passed.
"""

from __future__ import annotations

from collections.abc import Mapping

from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.devices.context import Device
from runelift.runtime.devices.info import DeviceInfo, described
from runelift.runtime.devices.memory import Buffer, Pool
from runelift.runtime.devices.profiles import DeviceProfile
from runelift.runtime.execution.dry_run import no_memory
from runelift.runtime.programs.loaded_program import LoadedProgram


class ModelledDevice(Device):
    """A device without hardware, for dry runs, like one with a profile, or one that is there."""

    def __init__(self, like: DeviceProfile | DeviceInfo) -> None:
        if isinstance(like, DeviceProfile):
            self.costs = like.costs
        self._know(described(like.limits) if isinstance(like, DeviceProfile) else like)
        self.pool = Pool(None, self.info)
        self.plain, self.failure = None, (None, None)
        self.counters: Buffer = no_memory(0)
        self.presume()


def modelled(compiled: Compiled, device: ModelledDevice, thresholds: Mapping[str, int] | None = None
             ) -> LoadedProgram:
    """A program as if on a device that is not there, for dry runs of its executables.

    A run that names no thresholds uses ``thresholds``.
    """
    chosen = thresholds or {}
    loaded = LoadedProgram(compiled, device.info,
                           lambda given: chosen if given is None else given, device=device)
    loaded.stores_plans = False
    return loaded
