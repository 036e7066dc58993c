"""Solutions of a system of constraints: counted, numbered and drawn without listing them.

Parameters that no constraint connects are independent: the counts of such components multiply.
The parameters of a component are decided one after the other.  A choice is given up as soon as a
constraint fails.  Choices that agree in all that later constraints ask for, such as a sum so far,
share the rest of their tree.  Each node knows the number of its leaves, so a number leads to a
solution and back.

>>> from runelift.ir.constraints import at_least, divides
>>> a, b, c = (VName(base, tag) for tag, base in enumerate("abc", 1))
>>> found = Solutions(System({a: range(1, 7), b: range(1, 7), c: (1, 2)}, (
...     divides(Size.var(a), Size.var(b)), at_least(Size.of(6), Size.var(a) + Size.var(b)))))
>>> found.count, found.components
(16, ((2, 8), (1, 2)))
>>> found.number(found.solution(7))
7

Source: Mogers 2023, chapter 4, whose solver draws and rejects; leaf counts are ours.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import dataclass, field
from itertools import accumulate
from math import prod

from runelift.ir.constraints import Constraint, Derived, Relation, System
from runelift.ir.names import VName
from runelift.ir.sizes import Factor, Monomial, Size
from runelift.ir.solver.reduction import Impossible, reduced


@dataclass(frozen=True, slots=True)
class _Node:
    """The values that a parameter can have after earlier choices, and what follows each.

    ``before`` has the numbers of leaves below the values in front of each, and of all.
    """

    values: tuple[int, ...]
    following: tuple[_Node, ...]
    before: tuple[int, ...]

    @property
    def count(self) -> int:
        """The number of solutions below the node."""
        return self.before[-1]


_LEAF = _Node((), (), (1,))


@dataclass(slots=True)
class _Check:
    """A constraint whose variables are known; answers are remembered by their values."""

    constraint: Constraint
    names: tuple[VName, ...]
    answers: dict[tuple[int, ...], bool] = field(default_factory=dict)

    def admits(self, env: dict[VName, int]) -> bool:
        """True if the constraint holds."""
        key = tuple([env[name] for name in self.names])
        if key not in self.answers:
            self.answers[key] = self.constraint.holds(env)
        return self.answers[key]


@dataclass(slots=True)
class _Finding:
    """Derived quantities whose inputs are known; they are remembered by the values of inputs."""

    derived: Derived
    found: dict[tuple[int, ...], Sequence[int]] = field(default_factory=dict)

    def admits(self, env: dict[VName, int]) -> bool:
        """Add the quantities to what is known."""
        key = tuple([env[name] for name in self.derived.inputs])
        if key not in self.found:
            self.found[key] = self.derived.compute(*key)
        env.update(zip(self.derived.names, self.found[key], strict=True))
        return True


class _Tree:
    """The solutions of the parameters ``order``, which are decided in turn."""

    def __init__(self, system: System, names: Sequence[VName]) -> None:
        self.order = _ordered(system, names)
        self._domains = system.domains
        self._steps = _steps(system, self.order)
        self._asked = _asked(self._steps, self.order)
        self._made: dict[tuple[int, ...], _Node] = {}
        self.root = self._grown(0, {})
        self._made.clear()

    def _grown(self, depth: int, env: dict[VName, int]) -> _Node:
        if depth == len(self.order):
            return _LEAF
        key = (depth, *self._asked[depth].values(env))
        if key not in self._made:
            name, found = self.order[depth], list[tuple[int, _Node]]()
            for value in self._domains[name]:
                env[name] = value
                if all(step.admits(env) for step in self._steps[depth]):
                    node = self._grown(depth + 1, env)
                    if node.count:
                        found.append((value, node))
            self._made[key] = _Node(tuple(value for value, _ in found),
                                    tuple(node for _, node in found),
                                    (0, *accumulate(node.count for _, node in found)))
        return self._made[key]


def _steps(system: System, order: Sequence[VName]) -> list[list[_Check | _Finding]]:
    """The work after each choice: checks as early as possible, and the quantities they use."""
    known, steps = set[VName](), list[list[_Check | _Finding]]()
    checks = [each for each in system.constraints if each.variables() <= system.known()]
    derived = list(system.derived)
    for name in order:
        known.add(name)
        now: list[_Check | _Finding] = []
        while True:
            ready = [each for each in checks if each.variables() <= known]
            now += [_Check(each, tuple(sorted(each.variables()))) for each in ready]
            checks = [each for each in checks if each not in ready]
            found = next((each for each in derived if known.issuperset(each.inputs)), None)
            if found is None:
                break
            now.append(_Finding(found))
            derived.remove(found)
            known.update(found.names)
        steps.append(now)
    return steps


@dataclass(frozen=True, slots=True)
class _Asked:
    """The part of earlier choices on which the rest of a tree depends: names, and other sums."""

    names: tuple[VName, ...]
    sums: tuple[Size, ...]

    def values(self, env: dict[VName, int]) -> list[int]:
        """The values of the names and sums that a step depends on, as a key."""
        return [env[name] for name in self.names] + [each.value(env) for each in self.sums]


def _asked(steps: Sequence[Sequence[_Check | _Finding]], order: Sequence[VName]) -> list[_Asked]:
    """For each step, the earlier choices that this step or a later step depends on."""
    found, known = list[_Asked](), set[VName]()
    for depth, now in enumerate(steps):
        names, sums = set[VName](), set[Size]()
        for step in (step for later in steps[depth:] for step in later):
            if isinstance(step, _Finding):
                names |= known.intersection(step.derived.inputs)
                continue
            about, parts = known.intersection(step.names), set(_parts(step.constraint, known))
            if len(parts) < len(about):
                sums |= parts
            else:
                names |= about
        names |= {each.variable for each in sums if each.variable is not None}
        found.append(_Asked(tuple(sorted(names)), tuple(
            each for each in sorted(sums, key=str) if not each.variables() <= names)))
        known.add(order[depth])
        known.update(name for step in now if isinstance(step, _Finding)
                     for name in step.derived.names)
    return found


def _parts(constraint: Constraint, known: Set[VName]) -> Iterator[Size]:
    """Sums over known variables: their values say what a constraint asks of unknown variables."""
    both = constraint.kind is Relation.DIVIDES
    sides = (constraint.left, constraint.right) if both else (constraint.left - constraint.right,)
    for side in sides:
        sums: dict[Monomial, Size] = {}
        for monomial, coefficient in side.terms:
            now, later = Size.of(coefficient), list[Factor]()
            for factor in monomial:
                single = Size((((factor,), 1),))
                if single.variables() <= known:
                    now *= single
                else:
                    later.append(factor)
                    yield from map(Size.var, single.variables() & known)
            sums[tuple(later)] = sums.get(tuple(later), Size(())) + now
        yield from (each for each in sums.values() if each.constant is None)


def _connected(system: System) -> Iterator[Collection[VName]]:
    """Names that a constraint or a derived quantity is about together."""
    for each in system.constraints:
        if each.variables() <= system.known():
            yield each.variables()
    needed = {name for each in system.constraints for name in each.variables()}
    for derived in reversed(system.derived):
        if needed.intersection(derived.names):
            needed.update(derived.inputs)
            yield (*derived.inputs, *derived.names)


def _components(system: System) -> list[set[VName]]:
    """The connected sets of parameters, in their order; nothing connects two sets."""
    found: dict[VName, set[VName]] = {name: {name} for name in system.domains}
    for names in _connected(system):
        joined = set(names).union(*(found.get(name, ()) for name in names))
        found |= dict.fromkeys(joined, joined)
    return list({id(each): each for each in found.values()}.values())


def _ordered(system: System, names: Sequence[VName]) -> tuple[VName, ...]:
    """The order in which parameters are chosen, one that completes constraints early.

    The first of ``names`` comes first.  Each next parameter completes the most constraints.  Where
    several complete as many, the next parameter shares the most constraints with parameters chosen
    before.  Where several share as many, the next parameter is the first of them in ``names``.
    """
    left, order = list(names[1:]), list(names[:1])
    about = [each.variables() for each in system.constraints] + [
        frozenset(each.inputs) for each in system.derived]

    def gain(name: VName) -> tuple[int, int]:
        asking = [each for each in about if name in each]
        return (sum(each.issubset((*order, name)) for each in asking),
                sum(not each.isdisjoint(order) for each in asking))

    while left:
        order.append(max(left, key=gain))
        left.remove(order[-1])
    return tuple(order)


class Solutions:
    """The solutions of a system, numbered from 0; a solution has a value for each parameter."""

    def __init__(self, system: System) -> None:
        self._trees = list[_Tree]()
        self._constants = {name: domain[0] for name, domain in system.domains.items()
                           if len(domain) == 1}
        try:
            self._system = reduced(system)
        except Impossible:
            self._system = system
            self.count = 0
            return
        names = list(system.domains)
        for component in _components(self._system):
            if group := [name for name in names if name in component]:
                self._trees.append(_Tree(self._system, group))
        self.count = prod(tree.root.count for tree in self._trees)
        """The number of solutions."""

    @property
    def components(self) -> tuple[tuple[int, int], ...]:
        """The number of parameters of each component, and of its solutions."""
        return tuple((len(tree.order), tree.root.count) for tree in self._trees)

    def solution(self, number: int) -> dict[VName, int]:
        """The solution with this number (from 0 to below the count): each name with its value."""
        if not 0 <= number < self.count:
            raise IndexError(number)
        found: dict[VName, int] = {}
        for tree in reversed(self._trees):
            number, place = divmod(number, tree.root.count)
            node = tree.root
            for name in tree.order:
                at = bisect_right(node.before, place) - 1
                place -= node.before[at]
                found[name] = node.values[at]
                node = node.following[at]
        return found

    def number(self, solution: dict[VName, int]) -> int | None:
        """The number of a solution; None if it is none.  Constants can be left out."""
        if not self.count:
            return None
        number, solution = 0, self._constants | solution
        for tree in self._trees:
            node, place = tree.root, 0
            for name in tree.order:
                if solution[name] not in node.values:
                    return None
                at = node.values.index(solution[name])
                place += node.before[at]
                node = node.following[at]
            number = number * tree.root.count + place
        return number

    def __iter__(self) -> Iterator[dict[VName, int]]:
        return (self.solution(number) for number in range(self.count))

    def nearest(self, wanted: dict[VName, int]) -> dict[VName, int] | None:
        """The solution with the ``wanted`` values, or with values near them; None if there is none.

        Values are as near as they can be after those decided before; steps in the domain count.
        """
        if not self.count:
            return None
        wanted, found = self._constants | wanted, dict[VName, int]()
        for tree in self._trees:
            node = tree.root
            for name in tree.order:
                domain = self._system.domains[name]
                place = bisect_left(domain, wanted[name])
                steps = [abs(bisect_left(domain, value) - place) for value in node.values]
                at = steps.index(min(steps))
                found[name] = node.values[at]
                node = node.following[at]
        return found
