"""Threads that compute beside others that mostly wait."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

TURN = 0.0005
"""How many seconds a thread may compute while another one has something to do: who makes many
short calls, or asks for many short runs, waits so long for each."""


@contextmanager
def short_turns() -> Iterator[None]:
    """Have threads let each other go on soon."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
