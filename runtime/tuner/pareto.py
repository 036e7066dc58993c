"""Pareto fronts: the choices of which no other is as good on every dataset.

A cost is a vector with one time per dataset.  Where only a weighted sum counts, the vectors have
one component, and a front is a single best choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]
Thresholds: TypeAlias = dict[str, int]


@dataclass(frozen=True, slots=True)
class Front:
    """Costs (choices × datasets), none dominated by another, and the thresholds of each."""

    costs: Array
    choices: tuple[Thresholds, ...]

    @classmethod
    def single(cls, cost: Array, choice: Thresholds) -> Front:
        """The front of one choice."""
        return cls(cost.reshape(1, -1), (choice,))

    def plus(self, other: Front, limits: Array) -> Front:
        """All sums of one choice of each, pruned."""
        if len(self.choices) == len(other.choices) == 1:
            costs = self.costs + other.costs
            within = bool((costs <= limits).all())
            return Front(costs[:within], (self.choices[0] | other.choices[0],)[:within])
        width = self.costs.shape[1]
        sums = (self.costs[:, None, :] + other.costs[None, :, :]).reshape(-1, width)
        keep = undominated(sums, limits)
        rows = [divmod(int(k), len(other.choices)) for k in keep]
        return Front(sums[keep], tuple(self.choices[i] | other.choices[j] for i, j in rows))

    def extended(self, cost: Array, choice: Thresholds) -> Front:
        """The front with ``cost`` and ``choice`` added to every row."""
        return Front(self.costs + cost, tuple(choice | row for row in self.choices))


def union(fronts: Sequence[Front], limits: Array) -> Front:
    """The choices of several fronts, pruned."""
    costs = np.concatenate([front.costs for front in fronts])
    choices = [choice for front in fronts for choice in front.choices]
    keep = undominated(costs, limits)
    return Front(costs[keep], tuple(choices[k] for k in keep))


def undominated(costs: Array, limits: Array) -> Array:
    """The rows of ``costs`` within ``limits`` that no other row equals or beats everywhere.

    >>> undominated(np.array([[1.0, 5.0], [2.0, 4.0], [2.0, 6.0]]), np.array([9.0, 9.0])).tolist()
    [0, 1]
    """
    within = np.flatnonzero((costs <= limits).all(axis=1))
    if not len(within):
        return within
    if costs.shape[1] == 1:
        return within[[int(np.argmin(costs[within, 0]))]]
    order = within[np.lexsort(costs[within].T[::-1])]
    new = (costs[order[1:]] != costs[order[:-1]]).any(axis=1)
    order = order[np.concatenate(([True], new))]
    keep, left, rows = [], order, costs[order]
    while len(left):  # a row can only be beaten by one that comes before it
        keep.append(left[0])
        unbeaten = (rows < rows[0]).any(axis=1)
        left, rows = left[unbeaten], rows[unbeaten]
    return np.array(keep)
