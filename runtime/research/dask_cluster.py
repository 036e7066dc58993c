"""Measuring on other machines, through a Dask scheduler (``pip install ".[dask]"``).

A task measures one dataset with all versions, on a device of a machine, in a worker process with
time limits as here.  Where there are more machines than datasets, a task measures some versions. A
machine that is lost has sent nothing, so Dask has another one repeat its task.  A task whose
machines were lost again and again has failed, with this reason.  Machines keep nothing but their
caches of kernels.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import math
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

import pyopencl as cl

from runelift.ir.base.errors import CompilerBug, CompilerLimitation, RuneliftError, UserError
from runelift.ir.base.project_links import install
from runelift.runtime.cache import disk, private
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.devices.comparable import devices_of, model_of, place_of
from runelift.runtime.devices.info import DeviceInfo, find_devices, spec_of
from runelift.runtime.host import interrupts
from runelift.runtime.programs.program import Program
from runelift.runtime.tuner.costs.log import LoggedRun, Measurements
from runelift.runtime.tuner.measure import measuring
from runelift.runtime.tuner.measure.protocols import Dataset, Job, MeasuringMethod, Progress
from runelift.runtime.tuner.measure.time_limits import TimeLimit
from runelift.runtime.tuner.measure.work_sharing import LOST
from runelift.runtime.tuner.workers.runners import Runners

CONNECT_SECONDS = 30.0
"""After how many seconds there should be a scheduler, and a machine that works for it."""
POLL_SECONDS = 0.1
"""The time between looks for Ctrl-C, and for a free device (seconds)."""


@dataclass(frozen=True, slots=True)
class _Task:
    """A job for another machine, without functions of this process or parts of this machine."""

    compiled: Compiled
    policy: str
    contract: bool
    memory: int | None
    thresholds: Mapping[str, int]
    make: str
    limit: TimeLimit
    entry: str
    dataset: str
    arguments: Sequence[Any]
    method: MeasuringMethod
    repeats: int


class _UnlikeMachine(UserError):
    """A machine has no device of the make that is measured, or is not like ours otherwise."""


def do(task: _Task) -> Measurements:
    """Do a task on this machine, on a device that no other task measures on."""
    with _reserved(task.make) as info, Runners([spec_of(info)]) as runners:
        program = Program(task.compiled, info, task.thresholds, task.policy,
                          fp_contract=task.contract)
        program.loaded.memory = task.memory
        runner = runners.open(program, task.limit)
        dataset = Dataset(task.dataset, task.entry, lambda: task.arguments)
        job = Job(program.tree.entry(task.entry), dataset, task.method, task.repeats)
        return measuring.do(job, runner, place_of(info))


def edition() -> str:
    """The fingerprint of this Runelift, equal on all machines with equal sources."""
    digest = sha256()
    for folder in disk.folders():
        for path in sorted(folder.rglob("*")):
            inner = path.relative_to(folder.parent)
            if path.is_file() and "__pycache__" not in inner.parts and "api" not in inner.parts:
                digest.update(f"{inner}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def inspect() -> tuple[str, list[str]]:
    """The edition of Runelift on this machine, and its devices."""
    return edition(), [model_of(info) for info in find_devices() if info.problem is None]


@contextlib.contextmanager
def _reserved(make: str) -> Iterator[DeviceInfo]:
    """A device of this machine for this task alone, as soon as one is free."""
    infos = devices_of(make)
    if not infos:
        raise _UnlikeMachine(f"A machine of the scheduler has no device '{make}'.")
    while True:
        for info in infos:
            with _opened(_lock_of(info)) as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                yield info
                return
        time.sleep(POLL_SECONDS)


def _lock_of(info: DeviceInfo) -> Path:
    """The file that stands for a device, for all processes of a user on this machine."""
    try:  # processes may see different devices of a machine, each as its first
        which = f"bus {info.handle.pci_bus_id_nv}, slot {info.handle.pci_slot_id_nv}"
    except (AttributeError, cl.Error):
        which = spec_of(info)
    name = sha256(f"{info.label}\0{which}".encode()).hexdigest()[:16]
    return _lock_folder() / f"{name}.lock"


def _opened(lock: Path) -> BinaryIO:
    """A lock's file, which is made if it is missing; a link is not followed."""
    try:
        return open(private.open_file(lock, os.O_RDWR | os.O_CREAT), "rb")
    except OSError as error:
        raise UserError(f"Cannot lock a device with '{lock}': {error}.") from None


