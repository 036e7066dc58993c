"""Ctrl-C between runs of a program, rather than inside of one.

An exception that a signal raises anywhere can come while memory is given back, where Python
ignores it, or while the OpenCL bindings call back, which make another error of it.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_pending = threading.Event()


@contextmanager
def between_runs() -> Iterator[None]:
    """A first Ctrl-C is a KeyboardInterrupt at the end of the present run, a second one at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, _note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        _pending.clear()


def _note(number: int, frame: FrameType | None) -> None:
    if _pending.is_set():
        raise KeyboardInterrupt
    _pending.set()


def check() -> None:
    """Raise the KeyboardInterrupt that waits, if any: a run is over.

    It goes on waiting for the main thread, so that all others that measure end before.
    """
    if _pending.is_set():
        if threading.current_thread() is threading.main_thread():
            _pending.clear()
        raise KeyboardInterrupt


def request() -> None:
    """Let there be one, for threads that go on after theirs was raised in the main thread."""
    _pending.set()
