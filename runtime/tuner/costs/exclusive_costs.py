"""Exclusive costs of encounters: their cost minus that of the encounters inside of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from runelift.runtime.records.record import Encounter
from runelift.runtime.tuner.costs.pareto import Array


def exclusive(encounters: Sequence[Encounter], amounts: Array) -> tuple[Array, Array]:
    """The exclusive amounts of a run's encounters, and the sum over the outermost encounters.

    Each row of ``amounts`` has an amount for each encounter; the sums have one for each row.
    """
    count = len(encounters)
    places: dict[int | None, int] = {each.number: place for place, each in enumerate(encounters)}
    around = np.array([places.get(each.parent, count) for each in encounters], np.intp)
    inside = np.array([np.bincount(around, row, count + 1) for row in amounts])
    own: Array = amounts - inside[:, :-1]
    return own, inside[:, -1]
