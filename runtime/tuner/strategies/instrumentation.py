"""Complete information from one run per version (Breddam 2019, algorithm 8), solved exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from runelift.runtime.tuner.fit import fit
from runelift.runtime.tuner.strategies.trials import Trials


@dataclass(frozen=True, slots=True)
class Instrumentation:
    """Records what every version costs at every encounter, and fits thresholds to that.

    Algorithm 8 adds up the two curves of each comparison; :func:`.fit.fit` solves for all of
    them jointly, and never makes a dataset slower than by default.
    """

    name: ClassVar[str] = "instrumentation"

    def search(self, trials: Trials) -> dict[str, int]:
        """The thresholds found."""
        return fit(trials.instrument(), trials.oracle.default).thresholds
