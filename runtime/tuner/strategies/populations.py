"""Searches on indices: genetic, by a swarm, and at random, which all strategies have to beat.

Sources: Holland 1975 (Breddam 2019, figure 3.1); Kennedy and Eberhart 1995.
"""

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
    living = [space.all_false(), *islice(space.draw(), population - 1)]
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


@strategy("swarm")
def swarm(trials: SearchState, *, particles: int = 10, rounds: int = 30, inertia: float = 0.7298,
          pull: float = 1.4962) -> dict[str, int]:
    """Particles fly through the indices, drawn to their own best place and to that of all.

    ``inertia`` and ``pull`` are the constants with which a swarm converges (Clerc and Kennedy
    2002).  One particle starts where no guard holds.
    """
    trials.scout()
    space, random = IndexSpace.of(trials), trials.random
    shape = particles, len(space.names)
    greatest = (space.lengths - 1).astype(np.float64)
    places = random.uniform(0, 1, shape) * greatest
    places[0] = space.all_false()
    speeds = random.uniform(-0.5, 0.5, shape) * greatest
    own, scores = places.copy(), np.full(particles, np.inf)
    for _ in range(rounds):
        for k, place in enumerate(places):
            score = trials.score(space.thresholds(space.nearest(place)))
            if score < scores[k]:
                own[k], scores[k] = place, score
        best = own[int(np.argmin(scores))]
        speeds = (inertia * speeds
                  + pull * random.uniform(0, 1, shape) * (own - places)
                  + pull * random.uniform(0, 1, shape) * (best - places))
        places = np.clip(places + speeds, 0, greatest)
    return trials.best


@strategy("random")
def random_search(trials: SearchState, *, tries: int = 300) -> dict[str, int]:
    """So many ``tries`` of thresholds, drawn from the thresholds that choose differently."""
    trials.scout()
    space = IndexSpace.of(trials)
    for vector in islice(space.draw(), tries):
        trials.times(space.thresholds(vector))
    return trials.best
