"""Rare garbage collection: trees of programs are large, and live to the end."""

from __future__ import annotations

import atexit
import gc

from runelift.runtime.host import fast_start

THRESHOLDS = 100_000, 20, 20
"""Thresholds of Python's collector: new objects before a collection, and collections before one of
older objects."""


def collect_rarely() -> None:
    """Make garbage collections rare in this process."""
    if fast_start.enabled():
        gc.set_threshold(*THRESHOLDS)


def freeze() -> None:
    """Exempt all present objects from collection: a compiled program lives to the end."""
    if fast_start.enabled():
        gc.freeze()


def freeze_at_exit() -> None:
    """Have this process end without a last collection."""
    atexit.register(freeze)
