"""The bytes that accesses move between memory and chip, by sectors of 32 bytes.

The work-items of a sub-group access neighbouring elements, or elements a stride apart.  An index is
a box: some counts (lanes, blocks of lanes, iterations of unrolled loops), each with a stride.  Its
sectors are the product over the counts of ``max(1, count * min(1, stride / 32))``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from runelift.codegen.cost.expressions import Expr
from runelift.codegen.cost.forms import Atom, Form, Forms

SECTOR = 32
"""The bytes that memory moves at least."""


class Edge(NamedTuple):
    """So many values along one direction, and the bytes between them."""

    count: Expr  # type: ignore[assignment]
    bytes: Expr


class Moved(NamedTuple):
    """The bytes of an access: if lines stay in the cache between iterations, and all of them."""

    kept: Expr
    all: Expr


def lane_edges(forms: Forms, form: Form, lane: Atom, lanes: Expr, size: int) -> list[Edge]:
    """The edges along which the index of neighbouring work-items varies."""
    graph, found = forms.graph, list[Edge]()
    for varying, factor in forms.split(form).items():
        for k, atom in enumerate(varying):
            if lane not in atom.varies:
                continue
            others = [a.mean for a in varying[:k] + varying[k + 1:]]
            stride = graph.mul(forms.expr(factor), size, *others)
            count = lanes
            if atom is not lane:
                rate = forms.graph.absolute(forms.atom_rate(atom, lane))
                if atom.kind == "quotient":
                    count = graph.clamp(graph.mul(lanes, rate), 1, lanes)
                else:
                    stride = graph.mul(stride, rate)
                if atom.kind == "rest":
                    inside = graph.over(forms.expr(atom.args[1]), graph.most(rate, 1))
                    count = graph.clamp(inside, 1, lanes)
            found.append(Edge(count, stride))
    return _joined(forms, found)


def _joined(forms: Forms, edges: list[Edge]) -> list[Edge]:
    """Edges of the same count as one."""
    counts: dict[Expr, list[Expr]] = {}
    for edge in edges:
        counts.setdefault(edge.count, []).append(edge.bytes)
    return [Edge(count, forms.graph.absolute(forms.graph.total(strides)))
            for count, strides in counts.items()]


def sectors(forms: Forms, edges: Sequence[Edge]) -> Expr:
    """The sectors of a box."""
    graph = forms.graph
    return graph.mul(1.0, *[_along(forms, edge) for edge in edges])


def _along(forms: Forms, edge: Edge) -> Expr:
    graph = forms.graph
    if edge.bytes == 0:
        return 1
    if not isinstance(edge.bytes, (int, float)):
        part = graph.least(graph.mul(edge.bytes, 1 / SECTOR), 1.0)
    else:
        part = min(edge.bytes / SECTOR, 1.0)
    return graph.most(graph.mul(edge.count, part), 1.0)


def runs(forms: Forms, edges: Sequence[Edge]) -> Expr:
    """The pieces of a box that are in separate sectors because strides are long."""
    graph = forms.graph
    parts: list[Expr] = []
    for edge in edges:
        if not isinstance(edge.bytes, (int, float)):
            parts.append(graph.choose(graph.less(edge.bytes, SECTOR), 1, edge.count))
        else:
            parts.append(1 if edge.bytes < SECTOR else edge.count)
    return graph.mul(*parts)


def moved(forms: Forms, edges: Sequence[Edge], unrolled: Sequence[Edge], step: Expr | None,
          trips: Expr) -> Moved:
    """The sectors that a sub-group moves in one iteration of the innermost loop.

    ``unrolled`` are edges of unrolled loops inside.  ``step`` is the bytes between iterations, of
    which there are ``trips``; None if there is no loop.
    """
    graph = forms.graph
    one = sectors(forms, edges)
    whole = graph.mul(one, *[edge.count for edge in unrolled])
    body = one if not unrolled else sectors(forms, [*edges, *unrolled])
    if step is None:
        return Moved(body, whole)
    if step == 0:
        return Moved(graph.over(body, graph.most(trips, 1)), whole)
    if isinstance(step, (int, float)) and step >= SECTOR and not unrolled:
        return Moved(body, whole)
    new = graph.least(body, graph.mul(runs(forms, [*edges, *unrolled]), step, 1 / SECTOR))
    more = graph.over(graph.sub(body, new), graph.most(trips, 1))
    return Moved(graph.add(new, more), whole)
