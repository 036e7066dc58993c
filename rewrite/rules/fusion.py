"""Fusion: laws about two array operations of the same width, next to each other.

A fusion rule takes two statements, and the results of the first that further statements need.  It
returns one statement that binds the results of both.  :data:`reduce_by_rows` gives a reduction the
width of what it reads.  :mod:`~runelift.rewrite.passes.fuse` decides when two statements may be
brought together.

Source: Henriksen, Design and Implementation of the Futhark Programming Language, 2017, ch. 5.
"""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from runelift.ir import syntax as ir
from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import rename_lambda, substitute_body
from runelift.ir.types import Atom, array_of, elem_of, row_of, shape_of
from runelift.rewrite.engine.rule import Rule, read_law, rule
from runelift.rewrite.rules.soac import operands

T = TypeVar("T")


@rule(ir.Map, ir.Map)
def alike_together(first: ir.Stm, second: ir.Stm, needed: frozenset[VName]) -> ir.Stm:
    """ys = map f xs, zs = map g xs ⇒ (ys, zs) = map (λx → (f x, g x)) xs

    Provided: f and g have an array operation in common, in a program with derivatives.
    Because: a return sweep runs the primal again.
    """
    assert isinstance(first.exp, ir.Map)
    assert isinstance(second.exp, ir.Map)
    return joined(first, replace(second, exp=with_elements_of(first.exp, second.exp)), needed)


@rule(ir.Scatter, ir.Scatter)
def scatters_together(first: ir.Stm, second: ir.Stm, needed: frozenset[VName]) -> ir.Stm:
    """a = scatter d f xs, b = scatter e g xs ⇒ (a, b) = scatter (d, e) (λx → (f x, g x)) xs

    Provided: d and e are different arrays that neither f nor g reads.
    """
    one, two = first.exp, second.exp
    assert isinstance(one, ir.Scatter)
    assert isinstance(two, ir.Scatter)
    lam = ir.Lambda((*one.lam.params, *two.lam.params),
                 ir.Body((*one.lam.body.stms, *two.lam.body.stms),
                      (*one.lam.body.result, *two.lam.body.result)),
                 (*one.lam.ret, *two.lam.ret))
    exp = ir.Scatter(two.width, lam, (*one.arrays, *two.arrays), (*one.dests, *two.dests))
    return ir.Stm((*first.pat, *second.pat), exp, _union(second.attrs, first.attrs),
               second.loc or first.loc)


@rule(ir.Hist, ir.Hist)
def hists_together(first: ir.Stm, second: ir.Stm, needed: frozenset[VName]) -> ir.Stm:
    """a = hist d ⊕ f xs, b = hist e ⊗ g xs ⇒ (a, b) = hist (d ⊕, e ⊗) (λx → (f x, g x)) xs

    Provided: d and e are different arrays with as many bins, and neither f nor g has parallelism
    inside.  Both or neither are updated by one word at a time.
    """
    one, two = first.exp, second.exp
    assert isinstance(one, ir.Hist)
    assert isinstance(two, ir.Hist)
    ones, twos = len(one.ops), len(two.ops)

    def arrange(left: tuple[T, ...], right: tuple[T, ...]) -> tuple[T, ...]:
        return (*left[:ones], *right[:twos], *left[ones:], *right[twos:])

    lam = ir.Lambda((*one.lam.params, *two.lam.params),
                 ir.Body((*one.lam.body.stms, *two.lam.body.stms),
                      arrange(one.lam.body.result, two.lam.body.result)),
                 arrange(one.lam.ret, two.lam.ret))
    exp = ir.Hist(two.width, (*one.ops, *two.ops), lam, (*one.arrays, *two.arrays))
    return ir.Stm((*first.pat, *second.pat), exp, _union(second.attrs, first.attrs),
               second.loc or first.loc)


