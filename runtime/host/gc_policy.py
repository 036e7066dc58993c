"""Rare garbage collection: trees of programs are large, and live to the end."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager

from runelift.runtime.host import fast_start

THRESHOLDS = 400_000, 20, 20
"""Thresholds of Python's collector: new objects before a collection, and collections before one of
older objects."""


def collect_rarely() -> None:
    """Make garbage collections rare in this process."""
    if fast_start.enabled():
        gc.set_threshold(*THRESHOLDS)


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """Make garbage collections rare for a while, in a process that is not ours."""
    before = gc.get_threshold()
    collect_rarely()
    try:
        yield
    finally:
        gc.set_threshold(*before)


def freeze() -> None:
    """Exempt all present objects from collection: a compiled program lives to the end."""
    if fast_start.enabled():
        gc.freeze()


def freeze_at_exit() -> None:
    """Have this process end without a last collection."""
    atexit.register(freeze)
