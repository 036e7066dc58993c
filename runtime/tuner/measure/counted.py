"""Counting the runs of a program that measuring makes, with and without repetitions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from itertools import count
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


class RunCount:
    """The runs of a program, which runs as ``counted``: all but runs is left to the program."""

    def __init__(self, program: Measurable) -> None:
        self._program = program
        self.executions = 0
        """The runs so far."""
        self._distinct = set[Hashable]()
        self._places, self._numbers = dict[int, int](), count(1)

    @property
    def counted(self) -> Measurable:
        """The program whose runs are counted."""
        return cast(Measurable, self)

    @property
    def runs(self) -> int:
        """The runs so far that differ in dataset, versions or thresholds, and all replays."""
        return len(self._distinct)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._program, name)
        return partial(self._once, found) if name in SINGLE_RUNS else found

    def _once(self, run: Callable[..., Any], entry: str, args: Args, *further: Any,
              **options: Any) -> Any:
        self._ran(args, options.get("force"), options.get("thresholds"))
        return run(entry, args, *further, **options)

    def place(self, args: Args) -> Args:
        """The arguments on the device, under a new number."""
        placed = self._program.place(args)
        if placed is not args or id(placed) not in self._places:
            self._places[id(placed)] = next(self._numbers)
        return placed

    def _ran(self, args: Args, force: Force | None, thresholds: Thresholds | None,
             times: int = 1) -> None:
        self.executions += times
        self._distinct.add((self._places.get(id(args), 0), *sorted((force or {}).items()),
                           None, *sorted((thresholds or {}).items())))

    def measure_all(self, entry: str, args: Args, forces: Sequence[Force],
                    thresholds: Thresholds | None = None, recorded: Sequence[bool] | None = None,
                    ) -> Iterator[RecordAndTime | RuneliftError]:
        """The costs of runs with each of these versions, which are counted."""
        for force, found in zip(forces, self._program.measure_all(entry, args, forces, thresholds,
                                                                 recorded), strict=False):
            both = isinstance(found, tuple) and found[0] is not None
            self._ran(args, force, thresholds, 1 + both)
            yield found

    def time_all(self, entry: str, args: Args, choices: Sequence[Thresholds], *,
                 often: bool = False) -> Sequence[float]:
        """The seconds of runs with each of these thresholds, which are counted."""
        for thresholds in choices:
            self._ran(args, None, thresholds)
        return self._program.time_all(entry, args, choices, often=often)

    def replay(self, entry: str, args: Args, race: Race) -> ReplayRecord:
        """A replay, which counts as one run, unlike any run before it."""
        self.executions += 1
        self._distinct.add(("replay", self.executions))
        return self._program.replay(entry, args, race)
