"""Complete information from one run per version (Breddam 2019, algorithm 8), solved exactly.

Algorithm 8 adds up the two curves of each comparison.  Here :func:`.fit.fit` solves for all of
them jointly, and never makes a dataset slower than by default.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from runelift.runtime.tuner.fit.fit import fit
from runelift.runtime.tuner.measure.protocols import MeasuringMethod, Replay
from runelift.runtime.tuner.strategies.trials import SearchState, Strategy, default_options


def _forced(*, budget: float = math.inf, every: bool = False) -> MeasuringMethod:
    """Record the cost of every version at every encounter; ``budget`` is in seconds.

    Versions that other datasets rule out are run only with ``every``.
    """
    return MeasuringMethod(budget, every=every)


def _replayed(*, budget: float = math.inf, every: bool = False, rounds: int = 5,
              factor: float = 3.0) -> MeasuringMethod:
    """The same from one run per dataset: every version runs at every encounter.

    See :class:`runelift.runtime.tuner.replay.racing.Race` for the options; ``budget`` is in
    seconds.  With ``every``, no version leaves the race.
    """
    return MeasuringMethod(budget, every=every, replay=Replay(rounds, factor))


_METHODS: Mapping[str, Callable[..., MeasuringMethod]] = {
    "instrumentation": _forced, "replay": _replayed}


def measuring_method(strategy: Strategy) -> MeasuringMethod | None:
    """The way in which a strategy measures costs; None if it runs the program with thresholds."""
    make = _METHODS.get(strategy.name)
    return None if make is None else make(**strategy.options)


def _fitting(name: str) -> Strategy:
    """The strategy that measures costs in some way, and fits thresholds to them."""
    def found(trials: SearchState, **options: Any) -> dict[str, int]:
        return fit(trials.instrument(_METHODS[name](**options)), trials.oracle.default).thresholds

    return Strategy(name, found, default_options(_METHODS[name]))


instrumentation, replay = map(_fitting, _METHODS)
