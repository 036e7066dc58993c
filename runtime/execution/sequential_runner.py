"""Several runs of a program, one after the other, for programs that gain nothing by more."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from runelift.ir.errors import CompilerLimitation, RuneliftError, UserError
from runelift.runtime.records.record import Record, Timing

Both: TypeAlias = tuple[Record | None, Timing]
"""A run with a record, if one was asked for, and one without."""


class OneByOne(ABC):
    """Makes many runs by what makes one."""

    @property
    def apart(self) -> bool:
        """True if another process makes the runs, so that they do not disturb this one."""
        return False

    @abstractmethod
    def record(self, entry: str, args: Any, *, force: Mapping[str, int] | None = None,
               thresholds: Mapping[str, int] | None = None) -> Record:
        """The record of a run."""

    @abstractmethod
    def timing(self, entry: str, args: Any, *, force: Mapping[str, int] | None = None,
               thresholds: Mapping[str, int] | None = None) -> Timing:
        """The seconds that a run takes, and those until the host has issued all commands."""

    @abstractmethod
    def time(self, entry: str, args: Any, *, force: Mapping[str, int] | None = None,
             thresholds: Mapping[str, int] | None = None) -> float:
        """The seconds that a run takes."""

    def measure_all(self, entry: str, args: Any, forces: Sequence[Mapping[str, int]],
                    thresholds: Mapping[str, int] | None = None,
                    recorded: Sequence[bool] | None = None) -> Iterator[Both | RuneliftError]:
        """The record and times of a run with each of these forced versions, or its error.

        ``recorded`` says which runs are also made with a record; all, if it is None.
        """
        for force, records in zip(forces, recorded or [True] * len(forces), strict=True):
            try:
                yield (self.record(entry, args, force=force, thresholds=thresholds)
                       if records else None,
                       self.timing(entry, args, force=force, thresholds=thresholds))
            except (UserError, CompilerLimitation) as error:
                yield error

    def time_all(self, entry: str, args: Any, choices: Sequence[Mapping[str, int]], *,
                 often: bool = False) -> Sequence[float]:
        """The seconds that runs with each of these thresholds take."""
        return [self.time(entry, args, thresholds=thresholds) for thresholds in choices]

    def savings(self, entry: str, args: Any, choices: Sequence[Mapping[str, int]]
                ) -> Sequence[int]:
        """The number of commands that each run saves when its launches are fused: none."""
        return [0] * len(choices)
