"""First runs: the kernels that a program needs are built by several processes.

For devices whose compiler does one program at a time in each process.  The processes start before
the program is compiled, find out meanwhile what the device can do
(:mod:`~runelift.runtime.devices.probe_results`), and end when the program first runs: by then what
it needs is known (:mod:`~runelift.runtime.prebuild.rehearsal`), and built, by them and by this
process, all at once.  This process opens the device first, in the background, should it be for one
process alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from runelift.ir.source import Source
from runelift.runtime.devices.build import Infeasible, build_program, build_target, quietly
from runelift.runtime.devices.info import DeviceInfo
from runelift.runtime.execution.executable import Executable
from runelift.runtime.execution.probes.on_demand import open_device
from runelift.runtime.processes.build_pool import TRIALS, Builders
from runelift.runtime.processes.compile_ahead import CORES

WORTH = 40
"""How many lines a program has whose kernels are worth starting processes for."""
MOST = 3
"""How many processes there are at most: more were in each other's way when they started."""
PATIENCE = 30.0
"""After how many seconds processes end if the program is not run."""
REST = 2.0
"""After how many seconds they end when they have done what they were there for."""
ROOMY = 32 << 30
"""How many bytes of memory a device has where a moment longer is no harm."""
BUILD = 300.0
"""After how many seconds a build is taken for one without an end."""
COUNT = "RUNELIFT_BUILDERS"
"""The variable that says how many processes there are, whatever the device and the program."""


class FirstRun:
    """Processes that build what the first run of a program needs."""

    def __init__(self, info: DeviceInfo, device: str | None, count: int) -> None:
        self._roomy = info.global_bytes >= ROOMY
        self._builders = Builders(device, count, first=partial(open_device, info), trials=TRIALS,
                                  patience=PATIENCE, bare=build_target(info))

    def leave_trial(self, name: str) -> None:
        """Wait for a trial that another process is making."""
        self._builders.leave(name)

    def build(self, executable: Executable, wanted: Sequence[Any],
              meanwhile: Callable[[], None]) -> None:
        """Build what will be wanted; do something else as soon as others have begun."""
        def here(source: tuple[str, ...]) -> None:
            with suppress(Infeasible), quietly():
                build_program(executable.device, *source)

        executable.outside = lambda sources, waits: self._builders.share(
            sources, here, BUILD, meanwhile)
        try:
            executable.prepare(wanted)
        finally:
            executable.outside = None

    def end(self) -> None:
        """End all processes, without waiting for it, soon or at once."""
        if self._roomy:
            self._builders.rest(REST)
        else:
            self._builders.end()


def first_run(info: DeviceInfo | None, device: str | None, source: Source) -> FirstRun | None:
    """Processes for the first run of a program, if that gains anything."""
    if info is None or (count := _count(info, source)) == 0:
        return None
    return FirstRun(info, device, count)


def _count(info: DeviceInfo, source: Source) -> int:
    if (said := os.environ.get(COUNT, "")).isdigit():
        return int(said)
    if not info.locked_compiler or source.text.count("\n") < WORTH:
        return 0
    cores = os.cpu_count() or 1
    return min(MOST, cores // 2) if cores >= CORES else 0
