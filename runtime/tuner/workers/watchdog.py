"""The time that requests to a worker may take."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from runelift.runtime.tuner.measure.time_limits import TOO_LONG, RunStopped, TimeLimit

BUILD_SECONDS = 300.0
"""The time after which other work before a run is taken for endless, or a build of the default
versions."""
VERSION_BUILD_SECONDS = 20.0
"""The time after which a kernel that other versions can do without is one that cannot run."""


class SlowBuild(RunStopped):
    """One of the programs ``names``, as the cache calls them, was not built in ``limit`` seconds.

    The other programs may have waited for it.  The process ``worked`` for so many seconds
    meanwhile.  These are fewer where other processes keep the machine busy.
    """

    def __init__(self, names: Sequence[str], limit: float, during: str | None = None,
                 worked: float = math.inf) -> None:
        super().__init__(f"timeout: it was not built after {limit:.0f} s", during)
        self.names = names
        self.limit = limit
        self.worked = worked

    @property
    def can_do_without(self) -> bool:
        """True if the request may be repeated without these programs."""
        return self.limit < BUILD_SECONDS


class Watchdog:
    """The clock of a request.

    That of a run starts again at each message of the worker.  That of a build does not.
    ``processor`` gives the seconds that the worker has computed.
    """

    def __init__(self, limit: TimeLimit, seconds: float,
                 processor: Callable[[], float] = time.perf_counter) -> None:
        self._processor = processor
        self._limit = limit
        self._allowed = [seconds]
        self._attempts: list[tuple[str, int | None, float | None]] = []
        self._since = time.perf_counter()
        self._builds: dict[str, tuple[float, float, float]] = {}
        self._begun = False

    def note(self, kind: str, data: Sequence[Any]) -> None:
        """Start the clock again, at a message."""
        self._since = time.perf_counter()
        self._begun = True
        if kind == "building":
            name, seconds = data
            self._builds[name] = self._since + seconds, seconds, self._processor()
        elif kind == "built":
            self._builds.pop(data[0], None)
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
        end = (min(end for end, *_ in self._builds.values()) if self._builds else
               self._since + (self._allowed[-1] if self._begun else BUILD_SECONDS))
        return max(0.0, end - time.perf_counter())

    def expired(self) -> RunStopped:
        """The reason to stop a worker whose time is over."""
        if self._builds:
            version = self._attempts[-1][0] if self._attempts else None
            _, limit, begun = min(self._builds.values())
            return SlowBuild(list(self._builds), limit, version, self._processor() - begun)
        if not self._begun:
            return self.stopped(f"timeout: it was not ready after {BUILD_SECONDS:.0f} s")
        return self.stopped(f"{TOO_LONG} {self._allowed[-1]:.3g} s",
                            self._allowed[-1])

    def stopped(self, why: str, seconds: float = 0.0) -> RunStopped:
        """The end of a run, with the version that was under way."""
        version, par, best = self._attempts[-1] if self._attempts else (None, None, None)
        return RunStopped(why, version, par, seconds, best)
