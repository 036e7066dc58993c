"""Exact thresholds for the sites of a tree, from weighted encounters.

A threshold matters only through which encounters it lets pass, so the candidates for a guard
are the values that were compared with it, and "never".  For one guard, sorting the encounters
and summing prefixes gives the cost of every candidate at once.  For a chain of guards all
combinations of candidates for the earlier guards are tried, the last one being solved as
above; what a nested site can reach by then is known, so it is solved exactly, too.  Where
there are too many combinations, each guard is solved in turn given the others, from several
starts, until nothing improves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from runelift.runtime.tuner.costs import Point
from runelift.runtime.tuner.forest import Site

NEVER = 2_000_000_000
"""A threshold above every parallelism, as in Futhark; where it is not, twice the greatest."""
ENOUGH = 20_000
"""How many combinations of candidates are tried one by one."""

Array: TypeAlias = np.ndarray[Any, Any]
Solution: TypeAlias = tuple[float, dict[str, int]]
"""A cost, and the thresholds of a tree that give it."""


def never(par: Sequence[int]) -> int:
    """A threshold that none of these values reaches."""
    return max([NEVER, *(2 * value for value in par)])


def exact_1d(par: Array, cost_true: Array, cost_false: Array) -> tuple[float, int]:
    """The least cost over all thresholds for one guard, and a threshold that gives it.

    Encounter i costs ``cost_true[i]`` if the threshold is at most ``par[i]``, else
    ``cost_false[i]``.  An infinite ``cost_true`` says that the version cannot be chosen, which
    the caller must have turned into ``cost_false`` already if the guard falls through.

    >>> exact_1d(np.array([4, 16]), np.array([9.0, 1.0]), np.array([2.0, 5.0]))
    (3.0, 16)
    """
    order = np.argsort(par, kind="stable")[::-1]
    sorted_par = par[order]
    # costs[k]: the k encounters of the largest parallelism take the true edge.
    true = np.concatenate(([0.0], np.cumsum(cost_true[order])))
    false = np.concatenate((np.cumsum(cost_false[order][::-1])[::-1], [0.0]))
    costs = true + false
    # A threshold cannot tell equal values apart.
    costs[1:-1][sorted_par[1:] == sorted_par[:-1]] = np.inf
    best = int(np.argmin(costs))
    threshold = never(par.tolist()) if best == 0 else int(sorted_par[best - 1])
    return float(costs[best]), threshold


@dataclass(slots=True)
class Solver:
    """Solves trees for points with weights; remembers what it has solved."""

    weights: Mapping[Point, float]
    default: Mapping[str, int]
    enough: int = ENOUGH
    _known: dict[tuple[str, frozenset[Point]], Solution] = field(default_factory=dict)

    def solve(self, site: Site, points: Sequence[Point]) -> Solution:
        """The least total cost of ``points`` of ``site``, and thresholds for it and below."""
        if not points:
            return 0.0, {g.name: self.default[g.name] for s in site.walk() for g in s.guards}
        key = site.name, frozenset(points)
        if key not in self._known:
            nested = any(a.sites for a in site.alternatives)
            if not nested:
                self._known[key] = self._chain(site, points, self._times(site, points, {}))
            elif self._combinations(site, points) <= self.enough:
                self._known[key] = self._enumerate(site, points)
            else:
                self._known[key] = self._alternate(site, points)
        return self._known[key]

    # A site whose versions have fixed costs

    def _times(self, site: Site, points: Sequence[Point], below: Mapping[str, int]) -> Array:
        """Weighted costs, point by version; infinite where a version is infeasible."""
        times = np.full((len(points), len(site.alternatives)), np.inf)
        for row, point in enumerate(points):
            for index in point.feasible:
                times[row, index] = self.weights[point] * point.version_cost(index, below)
            times[row, -1] = times[row, max(point.feasible)]
        return times

    def _chain(self, site: Site, points: Sequence[Point], times: Array) -> Solution:
        """Thresholds of one site, given what each version costs."""
        par = self._par(site, points)
        names = [guard.name for guard in site.guards]
        candidates = [_candidates(par[:, j]) for j in range(len(names))]
        allowed = np.array([[index in p.feasible for index in range(len(names))]
                            for p in points]).reshape(len(points), len(names))
        chain = _Chain(par, times, allowed, candidates)
        if np.prod([float(len(c)) for c in candidates[:-1]]) <= self.enough:
            cost, best = chain.exact(0, np.ones(len(points), bool))
        else:
            cost, best = chain.descend([self.default[name] for name in names])
        return cost, dict(zip(names, best, strict=True))

    def _par(self, site: Site, points: Sequence[Point]) -> Array:
        return np.array([[p.par[g.name] for g in site.guards] for p in points],
                        np.int64).reshape(len(points), len(site.guards))

    # A site with sites inside of its versions

    def _combinations(self, site: Site, points: Sequence[Point]) -> float:
        """How many combinations solving this site and all below one by one would try."""
        own = 1.0
        for guard in site.guards:
            own *= len({p.par[guard.name] for p in points}) + 1
        below = sum(self._combinations(inner, _inner_points(inner, index, points))
                    for index, alternative in enumerate(site.alternatives)
                    for inner in alternative.sites)
        return own * max(1.0, below)

    def _enumerate(self, site: Site, points: Sequence[Point]) -> Solution:
        """Try all thresholds of this site; solve what is inside for the points that reach it."""
        names = [guard.name for guard in site.guards]
        par = self._par(site, points)
        best: Solution | None = None
        for chosen in product(*(_candidates(par[:, j]) for j in range(len(names)))):
            own = dict(zip(names, chosen, strict=True))
            solution = self._given(site, points, own)
            if best is None or solution[0] < best[0]:
                best = solution
        assert best is not None
        return best

    def _given(self, site: Site, points: Sequence[Point], own: dict[str, int]) -> Solution:
        """The best thresholds below ``site`` when its own are ``own``."""
        reached: dict[int, list[Point]] = {index: [] for index in range(len(site.alternatives))}
        cost, thresholds = 0.0, dict(own)
        for point in points:
            index = point.choose(own)
            reached[index].append(point)
            cost += self.weights[point] * point.own[index]
        for index, alternative in enumerate(site.alternatives):
            for inner in alternative.sites:
                below, found = self.solve(inner, _inner_points(inner, index, reached[index]))
                cost += below
                thresholds |= found
        return cost, thresholds

    def _alternate(self, site: Site, points: Sequence[Point]) -> Solution:
        """Bottom-up, then in turn: this site given those inside, those inside given this."""
        thresholds: dict[str, int] = {}
        for index, alternative in enumerate(site.alternatives):
            for inner in alternative.sites:
                thresholds |= self.solve(inner, _inner_points(inner, index, points))[1]
        best: Solution | None = None
        while True:
            _, own = self._chain(site, points, self._times(site, points, thresholds))
            found = self._given(site, points, own)
            if best is not None and found[0] >= best[0] * (1 - 1e-9):
                return best
            best = found
            thresholds = found[1]


@dataclass(frozen=True, slots=True)
class _Chain:
    """A chain of guards over points: parallelism and permission per guard, cost per version."""

    par: Array
    times: Array
    allowed: Array
    candidates: list[list[int]]

    def exact(self, guard: int, left: Array) -> tuple[float, list[int]]:
        """The best thresholds from ``guard`` on for the points that are ``left``."""
        last = len(self.candidates) - 1
        if guard > last:
            return float(self.times[left, -1].sum()), []
        if guard == last:
            cost, threshold = self._one(guard, left, self.times[:, -1])
            return cost, [threshold]
        best_cost, best = np.inf, list[int]()
        for threshold in self.candidates[guard]:
            taken = left & self.allowed[:, guard] & (self.par[:, guard] >= threshold)
            own = float(self.times[taken, guard].sum())
            if own < best_cost or not best:
                cost, later = self.exact(guard + 1, left & ~taken)
                if own + cost < best_cost or not best:
                    best_cost, best = own + cost, [threshold, *later]
        return best_cost, best

    def descend(self, default: list[int]) -> tuple[float, list[int]]:
        """One guard after the other, from several starts, until nothing improves."""
        starts = [default, [1] * len(default), [max(c) for c in self.candidates]]
        return min((self._descend_from(list(start)) for start in starts), key=lambda s: s[0])

    def _descend_from(self, chosen: list[int]) -> tuple[float, list[int]]:
        cost = np.inf
        while True:
            for guard in reversed(range(len(chosen))):
                left = np.ones(len(self.par), bool)
                for earlier in range(guard):
                    left &= ~self._taken(earlier, chosen)
                after = self.times[:, -1].copy()
                for later in reversed(range(guard + 1, len(chosen))):
                    taken = self._taken(later, chosen)
                    after[taken] = self.times[taken, later]
                _, chosen[guard] = self._one(guard, left, after)
            now = self._cost(chosen)
            if not now < cost * (1 - 1e-12):
                return now, chosen
            cost = now

    def _taken(self, guard: int, chosen: list[int]) -> Array:
        taken: Array = self.allowed[:, guard] & (self.par[:, guard] >= chosen[guard])
        return taken

    def _cost(self, chosen: list[int]) -> float:
        result = self.times[:, -1].copy()
        for guard in reversed(range(len(chosen))):
            taken = self._taken(guard, chosen)
            result[taken] = self.times[taken, guard]
        return float(result.sum())

    def _one(self, guard: int, left: Array, after: Array) -> tuple[float, int]:
        """The best threshold of one guard when the later ones cost ``after``."""
        true = np.where(self.allowed[:, guard], self.times[:, guard], after)
        return exact_1d(self.par[left, guard], true[left], after[left])


def _candidates(par: Array) -> list[int]:
    """The thresholds that differ in what they let pass, ascending."""
    values = sorted({int(value) for value in par})
    return [*values, never(values)]


def _inner_points(inner: Site, index: int, points: Sequence[Point]) -> list[Point]:
    """The encounters of ``inner`` inside of version ``index`` of ``points``."""
    return [q for p in points for q in p.inner.get(index, ()) if q.site.name == inner.name]


