"""Threads that compute beside others that mostly wait."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from runelift.runtime.host import fast_start

Made = TypeVar("Made")
TURN = 0.0005
"""How many seconds a thread may compute while another one has something to do: who makes many
short calls, or asks for many short runs, waits so long for each."""


@contextmanager
def short_turns() -> Iterator[None]:
    """Have threads let each other go on soon."""
    if not fast_start.enabled():
        yield
        return
    before = sys.getswitchinterval()
    sys.setswitchinterval(TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextmanager
def in_background(work: Callable[[], Made]) -> Iterator[Callable[[], Made]]:
    """Have a thread do ``work`` while this one mostly waits; the value returns its result.

    Without start-up tricks (:mod:`~runelift.runtime.host.fast_start`), the work is done when its
    result is asked for.
    """
    if not fast_start.enabled():
        yield cache(work)
        return
    with short_turns(), ThreadPoolExecutor(1, "beside") as pool:
        yield pool.submit(work).result
