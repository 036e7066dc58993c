"""Runs of every version of a program under test, each with a limit.

They are made in another process, which is ended where a version takes too long or crashes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from runelift.ir.base.errors import VersionUnavailable
from runelift.runtime.devices.info import spec_of
from runelift.runtime.programs.program import Program
from runelift.runtime.tools.commands.open_program import version_names_in_errors
from runelift.runtime.tuner.measure.measurable import Args
from runelift.runtime.tuner.measure.time_limits import RunStopped, TimeLimit
from runelift.runtime.tuner.workers.remote import Remote
from runelift.runtime.versions.forest import plans
from runelift.runtime.versions.version_names import names_of_plan, with_version_names


class VersionNotRun(Exception):
    """A version did not run, so that there is no result; the text says why."""


class VersionRuns:
    """A program whose versions run in another process, none longer than the ``limit``."""

    def __init__(self, program: Program, limit: TimeLimit) -> None:
        assert program.device_info is not None
        self._program = program
        self._remote = Remote(program, spec_of(program.device_info), limit=limit)

    def runners(self, entry: str, arguments: Sequence[Any], seconds: float
                ) -> Iterator[tuple[str, Callable[[], Sequence[Any]]]]:
        """The versions of an entry point as runs by name; one by default took ``seconds``."""
        forest = self._program.tree.entry(entry)
        if forces := [each for each in plans(forest) if each]:
            placed = self._remote.place(arguments)
            placed.took(seconds)
            for force in forces:
                yield names_of_plan(forest, force), partial(self._results, entry, placed, force)

    def _results(self, entry: str, placed: Args, force: Mapping[str, int]) -> list[Any]:
        """The results of a run with these versions; VersionNotRun if a version cannot run."""
        try:
            with version_names_in_errors(self._program):
                return self._remote.results(entry, placed, dict(force))
        except VersionUnavailable as error:
            raise VersionNotRun(error.reason) from None
        except RunStopped as error:
            reason = with_version_names(str(error), *self._program.tree.entries)
            raise VersionNotRun(f"given up, {reason}") from None

    def close(self) -> None:
        """End the process that makes the runs."""
        self._remote.close()
