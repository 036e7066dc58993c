"""Datasets, the progress of measuring, and the interface of measuring methods."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from runelift.runtime.tuner.costs.log import Measurements, RunStore
from runelift.runtime.tuner.measure.measurable import Args, Force, Measurable
from runelift.runtime.tuner.policy import TuningPolicy
from runelift.runtime.versions.forest import Forest


@dataclass(frozen=True, slots=True)
class Dataset:
    """A named input of an entry point, made when it is needed, and its output, if one is given."""

    name: str
    entry: str
    arguments: Callable[[], Sequence[Any]]
    expected: Callable[[], Sequence[Any] | None] = lambda: None

    def unexpected(self, program: Measurable, args: Args) -> str | None:
        """The difference of a program's results by default from the given output, in words."""
        expected = self.expected()
        how = None if expected is None else program.unexpected(self.entry, args, expected)
        return how and f"the program does not give the output of the dataset: {how}"


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
    """A way to find the costs of all versions."""

    @property
    def repeats(self) -> int:
        """The default number of repetitions of a run."""
        ...

    @property
    def policy(self) -> TuningPolicy:
        """The numbers that decide how it measures, and how its costs are used."""
        ...

    def runs(self, forest: Forest) -> int:
        """The number of runs of a dataset that it needs, without repetitions."""
        ...

    def measure(self, program: Measurable, forest: Forest, datasets: Sequence[Dataset], *,
                repeats: int, log: RunStore | None, progress: Callable[[Progress], None]
                ) -> Measurements:
        """The records of all plans on every dataset."""
        ...

    def surely(self, known: Measurements | None = None) -> MeasuringMethod:
        """The method without estimates; what is ``known`` is not measured again."""
        ...

    def following(self, policy: TuningPolicy) -> MeasuringMethod:
        """The method with another policy."""
        ...

    def within(self, seconds: float) -> MeasuringMethod:
        """The method in at most so many seconds."""
        ...

    def of(self, some: Sequence[Force]) -> MeasuringMethod | None:
        """The method for some plans only; None if a run tells of all of them."""
        ...

    def plans(self, forest: Forest) -> Sequence[Force]:
        """The plans that it measures."""
        ...
