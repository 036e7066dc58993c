"""Runs of tests that look for data races in kernels: ``runelift test --check-races``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from runelift.ir.base.errors import CompilerLimitation, VersionUnavailable
from runelift.runtime.programs.program import Program
from runelift.runtime.tools.commands.version_runs import VersionNotRun
from runelift.runtime.tools.races.checks import FormChecks, RaceChecks
from runelift.runtime.tools.races.mistakes import RunTooLong
from runelift.runtime.tuner.measure.time_limits import TimeLimit


class RaceRuns:
    """Runs of a program with interpreted kernels, none longer than the ``limit``."""

    def __init__(self, program: Program, limit: TimeLimit) -> None:
        self._checks = RaceChecks(program)
        self._seconds = limit.most

    def runners(self, entry: str, arguments: Sequence[Any], *, every: bool
                ) -> Iterator[tuple[str, Callable[[], Sequence[Any]]]]:
        """The ways to run an entry point, by names of versions and of the form of kernels."""
        for checks in self._checks.forms(entry):
            for version, force in self._checks.versions(entry, each=every):
                yield f"{version or 'the default version'} for {checks.form}", partial(
                    self._run, checks, arguments, force)

    def _run(self, checks: FormChecks, arguments: Sequence[Any], force: Mapping[str, int]
             ) -> list[Any]:
        """The results of a run; KernelMistake, or VersionNotRun if there are none."""
        try:
            return checks.run(arguments, force, self._seconds)
        except VersionUnavailable as error:
            raise VersionNotRun(error.reason) from None
        except (CompilerLimitation, RunTooLong) as error:
            raise VersionNotRun(str(error)) from None
