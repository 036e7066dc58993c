"""The memory-access graph of a kernel: its accesses, what comes next, and what barriers separate.

Source: LIFT, section 5.4, whose vertices are accesses and whose edges follow control flow.  Edges
for the separated pairs are added, so that a drawing shows why each barrier stands where it does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from runelift.codegen.passes.barrier_reasons import AccessSite, ExplainedKernel


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge from access ``before`` to access ``after``, by their numbers.

    ``relation`` is ``next`` in the control flow, or ``separated`` for the nearest pair that the
    barrier with number ``barrier`` separates.
    """

    before: int
    after: int
    relation: str
    barrier: int | None


def edges(explained: ExplainedKernel) -> Iterator[Edge]:
    """The edges of the graph of a kernel."""
    for each in explained.order:
        yield Edge(each.before, each.after, "next", each.barrier)
    for barrier in explained.barriers:
        for pair in barrier.pairs[:1]:
            yield Edge(pair.before.number, pair.after.number, "separated", barrier.number)


def dot(explained: ExplainedKernel) -> str:
    """The graph in the language of Graphviz: dashed edges are separated pairs."""
    lines = [f"digraph {json.dumps(explained.name)} {{", "  node [shape=box];"]
    lines += [f"  {site.number} [label={json.dumps(_label(site))}];" for site in explained.sites]
    lines += [f"  {each.before} -> {each.after}{_style(each)};" for each in edges(explained)]
    return "\n".join([*lines, "}"])


def _label(site: AccessSite) -> str:
    place = f"\n{site.loc}" if site.loc is not None else ""
    return f"{site.access.kind.value} {site.access.mem}[{site.index}]{place}"


def _style(edge: Edge) -> str:
    """The attributes of an edge."""
    if edge.relation == "separated":
        return f' [style=dashed, constraint=false, label="barrier {edge.barrier}"]'
    return f' [label="barrier {edge.barrier}"]' if edge.barrier is not None else ""
