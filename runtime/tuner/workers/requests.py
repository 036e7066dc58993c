"""The program that a worker process is given."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runelift.runtime.compilation.compiled import Compiled
    from runelift.runtime.tuner.measure.measurable import Thresholds


@dataclass(frozen=True, slots=True)
class OpenProgram:
    """A program, or the snapshot of the stored one, and what a worker has to know to run it.

    With ``outside``, other processes build its kernels.  The programs ``slow``, by their names in
    the cache, take too long to build.  If ``alone``, none is built beside another.  ``memory``
    bounds the device memory of a run.
    """

    compiled: Compiled | str
    policy: str
    contract: bool
    thresholds: Thresholds
    outside: bool
    slow: Set[str] = frozenset()
    alone: bool = False
    memory: int | None = None
