"""Conditions of a kernel: decided alike by all work-items, or met by a share of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from runelift.codegen.cost.expressions import Expr
from runelift.codegen.cost.forms import Forms
from runelift.codegen.cost.polynomials import Atom, Form, number


@dataclass(frozen=True, slots=True)
class Compare:
    """``a < b``, ``a <= b`` or ``a == b``: ``op`` says which."""

    op: str
    a: Form
    b: Form


@dataclass(frozen=True, slots=True)
class Known:
    """A condition that only sizes decide: ``holds`` is its truth."""

    holds: Expr


@dataclass(frozen=True, slots=True)
class Connective:
    """``a and b``, or ``a or b``."""

    op: str
    a: Condition
    b: Condition


@dataclass(frozen=True, slots=True)
class Opposite:
    """``not a``."""

    a: Condition


@dataclass(frozen=True, slots=True)
class Either:
    """``a`` if the condition on sizes ``holds``, else ``b``."""

    holds: Expr
    a: Condition
    b: Condition


@dataclass(frozen=True, slots=True)
class Unknown:
    """A condition that depends on elements of arrays."""


Condition: TypeAlias = Compare | Known | Connective | Opposite | Either | Unknown
UNKNOWN = Unknown()


def compared(forms: Forms, op: str, a: Form, b: Form) -> Condition:
    """The condition that compares two forms by ``op``."""
    difference = b.add(a, -1)
    if forms.is_size(difference):
        if (value := difference.constant) is not None:
            return Known({"<": value > 0, "<=": value >= 0, "==": value == 0}[op])
        if forms.is_size(a):
            return Known(forms.graph.less(forms.expr(a), forms.expr(b), op))
        return Known(forms.graph.less(0, forms.expr(difference), op))
    if forms.unknown(difference):
        return UNKNOWN
    return Compare(op, a, b)


def connected(forms: Forms, op: str, a: Condition, b: Condition) -> Condition:
    """``and`` or ``or`` of conditions."""
    graph = forms.graph
    if a == b:
        return a
    if isinstance(a, Known) and isinstance(b, Known):
        return Known(graph.both(a.holds, b.holds) if op == "and" else
                     graph.either(a.holds, b.holds))
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Known) and isinstance(one.holds, bool):
            return other if one.holds == (op == "and") else one
    return Connective(op, a, b)


def opposite(forms: Forms, a: Condition) -> Condition:
    """The negation of a condition."""
    if isinstance(a, Known):
        return Known(forms.graph.opposite(a.holds))
    return a.a if isinstance(a, Opposite) else Opposite(a)


def either(forms: Forms, holds: Expr, a: Condition, b: Condition) -> Condition:
    """One of two, by a condition on sizes."""
    graph = forms.graph
    if a == b:
        return a
    if isinstance(a, Known) and isinstance(b, Known):
        if isinstance(b.holds, bool):
            return Known(graph.either(graph.opposite(holds), a.holds) if b.holds else
                         graph.both(holds, a.holds))
        return Known(graph.choose(holds, a.holds, b.holds))
    return Either(holds, a, b)


def share(forms: Forms, cond: Condition) -> Expr:
    """The fraction of work-items for which a condition holds; one half if that is unknown."""
    graph = forms.graph
    match cond:
        case Known(holds):
            return graph.choose(holds, 1, 0)
        case Compare(op, a, b):
            difference = b.add(a, -1)
            if op == "==":
                return _equal(forms, forms.resolved(difference))
            if op == "<=":
                difference = difference.add(number(1))
            return _above(forms, a, b, difference)
        case Connective(op, a, b):
            x, y = share(forms, a), share(forms, b)
            if op == "and":
                return graph.mul(x, y)
            for one, other in ((a, y), (b, x)):
                if isinstance(one, Known):
                    return graph.choose(one.holds, 1, other)
            return graph.sub(graph.add(x, y), graph.mul(x, y))
        case Opposite(a):
            return graph.sub(1, share(forms, a))
        case Either(holds, a, b):
            return graph.choose(holds, share(forms, a), share(forms, b))
    return 0.5


def _above(forms: Forms, a: Form, b: Form, difference: Form) -> Expr:
    """The share for which a difference ``b - a`` is above 0; the range of ``a`` may be cut off."""
    graph = forms.graph
    if forms.is_size(b) and a in forms.bounds:
        limit = graph.sub(forms.expr(difference.add(a)), forms.range(a)[0])
        return graph.clamp(graph.over(limit, forms.span(a)), 0, 1)
    return forms.share(difference)


def _equal(forms: Forms, difference: Form) -> Expr:
    graph = forms.graph
    low, high = forms.range(difference)
    here = graph.both(graph.less(low, 0, "<="), graph.less(0, high, "<="))
    return graph.choose(here, graph.over(1, forms.span(difference)), 0)


def settle(forms: Forms, cond: Condition) -> None:
    """Assume a condition: narrow the bounds of forms accordingly."""
    match cond:
        case Compare(op, a, b) if op != "==" and not forms.is_size(a):
            if forms.is_size(b):
                high = forms.graph.sub(forms.expr(b), 1 if op == "<" else 0)
                before = forms.bounds.get(a)
                forms.bounds[a] = high if before is None else forms.graph.least(before, high)
        case Connective("and", a, b):
            settle(forms, a)
            settle(forms, b)


def single(forms: Forms, cond: Condition, lane: Atom) -> bool:
    """True if few neighbouring work-items meet a condition: it asks for equality of their place."""
    match cond:
        case Compare("==", a, b):
            return lane in forms.varies(a) or lane in forms.varies(b)
        case Connective("and", a, b):
            return single(forms, a, lane) or single(forms, b, lane)
    return False
