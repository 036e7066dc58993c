"""PyOpenCL in processes of our own."""

from __future__ import annotations

import os

from runelift.runtime.host import fast_start


def keep_nothing() -> None:
    """Have PyOpenCL, which is imported after this, keep nothing on disk for this process.

    It has a data base of Python functions that launch kernels, which nobody calls here and which
    take longer to look up than to make, and one of programs, which are kept already
    (:mod:`runelift.runtime.devices.build`).
    """
    if fast_start.enabled():
        os.environ.setdefault("PYOPENCL_NO_CACHE", "1")
