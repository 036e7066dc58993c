"""Settings of PyOpenCL in the processes of Runelift."""

from __future__ import annotations

import os

from runelift.runtime.host import fast_start

NO_CACHE = "PYOPENCL_NO_CACHE"
"""The variable that disables these caches."""


def disable_caches(*, unusable: bool = False) -> None:
    """Disable the caches on disk of PyOpenCL, which is imported later, for this process.

    One has Python functions that launch kernels; they are not called here, and looking them up
    takes longer than making them.  The other has programs, which Runelift caches itself
    (:mod:`runelift.runtime.devices.build`).  Any process must if they are ``unusable``, as their
    folder cannot be written to: PyOpenCL would fail.
    """
    if unusable or fast_start.enabled():
        os.environ.setdefault(NO_CACHE, "1")
