"""Thresholds as vectors of indices: the space of the searches that know nothing of the forest.

Component k is an index into the values compared with guard k and one above all of them
(Breddam 2019, section 3.3).  No smaller space has all thresholds that make different choices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from runelift.runtime.tuner.fit.chain_solver import candidates
from runelift.runtime.tuner.strategies.trials import SearchState, Values
from runelift.runtime.versions.forest import Site


@dataclass(frozen=True, slots=True)
class IndexSpace:
    """The guards that are compared with anything, and the thresholds that differ for each."""

    names: tuple[str, ...]
    choices: tuple[tuple[int, ...], ...]
    random: np.random.Generator = field(default_factory=np.random.default_rng)

    @classmethod
    def of(cls, trials: SearchState, trees: Sequence[Site] | None = None) -> IndexSpace:
        """The space of some trees, by default of all."""
        compared = {guard.name: trials.compared(guard.name)
                    for tree in (trials.forest.trees if trees is None else trees)
                    for site in tree.walk() for guard in site.guards}
        used = {name: values for name, values in compared.items() if values}
        return cls(tuple(used), tuple(tuple(candidates(values)) for values in used.values()),
                   trials.random)

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

    def all_false(self) -> Values:
        """The vector with which no guard holds."""
        return self.lengths - 1

    def draw(self) -> Iterator[Values]:
        """Any vectors, all alike."""
        while True:
            yield self.random.integers(self.lengths)

    def near(self, known: Values) -> Iterator[Values]:
        """The vector with one index moved by one, again and again."""
        while True:
            moved = known.copy()
            moved[int(self.random.integers(len(moved)))] += 1 if self.random.random() < 0.5 else -1
            yield self.nearest(moved.astype(np.float64))

    def all(self) -> Iterator[Values]:
        """All vectors."""
        return map(np.array, product(*map(range, map(int, self.lengths))))
