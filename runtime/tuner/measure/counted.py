"""Counting the runs of a program that measuring makes, with and without repetitions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from runelift.ir.base.errors import RuneliftError
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


SINGLE_RUNS = frozenset({"record", "timing", "time", "unexpected"})
"""The methods that make one run."""


class _Counted:
    """A program that counts its runs; all else is left to the ``program``."""

    def __init__(self, program: Measurable) -> None:
        self.program = program
        self.executions = 0
        self.distinct = set[Hashable]()
        self._places = dict[int, int]()
        self._number = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.program, name)
        return partial(self._once, found) if name in SINGLE_RUNS else found

    def _once(self, run: Callable[..., Any], entry: str, args: Args, *further: Any,
              **options: Any) -> Any:
        self._ran(args, options.get("force"), options.get("thresholds"))
        return run(entry, args, *further, **options)

    def place(self, args: Args) -> Args:
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

    def measure_all(self, entry: str, args: Args, forces: Sequence[Force],
                    thresholds: Thresholds | None = None, recorded: Sequence[bool] | None = None,
                    ) -> Iterator[RecordAndTime | RuneliftError]:
        for force, found in zip(forces, self.program.measure_all(entry, args, forces, thresholds,
                                                                 recorded), strict=False):
            both = isinstance(found, tuple) and found[0] is not None
            self._ran(args, force, thresholds, 1 + both)
            yield found

    def time_all(self, entry: str, args: Args, choices: Sequence[Thresholds], *,
                 often: bool = False) -> Sequence[float]:
        for thresholds in choices:
            self._ran(args, None, thresholds)
        return self.program.time_all(entry, args, choices, often=often)

    def replay(self, entry: str, args: Args, race: Race) -> ReplayRecord:
        self.executions += 1
        self.distinct.add(("replay", self.executions))
        return self.program.replay(entry, args, race)


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
