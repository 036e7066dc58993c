"""Builds in a worker, as its tuner hears of them.

A kernel that is not built in time is one that cannot run.  The tuner ends the worker, and the next
one refuses the program, as workers of later tunings do
(:mod:`~runelift.runtime.devices.slow_builds`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from runelift.runtime.devices import slow_builds
from runelift.runtime.devices.build import Infeasible, cache_name
from runelift.runtime.devices.info import DeviceInfo
from runelift.runtime.execution.policy import BuildWatch
from runelift.runtime.tuner.workers.watchdog import BUILD_SECONDS, VERSION_BUILD_SECONDS


class BuildNotices(BuildWatch):
    """Sends a message at the begin and at the end of each build.

    The programs ``refused`` take too long.
    """

    def __init__(self, device: DeviceInfo, refused: Collection[str],
                 send: Callable[..., None]) -> None:
        self._device, self._send, self._refused = device, send, set(refused)

    def refuse(self, programs: Iterable[Sequence[str]]) -> None:
        """Refuse further programs, in later tunings, too."""
        for program in programs:
            name = cache_name(self._device, *program)
            self._refused.add(name)
            slow_builds.note(name, VERSION_BUILD_SECONDS)

    def begins(self, program: Sequence[str], *, needed: bool) -> None:
        """Tell the tuner how long it may take; Infeasible if it is known to take longer."""
        name = cache_name(self._device, *program)
        limit = BUILD_SECONDS if needed else VERSION_BUILD_SECONDS
        if limit < BUILD_SECONDS and (
                name in self._refused or slow_builds.takes_longer(name, limit)):
            raise Infeasible(f"the kernels are not built after {limit:.0f} s")
        self._send("building", name, limit)

    def ends(self, program: Sequence[str]) -> None:
        """Tell the tuner that it is over."""
        self._send("built", cache_name(self._device, *program))

    def alive(self) -> None:
        """Have the tuner's clock start again."""
        self._send("begun")
