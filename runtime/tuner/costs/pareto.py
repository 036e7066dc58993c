"""Pareto fronts: the choices of which no other is as good on every dataset.

A cost is a vector with one time per dataset, or two
(:mod:`runelift.runtime.tuner.costs.host_device_time`).  A predicate (:data:`Within`) prunes costs
that are too high.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from runelift.runtime.records.record import Encounter

Array: TypeAlias = np.ndarray[Any, Any]
Thresholds: TypeAlias = dict[str, int]
Within: TypeAlias = Callable[[Array], Array]
"""A monotonic predicate on rows of costs: no row greater than a false one is true."""


def below(limits: Array) -> Within:
    """Costs that exceed none of the limits."""
    def within(costs: Array) -> Array:
        return np.asarray((costs <= limits).all(axis=1))

    return within


@dataclass(frozen=True, slots=True)
class Front:
    """Costs (choices × datasets), none dominated by another, and the thresholds of each."""

    costs: Array
    choices: tuple[Thresholds, ...]

    @classmethod
    def single(cls, cost: Array, choice: Thresholds) -> Front:
        """The front of one choice."""
        return cls(cost.reshape(1, -1), (choice,))

    def plus(self, other: Front, within: Within) -> Front:
        """The front of all sums of one choice of each; both have been pruned by ``within``."""
        if len(self.choices) == 1 and not self.costs.any():
            return other.choosing(self.choices[0])
        if len(self.choices) == len(other.choices) == 1:
            costs = self.costs + other.costs
            count = int(within(costs)[0])
            return Front(costs[:count], (self.choices[0] | other.choices[0],)[:count])
        width = self.costs.shape[1]
        sums = (self.costs[:, None, :] + other.costs[None, :, :]).reshape(-1, width)
        keep = undominated(sums, within)
        rows = [divmod(int(k), len(other.choices)) for k in keep]
        return Front(sums[keep], tuple(self.choices[i] | other.choices[j] for i, j in rows))

    def choosing(self, choice: Thresholds) -> Front:
        """The front with ``choice`` added to every row."""
        return Front(self.costs, tuple(choice | row for row in self.choices))


def union(fronts: Sequence[Front], within: Within) -> Front:
    """The front of the choices of several fronts."""
    if len(fronts) == 1:
        return fronts[0]
    costs = np.concatenate([front.costs for front in fronts])
    choices = [choice for front in fronts for choice in front.choices]
    keep = undominated(costs, within)
    return Front(costs[keep], tuple(choices[k] for k in keep))


def undominated(costs: Array, within: Within) -> Array:
    """The rows of ``costs`` that are ``within`` and not dominated by another row.

    >>> costs = np.array([[1.0, 5.0], [2.0, 4.0], [2.0, 6.0]])
    >>> undominated(costs, below(np.array([9.0, 9.0]))).tolist()
    [0, 1]
    """
    usable = np.flatnonzero(within(costs))
    if len(usable) < 2:
        return usable
    order = usable[np.lexsort(costs[usable].T[::-1])]
    new = (costs[order[1:]] != costs[order[:-1]]).any(axis=1)
    order = order[np.concatenate(([True], new))]
    keep, left, rows = [], order, costs[order]
    while len(left):  # only an earlier row can dominate a row
        keep.append(left[0])
        unbeaten = (rows < rows[0]).any(axis=1)
        left, rows = left[unbeaten], rows[unbeaten]
    return np.array(keep)


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
