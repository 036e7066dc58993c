"""Work that a command begins before it has imported anything else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from runelift.runtime.devices.driver import icd, pocl_cache


def begin_device(device: str | None) -> None:
    """Begin to open the device in a thread."""
    icd.begin(device)


@contextmanager
def tuning_ahead(device: str | None, program: str | None, policy: str) -> Iterator[None]:
    """The first needs of a tuning: a process that runs programs, the program, the devices."""
    pocl_cache.provide()  # once for all processes
    # late: start-up; runs start no process
    from runelift.runtime.processes.process import started_ahead

    with started_ahead(device) as go:
        # late: the process starts meanwhile
        from runelift.runtime.devices.driver.preload import message_for

        # late: as above
        from runelift.runtime.processes import build_pool, compile_ahead

        with compile_ahead.compiled_ahead(program, policy) as is_new:
            go("" if is_new else message_for(program, policy))
            with build_pool.probing_started_ahead(device) if is_new else nullcontext():
                icd.begin(device, runs=False)
                yield
