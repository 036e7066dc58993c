"""Programs in worker processes: how tuning runs them, on one device or on several of one make."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from runelift.ir.base.errors import RuneliftError
from runelift.runtime.devices.comparable import place_of, select_comparable
from runelift.runtime.devices.info import DeviceInfo, spec_of
from runelift.runtime.prebuild.manifest import has_manifest
from runelift.runtime.processes.build_pool import PROBE_REQUESTS, Builders, how_many
from runelift.runtime.processes.process import Process
from runelift.runtime.programs.program import Program
from runelift.runtime.tuner.measure.measurable import Measurable
from runelift.runtime.tuner.measure.time_limits import UNLIMITED, TimeLimit, parse_time_limit
from runelift.runtime.tuner.workers.local_devices import LocalDevices
from runelift.runtime.tuner.workers.remote import Remote

LEAST_LIMIT_SECONDS = 0.5
"""After how many seconds runs may be stopped where the next worker is waiting already."""


def limit_on(device: DeviceInfo, text: str | None = None) -> TimeLimit:
    """The time limit of the user; a stop costs less where a spare worker is kept."""
    default = TimeLimit() if device.is_host else replace(TimeLimit(), least=LEAST_LIMIT_SECONDS)
    return default if text is None else parse_time_limit(text, default)


def in_this_process(program: Program) -> Measurable:
    """The program, which runs in this process: nothing stops it."""
    # late: start-up; most programs are run in other processes
    from runelift.runtime.tuner.workers import measured_program, result_checks

    return measured_program.MeasuredProgram(program, result_checks.ResultChecks())


@contextmanager
def running(program: Program, time_limit: str | None = None, *, least: float = math.inf
            ) -> Iterator[Measurable]:
    """A program on its device, in another process unless the limit is ``none``.

    Runs may be stopped after ``least`` seconds, or sooner, if the user gives no limit.
    """
    assert program.device_info is not None
    if time_limit == UNLIMITED:
        yield in_this_process(program)
        return
    with Runners([spec_of(program.device_info)]) as runners:
        limit = limit_on(program.device_info, time_limit)
        if time_limit is None:
            limit = replace(limit, least=min(limit.least, least))
        yield runners.open(program, limit)
        runners.finish()


def _is_tuned_again(program: tuple[str, str] | None) -> bool:
    """True if kernels of a program (path and policy) have probably been built before."""
    with suppress(RuneliftError):
        return program is not None and has_manifest(Path(program[0]), program[1])
    return False


class Runners(AbstractContextManager["Runners"]):
    """Processes on devices, which start in the background while a program is compiled.

    ``specs`` and ``every`` say on which devices
    (:func:`~runelift.runtime.devices.comparable.select_comparable`). They end with the context.
    ``program`` is the path and the policy of what they will run, if that is known.
    """

    def __init__(self, specs: Sequence[str] = (), *, every: bool = False,
                 program: tuple[str, str] | None = None) -> None:
        self._builders: Builders | None = None
        self._workers = [Process(specs[0] if specs else None, program=program)]
        self._remotes: list[Remote] = []
        try:
            self.devices = select_comparable(specs, every=every)
            if self.devices:
                names = [spec_of(info) for info in self.devices]
                self._workers += [Process(name, program=program) for name in names[1:]]
                if self.devices[0].locked_compiler:
                    # late: start-up; tunings for other devices do without
                    from runelift.runtime.devices.build import build_target

                    info = self.devices[0]
                    self._builders = Builders(
                        names[0], how_many(info.global_bytes), probes=PROBE_REQUESTS,
                        first=self._workers[0].wait_until_open,  # who runs the program comes first
                        on_demand=_is_tuned_again(program), target=build_target(info))
        except BaseException:
            self.close()
            raise

    def open(self, program: Program, limit: TimeLimit) -> Remote:
        """The program, ready to be run with this limit; on the first device, if they are many."""
        self._remotes = [
            Remote(program, spec_of(info), limit=limit, worker=worker, builders=self._builders)
            for info, worker in zip(self.devices, self._workers, strict=True)]
        self._workers = []
        return self._remotes[0]

    def device_pool(self) -> LocalDevices:
        """The program on all devices."""
        return LocalDevices({place_of(info): remote for info, remote
                             in zip(self.devices, self._remotes, strict=True)})

    def finish(self) -> None:
        """Have what the program's processes have compiled, and end them."""
        for remote in self._remotes:
            remote.finish()

    def close(self) -> None:
        """End all processes, and wait until they are gone."""
        for each in self._remotes:
            each.close()
        for worker in self._workers:
            worker.kill()
        self._workers = []
        if self._builders is not None:
            self._builders.close()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()
