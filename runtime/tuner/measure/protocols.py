"""Protocols of measuring: programs with chosen versions, datasets, and methods."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from runelift.ir.errors import RuneliftError
from runelift.runtime.execution.sequential_runner import Both
from runelift.runtime.records.record import Record, Timing
from runelift.runtime.tuner.costs.log import Measurements, RunStore
from runelift.runtime.tuner.policy import TuningPolicy
from runelift.runtime.versions.forest import Forest

Args: TypeAlias = Sequence[Any]
"""The arguments of an entry point."""
Force: TypeAlias = Mapping[str, int]
"""The version to run at each site."""


class Measurable(Protocol):
    """A program that runs with chosen versions and says what that cost.

    ``force`` maps sites to the index of the version to run, where that is feasible; elsewhere
    ``thresholds`` decide, where they name a guard, and its default otherwise.
    """

    @property
    def at_once(self) -> float:
        """How many work-items keep all of the device busy; more take turns."""
        ...

    @property
    def apart(self) -> bool:
        """Whether runs disturb nobody who computes meanwhile, and are not disturbed."""
        ...

    def place(self, args: Sequence[Any]) -> Sequence[Any]:
        """The arguments where runs find them at no cost."""
        ...

    def foresee(self, entry: str, inputs: Sequence[Args], forces: Sequence[Mapping[str, int]]
                ) -> bool:
        """Build what runs on any of these inputs need, if that is quicker together.

        The result is whether something is being built from now on.
        """
        ...

    def prepare(self, entry: str, args: Sequence[Any], forces: Sequence[Mapping[str, int]],
                recorded: Sequence[Mapping[str, int]] = ()) -> int | None:
        """Build what runs with these forced versions need, as far as that is known before.

        Those that are ``recorded`` will not run without a record, which takes fewer kernels.  The
        result is the number of work-items of the last of these runs, if that is known.
        """
        ...

    def record(self, entry: str, args: Sequence[Any], *, force: Mapping[str, int] | None = None,
               thresholds: Mapping[str, int] | None = None) -> Record:
        """The record of a run of ``entry``."""
        ...

    def time(self, entry: str, args: Sequence[Any], *, force: Mapping[str, int] | None = None,
             thresholds: Mapping[str, int] | None = None) -> float:
        """The seconds that a run takes without a record."""
        ...

    def timing(self, entry: str, args: Sequence[Any], *, force: Mapping[str, int] | None = None,
               thresholds: Mapping[str, int] | None = None) -> Timing:
        """The same, and the part of it that the host needed to issue all commands."""
        ...

    def measure_all(self, entry: str, args: Sequence[Any], forces: Sequence[Mapping[str, int]],
                    thresholds: Mapping[str, int] | None = None,
                    recorded: Sequence[bool] | None = None) -> Iterator[Both | RuneliftError]:
        """What runs with each of these forced versions take, or why they fail.

        ``recorded``: which of them are also made with a record; all, if that is not said.  While
        one is made, whoever asked can see to those before.
        """
        ...

    def time_all(self, entry: str, args: Sequence[Any], choices: Sequence[Mapping[str, int]], *,
                 often: bool = False) -> Sequence[float]:
        """The seconds that runs with each of these thresholds take; together they are short.

        With ``often`` they take what runs do that come again and again: kernels are built that
        join their launches, which takes long.
        """
        ...

    def savings(self, entry: str, args: Sequence[Any], choices: Sequence[Mapping[str, int]]
                ) -> Sequence[int]:
        """How many launches and copies each of these runs, which have been made, could save if it
        came often.
        """
        ...


@dataclass(frozen=True, slots=True)
class Dataset:
    """A named input of an entry point, made when it is needed."""

    name: str
    entry: str
    arguments: Callable[[], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Progress:
    """A step of measuring: the ``done``-th of ``total`` runs, of ``what``, and its time.

    ``summary`` says what was found, if this was the last run of a dataset.
    """

    what: str
    done: int
    total: int
    seconds: float = math.inf
    summary: str = ""


class MeasuringMethod(Protocol):
    """A way to find out what every version costs."""

    @property
    def repeats(self) -> int:
        """The number of repetitions if none is given."""
        ...

    @property
    def policy(self) -> TuningPolicy:
        """The numbers that decide how it measures, and how its costs are used."""
        ...

    def runs(self, forest: Forest) -> int:
        """The runs of a dataset that it needs, without repetitions."""
        ...

    def measure(self, program: Measurable, forest: Forest, datasets: Sequence[Dataset], *,
                repeats: int, log: RunStore | None, progress: Callable[[Progress], None]
                ) -> Measurements:
        """The records of all plans on every dataset."""
        ...

    def surely(self, known: Measurements | None = None) -> MeasuringMethod:
        """The same, but that nothing is estimated, and what is ``known`` is not found out again."""
        ...

    def following(self, policy: TuningPolicy) -> MeasuringMethod:
        """The method with another policy."""
        ...

    def within(self, seconds: float) -> MeasuringMethod:
        """The same in at most so many seconds."""
        ...

    def of(self, some: Sequence[Force]) -> MeasuringMethod | None:
        """The same for some plans only; None if a run tells of all of them."""
        ...

    def plans(self, forest: Forest) -> Sequence[Force]:
        """The plans that it measures."""
        ...
