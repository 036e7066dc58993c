"""A genetic algorithm on indices (Holland 1975; Breddam 2019, figure 3.1)."""

from __future__ import annotations

from itertools import islice

import numpy as np

from runelift.runtime.tuner.strategies.indices import IndexSpace
from runelift.runtime.tuner.strategies.trials import SearchState, Values, strategy


@strategy("genetic")
def genetic(trials: SearchState, *, population: int = 20, generations: int = 15,
            mutation: float = 0.15) -> dict[str, int]:
    """Generations of children, each taking every index from one of two parents, and mutated.

    Pairs are drawn at random, and the better of each pair is a parent.  The best of a generation
    lives on.  A mutation draws an index anew or, as often, sets a guard to always or never hold.
    """
    trials.scout()
    space, random = IndexSpace.of(trials), trials.random
    living = [*space.first(), *islice(space.draw(), population - 1)]
    for _ in range(generations):
        scores = [trials.score(space.thresholds(one)) for one in living]
        children = [living[int(np.argmin(scores))]]
        while len(children) < population:
            mother, father = (_fitter(living, scores, random) for _ in range(2))
            child = np.where(random.random(len(mother)) < 0.5, mother, father)
            children.append(mutated(child, space, mutation, random))
        living = children
    return trials.best


def _fitter(living: list[Values], scores: list[float], random: np.random.Generator) -> Values:
    first, second = random.integers(len(living), size=2)
    return living[int(first if scores[int(first)] <= scores[int(second)] else second)]


def mutated(parent: Values, space: IndexSpace, rate: float, random: np.random.Generator) -> Values:
    """A vector in which each index may be another one, or an end of its range."""
    ends = np.where(random.random(len(parent)) < 0.5, 0, space.all_false())
    other = np.where(random.random(len(parent)) < 0.5, next(space.draw()), ends)
    return np.where(random.random(len(parent)) < rate, other, parent)
