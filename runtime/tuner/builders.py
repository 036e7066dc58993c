"""Processes that build kernels, for devices whose compiler does one program at a time in each.

What they build is in the binary cache, where the process that runs the program finds it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from typing import TypeAlias

from runelift.runtime import interrupts
from runelift.runtime.tuner.channel import receive, send
from runelift.runtime.tuner.process import Process

Source: TypeAlias = tuple[str, ...]
"""The text of a program, and the options to build it with."""
MOST = 6
"""How many processes there are at most; each takes memory of the device, and time to start."""
TICK = 0.05
"""How often to look for Ctrl-C meanwhile (seconds)."""


class Builders:
    """Processes that wait for programs to build; they start in the background."""

    def __init__(self, device: str | None, count: int | None = None) -> None:
        if count is None:
            count = min(MOST, (os.cpu_count() or 1) // 2)
        self._device = device
        self._processes = [Process(device, builds=True) for _ in range(count)]
        self._building = threading.Lock()

    @property
    def count(self) -> int:
        """How many programs are built at the same time."""
        return len(self._processes)

    def build(self, sources: Sequence[Source], seconds: float) -> None:
        """Build programs, the longest first, as far as possible; what does not build is left.

        Several threads may ask; one after the other is served.
        """
        with self._building:
            self._build(sources, seconds)

    def _build(self, sources: Sequence[Source], seconds: float) -> None:
        left = sorted(sources, key=lambda source: len(source[0]))
        busy: dict[Connection, Process] = {}
        idle, end = list(self._processes), time.perf_counter() + seconds
        while left or busy:
            while left and idle:
                process = idle.pop()
                try:
                    send(process.connection, ("build", left[-1]))
                except OSError:
                    self._forget(process)
                    continue
                left.pop()
                busy[process.connection] = process
            if not busy:  # there is no process any more
                return
            for connection in wait(list(busy), TICK):
                assert isinstance(connection, Connection)
                process = busy.pop(connection)
                try:
                    receive(connection)
                    idle.append(process)
                except (EOFError, OSError):
                    self._forget(process)
            if time.perf_counter() > end:
                for process in busy.values():
                    self._forget(process)
                return
            interrupts.check()

    def take(self) -> Process | None:
        """One of them as a worker, in whose place another one starts; None if they are busy."""
        if not self._building.acquire(blocking=False):
            return None
        try:
            taken = next((each for each in self._processes if each.is_there), None)
            if taken is not None:
                self._processes.remove(taken)
                self._processes.append(Process(self._device, builds=True))
            return taken
        finally:
            self._building.release()

    def end(self) -> None:
        """End all processes without waiting for it: that takes each of them a while."""
        for process in self._processes:
            process.end()
        self._processes.clear()

    def close(self) -> None:
        """End all processes, and wait until they are gone."""
        for process in list(self._processes):
            self._forget(process)

    def _forget(self, process: Process) -> None:
        process.kill()
        self._processes.remove(process)
