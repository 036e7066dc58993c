"""Settings of PyOpenCL in the processes of Runelift."""

from __future__ import annotations

import os

from runelift.runtime.host import fast_start


def disable_caches() -> None:
    """Disable the caches on disk of PyOpenCL, which is imported later, for this process.

    One has Python functions that launch kernels; they are not called here, and looking them up
    takes longer than making them.  The other has programs, which Runelift caches itself
    (:mod:`runelift.runtime.devices.build`).
    """
    if fast_start.enabled():
        os.environ.setdefault("PYOPENCL_NO_CACHE", "1")


def disable_unusable_caches() -> None:
    """Disable these caches in any process whose user cannot write there: PyOpenCL would fail."""
    # late: start-up
    from pathlib import Path

    import platformdirs

    from runelift.runtime.devices.driver import pocl_cache

    if pocl_cache.problem_of(Path(platformdirs.user_cache_dir("pytools"))) is not None:
        os.environ.setdefault("PYOPENCL_NO_CACHE", "1")
