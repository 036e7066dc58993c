"""First launches: PoCL compiles a kernel when it is first launched with groups of some size.

It compiles in a thread, before the event of the launch says that the command is running.  So a slow
compiler can be told from a kernel that does not end.
"""

from __future__ import annotations

import time
from typing import Any

import pyopencl as cl

NARROW = (1 << 16) - 1
"""PoCL compiles once for launches of at most so many work-items, and once for larger launches."""
POLL_SECONDS = 2e-4
"""The time between questions whether a command has begun."""


def is_narrow(items: int) -> bool:
    """True if PoCL compiles a launch of so many work-items for a small range."""
    return items <= NARROW


def launch_until_begun(queue: Any, kernel: Any, items: int, group: int) -> Any:
    """Launch a kernel on a queue that is empty, and wait until it runs; the event of the launch."""
    event = cl.enqueue_nd_range_kernel(queue, kernel, (items,), (group,))
    queue.flush()
    while event.command_execution_status > cl.command_execution_status.RUNNING:
        time.sleep(POLL_SECONDS)
    return event
