"""Builds of kernels, reported to callers that limit the time of a build."""

from __future__ import annotations

from collections.abc import Sequence


class BuildWatch:
    """Hears of the builds of a plan's kernels, from any thread; this one lets all of them be.

    A ``program`` is a text and all options that it is built with.
    """

    def begins(self, program: Sequence[str], *, needed: bool) -> None:
        """Note the begin of a build; Infeasible if the program takes too long.

        A program that is ``needed`` may take longer: there is no result without it.
        """

    def ends(self, program: Sequence[str]) -> None:
        """Note the end of a build, with or without a result."""

    def alive(self) -> None:
        """Note that a run is over, and that there is another one."""
