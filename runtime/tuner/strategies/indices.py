"""Thresholds as vectors of indices: the space of the searches that know nothing of the forest.

Component k is an index into the values compared with guard k and one above all of them
(Breddam 2019, section 3.3).  No smaller space has all thresholds that make different choices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from runelift.runtime.tuner.fit.chain_solver import candidates
from runelift.runtime.tuner.strategies.trials import SearchState, Values
from runelift.runtime.versions.forest import Site


@dataclass(frozen=True, slots=True)
class IndexSpace:
    """The guards that are compared with anything, and the thresholds that differ for each."""

    names: tuple[str, ...]
    choices: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, trials: SearchState, trees: Sequence[Site] | None = None) -> IndexSpace:
        """The space of some trees, by default of all."""
        compared = {guard.name: trials.compared(guard.name)
                    for tree in (trials.forest.trees if trees is None else trees)
                    for site in tree.walk() for guard in site.guards}
        used = {name: values for name, values in compared.items() if values}
        return cls(tuple(used), tuple(tuple(candidates(values)) for values in used.values()))

    @property
    def lengths(self) -> Values:
        """The number of thresholds for each guard."""
        return np.array([len(choice) for choice in self.choices], np.int64)

    def thresholds(self, indices: Sequence[int] | Values) -> dict[str, int]:
        """The thresholds that a vector stands for."""
        return {name: choice[int(k)] for name, choice, k in
                zip(self.names, self.choices, indices, strict=True)}

    def nearest(self, vector: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Values:
        """The indices nearest to a vector of numbers."""
        return np.clip(np.rint(vector), 0, self.lengths - 1).astype(np.int64)

    def draw(self, random: np.random.Generator) -> Values:
        """Any vector, all alike."""
        return random.integers(self.lengths)

    def all_false(self) -> Values:
        """The vector with which no guard holds."""
        return self.lengths - 1
