"""Processes that build kernels, for devices whose compiler does one program at a time in each.

What they build is in the binary cache, where the process that runs the program finds it.  They go
on while that measures what has been built already.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import wait
from typing import TypeAlias

from runelift.runtime import interrupts
from runelift.runtime.processes.channel import receive, send
from runelift.runtime.processes.process import Process

Source: TypeAlias = tuple[str, ...]
"""The text of a program, and the options to build it with."""
MOST = 6
"""How many processes there are at most; each takes memory of the device, and time to start."""
TICK = 0.02
"""How often to look for Ctrl-C, and for programs to build, meanwhile (seconds)."""


class Builders:
    """Processes that wait for programs to build; they start in the background."""

    def __init__(self, device: str | None, count: int | None = None) -> None:
        if count is None:
            count = min(MOST, (os.cpu_count() or 1) // 2)
        self._device = device
        self._processes = [Process(device, builds=True) for _ in range(count)]
        self._changed = threading.Condition()
        self._left: list[Source] = []
        self._busy: dict[Process, Source] = {}
        self._over: set[Source] = set()
        self._ended = self._taking = False
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    @property
    def count(self) -> int:
        """How many programs are built at the same time."""
        return len(self._processes)

    def begin(self, sources: Sequence[Source]) -> None:
        """Have programs built, the longest first, after all that was asked for before."""
        with self._changed:
            new = self._new(sources)
            self._left += sorted(new, key=_length, reverse=True)
            self._changed.notify_all()

    def build(self, sources: Sequence[Source], seconds: float) -> None:
        """Build programs before all others, and wait for them; what does not build is left."""
        asked, end = set(sources), time.perf_counter() + seconds
        with self._changed:
            wanted = [*self._new(sources), *(each for each in self._left if each in asked)]
            others = [each for each in self._left if each not in asked]
            self._left = [*sorted(wanted, key=_length, reverse=True), *others]
            self._changed.notify_all()
            while self._processes and not self._over >= asked:
                self._changed.wait(TICK)
                interrupts.check()
                if time.perf_counter() > end:
                    for process in list(self._busy):
                        self._lost(process)

    def take(self) -> Process | None:
        """The first of them that is idle, as a worker, in whose place another one starts.

        None if all have ended.  To wait for what it builds takes less time than to start another.
        """
        with self._changed:
            self._taking = True
            try:
                while any(each.is_there for each in self._processes):
                    idle = [each for each in self._processes
                            if each not in self._busy and each.is_there]
                    if idle:
                        self._processes.remove(idle[0])
                        self._processes.append(Process(self._device, builds=True))
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

    def _new(self, sources: Sequence[Source]) -> list[Source]:
        """Those that nobody has asked for yet."""
        known = {*self._left, *self._busy.values(), *self._over}
        return [each for each in dict.fromkeys(sources) if each not in known]

    def _work(self) -> None:
        """Hand out programs and take note of what is over, until the end."""
        while True:
            with self._changed:
                self._hand_out()
                while not (self._busy or self._ended):
                    self._changed.wait()
                    self._hand_out()
                if self._ended:
                    return
                answering = {process.connection: process for process in self._busy}
            ready = wait(list(answering), TICK)
            with self._changed:
                for connection in ready:
                    self._answered(answering[connection])  # type: ignore[index]

    def _hand_out(self) -> None:
        for process in [each for each in self._processes if each not in self._busy]:
            if self._taking or not self._left:
                return
            try:
                send(process.connection, ("build", self._left[0]))
            except OSError:
                self._lost(process)
                continue
            self._busy[process] = self._left.pop(0)
        if not self._processes:
            self._over.update(self._left)
            self._left.clear()
            self._changed.notify_all()

    def _answered(self, process: Process) -> None:
        try:
            receive(process.connection)
        except (EOFError, OSError):
            self._lost(process)
        else:
            self._over.add(self._busy.pop(process))
            self._changed.notify_all()

    def _lost(self, process: Process) -> None:
        """A process is gone, or is to be."""
        process.kill()
        self._processes.remove(process)
        if (source := self._busy.pop(process, None)) is not None:
            self._over.add(source)
        self._changed.notify_all()


def _length(source: Source) -> int:
    return len(source[0])
