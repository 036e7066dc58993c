"""Ctrl-C between runs of a program instead of inside one.

A signal can raise its exception anywhere.  While memory is freed, Python ignores it; while PyOpenCL
calls back, it becomes another error.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_pending: list[None] = []
"""Holds something while a Ctrl-C is deferred; each run asks, so that it is no event."""


@contextmanager
def between_runs() -> Iterator[None]:
    """Defer a first Ctrl-C to the end of the present run; a second one interrupts at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, _note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        _pending.clear()


@contextmanager
def not_for_children() -> Iterator[None]:
    """Have processes that start meanwhile ignore Ctrl-C; it waits for the end of this context."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _note(number: int, frame: FrameType | None) -> None:
    if _pending:
        raise KeyboardInterrupt
    _pending.append(None)


def check() -> None:
    """Raise the deferred KeyboardInterrupt, if any: a run is over.

    It stays pending until the main thread raises it, so that all other threads that measure end.
    """
    if _pending:
        if threading.current_thread() is threading.main_thread():
            _pending.clear()
        raise KeyboardInterrupt


def request() -> None:
    """Defer one for other threads, which go on after the main thread has raised it."""
    _pending.append(None)
