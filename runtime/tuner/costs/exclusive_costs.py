"""Exclusive costs of encounters: their cost minus that of the encounters inside of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from runelift.runtime.records.record import Encounter
from runelift.runtime.tuner.costs.pareto import Array


class EncounterNesting:
    """The nesting of the encounters of a run; amounts are in their order."""

    def __init__(self, encounters: Sequence[Encounter]) -> None:
        self._count = len(encounters)
        places: dict[int | None, int] = {None: self._count}
        places |= {each.number: place for place, each in enumerate(encounters)}
        self._around = np.array([places[each.parent] for each in encounters], np.intp)

    def inside(self, amounts: Array) -> Array:
        """The sums over the encounters directly inside of each; the last over the outermost."""
        return np.bincount(self._around, amounts, self._count + 1)

    def own(self, amounts: Array) -> Array:
        """The exclusive amount of each encounter."""
        own: Array = amounts - self.inside(amounts)[:-1]
        return own
