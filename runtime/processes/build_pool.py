"""A pool of processes that build kernels into the cache of binaries.

It serves devices whose compiler builds one program at a time in each process.  It builds while
another process measures, or builds the kernels of a first run
(:mod:`runelift.runtime.prebuild.first_run`).
"""

from __future__ import annotations

import os
import re
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, nullcontext
from multiprocessing.connection import wait
from typing import TypeAlias

from runelift.runtime.devices import probe_results
from runelift.runtime.devices.driver.build import BUILD, BuildTarget
from runelift.runtime.devices.driver.icd import has_driver
from runelift.runtime.host import interrupts
from runelift.runtime.host.channel import receive, send
from runelift.runtime.processes.process import Process, probers_started_ahead

Source: TypeAlias = tuple[str, ...]
"""The text of a program, and the options to build it with."""
Job: TypeAlias = Source | str
"""A program to build, or the name of a probe (:data:`PROBE_REQUESTS`)."""
PROBE_REQUESTS = ("probe_subgroups", "probe_forward_progress")
"""Requests for the probes of a device, whose results are cached."""
MAX_BUILDERS = 14
"""The largest number of processes, as each takes time to start."""
BYTES_PER_BUILDER = 2 << 30
"""Memory of the device for each process."""
OTHER_CORES = 2
"""Cores for the processes that run the program and tune."""
CHARACTERS_PER_ITERATION, MAX_ITERATIONS = 100, 600
"""The characters that take as long to build as an iteration of an unrolled loop, and the largest
number of iterations that count.  Most iterations of longer loops are alike (NVIDIA's compiler)."""
START_SECONDS = 300.0
"""Seconds after which a process that is not ready is taken for a lost one."""
POLL_SECONDS = 0.02
"""Seconds between looks for Ctrl-C and for programs to build."""

_CONSTANTS = re.compile(r"^#define (\w+) (\d+)L$", re.MULTILINE)
_UNROLLED = re.compile(r"^( *)#pragma unroll\n *for \(\w+ (\w+) = [^;]*; \w+ < (\w+?)L?;",
                       re.MULTILINE)


