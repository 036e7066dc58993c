"""A command that a signal has ended: the user is told why, and it is tried once more.

Drivers of OpenCL crash when the kernels that they keep are damaged.  So a command that crashes runs
again with an empty cache of PoCL.  Only if that helps, the cache was damaged.
"""

from __future__ import annotations

import signal
from pathlib import Path

from runelift.runtime.devices.driver import pocl_cache
from runelift.runtime.host.children import NATIVE


class Crashes:
    """The crashes of a command, and what was done about them."""

    def __init__(self) -> None:
        self._first: signal.Signals | None = None
        self._before: Path | None = None

    def again(self, number: int) -> bool:
        """Test whether to try again after an end by a signal; then the cache is another one."""
        if self._first is not None or number not in NATIVE:
            return False
        self._before = pocl_cache.begin_anew()
        if self._before is not None:
            self._first = signal.Signals(number)
        return self._before is not None

    def told(self, status: int) -> str:
        """The message at the end with an exit status, negative for a signal; may be empty."""
        if self._before is None:
            return "" if status >= 0 else _explained(-status)
        if status < 0:
            pocl_cache.drop_new(self._before)
            return (f"{_explained(-status)}  It was tried twice, the second time with an empty "
                    "cache of PoCL.")
        away = pocl_cache.keep_new(self._before)
        return (f"{self._first.name if self._first else ''} ended the command, which then ran with "
                f"an empty cache of PoCL: '{self._before}' was damaged"
                + (f", and is now '{away}'." if away else "; delete it."))


def _explained(number: int) -> str:
    name = signal.Signals(number).name
    if number == signal.SIGKILL:
        return f"{name} ended the command: somebody killed it, or the memory was used up."
    if number not in NATIVE:
        return ""
    place = pocl_cache.folder()
    full = None if place is None else pocl_cache.problem_of(place)
    why = f"  PoCL's cache '{place}' cannot be used: {full}." if full else ""
    return (f"{name} ended the command: native code failed, such as a driver of OpenCL, or a "
            f"kernel with #[unsafe] accesses on a processor.{why}")
