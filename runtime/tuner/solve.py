"""Exact thresholds for the sites of a tree, from the costs of its encounters.

A threshold matters only through which encounters it lets pass, so the candidates for a guard
are the values that were compared with it, and "never".  A chain of guards is solved by dynamic
programming over *which encounters are left*: what the later guards can do depends on the earlier
ones through nothing else.  Where all guards compare with monotone functions of one size, as in a
loop over shrinking data, there are no more such sets than candidates, and the exact optimum costs
little even for long chains; the sites inside of a version are solved for the encounters that
reach it.

Costs are vectors (:mod:`runelift.runtime.tuner.pareto`), so the same program finds the least
weighted sum and all trade-offs between the datasets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from runelift.runtime.tuner.clocks import Cost
from runelift.runtime.tuner.costs import Point
from runelift.runtime.tuner.forest import Site
from runelift.runtime.tuner.pareto import Array, Front, Thresholds, union

NEVER = 2_000_000_000
"""A threshold above every parallelism, as in Futhark; where it is not, twice the greatest."""
ENOUGH = 50_000
"""How many sets of encounters (or, searching exhaustively, combinations) are looked at."""


class TooMany(Exception):
    """Solving exactly would take too long."""


def never(par: Sequence[int]) -> int:
    """A threshold that none of these values reaches."""
    return max([NEVER, *(2 * value for value in par)])


def candidates(par: Sequence[int]) -> list[int]:
    """The thresholds that differ in which of ``par`` they let pass, ascending.

    0 is none of them, as it stands for the default; what has no parallelism has no work either.
    """
    values = sorted({value for value in par if value > 0})
    return [*values, never(values)]


@dataclass(slots=True)
class Solver:
    """Solves trees exactly; remembers what it has solved.

    ``cost`` turns what a point costs into a cost vector.  Choices that exceed ``limits`` are
    left out.  ``enough`` sets of encounters, times their undominated choices, are looked at
    before :class:`TooMany` is raised.
    """

    cost: Callable[[Point, Cost], Array]
    limits: Array
    default: Mapping[str, int]
    enough: int = ENOUGH
    _looked: int = 0
    _known: dict[tuple[str, frozenset[Point]], Front] = field(default_factory=dict)

    def solve(self, site: Site, points: Sequence[Point]) -> Front:
        """All undominated ways to set the thresholds of ``site`` and below it."""
        if not points:
            default = {g.name: self.default[g.name] for s in site.walk() for g in s.guards}
            return Front.single(np.zeros(len(self.limits)), default)
        key = site.name, frozenset(points)
        if key not in self._known:
            self._known[key] = _Chain(self, site, points).solve()
        return self._known[key]

    def look(self, choices: int) -> None:
        """Count a set of encounters that has so many undominated choices."""
        self._looked += choices
        if self._looked > self.enough:
            raise TooMany


class _Chain:
    """One site and the encounters that reach it.

    Encounters that no guard can tell apart form a class; a set of classes is a bit mask.
    """

    def __init__(self, solver: Solver, site: Site, points: Sequence[Point]) -> None:
        self.solver = solver
        self.site = site
        self.names = [guard.name for guard in site.guards]
        classes: dict[tuple[tuple[int, ...], frozenset[int]], list[Point]] = {}
        for point in points:
            par = tuple(point.par[name] for name in self.names)
            classes.setdefault((par, point.feasible), []).append(point)
        if any(site.alternatives[max(p.feasible)].sites for p in points
               if len(site.alternatives) - 1 not in p.feasible):
            raise TooMany  # one inner site could be reached in two ways, and not be solved apart
        self.classes = list(classes.values())
        self.passing = [self._passing(guard, list(classes)) for guard in range(len(self.names))]
        self._fronts: dict[tuple[int, int], Front] = {}
        self._taken: dict[tuple[int, int], Front] = {}
        self._owns: dict[int, Array] = {}

    @staticmethod
    def _passing(guard: int, classes: Sequence[tuple[tuple[int, ...], frozenset[int]]]
                 ) -> dict[int, int]:
        """For each candidate the classes that it lets pass."""
        values = [par[guard] for par, _ in classes]
        return {threshold: sum(1 << k for k, (par, feasible) in enumerate(classes)
                               if par[guard] >= threshold and guard in feasible)
                for threshold in candidates(values)}

    def solve(self) -> Front:
        return self._from(0, (1 << len(self.classes)) - 1)

    def _from(self, guard: int, left: int) -> Front:
        """The thresholds of ``guard`` and the later ones for the classes that are left."""
        if guard == len(self.names):
            return self.taken(guard, left)
        if (guard, left) not in self._fronts:
            limits = self.solver.limits
            fronts, seen = [], set[int]()
            for threshold, passing in self.passing[guard].items():
                taken = passing & left
                if taken in seen:
                    continue
                seen.add(taken)
                own = self.taken(guard, taken)
                rest = self._from(guard + 1, left & ~taken)
                chosen = {self.names[guard]: threshold}
                fronts.append(own.plus(rest, limits).extended(np.zeros(len(limits)), chosen))
            front = self._fronts[guard, left] = union(fronts, limits)
            self.solver.look(len(front.choices) + 1)
        return self._fronts[guard, left]

    def taken(self, index: int, mask: int) -> Front:
        """The cost of version ``index`` for these classes, with what is best inside of it."""
        if (index, mask) not in self._taken:
            chosen = _members(mask, len(self.classes))
            front = Front.single(self._own(index)[chosen].sum(axis=0), {})
            for version, inner in self._inside():
                points = [p for k in chosen for p in self.classes[k]
                          if _runs(p, index) == version]
                if points or version == index:
                    front = front.plus(self.solver.solve(
                        inner, inner_points(inner, version, points)), self.solver.limits)
            self._taken[index, mask] = front
        return self._taken[index, mask]

    def _own(self, index: int) -> Array:
        """What version ``index`` costs for each class, without what is inside of it."""
        if index not in self._owns:
            none = np.zeros(len(self.solver.limits))
            self._owns[index] = np.array([
                sum((self.solver.cost(p, p.own[_runs(p, index)]) for p in members), none)
                for members in self.classes])
        return self._owns[index]

    def _inside(self) -> Iterator[tuple[int, Site]]:
        """The sites inside of versions."""
        for version, alternative in enumerate(self.site.alternatives):
            for inner in alternative.sites:
                yield version, inner


def _runs(point: Point, index: int) -> int:
    """The version that an encounter runs instead of ``index`` if that is not feasible."""
    return index if index in point.feasible else max(point.feasible)


def _members(mask: int, count: int) -> Array:
    """The numbers of the bits that are set.

    >>> _members(0b1000000101, 10).tolist()
    [0, 2, 9]
    """
    octets = np.frombuffer(mask.to_bytes((count + 7) // 8, "little"), np.uint8)
    return np.unpackbits(octets, bitorder="little").nonzero()[0]


def inner_points(inner: Site, index: int, points: Sequence[Point]) -> list[Point]:
    """The encounters of ``inner`` inside of version ``index`` of ``points``."""
    return [q for p in points for q in p.inner.get(index, ()) if q.site.name == inner.name]


def descend(tree: Site, total: Callable[[Mapping[str, int]], float],
            starts: Sequence[Mapping[str, int]], choices: Mapping[str, Sequence[int]]
            ) -> Thresholds:
    """One guard after the other from several starts, until nothing improves.

    ``total`` is what thresholds cost, ``choices`` are the candidates for each guard.  What
    :class:`Solver` finds is never worse.
    """
    names = [guard.name for site in tree.walk() for guard in site.guards]

    def from_start(start: Mapping[str, int]) -> tuple[float, Thresholds]:
        chosen = {name: start[name] for name in names}
        cost = total(chosen)
        while True:
            before = cost
            for name in names:
                for candidate in choices[name]:
                    trial = chosen | {name: candidate}
                    if (tried := total(trial)) < cost:
                        cost, chosen = tried, trial
            if not cost < before * (1 - 1e-12):
                return cost, chosen

    return min((from_start(start) for start in starts), key=lambda found: found[0])[1]
