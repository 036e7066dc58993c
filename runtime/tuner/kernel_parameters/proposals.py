"""Proposals: ways to explore the settings of an operation, given the times of earlier settings.

All of them draw from the possible settings only.  A value is chosen among the values that fit the
values before it (:meth:`~runelift.runtime.geometry.parameter_space.ParameterSpace.nearest`).  So no
setting is generated to be thrown away.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from itertools import islice
from random import Random
from typing import TypeAlias

from runelift.codegen.plan.parameters import Quantity
from runelift.runtime.geometry.parameter_space import ParameterSpace, Setting
from runelift.runtime.tuner.policy import ParameterPolicy
from runelift.runtime.tuner.search.technique_bandit import TechniqueBandit

Times: TypeAlias = Mapping[Setting, float]
"""The least seconds that each setting has taken so far."""
Exploring: TypeAlias = Generator[list[Setting], Times, None]
"""Asks for settings to be tried, and is sent the times of all."""


def exhaustively(space: ParameterSpace, random: Random, policy: ParameterPolicy) -> Exploring:
    """All settings in turn."""
    del random
    yield from _batches(space.settings(), policy)


def at_random(space: ParameterSpace, random: Random, policy: ParameterPolicy) -> Exploring:
    """All settings, in random order."""
    yield from _batches(space.shuffled(random), policy)


def _batches(settings: Iterator[Setting], policy: ParameterPolicy) -> Exploring:
    while batch := list(islice(settings, policy.batch)):
        yield batch


def genetically(space: ParameterSpace, random: Random, policy: ParameterPolicy) -> Exploring:
    """Generations: a child has values of two good settings, and now and then another value.

    Where the values of its parents do not go together, the nearest possible child is born.
    """
    drawn = space.shuffled(random)
    times = yield list(islice(drawn, policy.population))
    tried = set(times)
    while True:
        parents = sorted(times, key=lambda s: times[s])[:policy.population]
        children = set[Setting]()
        if parents:
            children |= {_child(space, parents, random, policy.mutation)
                         for _ in range(policy.children)}
        fresh = sorted(children - tried) or list(islice((s for s in drawn if s not in tried), 1))
        if not fresh:
            return
        tried |= set(fresh)
        times = yield fresh


def by_ensemble(space: ParameterSpace, random: Random, policy: ParameterPolicy) -> Exploring:
    """One setting at a time, from the technique that did best of late, as in OpenTuner.

    Techniques draw any setting, step to a neighbour of the best, mutate it, or cross good settings.
    Where one proposes nothing new, a setting is drawn.
    """
    drawn = space.shuffled(random)
    times = yield list(islice(drawn, policy.population))
    tried = set(times)

    def ranked() -> list[Setting]:
        return sorted(times, key=lambda s: times[s])[:policy.population]

    def neighbour() -> Setting:
        near = list(space.neighbours(ranked()[0]))
        return random.choice(near) if near else ranked()[0]

    def mutation() -> Setting:
        return _mutant(space, ranked()[0], random)

    def crossover() -> Setting:
        return _child(space, ranked(), random, 0.0)

    def anywhere() -> Setting:
        return next(drawn, space.default)

    ensemble = TechniqueBandit((anywhere, neighbour, mutation, crossover), policy.window,
                               policy.exploration)
    while True:
        technique = ensemble.choose() if times else anywhere
        proposed = technique()
        if proposed in tried:
            ensemble.note(technique, better=False)
            fresh = next((s for s in drawn if s not in tried), None)
            if fresh is None:
                return
            technique, proposed = anywhere, fresh
        tried.add(proposed)
        before = min(times.values(), default=float("inf"))
        times = yield [proposed]
        ensemble.note(technique, better=times.get(proposed, float("inf")) < before)


def _mutant(space: ParameterSpace, setting: Setting, random: Random) -> Setting:
    """A setting with a new value of one parameter.  The other parameters get values that fit it."""
    wanted = {each.parameter.quantity: value
              for each, value in zip(space.ranges, setting, strict=True)}
    changed = random.choice(space.ranges)
    wanted[changed.parameter.quantity] = random.choice(changed.values)
    return space.nearest(wanted)


def _tournament(ranked: list[Setting], random: Random) -> Setting:
    """The better one of two; ``ranked`` has the best first."""
    return ranked[min(random.randrange(len(ranked)) for _ in range(2))]


def _child(space: ParameterSpace, ranked: list[Setting], random: Random, mutation: float
           ) -> Setting:
    """A setting between two of ``ranked``, with another value by the probability ``mutation``."""
    mother, father = _tournament(ranked, random), _tournament(ranked, random)
    wanted: dict[Quantity, int] = {}
    for each, one, other in zip(space.ranges, mother, father, strict=True):
        value = random.choice((one, other))
        if random.random() < mutation / len(space.ranges):
            value = random.choice(each.values)
        wanted[each.parameter.quantity] = value
    return space.nearest(wanted)


EXPLORING: dict[str, Callable[[ParameterSpace, Random, ParameterPolicy], Exploring]] = {
    "random": at_random, "genetic": genetically, "ensemble": by_ensemble,
    "exhaustive": exhaustively}
"""By name; local search is part of successive halving."""
