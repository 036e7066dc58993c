"""The time that requests to a worker may take."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from runelift.runtime.tuner.measure.time_limits import RunStopped, TimeLimit

BUILD_SECONDS = 300.0
"""The time after which a build, or other work before a run, is taken for an endless one."""


class Watchdog:
    """The clock of a request, which starts again at each message of the worker."""

    def __init__(self, limit: TimeLimit, seconds: float) -> None:
        self._limit = limit
        self._allowed = [seconds]
        self._attempts: list[tuple[str, int | None, float | None]] = []
        self._since = time.perf_counter()
        self._building = False
        self._begun = False

    def note(self, kind: str, data: Sequence[Any]) -> None:
        """Start the clock again, at a message."""
        self._since = time.perf_counter()
        self._begun = True
        if kind == "building":
            self._building = data[0]
        elif kind == "attempt" and data[0] is None:
            self._attempts.pop()
            self._allowed.pop()
        elif kind == "attempt" and data[0]:
            version, quickest, par = data
            self._attempts.append((version, par, quickest))
            self._allowed.append(self._allowed[-1] if quickest is None
                                 else self._limit.after(quickest))

    def left(self) -> float:
        """The seconds that are left, 0 at least."""
        allowed = BUILD_SECONDS if self._building or not self._begun else self._allowed[-1]
        return max(0.0, self._since + allowed - time.perf_counter())

    def expired(self) -> RunStopped:
        """The reason to stop a worker whose time is over."""
        if self._building or not self._begun:
            return self.stopped(f"timeout: it was not built after {BUILD_SECONDS:.0f} s")
        return self.stopped(f"timeout: not over after {self._allowed[-1]:.3g} s",
                            self._allowed[-1])

    def stopped(self, why: str, seconds: float = 0.0) -> RunStopped:
        """The end of a run, with the version that was under way."""
        version, par, best = self._attempts[-1] if self._attempts else (None, None, None)
        return RunStopped(why, version, par, seconds, best)