@rule(ir.Redomap)
def reduce_by_rows(stm: ir.Stm, matrices: Mapping[VName, ir.Param], names: Names) -> ir.Stm:
    """redomap ⊕ f (flatten xss) ⇒ redomap ⊕ (λxs → redomap ⊕ f xs) xss

    Provided: a map makes the rows of xss by array operations, and nothing else needs them.
    Because: then the reduction fuses with them, row by row, and xss need not be stored.
    """
    whole = ir.node_of(stm, ir.Redomap)
    types = [matrices[a].type for a in whole.arrays]
    outer, *inner = shape_of(types[0])
    rows = tuple(ir.Param(names.fresh("row"), row_of(t)) for t in types)
    before, flat, size = _flattened(rows, inner, names)
    totals = tuple(ir.Param(names.fresh(p.name), p.type) for p in stm.pat)
    ops = tuple(replace(op, lam=rename_lambda(op.lam, names)) for op in whole.ops)
    of_row = ir.Stm(totals, ir.Redomap(size, ops, whole.lam, flat), stm.attrs, stm.loc)
    lam = ir.Lambda(rows, ir.Body((*before, of_row), tuple(p.name for p in totals)),
                 tuple(p.type for p in totals))
    return replace(stm, exp=ir.Redomap(outer, whole.ops, lam,
                                    tuple(matrices[a].name for a in whole.arrays)))


def _flattened(rows: tuple[ir.Param, ...], sizes: Iterable[Atom], names: Names,
               ) -> tuple[list[ir.Stm], tuple[VName, ...], Atom]:
    """Statements that flatten rows of several dimensions, the flat rows, and their size."""
    size, *others = sizes
    if not others:
        return [], tuple(p.name for p in rows), size
    stms: list[ir.Stm] = []
    for other in others:
        product = ir.Param(names.fresh("t"), Prim.I64)
        stms.append(ir.Stm((product,), ir.PrimOp("mul", Prim.I64, (size, other))))
        size = product.name
    flat = [ir.Param(names.fresh("fs"), array_of((size,), elem_of(p.type))) for p in rows]
    stms += [ir.Stm((f,), ir.Reshape((size,), p.name)) for f, p in zip(flat, rows, strict=True)]
    return stms, tuple(p.name for p in flat), size


def joined(first: ir.Stm, second: ir.Stm, needed: frozenset[VName]) -> ir.Stm:
    """One statement for two; results of the first that are ``needed`` stay results."""
    one, two = first.exp, second.exp
    assert isinstance(one, ir.Map | ir.Redomap | ir.Scanomap)
    assert isinstance(two, ir.Soac)
    reduced = operands(one)
    value = {p.name: a for p, a in zip(first.pat, one.lam.body.result, strict=True)}
    inputs = list(zip(two.lam.params, two.arrays, strict=True))
    fed = {p.name: value[a] for p, a in inputs if a in value}
    other = [(p, a) for p, a in inputs if a not in value]
    stays = [k >= reduced and p.name in needed for k, p in enumerate(first.pat)]
    own = 0 if isinstance(two, ir.Scatter | ir.Hist) else operands(two)

    def arrange(of_one: tuple[T, ...], of_two: tuple[T, ...]) -> tuple[T, ...]:
        extra = (item for item, stay in zip(of_one, stays, strict=True) if stay)
        return (*of_one[:reduced], *of_two[:own], *of_two[own:], *extra)

    then = substitute_body(two.lam.body, fed)
    lam = ir.Lambda((*one.lam.params, *(p for p, _ in other)),
                 ir.Body((*one.lam.body.stms, *then.stms),
                      arrange(one.lam.body.result, then.result)),
                 arrange(one.lam.ret, two.lam.ret))
    exp = _with_operators(one, two, lam, (*one.arrays, *(a for _, a in other)))
    return ir.Stm(arrange(first.pat, second.pat), exp, _union(second.attrs, first.attrs),
               second.loc or first.loc)


def with_elements_of(one: ir.Map, two: ir.Map) -> ir.Map:
    """``two`` without the arrays that ``one`` reads, too: it uses the parameters of ``one``."""
    element = {array: p.name for p, array in zip(one.lam.params, one.arrays, strict=True)}
    inputs = list(zip(two.lam.params, two.arrays, strict=True))
    body = substitute_body(two.lam.body, {p.name: element[a] for p, a in inputs if a in element})
    rest = [(p, a) for p, a in inputs if a not in element]
    lam = replace(two.lam, params=tuple(p for p, _ in rest), body=body)
    return replace(two, lam=lam, arrays=tuple(a for _, a in rest))


def _with_operators(one: ir.Map | ir.Redomap | ir.Scanomap, two: ir.Soac, lam: ir.Lambda,
                    arrays: tuple[VName, ...]) -> ir.Soac:
    """``two`` with the operators of both."""
    if isinstance(one, ir.Map):
        return replace(two, lam=lam, arrays=arrays)
    if isinstance(two, ir.Map):
        return replace(one, lam=lam, arrays=arrays)
    assert isinstance(two, ir.Redomap | ir.Scanomap)
    return replace(two, ops=(*one.ops, *two.ops), lam=lam, arrays=arrays)