def how_many(global_bytes: int) -> int:
    """The number of processes for a device with so many bytes of memory."""
    return max(1, min(MAX_BUILDERS, (os.cpu_count() or 1) - OTHER_CORES,
                      global_bytes // BYTES_PER_BUILDER))


def probing_started_ahead(device: str | None) -> AbstractContextManager[None]:
    """Start the processes that probe a device before the device has been found.

    They import as much as the command does, and their results are needed when the program is
    compiled.  They serve NVIDIA's devices, whose compiler builds one program at a time in each
    process, as long as no results are cached.
    """
    if has_driver() and not probe_results.are_any():
        return probers_started_ahead(device, len(PROBE_REQUESTS))
    return nullcontext()


class Builders:
    """Processes that wait for programs to build; they start in the background.

    They open the device after a call of ``first``.  Before all programs, some of them run the
    ``probes``.  With a ``target``, they build through the driver alone.  With an ``idle_timeout``,
    they end after so many seconds without work, and this process does not wait for their end.  With
    ``on_demand``, they start with the first program, as they would keep other processes from the
    driver.
    """

    def __init__(self, device: str | None, count: int, *,
                 first: Callable[[], object] | None = None, probes: Sequence[str] = (),
                 idle_timeout: float | None = None, on_demand: bool = False,
                 target: BuildTarget | None = None) -> None:
        self._device = device
        self._max_count = count
        self._idle_timeout = idle_timeout
        self._changed = threading.Condition()
        self._waits, self._probes, self._target = on_demand, len(probes), target
        self._processes: list[Process] = []
        self._starting = set[Process]()
        self._since = weakref.WeakKeyDictionary[Process, float]()
        """The times at which processes were started, or began their last program."""
        self._late = set[Job]()
        """Programs that took too long."""
        if not on_demand:
            with self._changed:
                self._start(held=first is not None)
        self._queue: list[Job] = [*probes]
        self._busy: dict[Process, Job] = {}
        self._done: set[Job] = set()
        self._ended = self._taking = self._failed = False
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()
        if first is not None and not on_demand:
            # drivers must not be at work when Python ends, which waits for the thread
            threading.Thread(target=self._release, args=(first,)).start()

    @property
    def started(self) -> bool:
        """True if there are processes; on demand, there are none without a program to build."""
        return bool(self._processes)

    @property
    def count(self) -> int:
        """The number of programs that are built at the same time."""
        return self._max_count if self._waits else len(self._processes)

    def _start(self, *, held: bool = False) -> None:
        self._waits = False
        last = None
        for number in range(self._max_count):
            last = Process(self._device, builds=True, probes=number < self._probes, held=held,
                           after=last, target=self._target)
            self._processes.append(last)
        for process in self._processes if self._idle_timeout is not None else ():
            process.outlive()
        self._starting.update(self._processes)
        self._since.update(dict.fromkeys(self._processes, time.perf_counter()))
        self._changed.notify_all()

    def begin(self, sources: Sequence[Source]) -> None:
        """Build programs, the longest first, after all earlier programs."""
        with self._changed:
            new = self._new(sources)
            if new and self._waits:
                self._start()
            self._queue += sorted(new, key=_effort, reverse=True)
            self._changed.notify_all()

    def build(self, sources: Sequence[Source], seconds: float) -> set[Source]:
        """Build programs before all other programs, and wait for them; failures are not reported.

        The result has the programs that were not built in so many seconds each.
        """
        with self._changed:
            self._put_first(sources)
            self._wait_for(set(sources), seconds)
            return {each for each in sources if each in self._late}

    def share(self, sources: Sequence[Source], here: Callable[[Source], None],
              seconds: float, meanwhile: Callable[[], None]) -> None:
        """Build programs before all other programs, some of them ``here`` in this process.

        It calls ``meanwhile`` as soon as the other processes have begun.
        """
        requested = set(sources)
        with self._changed:
            self._put_first(sources)
            self._hand_out()
        meanwhile()
        while True:
            with self._changed:
                mine = next((each for each in self._queue
                             if not isinstance(each, str) and each in requested), None)
                if mine is None:
                    self._wait_for(requested, seconds)
                    return
                self._queue.remove(mine)
            here(mine)
            with self._changed:
                self._done.add(mine)

    def take_over(self, probe: str) -> None:
        """Leave a probe to this process, unless one runs it already: then wait for it."""
        with self._changed:
            if probe in self._queue:
                self._queue.remove(probe)
            while self._processes and probe in self._busy.values():
                self._changed.wait(POLL_SECONDS)
                interrupts.check()

    def wait_for_probes(self, seconds: float) -> None:
        """Wait until the probes are over, if there are processes for them."""
        end = time.perf_counter() + seconds
        with self._changed:
            while time.perf_counter() < end and any(each.probes
                                                    for each in self._processes) and any(
                    isinstance(job, str) for job in (*self._queue, *self._busy.values())):
                self._changed.wait(POLL_SECONDS)
                interrupts.check()

    def take_worker(self) -> Process | None:
        """The first idle process, to run programs; another one starts in its place.

        None if there are none.  To wait for an idle one takes less time than to start another.
        """
        with self._changed:
            self._taking = True
            try:
                while any(each.is_there for each in self._processes):
                    idle = [each for each in self._idle() if each.is_there]
                    if idle:
                        self._processes.remove(idle[0])
                        self._processes.append(another := Process(
                            self._device, builds=True, target=self._target))
                        self._starting.add(another)
                        self._since[another] = time.perf_counter()
                        return idle[0]
                    self._changed.wait(POLL_SECONDS)
                    interrupts.check()
                return None
            finally:
                self._taking = False
                self._changed.notify_all()

    def end(self) -> None:
        """End all processes without waiting for their end, which takes each of them a while."""
        self._stop()
        for process in self._processes:
            process.end()
        self._processes.clear()

    def end_when_idle(self, seconds: float) -> None:
        """Drop all jobs; let the processes end after this time."""
        with self._changed:
            self._idle_timeout = seconds
            self._queue.clear()
            self._changed.notify_all()

    def close(self) -> None:
        """End all processes, and wait for their end."""
        self._stop()
        for process in self._processes:
            process.kill()
        self._processes.clear()

    def _stop(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self._thread.join()

    def _new(self, sources: Sequence[Source]) -> list[Job]:
        known = {*self._queue, *self._busy.values(), *self._done}
        return [each for each in dict.fromkeys(sources) if each not in known]

    def _put_first(self, sources: Sequence[Source]) -> None:
        """Move programs to the front of the queue."""
        requested = set[Job](sources)
        urgent = [*self._new(sources), *(each for each in self._queue if each in requested)]
        if urgent and self._waits:
            self._start()
        others = [each for each in self._queue if each not in requested]
        self._queue = [*sorted(urgent, key=_effort, reverse=True), *others]
        self._changed.notify_all()

    def _wait_for(self, requested: AbstractSet[Job], seconds: float) -> None:
        """Wait until these are built; processes that take too long for a program are ended."""
        while self._processes and not self._done >= requested:
            self._changed.wait(POLL_SECONDS)
            interrupts.check()
            now = time.perf_counter()
            for process in [each for each in self._processes
                            if now > self._since[each] + (seconds if each in self._busy
                                                          else START_SECONDS)]:
                if (job := self._busy.get(process)) is not None:
                    self._late.add(job)
                if job is not None or process in self._starting:
                    self._lost(process)

    def _idle(self) -> list[Process]:
        """Processes that have started, and have no job."""
        return [each for each in self._processes
                if each not in self._busy and each not in self._starting]

    def _work(self) -> None:
        """Hand out jobs and note their ends, until the end of the pool."""
        while True:
            with self._changed:
                self._hand_out()
                if self._failed:
                    self._give_up()
                while not (self._busy or self._starting or self._ended):
                    if not self._changed.wait(self._idle_timeout):
                        self._give_up()
                    self._hand_out()
                if self._ended:
                    return
                answering = {process.connection: process
                             for process in (*self._busy, *self._starting)}
            ready = wait(list(answering), POLL_SECONDS)
            with self._changed:
                for connection in ready:
                    process = answering[connection]  # type: ignore[index]
                    if process in self._processes:
                        self._answered(process)

    def _release(self, first: Callable[[], object]) -> None:
        """Let the processes open the device after ``first``; they end if that fails."""
        with self._changed:
            processes = list(self._processes)
        try:
            first()
        except Exception:  # the run of the program will report it
            self._failed = True
        else:
            for process in processes:
                process.go()

    def _hand_out(self) -> None:
        for process in self._idle():
            if self._taking or not self._queue:
                return
            job = next((each for each in self._queue
                        if process.probes or not isinstance(each, str)), None)
            if job is None:
                continue
            try:
                send(process.connection, (job,) if isinstance(job, str) else (BUILD, job))
            except OSError:
                self._lost(process)
                continue
            self._queue.remove(job)
            self._busy[process], self._since[process] = job, time.perf_counter()
        if not self._processes:
            self._done.update(self._queue)
            self._queue.clear()
            self._changed.notify_all()

    def _answered(self, process: Process) -> None:
        """Note that a process is ready for the first time, or has done its job."""
        try:
            receive(process.connection)
        except (EOFError, OSError):
            self._lost(process)
        else:
            if process in self._busy:
                self._done.add(self._busy.pop(process))
            self._starting.discard(process)
            self._changed.notify_all()

    def _lost(self, process: Process) -> None:
        """End a process, and count its job as done."""
        process.kill()
        self._processes.remove(process)
        self._starting.discard(process)
        if (source := self._busy.pop(process, None)) is not None:
            self._done.add(source)
        self._changed.notify_all()

    def _give_up(self) -> None:
        """End all processes: there was no job for long, or the device does not open."""
        self._ended = True
        for process in self._processes:
            process.end()
        self._processes.clear()
        self._starting.clear()
        self._busy.clear()
        self._changed.notify_all()


def _effort(job: Job) -> int:
    """An estimate of the time that a program takes to build, in characters."""
    return 0 if isinstance(job, str) else (
        len(job[0]) + CHARACTERS_PER_ITERATION * min(MAX_ITERATIONS, unrolled(job[0])))


def unrolled(text: str) -> int:
    """The number of iterations that a compiler writes out for unrolled loops.

    A bound that is the variable of another loop counts as half of that loop's bound.
    """
    known = {name: int(value) for name, value in _CONSTANTS.findall(text)}
    around, count = list[tuple[int, int]](), 0
    for indent, variable, bound in _UNROLLED.findall(text):
        while around and around[-1][0] >= len(indent):
            around.pop()
        times = int(bound) if bound.isdigit() else known.get(bound, 1)
        known[variable] = times // 2
        all_times = times * (around[-1][1] if around else 1)
        around.append((len(indent), all_times))
        count += all_times
    return count
