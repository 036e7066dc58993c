"""The load of a machine by other work, and how many more turns it asks for.

Other work makes times of runs spread.  More runs in turn answer that: doubt would only keep what
is slower.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from runelift.runtime.records.statistics import mad, median
from runelift.runtime.tuner.policy import ComparisonPolicy

TIMES = Path("/proc/stat")
"""The ticks of each processor, where a system has this file."""
IDLE = slice(3, 5)
"""Ticks in which processors idle, or wait for devices."""
LOOK_SECONDS = 0.05
"""Seconds between two looks: ticks are a hundredth of a second, of each processor."""
Ticks: TypeAlias = Sequence[int]


def ticks() -> Ticks | None:
    """The ticks of the processors that this process may use; None where the system does not tell.

    Work on other processors does not disturb a process that is pinned.
    """
    with suppress(OSError, ValueError, AttributeError):
        ours = {f"cpu{number}" for number in os.sched_getaffinity(0)}
        rows = [fields[1:9] for line in TIMES.read_text(encoding="ascii").splitlines()
                if (fields := line.split()) and fields[0] in ours]
        if rows:
            return [sum(map(int, column)) for column in zip(*rows, strict=True)]
    return None


def busy_part(look: Callable[[], Ticks | None] = ticks,
              wait: Callable[[float], object] = time.sleep) -> float:
    """The part of the processors that other work keeps busy, while this process waits."""
    before = look()
    wait(LOOK_SECONDS)
    after = look()
    if before is None or after is None:
        with suppress(OSError, AttributeError):
            return min(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
        return 0.0
    passed = [late - early for early, late in zip(before, after, strict=True)]
    whole = sum(passed)
    return min(1.0, max(0.0, 1 - sum(passed[IDLE]) / whole)) if whole > 0 else 0.0


def patience_factor(busy: float, seconds: Sequence[float], policy: ComparisonPolicy) -> float:
    """The factor by which runs in turn may go on for longer than usual.

    ``busy`` is the part of the processors that other work has.  The ``seconds`` are of runs by
    default; their spread tells of other work on the device.
    """
    spread = mad(seconds) / median(seconds) if len(seconds) > 1 and median(seconds) else 0.0
    loaded = max(busy, min(1.0, spread / policy.loaded_spread))
    return 1 + (policy.most_patience - 1) * loaded