def _union(first: Iterable[str], second: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))


def _joining(name: str, first: type[ir.Exp], second: type[ir.Exp], text: str) -> Rule:
    """A rule by which :func:`joined` makes one operation of two, with its law and notes."""
    return Rule(name, *read_law(text), (first, second), joined)


VERTICAL: tuple[Rule, ...] = (
    _joining("map_map", ir.Map, ir.Map, "map f (map g xs) ⇒ map (f ∘ g) xs"),
    _joining("map_redomap", ir.Map, ir.Redomap, "redomap ⊕ f (map g xs) ⇒ redomap ⊕ (f ∘ g) xs"),
    _joining("map_scanomap", ir.Map, ir.Scanomap,
             "scanomap ⊕ f (map g xs) ⇒ scanomap ⊕ (f ∘ g) xs"),
    _joining("map_scatter", ir.Map, ir.Scatter,
             "scatter d f (map g xs) ⇒ scatter d (f ∘ g) xs\n"
             "Provided: nothing else needs map g xs."),
    _joining("map_hist", ir.Map, ir.Hist,
             "hist d ⊕ f (map g xs) ⇒ hist d ⊕ (f ∘ g) xs\n"
             "Provided: nothing else needs map g xs."),
    _joining("redomap_map", ir.Redomap, ir.Map,
             "(s, ys) = redomap ⊕ g xs, zs = map f ys ⇒ (s, zs) = redomap ⊕ (id ⊗ f ∘ g) xs\n"
             "Provided: f does not need s."),
    _joining("redomap_redomap", ir.Redomap, ir.Redomap,
             "(s, ys) = redomap ⊕ g xs, t = redomap ⊗ f ys ⇒ "
             "(s, t) = redomap (⊕, ⊗) (id ⊗ f ∘ g) xs\n"
             "Provided: neither f nor ⊗ needs s."),
    _joining("scanomap_map", ir.Scanomap, ir.Map,
             "(s, ys) = scanomap ⊕ g xs, zs = map f ys ⇒ (s, zs) = scanomap ⊕ (id ⊗ f ∘ g) xs\n"
             "Provided: f does not need s."),
    _joining("scanomap_scanomap", ir.Scanomap, ir.Scanomap,
             "(s, ys) = scanomap ⊕ g xs, t = scanomap ⊗ f ys ⇒ "
             "(s, t) = scanomap (⊕, ⊗) (id ⊗ f ∘ g) xs\n"
             "Provided: neither f nor ⊗ needs s."),
)
"""The second operation reads what the first makes."""

HORIZONTAL: tuple[Rule, ...] = (
    _joining("maps_together", ir.Map, ir.Map,
             "ys = map f xs, zs = map g xs ⇒ (ys, zs) = map (λx → (f x, g x)) xs\n"
             "Provided: neither f nor g has parallelism inside."),
    _joining("map_beside_redomap", ir.Map, ir.Redomap,
             "ys = map g xs, s = redomap ⊕ f xs ⇒ (s, ys) = redomap ⊕ (λx → (f x, g x)) xs\n"
             "Provided: neither f nor g has parallelism inside."),
    _joining("redomap_beside_map", ir.Redomap, ir.Map,
             "s = redomap ⊕ f xs, ys = map g xs ⇒ (s, ys) = redomap ⊕ (λx → (f x, g x)) xs\n"
             "Provided: neither f nor g has parallelism inside."),
    _joining("redomaps_together", ir.Redomap, ir.Redomap,
             "s = redomap ⊕ f xs, t = redomap ⊗ g xs ⇒ "
             "(s, t) = redomap (⊕, ⊗) (λx → (f x, g x)) xs\n"
             "Provided: neither f nor g has parallelism inside, and "
             "the operators work on scalars."),
    _joining("scanomaps_together", ir.Scanomap, ir.Scanomap,
             "s = scanomap ⊕ f xs, t = scanomap ⊗ g xs ⇒ "
             "(s, t) = scanomap (⊕, ⊗) (λx → (f x, g x)) xs\n"
             "Provided: neither f nor g has parallelism inside, and "
             "the operators work on scalars."),
    scatters_together, hists_together,
)
"""Neither operation reads what the other makes."""
