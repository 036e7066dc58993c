"""The memory-access graph of a kernel: its accesses, what comes next, and what barriers separate.

Source: LIFT, section 5.4, whose vertices are accesses and whose edges follow control flow.  Edges
for the separated pairs are added, so that a drawing shows why each barrier stands where it does.
"""

from __future__ import annotations

import json
from typing import Any

import networkx as nx

from runelift.codegen.passes.barrier_reasons import AccessSite, ExplainedKernel


def access_graph(explained: ExplainedKernel) -> nx.MultiDiGraph:
    """The graph of a kernel.

    Nodes are numbers of accesses, with ``array``, ``kind``, ``index`` and ``at``.  Edges have the
    number of a ``barrier`` or None.  Their ``relation`` is ``next`` for control flow, and
    ``separated`` for the nearest pair of each barrier.
    """
    graph = nx.MultiDiGraph(name=explained.name)
    for site in explained.sites:
        graph.add_node(site.number, array=str(site.access.mem), kind=site.access.kind.value,
                       index=site.index, at=None if site.loc is None else str(site.loc))
    for each in explained.order:
        graph.add_edge(each.before, each.after, relation="next", barrier=each.barrier)
    for barrier in explained.barriers:
        for pair in barrier.pairs[:1]:
            graph.add_edge(pair.before.number, pair.after.number, relation="separated",
                           barrier=barrier.number)
    return graph


def dot(explained: ExplainedKernel) -> str:
    """The graph in the language of Graphviz: dashed edges are separated pairs."""
    graph = access_graph(explained)
    lines = [f"digraph {json.dumps(explained.name)} {{", "  node [shape=box];"]
    lines += [f"  {site.number} [label={json.dumps(_label(site))}];" for site in explained.sites]
    for source, target, data in graph.edges(data=True):
        lines.append(f"  {source} -> {target}{_style(data)};")
    return "\n".join([*lines, "}"])


def _label(site: AccessSite) -> str:
    place = f"\n{site.loc}" if site.loc is not None else ""
    return f"{site.access.kind.value} {site.access.mem}[{site.index}]{place}"


def _style(data: dict[str, Any]) -> str:
    """The attributes of an edge."""
    if data["relation"] == "separated":
        return f' [style=dashed, constraint=false, label="barrier {data["barrier"]}"]'
    return f' [label="barrier {data["barrier"]}"]' if data["barrier"] is not None else ""
