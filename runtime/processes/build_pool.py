"""Processes that build kernels, for devices whose compiler does one program at a time in each.

What they build is in the binary cache, where the process that runs the program finds it.  They go
on while that measures what has been built already, or build what a first run needs
(:mod:`runelift.runtime.prebuild.first_run`).
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, nullcontext
from multiprocessing.connection import wait
from typing import TypeAlias

from runelift.runtime.devices import probe_results as proofs
from runelift.runtime.devices.driver import icd as early
from runelift.runtime.devices.driver.build import BUILD, BuildTarget
from runelift.runtime.host import interrupts
from runelift.runtime.host.channel import receive, send
from runelift.runtime.processes.process import Process, trying_ahead

Source: TypeAlias = tuple[str, ...]
"""The text of a program, and the options to build it with."""
Job: TypeAlias = Source | str
"""A program to build, or the name of a trial (:data:`TRIALS`)."""
TRIALS = ("probe_subgroups", "probe_forward_progress")
"""What :class:`~runelift.runtime.devices.context.Device` finds out about itself once and for
all."""
MOST = 14
"""How many processes there are at most; each takes time to start,"""
ROOM = 2 << 30
"""and memory of the device, of which there are to be so many bytes for each."""
OTHERS = 2
"""How many cores are for those who run the program and compute meanwhile."""
ITERATION, ITERATIONS = 100, 600
"""To build an iteration of an unrolled loop takes about as long as so many characters, up to so
many iterations: where there are more, most are alike (measured with NVIDIA's compiler)."""
TICK = 0.02
"""How often to look for Ctrl-C, and for programs to build, meanwhile (seconds)."""

_CONSTANTS = re.compile(r"^#define (\w+) (\d+)L$", re.MULTILINE)
_UNROLLED = re.compile(r"^( *)#pragma unroll\n *for \(\w+ (\w+) = [^;]*; \w+ < (\w+?)L?;",
                       re.MULTILINE)


def how_many(global_bytes: int) -> int:
    """How many processes build for a device with so much memory."""
    return max(1, min(MOST, (os.cpu_count() or 1) - OTHERS, global_bytes // ROOM))


def tried_ahead(device: str | None) -> AbstractContextManager[None]:
    """Start the processes that make the trials of a device before it has been found.

    They import as much as the command does, and what they find out is needed by the time that the
    program is compiled.  Only where the compiler of the device does one program at a time in each
    process, which is NVIDIA's, and where no device has passed a trial yet.
    """
    if early.has_driver() and not proofs.are_any():
        return trying_ahead(device, len(TRIALS))
    return nullcontext()


class Builders:
    """Processes that wait for programs to build; they start in the background.

    They do not open the device before ``first`` has been done.  Before all programs they make the
    ``trials``, those of them that are ready for it.  Who can build through the driver alone is told
    how (``bare``).  With ``patience``, they end when there has been nothing to do for so many
    seconds, and are not waited for when this process ends.  Where probably ``nothing`` is to be
    built, they do not start before something is: they would keep others from the driver.
    """

    def __init__(self, device: str | None, count: int, *,
                 first: Callable[[], object] | None = None, trials: Sequence[str] = (),
                 patience: float | None = None, nothing: bool = False,
                 bare: BuildTarget | None = None) -> None:
        self._device = device
        self._most = count
        self._patience = patience
        self._changed = threading.Condition()
        self._waits, self._trials, self._bare = nothing, len(trials), bare
        self._processes: list[Process] = []
        self._starting = set[Process]()
        if not nothing:
            with self._changed:
                self._start(held=first is not None)
        self._left: list[Job] = [*trials]
        self._busy: dict[Process, Job] = {}
        self._over: set[Job] = set()
        self._ended = self._taking = self._hopeless = False
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()
        if first is not None and not nothing:
            # drivers must not be at work when Python ends, which waits for the thread
            threading.Thread(target=self._let_go, args=(first,)).start()

    @property
    def there(self) -> bool:
        """Whether there are processes; none has been started where there was nothing to build."""
        return bool(self._processes)

    @property
    def count(self) -> int:
        """How many programs are built at the same time."""
        return self._most if self._waits else len(self._processes)

    def _start(self, *, held: bool = False) -> None:
        """Start the processes."""
        self._waits = False
        last = None
        for number in range(self._most):
            last = Process(self._device, builds=True, tries=number < self._trials, held=held,
                           after=last, bare=self._bare)
            self._processes.append(last)
        for process in self._processes if self._patience is not None else ():
            process.outlive()
        self._starting.update(self._processes)
        self._changed.notify_all()

    def begin(self, sources: Sequence[Source]) -> None:
        """Have programs built, the longest first, after all that was asked for before."""
        with self._changed:
            new = self._new(sources)
            if new and self._waits:
                self._start()
            self._left += sorted(new, key=_effort, reverse=True)
            self._changed.notify_all()

    def build(self, sources: Sequence[Source], seconds: float) -> None:
        """Build programs before all others, and wait for them; what does not build is left."""
        with self._changed:
            self._put_first(sources)
            self._wait_for(set(sources), time.perf_counter() + seconds)

    def share(self, sources: Sequence[Source], here: Callable[[Source], None],
              seconds: float, meanwhile: Callable[[], None]) -> None:
        """The same, where this process builds programs as well, ``here``.

        As soon as others have some to build, it does ``meanwhile`` what else there is to do.
        """
        asked, end = set(sources), time.perf_counter() + seconds
        with self._changed:
            self._put_first(sources)
            self._hand_out()
        meanwhile()
        while True:
            with self._changed:
                mine = next((each for each in self._left
                             if not isinstance(each, str) and each in asked), None)
                if mine is None:
                    self._wait_for(asked, end)
                    return
                self._left.remove(mine)
            here(mine)
            with self._changed:
                self._over.add(mine)

    def leave(self, trial: str) -> None:
        """Wait for a trial that is being made; nobody begins it any more."""
        with self._changed:
            if trial in self._left:
                self._left.remove(trial)
            while self._processes and trial in self._busy.values():
                self._changed.wait(TICK)
                interrupts.check()

    def settle(self, seconds: float) -> None:
        """Wait until the trials are over, if somebody is there to make them."""
        end = time.perf_counter() + seconds
        with self._changed:
            while time.perf_counter() < end and any(each.tries for each in self._processes) and any(
                    isinstance(job, str) for job in (*self._left, *self._busy.values())):
                self._changed.wait(TICK)
                interrupts.check()

    def take(self) -> Process | None:
        """The first of them that is idle, as a worker, in whose place another one starts.

        None if there are none.  To wait for what it builds takes less time than to start another.
        """
        with self._changed:
            self._taking = True
            try:
                while any(each.is_there for each in self._processes):
                    idle = [each for each in self._idle() if each.is_there]
                    if idle:
                        self._processes.remove(idle[0])
                        self._processes.append(another := Process(self._device, builds=True,
                                                                  bare=self._bare))
                        self._starting.add(another)
                        return idle[0]
                    self._changed.wait(TICK)
                    interrupts.check()
                return None
            finally:
                self._taking = False
                self._changed.notify_all()

    def end(self) -> None:
        """End all processes without waiting for it: that takes each of them a while."""
        self._stop()
        for process in self._processes:
            process.end()
        self._processes.clear()

    def rest(self, seconds: float) -> None:
        """Let them end after this time without anything to do."""
        with self._changed:
            self._patience = seconds
            self._left.clear()
            self._changed.notify_all()

    def close(self) -> None:
        """End all processes, and wait until they are gone."""
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
        """Those that nobody has asked for yet."""
        known = {*self._left, *self._busy.values(), *self._over}
        return [each for each in dict.fromkeys(sources) if each not in known]

    def _put_first(self, sources: Sequence[Source]) -> None:
        """Programs to build before all others."""
        asked = set[Job](sources)
        wanted = [*self._new(sources), *(each for each in self._left if each in asked)]
        if wanted and self._waits:
            self._start()
        others = [each for each in self._left if each not in asked]
        self._left = [*sorted(wanted, key=_effort, reverse=True), *others]
        self._changed.notify_all()

    def _wait_for(self, asked: AbstractSet[Job], end: float) -> None:
        """Wait until these are over; those who take too long are lost."""
        while self._processes and not self._over >= asked:
            self._changed.wait(TICK)
            interrupts.check()
            if time.perf_counter() > end:
                for process in list(self._busy):
                    self._lost(process)

    def _idle(self) -> list[Process]:
        """Those that have started, and have nothing to do."""
        return [each for each in self._processes
                if each not in self._busy and each not in self._starting]

    def _work(self) -> None:
        """Hand out programs and take note of what is over, until the end."""
        while True:
            with self._changed:
                self._hand_out()
                if self._hopeless:
                    self._give_up()
                while not (self._busy or self._starting or self._ended):
                    if not self._changed.wait(self._patience):
                        self._give_up()
                    self._hand_out()
                if self._ended:
                    return
                answering = {process.connection: process
                             for process in (*self._busy, *self._starting)}
            ready = wait(list(answering), TICK)
            with self._changed:
                for connection in ready:
                    process = answering[connection]  # type: ignore[index]
                    if process in self._processes:
                        self._answered(process)

    def _let_go(self, first: Callable[[], object]) -> None:
        """Let the processes open the device; they end if this one fails to do so."""
        with self._changed:
            processes = list(self._processes)
        try:
            first()
        except Exception:  # whoever runs the program will find out
            self._hopeless = True
        else:
            for process in processes:
                process.go()

    def _hand_out(self) -> None:
        for process in self._idle():
            if self._taking or not self._left:
                return
            job = next((each for each in self._left
                        if process.tries or not isinstance(each, str)), None)
            if job is None:
                continue
            try:
                send(process.connection, (job,) if isinstance(job, str) else (BUILD, job))
            except OSError:
                self._lost(process)
                continue
            self._left.remove(job)
            self._busy[process] = job
        if not self._processes:
            self._over.update(self._left)
            self._left.clear()
            self._changed.notify_all()

    def _answered(self, process: Process) -> None:
        """A process is ready for the first time, or has done what it was to do."""
        try:
            receive(process.connection)
        except (EOFError, OSError):
            self._lost(process)
        else:
            if process in self._busy:
                self._over.add(self._busy.pop(process))
            self._starting.discard(process)
            self._changed.notify_all()

    def _lost(self, process: Process) -> None:
        """A process is gone, or is to be."""
        process.kill()
        self._processes.remove(process)
        self._starting.discard(process)
        if (source := self._busy.pop(process, None)) is not None:
            self._over.add(source)
        self._changed.notify_all()

    def _give_up(self) -> None:
        """Nobody has asked for anything for long, or nobody can do anything."""
        self._ended = True
        for process in self._processes:
            process.end()
        self._processes.clear()
        self._starting.clear()
        self._busy.clear()
        self._changed.notify_all()


def _effort(job: Job) -> int:
    """About how long a program takes to build, in characters."""
    return 0 if isinstance(job, str) else (
        len(job[0]) + ITERATION * min(ITERATIONS, unrolled(job[0])))


def unrolled(text: str) -> int:
    """How many iterations of loops that are unrolled a compiler writes out.

    A bound that is another loop's variable is half of what that goes up to.
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
