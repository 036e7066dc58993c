"""The switch of start-up tricks, which only save time.

``RUNELIFT_FAST_START=0`` turns all of it off, in this process and in those that it starts: garbage
collection and Python's ``site`` are as usual, PyOpenCL has its caches, and no thread, process or
driver begins before it is needed.  Results are equal with and without.
"""

from __future__ import annotations

import os

VARIABLE = "RUNELIFT_FAST_START"


def enabled() -> bool:
    """Test whether anything may be done only to start sooner."""
    return os.environ.get(VARIABLE) != "0"
