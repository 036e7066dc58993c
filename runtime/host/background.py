"""Background threads that compute while other threads mostly wait."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from runelift.runtime.host import fast_start

Result = TypeVar("Result")
SWITCH_INTERVAL = 0.0005
"""Seconds that a thread may compute while another one is ready: the other waits so long for each of
its many short calls."""


@contextmanager
def frequent_switches() -> Iterator[None]:
    """Have Python switch between threads often."""
    if not fast_start.enabled():
        yield
        return
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextmanager
def in_background(work: Callable[[], Result]) -> Iterator[Callable[[], Result]]:
    """Have a thread do ``work`` while this one mostly waits; the value waits for its result.

    Without start-up tricks (:mod:`~runelift.runtime.host.fast_start`), the work is done when its
    result is asked for.
    """
    if not fast_start.enabled():
        yield cache(work)
        return
    with frequent_switches(), ThreadPoolExecutor(1, "background") as pool:
        yield pool.submit(work).result
