"""Settings of PyOpenCL in the processes of this project."""

from __future__ import annotations

import os


def keep_nothing() -> None:
    """Have PyOpenCL, which is imported after this, keep nothing on disk for this process.

    It has a data base of Python functions that launch kernels.  They are not called here, and take
    longer to look up than to make.  It has another one of programs, which are cached already
    (:mod:`runelift.runtime.devices.build`).
    """
    os.environ.setdefault("PYOPENCL_NO_CACHE", "1")
