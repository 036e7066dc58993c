"""First runs: several processes build the kernels that a program needs.

They serve devices whose compiler builds one program at a time in each process.  They start before
the program is compiled, and meanwhile probe the device
(:mod:`~runelift.runtime.devices.probe_results`).  When the program first runs, its kernels are
collected (:mod:`~runelift.runtime.prebuild.kernel_collector`).  All processes build them together
with this one, and then end.  This process opens the device first, in the background, as some
devices are for one process alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from runelift.ir.base.source import Source
from runelift.runtime.devices.build import Infeasible, build_program, build_target, quietly
from runelift.runtime.devices.info import DeviceInfo
from runelift.runtime.execution.executable import Executable
from runelift.runtime.execution.probes.on_demand import open_device
from runelift.runtime.processes.build_pool import PROBE_REQUESTS, Builders
from runelift.runtime.processes.compile_ahead import MIN_CORES

MIN_LINES = 40
"""The lines of a program whose kernels are worth starting processes for."""
MAX_BUILDERS = 3
"""The largest number of processes: more delay each other when they start."""
UNUSED_TIMEOUT = 30.0
"""Seconds after which processes end if the program is not run."""
DONE_TIMEOUT = 2.0
"""Seconds after which processes end when they have built everything."""
LARGE_MEMORY = 32 << 30
"""Bytes of memory of a device on which idle processes do no harm."""
BUILD_TIMEOUT = 300.0
"""Seconds after which a build is taken for an endless one."""
COUNT_VARIABLE = "RUNELIFT_BUILDERS"
"""The environment variable with the number of processes, for any device and program."""


class FirstRun:
    """Processes that build the kernels of the first run of a program."""

    def __init__(self, info: DeviceInfo, device: str | None, count: int) -> None:
        self._has_large_memory = info.global_bytes >= LARGE_MEMORY
        self._builders = Builders(device, count, first=partial(open_device, info),
                                  probes=PROBE_REQUESTS, idle_timeout=UNUSED_TIMEOUT,
                                  target=build_target(info))

    def leave_trial(self, name: str) -> None:
        """Wait for a probe that another process runs."""
        self._builders.take_over(name)

    def build(self, executable: Executable, needed: Sequence[Any],
              meanwhile: Callable[[], None]) -> None:
        """Build the ``needed`` kernels; call ``meanwhile`` as soon as other processes build."""
        def here(source: tuple[str, ...]) -> None:
            with suppress(Infeasible), quietly():
                build_program(executable.device, *source)

        executable.kernels.prepare(needed, lambda sources, waits: self._builders.share(
            sources, here, BUILD_TIMEOUT, meanwhile))

    def end(self) -> None:
        """End all processes, soon or at once, without waiting for them."""
        if self._has_large_memory:
            self._builders.end_when_idle(DONE_TIMEOUT)
        else:
            self._builders.end()


def first_run(info: DeviceInfo, device: str | None, source: Source) -> FirstRun | None:
    """Processes for the first run of a program; None where they gain nothing."""
    if (count := _count(info, source)) == 0:
        return None
    return FirstRun(info, device, count)


def _count(info: DeviceInfo, source: Source) -> int:
    if (count := os.environ.get(COUNT_VARIABLE, "")).isdigit():
        return int(count)
    if not info.locked_compiler or source.text.count("\n") < MIN_LINES:
        return 0
    cores = os.cpu_count() or 1
    return min(MAX_BUILDERS, cores // 2) if cores >= MIN_CORES else 0
