"""An ensemble of techniques led by a bandit, as in OpenTuner (Ansel et al., PACT 2014)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from runelift.runtime.tuner.search.technique_bandit import TechniqueBandit
from runelift.runtime.tuner.strategies.indices import IndexSpace
from runelift.runtime.tuner.strategies.populations import mutated
from runelift.runtime.tuner.strategies.trials import SearchState, Values, strategy

MEMORY = 20
"""The number of best vectors that techniques may draw on."""


@dataclass(slots=True)
class _BestVectors:
    """The best vectors tried, the best first."""

    space: IndexSpace
    best: list[tuple[float, Values]] = field(default_factory=list)

    def add(self, score: float, vector: Values) -> bool:
        """Remember a try; whether it is the best so far."""
        better = not self.best or score < self.best[0][0]
        if all((vector != other).any() for _, other in self.best):
            self.best = sorted([*self.best, (score, vector)], key=lambda each: each[0])[:MEMORY]
        return better

    def some(self) -> Values:
        """One of the best vectors."""
        return self.best[int(self.space.random.integers(len(self.best)))][1]


Technique: TypeAlias = Callable[[_BestVectors], Values]


def anywhere(known: _BestVectors) -> Values:
    """Any vector."""
    return next(known.space.draw())


def mutation(known: _BestVectors) -> Values:
    """The best vector with some indices drawn anew."""
    return mutated(known.best[0][1], known.space, 0.3, known.space.random)


def neighbour(known: _BestVectors) -> Values:
    """The best vector with one index moved by one (hill climbing)."""
    return next(known.space.near(known.best[0][1]))


def gaussian(known: _BestVectors) -> Values:
    """The best vector with every index moved by about a tenth of its range."""
    vector = known.best[0][1]
    return known.space.nearest(known.space.random.normal(vector, 0.1 * known.space.lengths))


def crossover(known: _BestVectors) -> Values:
    """Every index from one of two good vectors."""
    mother, father = known.some(), known.some()
    return np.where(known.space.random.random(len(mother)) < 0.5, mother, father)


def differential(known: _BestVectors) -> Values:
    """A good vector moved by the difference of two other vectors (Storn and Price 1997)."""
    base, plus, minus = known.some(), known.some(), known.some()
    return known.space.nearest(base + 0.7 * (plus - minus).astype(np.float64))


TECHNIQUES: tuple[Technique, ...] = (anywhere, mutation, neighbour, gaussian, crossover,
                                     differential)


@strategy("bandit")
def bandit(trials: SearchState, *, tries: int = 300, window: int = 100, exploration: float = 0.1
           ) -> dict[str, int]:
    """Lets techniques compete for ``tries``, judged by their uses among the last ``window``.

    ``exploration`` weighs the bonus for techniques that are used little.
    """
    def attempt(vector: Values) -> bool:
        return known.add(trials.score(known.space.thresholds(vector)), vector)

    trials.scout()
    known = _BestVectors(IndexSpace.of(trials))
    if not known.space.names:
        return trials.best
    attempt(known.space.all_false())
    ensemble = TechniqueBandit(TECHNIQUES, window, exploration)
    for _ in range(tries):
        technique = ensemble.choose()
        ensemble.note(technique, attempt(technique(known)))
    return trials.best

