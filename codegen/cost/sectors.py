"""The bytes that accesses move between memory and chip, by sectors of 32 bytes.

The work-items of a sub-group access neighbouring elements, or elements a stride apart.  An index is
a box: some counts (lanes, blocks of lanes, iterations of unrolled loops), each with a stride.  Its
sectors are the product over the counts of ``max(1, count * min(1, stride / 32))``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from runelift.codegen.cost.expressions import Expr, Node
from runelift.codegen.cost.forms import Forms
from runelift.codegen.cost.polynomials import Atom, Form
from runelift.codegen.cost.totals import SECTOR


class Edge(NamedTuple):
    """An edge of a box of accesses: the ``number`` of elements, the ``bytes`` between them."""

    number: Expr
    bytes: Expr


class Box(NamedTuple):
    """The places of an access: edges of a sub-group of ``active`` lanes, and of unrolled loops.

    These execute it ``repeated`` times, other than where it does not vary.
    """

    active: Expr
    lanes: Sequence[Edge]
    unrolled: Sequence[Edge]
    repeated: Expr


class Moved(NamedTuple):
    """The bytes of an access: ``all``, or ``kept`` if lines stay in the cache."""

    kept: Expr
    all: Expr


def edges_along(forms: Forms, form: Form, item: Atom, count: Expr, size: int) -> list[Edge]:
    """The edges along which the access at ``form`` moves with ``count`` values of ``item``."""
    graph, found = forms.graph, list[Edge]()
    for varying, factor in forms.split(form).items():
        for k, atom in enumerate(varying):
            if item not in atom.varies:
                continue
            others = map(forms.mean_of, varying[:k] + varying[k + 1:])
            stride = graph.mul(forms.expr(factor), size, *others)
            number = count
            if atom is not item:
                rate = graph.absolute(forms.atom_rate(atom, item))
                if atom.kind == "quotient":  # as often another number, and that far apart
                    number = graph.clamp(graph.mul(count, rate), 1, count)
                    rate = graph.most(rate, 1)
                stride = graph.mul(stride, rate)
                if atom.kind == "rest":
                    inside = graph.over(forms.expr(atom.args[1]), graph.most(rate, 1))
                    number = graph.clamp(inside, 1, count)
            found.append(Edge(number, stride))
    return _joined(forms, found)


def _joined(forms: Forms, edges: list[Edge]) -> list[Edge]:
    """The edges, with one edge in place of all edges of equal count."""
    counts: dict[Expr, list[Expr]] = {}
    for edge in edges:
        counts.setdefault(edge.number, []).append(edge.bytes)
    return [Edge(count, forms.graph.absolute(forms.graph.total(strides)))
            for count, strides in counts.items()]


def sectors(forms: Forms, edges: Sequence[Edge], most: Expr) -> Expr:
    """The number of memory sectors in a box of accesses; with several edges, ``most`` at most."""
    graph = forms.graph
    found = graph.mul(1, *[_along(forms, edge) for edge in edges])
    return graph.least(found, most) if len(edges) > 1 else found


def _along(forms: Forms, edge: Edge) -> Expr:
    graph = forms.graph
    if edge.bytes == 0:
        return 1
    if isinstance(edge.bytes, Node):
        part = graph.least(graph.mul(edge.bytes, 1 / SECTOR), 1)
    else:
        part = min(edge.bytes / SECTOR, 1)
    return graph.most(graph.mul(edge.number, part), 1)


def runs(forms: Forms, edges: Sequence[Edge]) -> Expr:
    """The pieces of a box that are in separate sectors because strides are long."""
    graph = forms.graph
    parts: list[Expr] = []
    for edge in edges:
        if isinstance(edge.bytes, Node):
            parts.append(graph.choose(graph.less(edge.bytes, SECTOR), 1, edge.number))
        else:
            parts.append(1 if edge.bytes < SECTOR else edge.number)
    return graph.mul(*parts)


def moved(forms: Forms, box: Box, step: Expr | None, trips: Expr) -> Moved:
    """The sectors that a sub-group moves in one iteration of the innermost loop.

    ``step`` is the bytes between iterations, of which there are ``trips``; None if there is no
    loop.
    """
    graph = forms.graph
    one = sectors(forms, box.lanes, box.active)
    whole = graph.mul(one, box.repeated)
    body = one if not box.unrolled else sectors(forms, [*box.lanes, *box.unrolled], whole)
    if step is None:
        return Moved(body, whole)
    if step == 0:
        return Moved(graph.over(body, graph.most(trips, 1)), whole)
    if not isinstance(step, Node) and step >= SECTOR and not box.unrolled:
        return Moved(body, whole)
    new = graph.least(body, graph.mul(runs(forms, [*box.lanes, *box.unrolled]), step, 1 / SECTOR))
    more = graph.over(graph.sub(body, new), graph.most(trips, 1))
    return Moved(graph.add(new, more), whole)
