"""The end of child processes with their parent, however that ends.

A parent holds one end of a pipe, its child the other one.  The system closes the parent's end when
the parent ends.  A thread of the child would notice it too late: compilers of kernels keep Python's
lock for minutes.  So a process beside the child waits for it, and kills the child.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import NoReturn

OUTLIVE_SECONDS = 0.3
"""Seconds that a process outlives its parent: drivers take longer to release both at a time."""

LIKELY_DESCRIPTORS = 1 << 10
"""A process that has just started has no descriptors above."""


def end_with_parent(lifeline: int, seconds: float = OUTLIVE_SECONDS) -> None:
    """Kill this process so many seconds after the other end of the pipe ``lifeline`` is closed.

    Call it before there are threads, as it forks.  It does nothing on systems without ``fork``.
    """
    if not hasattr(os, "fork"):
        return
    ended, ours = os.pipe()  # this process keeps its end until its own end
    process = os.getpid()
    if os.fork() == 0:
        _watch(process, lifeline, ended, seconds)
    os.close(ended)
    _kept.append(ours)


_kept: list[int] = []
"""Descriptors that stay open as long as this process runs."""


def _watch(process: int, lifeline: int, ended: int, seconds: float) -> NoReturn:
    """Wait for the end of the process or of its parent."""
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)  # it ends with the process it watches
        _close_all_but(lifeline, ended)
        ready, _, _ = select.select([lifeline, ended], [], [])
        if ended not in ready:
            time.sleep(seconds)
            if os.getppid() == process:  # else it has ended, and its number may be another's
                os.kill(process, signal.SIGKILL)
    finally:
        os._exit(0)


def _close_all_but(*kept: int) -> None:
    """Close all other descriptors: readers of a pipe wait for all that can write to it."""
    for descriptor in _open_descriptors():
        if descriptor not in kept:
            with suppress(OSError):  # the listing itself had one
                os.close(descriptor)


def _open_descriptors() -> Iterable[int]:
    """All descriptors of this process, or likely descriptors where no folder lists them."""
    for folder in ("/proc/self/fd", "/dev/fd"):
        with suppress(OSError):
            return [int(name) for name in os.listdir(folder)]
    return range(LIKELY_DESCRIPTORS)
