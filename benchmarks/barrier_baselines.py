"""Two published placements of barriers, to compare with ``codegen/passes/barriers.py``.

- :func:`by_patterns`: LIFT before the thesis of Mogers 2023 (algorithm 1).  A barrier follows each
  loop over work-items that writes memory which comes next in another layout.  Another one ends each
  sequential loop around such loops.
- :func:`by_paths`: the memory access graph of the thesis (algorithm 3).  For each pair of
  accesses that depend on each other, one edge of the shortest path gets a barrier.  That is the
  edge on most paths.  Edges between different buffers may have one, too: otherwise most kernels
  here would be refused.

Both know what the compiler knows: laws of ownership, and memories in one place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypeAlias

import networkx as nx

from runelift.codegen.passes.accesses import Access, Facts, Kind
from runelift.codegen.passes.local_memory import places
from runelift.codegen.plan.origins import Origins
from runelift.ir import imp
from runelift.ir.imp import Kernel, Stm
from runelift.ir.imp.traverse import blocks

Place: TypeAlias = tuple[tuple[int, ...], int]
"""A block, as the numbers of the statements and sides that lead there, and a place before one."""
Code: TypeAlias = tuple[Stm, ...]


class NotSynchronisable(Exception):
    """No edge between two accesses that depend on each other may have a barrier."""


def facts_of(kernel: Kernel, origins: Origins) -> Facts:
    """The facts about the names of a kernel."""
    facts = Facts(set(origins.private), set(origins.independent), places(kernel.locals),
                  frozenset(kernel.built_for))
    facts.collect(kernel.body)
    return facts


def without_barriers(code: Iterable[Stm]) -> Code:
    """Code without its barriers."""
    found: list[Stm] = []
    for stm in code:
        match stm:
            case imp.Barrier():
                continue
            case imp.For() | imp.While():
                found.append(replace(stm, body=without_barriers(stm.body)))
            case imp.If(_, then_, else_):
                found.append(replace(stm, then_=without_barriers(then_),
                                     else_=without_barriers(else_)))
            case _:
                found.append(stm)
    return tuple(found)


def with_barriers(code: Code, wanted: set[Place], path: tuple[int, ...] = ()) -> Code:
    """Code with barriers at these places."""
    found: list[Stm] = []
    for place, stm in enumerate(code):
        if (path, place) in wanted:
            found.append(imp.Barrier(imp.Space.LOCAL))
        sides = [with_barriers(side, wanted, (*path, place, number))
                 for number, side in enumerate(blocks(stm))]
        match stm:
            case imp.For() | imp.While():
                found.append(replace(stm, body=sides[0]))
            case imp.If():
                found.append(replace(stm, then_=sides[0], else_=sides[1]))
            case _:
                found.append(stm)
    if (path, len(code)) in wanted:
        found.append(imp.Barrier(imp.Space.LOCAL))
    return tuple(found)


def is_uniform(facts: Facts, stm: Stm) -> bool:
    """True for a loop or branch inside of which barriers may stand."""
    return facts.unit(stm)[0]


# Algorithm 1


def by_patterns(kernel: Kernel, origins: Origins) -> Kernel:
    """The kernel with the barriers of the pattern method."""
    facts, code = facts_of(kernel, origins), without_barriers(kernel.body)
    local = {array.name for array in kernel.locals}
    wanted: set[Place] = set()
    _patterns(code, (), facts, {facts.overlaps.get(name, name): name for name in local}, wanted)
    return replace(kernel, body=with_barriers(code, wanted))


def _patterns(code: Code, path: tuple[int, ...], facts: Facts, local: Mapping[object, object],
              wanted: set[Place]) -> bool:
    """Note the places of barriers; True if local memory is accessed in the block."""
    touches = False
    for place, stm in enumerate(code):
        own = [a for a in facts.accesses(stm)
               if facts.overlaps.get(a.mem, a.mem) in local]
        touches |= bool(own)
        if is_uniform(facts, stm):
            loops = isinstance(stm, imp.For | imp.While)
            for number, side in enumerate(blocks(stm)):
                if _patterns(side, (*path, place, number), facts, local, wanted) and loops:
                    wanted.add(((*path, place, number), len(side)))
            continue
        for access in own:
            later = next((a for after in code[place + 1:] for a in facts.accesses(after)
                          if a.conflicts(access, facts.overlaps)), None)
            if access.kind is not Kind.READ and later is not None:
                wanted.add((path, place + 1))
    return touches


# Algorithm 3


@dataclass(slots=True)
class _Graph:
    """The memory access graph: an edge has the place where its barrier would go, if it may."""

    facts: Facts
    accesses: list[Access] = field(default_factory=list)
    edges: dict[tuple[int, int], Place | None] = field(default_factory=dict)
    order: dict[Place, int] = field(default_factory=dict)
    _numbers: dict[int, list[int]] = field(default_factory=dict)

    def block(self, code: Code, path: tuple[int, ...], before: dict[int, Place | None]
              ) -> dict[int, Place | None]:
        """Add the accesses of a block.  The result has the accesses that come last.

        ``before`` has the accesses in front of the block.  Each has the place where a barrier
        behind it would go, or None if that is at the next access.
        """
        for place, stm in enumerate(code):
            here = path, place
            self.order.setdefault(here, len(self.order))
            if not is_uniform(self.facts, stm):
                before = self._unit(stm, list(self.facts.accesses(stm)), here, before)
                continue
            own = [access for access in self.facts.unit(stm)[1]]
            before = self._unit(stm, own, here, before)
            sides = list(blocks(stm))
            if isinstance(stm, imp.For | imp.While):
                inside = (*path, place, 0)
                outer = {a: where or here for a, where in before.items()}
                after = self.block(sides[0], inside, outer)
                end = inside, len(sides[0])
                self.order.setdefault(end, len(self.order))
                self.block(sides[0], inside, {a: end for a in after if a not in before})
                before = {**before, **{a: None for a in after if a not in before}}
            else:
                ends = [self.block(side, (*path, place, number), dict(before))
                        for number, side in enumerate(sides)]
                before = {a: where for end in ends for a, where in end.items()}
        return before

    def _unit(self, stm: Stm, own: list[Access], here: Place, before: dict[int, Place | None]
              ) -> dict[int, Place | None]:
        if not own:
            return before
        numbers = self._numbers.get(id(stm))
        if numbers is None:
            numbers = self._numbers[id(stm)] = list(
                range(len(self.accesses), len(self.accesses) + len(own)))
            self.accesses += own
            for one, other in pairwise(numbers):
                self.edges[one, other] = None
        for earlier, where in before.items():
            self.edges[earlier, numbers[0]] = where or here
        return {numbers[-1]: None}


def by_paths(kernel: Kernel, origins: Origins) -> Kernel:
    """The kernel with the barriers of the memory access graph; NotSynchronisable if it has none."""
    facts, code = facts_of(kernel, origins), without_barriers(kernel.body)
    graph = _Graph(facts)
    graph.block(code, (), {})
    drawn = nx.DiGraph(list(graph.edges))
    paths = list(_paths(graph, drawn))
    weight: dict[tuple[int, int], int] = {}
    for path in paths:
        for edge in path:
            weight[edge] = weight.get(edge, 0) + 1
    chosen: dict[int, tuple[int, int]] = {}
    for path in paths:
        able = [edge for edge in path if graph.edges[edge] is not None]
        if not able:
            raise NotSynchronisable(kernel.name)
        best = max(able, key=lambda edge: (weight[edge], graph.order[graph.edges[edge]]))  # type: ignore[index]
        if not any(edge in chosen.values() for edge in able):
            chosen.setdefault(best[0], best)
    return replace(kernel, body=with_barriers(code, {
        place for edge in chosen.values() if (place := graph.edges[edge]) is not None}))


def _paths(graph: _Graph, drawn: nx.DiGraph) -> Iterator[list[tuple[int, int]]]:
    """The shortest path for each pair of accesses that depend on each other."""
    for one, first in enumerate(graph.accesses):
        if one not in drawn:
            continue
        lengths = nx.single_source_shortest_path(drawn, one)
        for other, second in enumerate(graph.accesses):
            if not first.conflicts(second, graph.facts.overlaps):
                continue
            if one == other:
                around = [nx.shortest_path(drawn, after, one) for after in drawn.successors(one)
                          if nx.has_path(drawn, after, one)]
                path = [one, *min(around, key=len)] if around else []
            else:
                path = lengths.get(other, [])
            edges = list(pairwise(path))
            if edges and any(graph.edges[edge] is not None for edge in edges):
                yield edges
