"""Policy of calls: what they may spend on later calls, and who builds their kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from runelift.runtime.execution.build_watch import BuildWatch

BuildOutside: TypeAlias = Callable[[Sequence[tuple[str, ...]], bool], None]
"""Has other processes build programs for the cache, and waits for them if told to."""


@dataclass(frozen=True, slots=True)
class CallPolicy:
    """Policy of the caller of an executable; the default is for users, and the tuner has another.

    ``captures_first``: the first run is captured, not the second, and prepared before it is
    submitted.  The tuner measures the time that later runs take.  ``may_fuse``: runs that come
    again are worth kernels for fused launches.  ``patient``: programs may take long to build if
    there is no result without them.  ``builds_alone``: one program is built at a time, so that a
    slow one delays no other.  ``watch`` hears of builds.
    """

    captures_first: bool = False
    may_fuse: bool = True
    patient: bool = False
    builds_alone: bool = False
    watch: BuildWatch = field(default_factory=BuildWatch)
    outside: BuildOutside | None = None