def _lock_folder() -> Path:
    """The folder of this user's locks on this machine, which no other user can change."""
    folder = Path(tempfile.gettempdir()) / f"runelift-{os.getuid()}"
    try:
        private.make(folder)
        why = "it is a link" if folder.is_symlink() else private.obstacle(folder)
    except OSError as error:
        why = str(error.strerror)
    if why is not None:
        raise UserError(f"Cannot lock devices in '{folder}': {why}.  TMPDIR may name another "
                        "folder for temporary files.")
    return folder


class Cluster:
    """The machines of a Dask scheduler, with devices like the one that ``program`` is for."""

    def __init__(self, scheduler: str, program: Program, limit: TimeLimit) -> None:
        assert program.device_info is not None
        self._program, self._limit = program, limit
        self._make = model_of(program.device_info)
        distributed = _distributed()
        try:
            self._client = distributed.Client(scheduler, timeout=CONNECT_SECONDS,
                                              set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise UserError(f"There is no Dask scheduler at '{scheduler}' ({error}).  'dask "
                            "scheduler' starts one, and says its address.") from None
        try:
            self._check(scheduler)
        except BaseException:
            self.close()
            raise

    def _check(self, scheduler: str) -> None:
        try:
            self._client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except TimeoutError:
            raise UserError(f"No machine works for the scheduler at '{scheduler}': start 'dask "
                            f"worker {scheduler}' on each.") from None
        ours = edition()
        for address, found in self._client.run(inspect, on_error="return").items():
            if isinstance(found, Exception):
                raise UserError(f"The machine at '{address}' has no Runelift that works: {found}.")
            theirs, makes = found
            if theirs != ours:
                raise UserError(f"The machine at '{address}' has another edition of Runelift, "
                                "whose kernels may be other ones.")
            if self._make not in makes:
                raise UserError(
                    f"The machine at '{address}' has no device '{self._make}', and times of "
                    f"unlike devices must not be mixed.  It has "
                    f"{', '.join(map(str, makes)) or 'none'}.")

    def __len__(self) -> int:
        threads: Mapping[str, int] = self._client.nthreads()
        return max(1, sum(threads.values()))

    def places(self) -> Collection[str]:
        """None: a dataset comes as a whole."""
        return ()

    def parts(self, datasets: int) -> int:
        """The number of parts that occupies all devices: each device begins with nothing."""
        return max(1, math.ceil(len(self) / max(1, datasets)))

    def measure(self, jobs: Sequence[Job], take: Callable[[Job, LoggedRun], None],
                progress: Callable[[Job, Progress], None]) -> list[tuple[Job, Measurements]]:
        """Have all jobs done; a job's runs come together."""
        waiting, found = dict[Any, Job](), dict[int, Measurements]()

        def over(job: Job, measured: Measurements) -> None:
            found[id(job)] = measured
            for run in measured.runs:
                take(job, run)
            progress(job, Progress(job.dataset.name, 1, 1))

        try:
            for job in jobs:
                try:
                    waiting[self._submit(job)] = job
                except (UserError, CompilerLimitation) as error:  # there are no such inputs
                    over(job, _failed(job, str(error)))
            while waiting:
                for future in [each for each in waiting if each.done()]:
                    over(job := waiting.pop(future), _outcome(future, job))
                interrupts.check()
                time.sleep(POLL_SECONDS if waiting else 0)
        except KeyboardInterrupt:
            interrupts.request()
        finally:
            self._client.cancel(list(waiting), force=True)
        return [(job, found[id(job)]) for job in jobs if id(job) in found]

    def _submit(self, job: Job) -> Any:
        program = self._program
        task = _Task(program.compiled, program.policy, program.loaded.fp_contract, program.memory,
                     dict(program.thresholds), self._make, self._limit, job.forest.entry,
                     job.dataset.name, job.dataset.arguments(), job.method, job.repeats)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that inputs are large
            return self._client.submit(do, task, pure=False)

    def close(self) -> None:
        """Leave the scheduler."""
        self._client.close()


def _outcome(future: Any, job: Job) -> Measurements:
    if future.cancelled():
        raise UserError("The connection to the Dask scheduler was lost; --resume goes on with what "
                        "has been measured.")
    error = future.exception()
    if error is None:
        found: Measurements = future.result()
        return found
    if isinstance(error, _UnlikeMachine | CompilerBug):
        raise error
    return _failed(job, str(error) if isinstance(error, RuneliftError) else
                   f"{LOST}: no machine was there at its end ({str(error).split('. ')[0]})")


def _failed(job: Job, why: str) -> Measurements:
    return Measurements(job.forest.entry, [
        LoggedRun(job.dataset.name, dict(force), None,
                  why) for force in job.method.plans(job.forest)])


def _distributed() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError:
        raise UserError("--scheduler needs the package 'distributed': "
                        f"{install('dask')}.") from None
