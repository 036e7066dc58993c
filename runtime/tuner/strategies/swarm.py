"""Particle swarm optimisation on indices (Kennedy and Eberhart 1995)."""

from __future__ import annotations

import numpy as np

from runelift.runtime.tuner.strategies.indices import IndexSpace
from runelift.runtime.tuner.strategies.trials import SearchState, strategy


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
