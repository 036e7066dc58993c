"""The comparisons of a forest in the order in which the node-wise strategies tune them.

A node is one guard.  It matters only where the guards before it come out so that it is reached:
:attr:`Node.path` says how.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from runelift.ir.guards import Guard
from runelift.runtime.versions.forest import Forest, Site

ALWAYS = 1
"""A threshold that every parallelism reaches: what has none has no work either."""
FALSE = 1 << 62
"""A threshold that none reaches, while searching; results have what :func:`.solve.never` says."""


@dataclass(frozen=True, slots=True)
class Node:
    """A guard, and what the guards above it must say for it to be tested."""

    guard: Guard
    path: Mapping[str, bool] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the threshold."""
        return self.guard.name

    def reached(self) -> dict[str, int]:
        """Thresholds of the guards above with which every encounter gets here."""
        return {name: ALWAYS if holds else FALSE for name, holds in self.path.items()}


def all_false(forest: Forest) -> dict[str, int]:
    """No guard holds: the last version runs everywhere, where the thesis's tuners start."""
    return dict.fromkeys(forest.guards(), FALSE)


def nodes(tree: Site) -> list[Node]:
    """The guards of a tree, each after all below it (the depth-first order of Breddam 2019)."""
    return list(_nodes(tree, {}))


def _nodes(site: Site, path: Mapping[str, bool]) -> Iterator[Node]:
    found: list[list[Node]] = []
    for alternative in site.alternatives:
        guard = alternative.guard
        inside = path if guard is None else {**path, guard.name: True}
        below = [node for inner in alternative.sites for node in _nodes(inner, inside)]
        if guard is not None:
            below.append(Node(guard, path))
            path = {**path, guard.name: False}
        found.append(below)
    for below in reversed(found):
        yield from below
