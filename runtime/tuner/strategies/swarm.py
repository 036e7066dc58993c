"""Particle swarm optimisation on indices (Kennedy and Eberhart 1995)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from runelift.runtime.tuner.strategies.indices import IndexSpace
from runelift.runtime.tuner.strategies.trials import SearchState


@dataclass(frozen=True, slots=True)
class Swarm:
    """Particles fly through the indices, drawn to their own best place and to that of all.

    ``inertia`` and ``pull`` are the constants with which a swarm converges (Clerc and Kennedy
    2002).  One particle starts where no guard holds.
    """

    name: ClassVar[str] = "swarm"
    particles: int = 10
    rounds: int = 30
    inertia: float = 0.7298
    pull: float = 1.4962

    def search(self, trials: SearchState) -> dict[str, int]:
        """The best thresholds tried."""
        trials.scout()
        space, random = IndexSpace.of(trials), trials.random
        shape = self.particles, len(space.names)
        greatest = (space.lengths - 1).astype(np.float64)
        places = random.uniform(0, 1, shape) * greatest
        places[0] = space.all_false()
        speeds = random.uniform(-0.5, 0.5, shape) * greatest
        own, scores = places.copy(), np.full(self.particles, np.inf)
        for _ in range(self.rounds):
            for k, place in enumerate(places):
                score = trials.score(space.thresholds(space.nearest(place)))
                if score < scores[k]:
                    own[k], scores[k] = place, score
            best = own[int(np.argmin(scores))]
            speeds = (self.inertia * speeds
                      + self.pull * random.uniform(0, 1, shape) * (own - places)
                      + self.pull * random.uniform(0, 1, shape) * (best - places))
            places = np.clip(places + speeds, 0, greatest)
        return trials.best
