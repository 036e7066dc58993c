"""Complete information from one run per version (Breddam 2019, algorithm 8), solved exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from runelift.runtime.tuner.fit.fit import fit
from runelift.runtime.tuner.measure.forced_runs import ForcedRuns
from runelift.runtime.tuner.measure.protocols import MeasuringMethod
from runelift.runtime.tuner.measure.replay_runs import ReplayRuns
from runelift.runtime.tuner.strategies.trials import SearchState


@dataclass(frozen=True, slots=True)
class Instrumentation:
    """Records the cost of every version at every encounter, and fits thresholds to it.

    Algorithm 8 adds up the two curves of each comparison.  Here :func:`.fit.fit` solves for all of
    them jointly, and never makes a dataset slower than by default.  ``budget`` is in seconds.
    Versions that other datasets rule out are run only with ``every``.
    """

    name: ClassVar[str] = "instrumentation"
    budget: float = math.inf
    every: bool = False

    @property
    def method(self) -> MeasuringMethod:
        """The way to measure costs."""
        return ForcedRuns(self.budget, every=self.every)

    def search(self, trials: SearchState) -> dict[str, int]:
        """The thresholds found."""
        return fit(trials.instrument(self.method), trials.oracle.default).thresholds


@dataclass(frozen=True, slots=True)
class Replay(Instrumentation):
    """The same from one run per dataset: every version runs at every encounter.

    See :class:`runelift.runtime.replay.racing.Race` for the options; ``budget`` is in seconds.
    With ``every``, no version leaves the race.
    """

    name: ClassVar[str] = "replay"
    rounds: int = 5
    factor: float = 3.0
    budget: float = math.inf

    @property
    def method(self) -> MeasuringMethod:
        """The way to measure costs."""
        method = ReplayRuns(self.rounds, self.factor, self.budget)
        return method.surely() if self.every else method
