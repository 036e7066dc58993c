"""The switch of start-up tricks, which only save time.

``RUNELIFT_FAST_START=0`` turns all of them off, in this process and its children.  Then garbage
collection, Python's ``site`` and PyOpenCL's caches are as usual.  No thread, process or driver
begins before it is needed.  Results are equal with and without tricks.
"""

from __future__ import annotations

import os

VARIABLE = "RUNELIFT_FAST_START"


def enabled() -> bool:
    """Test whether start-up tricks are allowed."""
    return os.environ.get(VARIABLE) != "0"
