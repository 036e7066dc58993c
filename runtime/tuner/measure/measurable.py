"""The interface of programs that the tuner measures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from runelift.ir.base.errors import CompilerLimitation, RuneliftError, UserError
from runelift.runtime.records.record import Record, Timing

if TYPE_CHECKING:
    from runelift.runtime.geometry.parameter_space import ParameterSpace
    from runelift.runtime.tuner.replay.racing import Race
    from runelift.runtime.tuner.replay.replay_records import ReplayRecord
    from runelift.runtime.tuner.trials.protocol import OperationTime, Searches

Args: TypeAlias = Sequence[Any]
"""The arguments of an entry point."""
Force: TypeAlias = Mapping[str, int]
"""The index of the version to run, by site."""
Thresholds: TypeAlias = Mapping[str, int]
"""Thresholds of guards and parameters of kernels, by name."""
RecordAndTime: TypeAlias = tuple[Record | None, Timing]
"""A run with a record, if one was asked for, and one without."""


class Measurable(Protocol):
    """A program that runs with chosen versions and tells their costs.

    ``force`` maps sites to the index of the version to run, where that is feasible.  Elsewhere
    ``thresholds`` decide, where they name a guard, and otherwise its default.  Seconds are measured
    on the host, for runs with inputs and outputs on the device.

    Its methods are in :mod:`~runelift.runtime.tuner.workers.measured_program`.  A
    :class:`~runelift.runtime.tuner.workers.remote.Remote` forwards calls to them in another
    process.  A simulated program inherits the methods that it does not simulate.
    """

    thresholds: Thresholds = MappingProxyType({})
    """The thresholds of runs for which none are given."""

    # Where runs happen

    @property
    def occupancy(self) -> float:
        """The number of work-items that keep all of the device busy; more take turns."""
        return math.inf

    @property
    def out_of_process(self) -> bool:
        """Runs and computations of this process do not disturb each other."""
        return False

    @property
    def builders(self) -> int:
        """The number of programs of kernels that are built at the same time."""
        return 1

    def place(self, args: Args) -> Args:
        """The arguments on the device: runs need not check, copy or bind them again."""
        return args

    # Builds

    def prebuild_all(self, entry: str, inputs: Sequence[Args], forces: Sequence[Force]) -> bool:
        """Begin to build what runs on any of these inputs need, if that is quicker together.

        The result is true if anything is being built from now on.
        """
        return False

    def prebuild(self, entry: str, args: Args, forces: Sequence[Force],
                 recorded: Sequence[Force] = ()) -> int | None:
        """Build the kernels of runs with these versions, as far as they are known before.

        Runs that are ``recorded`` need fewer kernels: they will not run without a record.  The
        result is the number of work-items of the last of these runs, if that is known.
        """
        return None

    def save_manifest(self) -> None:
        """Keep what was built for the next tuning: this one is over."""
        return

    # Runs

    def predicted(self, entry: str, args: Args, forces: Sequence[Force],
                  thresholds: Thresholds | None = None) -> Sequence[float]:
        """The predicted seconds of runs with each of these versions, infinite if one cannot run.

        They are all alike if there is no prediction.
        """
        return [0.0] * len(forces)

    def record(self, entry: str, args: Args, *, force: Force | None = None,
               thresholds: Thresholds | None = None) -> Record:
        """The record of a run, whose results are thrown away."""
        raise CompilerLimitation("This program has no records.")

    def timing(self, entry: str, args: Args, *, force: Force | None = None,
               thresholds: Thresholds | None = None) -> Timing:
        """The seconds of a run without a record, and those until all commands were issued."""
        raise CompilerLimitation("This program has no times.")

    def results(self, entry: str, args: Args, force: Force) -> list[Any]:
        """The results of a run with these versions, all of which must run."""
        raise CompilerLimitation("This program has no results.")

    def time(self, entry: str, args: Args, *, force: Force | None = None,
             thresholds: Thresholds | None = None) -> float:
        """The seconds of a run without a record."""
        return self.timing(entry, args, force=force, thresholds=thresholds).seconds

    def measure_all(self, entry: str, args: Args, forces: Sequence[Force],
                    thresholds: Thresholds | None = None, recorded: Sequence[bool] | None = None,
                    ) -> Iterator[RecordAndTime | RuneliftError]:
        """The costs of runs with each of these versions, or why they fail.

        Runs that are ``recorded`` are also made with a record.  If ``recorded`` is None, all runs
        are.  A run may be under way while the caller handles the result of the last one.
        """
        for force, records in zip(forces, recorded or [True] * len(forces), strict=True):
            try:
                yield (self.record(entry, args, force=force, thresholds=thresholds)
                       if records else None,
                       self.timing(entry, args, force=force, thresholds=thresholds))
            except (UserError, CompilerLimitation) as error:
                yield error

    def time_all(self, entry: str, args: Args, choices: Sequence[Thresholds], *,
                 often: bool = False) -> Sequence[float]:
        """The seconds of runs with each of these thresholds, which are short together.

        ``often`` asks for the times of runs that come again and again.  Kernels are then built that
        fuse launches.  To build these kernels takes long.
        """
        return [self.time(entry, args, thresholds=thresholds) for thresholds in choices]

    def saved_launches(self, entry: str, args: Args, choices: Sequence[Thresholds]
                       ) -> Sequence[int]:
        """The number of launches and copies that each run saves when it comes often.

        Runs with these thresholds have been made before.
        """
        return [0] * len(choices)

    def replay(self, entry: str, args: Args, race: Race) -> ReplayRecord:
        """Run every version at every encounter, one after the other on equal inputs."""
        raise CompilerLimitation("This program cannot be replayed.")

    # Parameters of kernels

    def spaces(self, entry: str | None = None) -> Sequence[ParameterSpace]:
        """The possible values of the kernels' parameters, of one entry point or of all."""
        return []

    def try_settings(self, entry: str, args: Args, *, force: Force | None = None,
                     thresholds: Thresholds | None = None, searches: Searches | None = None,
                     ) -> Sequence[OperationTime]:
        """Run an entry point, and settings of its operations as searches ask for them.

        The result lists the operations of the run, with their times at their present settings.
        """
        return []

    def difference(self, entry: str, args: Args, before: Thresholds | None,
                   after: Thresholds | None) -> str | None:
        """The difference of results with two choices, if it is more than rounding."""
        return None

    def unexpected(self, entry: str, args: Args, expected: Sequence[Any]) -> str | None:
        """The first difference of the default results from the ``expected`` results, in words."""
        return None
