"""Counting the runs of a program that measuring makes, with and without repetitions."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from runelift.ir.base.errors import RuneliftError
from runelift.runtime.records.record import Record, Timing
from runelift.runtime.tuner.measure.measurable import (
    Args,
    Force,
    Measurable,
    RecordAndTime,
    Thresholds,
)

if TYPE_CHECKING:
    from runelift.runtime.tuner.replay.racing import Race
    from runelift.runtime.tuner.replay.replay_records import ReplayRecord


class _Counted:
    """A program that counts its runs; all else is left to the ``program``."""

    def __init__(self, program: Measurable) -> None:
        self.program = program
        self.executions = 0
        self.distinct = set[Hashable]()
        self._places = dict[int, int]()
        self._number = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.program, name)

    def place(self, args: Args) -> Args:
        """Number the arguments; a dataset is placed before it runs."""
        placed = self.program.place(args)
        if placed is not args or id(placed) not in self._places:
            self._number += 1
            self._places[id(placed)] = self._number
        return placed

    def _ran(self, args: Args, force: Force | None, thresholds: Thresholds | None,
             times: int = 1) -> None:
        self.executions += times
        self.distinct.add((self._places.get(id(args), 0), *sorted((force or {}).items()),
                           None, *sorted((thresholds or {}).items())))

    def record(self, entry: str, args: Args, *, force: Force | None = None,
               thresholds: Thresholds | None = None) -> Record:
        """A run with a record."""
        self._ran(args, force, thresholds)
        return self.program.record(entry, args, force=force, thresholds=thresholds)

    def timing(self, entry: str, args: Args, *, force: Force | None = None,
               thresholds: Thresholds | None = None) -> Timing:
        """A run without a record."""
        self._ran(args, force, thresholds)
        return self.program.timing(entry, args, force=force, thresholds=thresholds)

    def time(self, entry: str, args: Args, *, force: Force | None = None,
             thresholds: Thresholds | None = None) -> float:
        """A run without a record."""
        self._ran(args, force, thresholds)
        return self.program.time(entry, args, force=force, thresholds=thresholds)

    def measure_all(self, entry: str, args: Args, forces: Sequence[Force],
                    thresholds: Thresholds | None = None, recorded: Sequence[bool] | None = None,
                    ) -> Iterator[RecordAndTime | RuneliftError]:
        """Runs with and without a record; one that fails is not made again without."""
        for force, found in zip(forces, self.program.measure_all(entry, args, forces, thresholds,
                                                                 recorded), strict=False):
            both = isinstance(found, tuple) and found[0] is not None
            self._ran(args, force, thresholds, 1 + both)
            yield found

    def time_all(self, entry: str, args: Args, choices: Sequence[Thresholds], *,
                 often: bool = False) -> Sequence[float]:
        """A run for each of the choices."""
        for thresholds in choices:
            self._ran(args, None, thresholds)
        return self.program.time_all(entry, args, choices, often=often)

    def replay(self, entry: str, args: Args, race: Race) -> ReplayRecord:
        """One run, in which all versions run."""
        self.executions += 1
        self.distinct.add(("replay", self.executions))
        return self.program.replay(entry, args, race)

    def unexpected(self, entry: str, args: Args, expected: Sequence[Any]) -> str | None:
        """A run by default whose results are looked at."""
        self._ran(args, None, None)
        return self.program.unexpected(entry, args, expected)


class RunCount:
    """The runs of a program, which runs as ``counted``."""

    def __init__(self, program: Measurable) -> None:
        self._counted = _Counted(program)

    @property
    def counted(self) -> Measurable:
        """The program whose runs are counted."""
        return cast(Measurable, self._counted)

    @property
    def executions(self) -> int:
        """The runs so far."""
        return self._counted.executions

    @property
    def runs(self) -> int:
        """The runs so far that differ in dataset, versions or thresholds, and all replays."""
        return len(self._counted.distinct)
