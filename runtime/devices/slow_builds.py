"""Programs of kernels that took too long to build: later tunings do not wait for them again.

Runs of a program wait: it has no limit.
"""

from __future__ import annotations

from contextlib import suppress

from runelift.runtime.cache import disk

SLOW = "slow"
"""The folder of the cache with a file for each such program; it has the seconds that were waited.
"""


def note(name: str, seconds: float) -> None:
    """Note that a program, by its name among binaries, was not built in so many seconds."""
    disk.store(SLOW, name, f"{seconds:g}".encode())


def takes_longer(name: str, seconds: float) -> bool:
    """Test whether a program is known not to be built in so many seconds."""
    with suppress(ValueError):
        return float(disk.load(SLOW, name) or b"nan") >= seconds
    return False
