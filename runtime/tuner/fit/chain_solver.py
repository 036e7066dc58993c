"""Exact thresholds for the sites of a tree, from the costs of its encounters.

A threshold matters only by the encounters that it lets pass.  So the candidates for a guard are the
values that were compared with it, and "never".  A chain of guards is solved by dynamic programming
over *the encounters that are left*: later guards depend on earlier guards by nothing else.  In a
loop over shrinking data, all guards compare with monotone functions of one size.  There are no more
such sets than candidates then, and the exact optimum costs little even for long chains.  The sites
inside of a version are solved for the encounters that reach it.

Costs count as *regrets*: the cost of an encounter minus its cost with the best choices there and
inside.  Thresholds need not be able to make those choices.  A part of the encounters may show that
a choice leads to nothing better.  The remaining encounters are not looked at then (branch and
bound).

A :class:`_SolverGoal` says if the least sum is sought, or all trade-offs between the datasets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from runelift.runtime.tuner.costs.cost_model import EncounterCosts
from runelift.runtime.tuner.costs.pareto import Array, Thresholds
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

    def single(self, regret: Amount, chosen: Thresholds) -> Found | None:
        """One choice; None if its regret is too much."""

    def plus(self, one: Found, other: Found) -> Found | None:
        """One choice of each together; None if all regrets are too much."""

    def gather(self, found: list[Found], more: Found, name: str, threshold: int) -> None:
        """Have one more choice among those found, with a further threshold, if it may be best."""

    def beaten(self, part: Found, found: Sequence[Found]) -> bool:
        """True if this part of a choice alone is worse than one that was found."""

    def best(self, found: Sequence[Found]) -> Found | None:
        """The best of ``found``.

        Of several equal results it is the last.  None if ``found`` is empty.
        """

    def count(self, found: Found | None) -> int:
        ...


class Chain:
    """One site with all of its encounters.  A bit mask says which encounters reach the site.

    ``passing`` are the candidates of each guard with the encounters that they let pass.  ``inside``
    are the chains of the sites inside of each version.  With each inner chain comes a list of bit
    masks: the inner encounters of each encounter of this site.
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


def solve_chain(sought: _SolverGoal[Amount, Found], default: Mapping[str, int], enough: int,
                tree: Chain) -> Found | None:
    """The best ways to set the thresholds of a tree, if there are any.

    ``enough`` sets of encounters, times the choices that are found for them, are looked at before
    :class:`TooManyChoices` is raised.
    """
    looked = 0

    def look(choices: int) -> None:
        nonlocal looked
        looked += choices
        if looked > enough:
            raise TooManyChoices

    return _Solving(sought, default, look, tree).solve((1 << len(tree.points)) - 1)


class _Solving(Generic[Amount, Found]):
    """A chain being solved; ``look`` counts the choices found for each set of encounters."""

    def __init__(self, sought: _SolverGoal[Amount, Found], default: Mapping[str, int],
                 look: Callable[[int], None], chain: Chain) -> None:
        self._sought: _SolverGoal[Amount, Found] = sought
        self._default = default
        self._look = look
        self._chain = chain
        self._names = [guard.name for guard in chain.site.guards]
        self._regrets: list[list[Amount]] = [
            [self._sought.regret(point, version) for point in chain.points]
            for version in range(len(chain.site.alternatives))]
        self._inside: list[list[tuple[_Solving[Amount, Found], list[int]]]] = [
            [(_Solving(sought, default, look, inner), masks) for inner, masks in several]
            for several in chain.inside]
        self._found: dict[tuple[int, int], Found | None] = {}

    def solve(self, mask: int) -> Found | None:
        if not mask:
            return self._sought.single(self._sought.nothing, {
                guard.name: self._default[guard.name]
                for site in self._chain.site.walk() for guard in site.guards})
        return self._from(0, mask)

    def _from(self, guard: int, left: int) -> Found | None:
        """The thresholds of ``guard`` and of later guards for the encounters that are left."""
        known = guard, left
        if known not in self._found:
            self._found[known] = found = (
                self._best(guard, left) if guard < len(self._names) else
                self._taken(guard, left, self._added(guard, left)))
            self._look(self._sought.count(found) + 1)
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
    :func:`solve_chain` finds is never worse.
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
