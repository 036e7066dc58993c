"""Policy of calls: what they may spend on later calls, and who builds their kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

BuildOutside: TypeAlias = Callable[[Sequence[tuple[str, ...]], bool], None]
"""Has other processes build programs for the cache, and waits for them if told to."""


class BuildWatch:
    """Hears of the builds of a plan's kernels, from any thread; this one lets all of them be.

    A ``program`` is a text and all options that it is built with.  What a driver compiles at the
    first launch of a kernel is a build, too; the launch is the last of the options.
    """

    def begins(self, program: Sequence[str], *, needed: bool) -> None:
        """Note the begin of a build; Infeasible if the program takes too long.

        A program that is ``needed`` may take longer: there is no result without it.
        """

    def ends(self, program: Sequence[str]) -> None:
        """Note the end of a build, with or without a result."""

    def alive(self) -> None:
        """Note that a run has ended, and that further runs may follow."""


@dataclass(frozen=True, slots=True)
class CallPolicy:
    """Policy of the caller of an executable; the default is for users, and the tuner has another.

    ``captures_first``: the first run is captured, not the second, and prepared before it is
    submitted.  The tuner measures the time that later runs take.  ``may_fuse``: runs that come
    again are worth kernels for fused launches.  ``patient``: programs may take long to build if
    there is no result without them.  ``builds_alone``: one program is built at a time, so that a
    slow one delays no other.  ``all_versions`` will run, so that their kernels are built together
    as far as their constants are known.  ``watch`` hears of builds.
    """

    captures_first: bool = False
    may_fuse: bool = True
    patient: bool = False
    builds_alone: bool = False
    all_versions: bool = False
    watch: BuildWatch = field(default_factory=BuildWatch)
    outside: BuildOutside | None = None
