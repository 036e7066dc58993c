"""Exact thresholds for the sites of a tree, from the costs of its encounters.

A threshold matters only by the encounters that it lets pass.  So the candidates for a guard are
the values that were compared with it, and "never".  A chain of guards is solved by dynamic
programming over *the encounters that are left*: later guards depend on earlier ones by nothing
else.  In a loop over shrinking data, all guards compare with monotone functions of one size.  There
are no more such sets than candidates then, and the exact optimum costs little even for long
chains.  The sites inside of a version are solved for the encounters that reach it.

Costs count as *regrets*: the cost of an encounter minus its cost with the best choices there and
inside.  Thresholds need not be able to make those choices.  A part of the encounters may show that
a choice leads to nothing better; the others are not looked at then (branch and bound).

The same program finds the least sum (:class:`Sums`) and all trade-offs between the datasets
(:class:`Fronts`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeAlias, TypeVar

import numpy as np

from runelift.runtime.tuner.costs.cost_model import EncounterCosts
from runelift.runtime.tuner.costs.host_device_time import Cost
from runelift.runtime.tuner.costs.pareto import Array, Front, Thresholds, Within, union
from runelift.runtime.versions.forest import Site

NEVER = 2_000_000_000
"""A threshold above every parallelism, as in Futhark; where it is not, twice the greatest."""
Amount = TypeVar("Amount", float, Array)
Found = TypeVar("Found")


class TooManyChoices(Exception):
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


class _SolverGoal(Protocol[Amount, Found]):
    """The goal of a solution: how costs are compared, and the choices that are found.

    ``Amount`` is a cost or a regret, and ``Found`` are choices with their regrets.
    """

    nothing: Amount

    def regret(self, point: EncounterCosts, version: int) -> Amount:
        """The cost of a version minus that of the best one, both with the best choices inside.

        A version that is not feasible runs another one.
        """
        ...

    def single(self, regret: Amount, chosen: Thresholds) -> Found | None:
        """One choice; None if its regret is too much."""
        ...

    def plus(self, one: Found, other: Found) -> Found | None:
        """One choice of each together; None if all regrets are too much."""
        ...

    def gather(self, found: list[Found], more: Found, name: str, threshold: int) -> None:
        """Have one more choice among those found, with a further threshold, if it may be best."""
        ...

    def beaten(self, part: Found, found: Sequence[Found]) -> bool:
        """True if this part of a choice alone is worse than one that was found."""
        ...

    def best(self, found: Sequence[Found]) -> Found | None:
        """The best of all, the last of equal ones; None if there are none."""
        ...

    def count(self, found: Found | None) -> int:
        """The number of these choices."""
        ...


Choice: TypeAlias = "Thresholds | tuple[Choice, Choice]"
"""Thresholds that are put together when it is known that they are the best."""
Sum: TypeAlias = tuple[float, Choice]
"""A regret, and the choice that leads to it."""


Amounts: TypeAlias = tuple[Mapping[int, float], float]
"""The cost of each version of an encounter with the best choices inside, and the least of these."""


def amounts_of(points: Iterable[EncounterCosts],
               amount: Callable[[Cost], float]) -> dict[EncounterCosts, Amounts]:
    """The amounts of these encounters and of all inside of them."""
    found: dict[EncounterCosts, Amounts] = {}

    def least(point: EncounterCosts) -> float:
        if point not in found:
            amounts = dict[int, float]()
            for version in point.feasible:
                spent = amount(point.own[version])
                for inner in point.inner.get(version, ()):
                    spent += least(inner)
                amounts[version] = spent
            found[point] = amounts, min(amounts.values())
        return found[point][1]

    for point in points:
        least(point)
    return found


def excess(amounts: Amounts, version: int) -> float:
    """By how much more a version costs than the best one; nothing if none can run.

    What is not feasible runs the last version that is.
    """
    by_version, least = amounts
    spent = by_version[version if version in by_version else max(by_version)]
    return 0.0 if math.isinf(least) else spent - least


@dataclass(slots=True)
class Sums:
    """The choice with the least sum of costs, if its regret is at most ``most``."""

    amounts: Mapping[EncounterCosts, Amounts]
    most: float = math.inf
    nothing: float = 0.0

    def regret(self, point: EncounterCosts, version: int) -> float:
        """See :class:`_SolverGoal`."""
        return excess(self.amounts[point], version)

    def single(self, regret: float, chosen: Thresholds) -> Sum | None:
        """See :class:`_SolverGoal`."""
        return (regret, chosen) if regret <= self.most else None

    def plus(self, one: Sum, other: Sum) -> Sum | None:
        """See :class:`_SolverGoal`."""
        regret = one[0] + other[0]
        return (regret, (one[1], other[1])) if regret <= self.most else None

    def gather(self, found: list[Sum], more: Sum, name: str, threshold: int) -> None:
        """See :class:`_SolverGoal`; the best is kept."""
        if not found or more[0] <= found[0][0]:
            found[:] = [(more[0], ({name: threshold}, more[1]))]

    def beaten(self, part: Sum, found: Sequence[Sum]) -> bool:
        """See :class:`_SolverGoal`."""
        return bool(found) and part[0] > found[0][0]

    def best(self, found: Sequence[Sum]) -> Sum | None:
        """See :class:`_SolverGoal`."""
        return found[0] if found else None

    def count(self, found: Sum | None) -> int:
        """See :class:`_SolverGoal`."""
        return 0 if found is None else 1


def thresholds_of(choice: Choice) -> Thresholds:
    """The thresholds of a choice."""
    if isinstance(choice, dict):
        return choice
    one, other = choice
    return thresholds_of(one) | thresholds_of(other)


@dataclass(slots=True)
class Fronts:
    """All trade-offs between cost vectors of a ``width``, as far as regrets are ``within`` what
    counts.

    ``amounts`` are those of each encounter by component; in others it costs nothing.
    """

    amounts: Mapping[EncounterCosts, Sequence[tuple[int, Amounts]]]
    width: int
    within: Within
    most: int
    nothing: Array = field(init=False)
    _free: bool = field(init=False)

    def __post_init__(self) -> None:
        self.nothing = np.zeros(self.width)
        self._free = bool(self.within(self.nothing[None])[0])

    def regret(self, point: EncounterCosts, version: int) -> Array:
        """See :class:`_SolverGoal`; each component by itself."""
        found = np.zeros(self.width)
        for component, amounts in self.amounts[point]:
            found[component] = excess(amounts, version)
        return found

    def single(self, regret: Array, chosen: Thresholds) -> Front | None:
        """See :class:`_SolverGoal`."""
        counts = self.within(regret[None])[0] if regret.any() else self._free
        return Front.single(regret, chosen) if counts else None

    def plus(self, one: Front, other: Front) -> Front | None:
        """See :class:`_SolverGoal`; :class:`TooManyChoices` if there are very many."""
        if len(one.choices) * len(other.choices) > self.most:
            raise TooManyChoices
        return _any(one.plus(other, self.within))

    def gather(self, found: list[Front], more: Front, name: str, threshold: int) -> None:
        """See :class:`_SolverGoal`."""
        found.append(more.choosing({name: threshold}))

    def beaten(self, part: Front, found: Sequence[Front]) -> bool:
        """See :class:`_SolverGoal`; that other choices trade this for that is not looked for."""
        return False

    def best(self, found: Sequence[Front]) -> Front | None:
        """See :class:`_SolverGoal`."""
        return _any(union(found[::-1], self.within)) if found else None

    def count(self, found: Front | None) -> int:
        """See :class:`_SolverGoal`."""
        return 0 if found is None else len(found.choices)


def _any(front: Front) -> Front | None:
    return front if front.choices else None


@dataclass(slots=True)
class Solver(Generic[Amount, Found]):
    """Solves trees exactly.

    ``enough`` sets of encounters, times the choices that are found for them, are looked at before
    :class:`TooManyChoices` is raised.
    """

    sought: _SolverGoal[Amount, Found]
    default: Mapping[str, int]
    enough: int
    _looked: int = 0

    def solve(self, tree: Chain) -> Found | None:
        """The best ways to set the thresholds of a tree, if there are any."""
        solving: _Solving[Amount, Found] = _Solving(self, tree)
        return solving.solve((1 << len(tree.points)) - 1)

    def look(self, choices: int) -> None:
        """Count a set of encounters for which so many choices are found."""
        self._looked += choices
        if self._looked > self.enough:
            raise TooManyChoices


class Chain:
    """One site with all of its encounters, of which those that reach it are a bit mask.

    ``passing`` are the candidates of each guard with the encounters that they let pass.
    ``inside`` are the chains of the sites inside of each version.  They come with their encounters
    inside of each of those around.
    """

    def __init__(self, site: Site, points: Sequence[EncounterCosts]) -> None:
        if any(site.alternatives[max(p.feasible)].sites for p in points
               if len(site.alternatives) - 1 not in p.feasible):
            raise TooManyChoices  # an inner site with two ways to it
        self.site = site
        self.points = points
        self.passing = [_passing(version, guard.name, points)
                        for version, guard in enumerate(site.guards)]
        self.inside = [[self._inner(inner, version) for inner in alternative.sites]
                       for version, alternative in enumerate(site.alternatives)]
        self._members: dict[int, list[int]] = {}

    def _inner(self, inner: Site, version: int) -> tuple[Chain, list[int]]:
        """The chain of a site inside of a version."""
        reached, masks = list[EncounterCosts](), list[int]()
        for point in self.points:
            before = len(reached)
            reached += inner_points(inner, version, [point])
            masks.append((1 << len(reached)) - (1 << before))
        return Chain(inner, reached), masks

    def members(self, mask: int) -> list[int]:
        """The numbers of the encounters in a mask; told once."""
        if (found := self._members.get(mask)) is None:
            found = self._members[mask] = list(_members(mask))
        return found


class _Solving(Generic[Amount, Found]):
    """A chain being solved."""

    def __init__(self, solver: Solver[Amount, Found], chain: Chain) -> None:
        self._solver: Solver[Amount, Found] = solver
        self._sought: _SolverGoal[Amount, Found] = solver.sought
        self._chain = chain
        self._names = [guard.name for guard in chain.site.guards]
        self._regrets: list[list[Amount]] = [
            [self._sought.regret(point, version) for point in chain.points]
            for version in range(len(chain.site.alternatives))]
        self._inside: list[list[tuple[_Solving[Amount, Found], list[int]]]] = [
            [(_Solving(solver, inner), masks) for inner, masks in several]
            for several in chain.inside]
        self._found: dict[tuple[int, int], Found | None] = {}

    def solve(self, mask: int) -> Found | None:
        """The best thresholds for these encounters."""
        if not mask:
            return self._sought.single(self._sought.nothing, {
                guard.name: self._solver.default[guard.name]
                for site in self._chain.site.walk() for guard in site.guards})
        return self._from(0, mask)

    def _from(self, guard: int, left: int) -> Found | None:
        """The thresholds of ``guard`` and the later ones for the encounters that are left."""
        known = guard, left
        if known not in self._found:
            self._found[known] = found = (
                self._best(guard, left) if guard < len(self._names) else
                self._taken(guard, left, self._added(guard, left)))
            self._solver.look(self._sought.count(found) + 1)
        return self._found[known]

    def _best(self, guard: int, left: int) -> Found | None:
        """The best thresholds of ``guard``: from one that lets nothing pass to the least."""
        sought, name = self._sought, self._names[guard]
        least = {passing & left: threshold for threshold, passing in self._chain.passing[guard]}
        found = list[Found]()
        before, regret = 0, sought.nothing
        for taken, threshold in least.items():
            regret = regret + self._added(guard, taken & ~before)
            before = taken
            own = self._taken(guard, taken, regret)
            if own is None or sought.beaten(own, found):
                break  # with more encounters the regret is no less
            rest = self._from(guard + 1, left & ~taken)
            both = None if rest is None else sought.plus(own, rest)
            if both is not None:
                sought.gather(found, both, name, threshold)
        return sought.best(found)

    def _added(self, version: int, mask: int) -> Amount:
        """The regret of a version for these encounters."""
        regrets, regret = self._regrets[version], self._sought.nothing
        for number in self._chain.members(mask):
            regret = regret + regrets[number]
        return regret

    def _taken(self, version: int, mask: int, regret: Amount) -> Found | None:
        """A version for these encounters, with what is best inside of it."""
        found = self._sought.single(regret, {})
        for solving, masks in self._inside[version]:
            if found is None:
                return None
            inside = solving.solve(sum(masks[number] for number in self._chain.members(mask)))
            found = None if inside is None else self._sought.plus(found, inside)
        return found


def _passing(version: int, guard: str, points: Sequence[EncounterCosts]) -> list[tuple[int, int]]:
    """The candidates, the greatest first, each with the encounters that it lets pass."""
    values = [point.par[guard] for point in points]
    order = sorted((number for number, point in enumerate(points) if version in point.feasible),
                   key=values.__getitem__)
    found, mask = [], 0
    for threshold in reversed(candidates(values)):
        while order and values[order[-1]] >= threshold:
            mask |= 1 << order.pop()
        found.append((threshold, mask))
    return found


def _members(mask: int) -> Iterator[int]:
    """The numbers of the bits that are set.

    >>> list(_members(0b1000000101))
    [0, 2, 9]
    """
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def inner_points(inner: Site, index: int, points: Sequence[EncounterCosts]) -> list[EncounterCosts]:
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
