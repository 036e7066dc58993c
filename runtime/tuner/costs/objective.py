"""Objectives of tuning: the times of several datasets as one number to minimise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from runelift.runtime.tuner.costs.cost_model import DatasetCosts
    from runelift.runtime.tuner.costs.pareto import Array


class Objective(Enum):
    """The number to minimise, made of the times of all datasets.

    * RELATIVE: the sum of the times relative to each dataset's best possible time.  A short dataset
      counts as much as a long one.
    * ABSOLUTE: the sum of the times (in seconds).
    * MAX_REGRET: the greatest of the relative times, so that no dataset is very slow.
    * MEMORY: as RELATIVE; of the choices that are nearly as good, the one of least device memory.
    * PARETO: as RELATIVE; the tuner also reports the front of time and memory.
    """

    RELATIVE = "relative"
    ABSOLUTE = "absolute"
    MAX_REGRET = "max-regret"
    MEMORY = "memory"
    PARETO = "pareto"

    @property
    def weighs_memory(self) -> bool:
        """True if a front of time and memory is asked for."""
        return self in (Objective.MEMORY, Objective.PARETO)

    def weights(self, datasets: Sequence[DatasetCosts]) -> dict[str, float]:
        """The factor of the time of each dataset."""
        return {d.name: 1.0 if self is Objective.ABSOLUTE else 1.0 / max(d.least(), 1e-12)
                for d in datasets}

    def scores(self, times: Array, weights: Array) -> Array:
        """The score of each row of times (choices × datasets).

        >>> times, weights = np.array([[1.0, 4.0], [2.0, 3.5]]), np.array([1.0, 0.5])
        >>> Objective.RELATIVE.scores(times, weights).tolist()
        [3.0, 3.75]
        >>> Objective.MAX_REGRET.scores(times, weights).tolist()
        [2.0, 2.0]
        """
        weighted: Array = times * weights
        combined: Array = (weighted.max(axis=1, initial=0.0) if self is Objective.MAX_REGRET
                           else weighted.sum(axis=1))
        return combined

    def score(self, datasets: Sequence[DatasetCosts], thresholds: Mapping[str, int]) -> float:
        """The score of thresholds."""
        weights = self.weights(datasets)
        times = np.array([[d.total(thresholds) for d in datasets]])
        return float(self.scores(times, np.array([weights[d.name] for d in datasets]))[0])
