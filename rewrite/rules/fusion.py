"""Fusion: laws about two array operations of the same width, next to each other.

A fusion rule takes two statements and the results of the first that others need too.  It returns
one statement that binds the results of both.  :data:`reduce_by_rows` gives a reduction the width of
what it reads.  :mod:`~runelift.rewrite.passes.fuse` decides when two statements may be brought
together.

Source: Henriksen, Design and Implementation of the Futhark Programming Language, 2017, ch. 5.
"""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.syntax import (
    Body,
    Hist,
    Lambda,
    Map,
    Param,
    PrimOp,
    Redomap,
    Reshape,
    Scanomap,
    Scatter,
    Soac,
    Stm,
)
from runelift.ir.traverse import rename_lambda, substitute_body
from runelift.ir.types import Atom, array_of, elem_of, row_of, shape_of
from runelift.rewrite.engine.rule import Rule, rule
from runelift.rewrite.rules.soac import operands

T = TypeVar("T")


@rule(Map, Map)
def map_map(first: Stm, second: Stm, needed: frozenset[VName]) -> Stm:
    """map f (map g xs) ⇒ map (f ∘ g) xs"""
    return joined(first, second, needed)


@rule(Map, Redomap)
def map_redomap(first: Stm, second: Stm, needed: frozenset[VName]) -> Stm:
    """redomap ⊕ f (map g xs) ⇒ redomap ⊕ (f ∘ g) xs"""
    return joined(first, second, needed)


@rule(Map, Scanomap)
def map_scanomap(first: Stm, second: Stm, needed: frozenset[VName]) -> Stm:
    """scanomap ⊕ f (map g xs) ⇒ scanomap ⊕ (f ∘ g) xs"""
    return joined(first, second, needed)


@rule(Map, Scatter)
def map_scatter(first: Stm, second: Stm, needed: frozenset[VName]) -> Stm:
    """scatter d f (map g xs) ⇒ scatter d (f ∘ g) xs

    Provided: nothing else needs map g xs.
    """
    return joined(first, second, needed)


@rule(Map, Hist)
def map_hist(first: Stm, second: Stm, needed: frozenset[VName]) -> Stm:
    """hist d ⊕ f (map g xs) ⇒ hist d ⊕ (f ∘ g) xs

    Provided: nothing else needs map g xs.
    """
    return joined(first, second, needed)


@rule(Redomap, Map)
def redomap_map(first: Stm, second: Stm, needed: frozenset[VName]) -> Stm:
    """(s, ys) = redomap ⊕ g xs, zs = map f ys ⇒ (s, zs) = redomap ⊕ (id ⊗ f ∘ g) xs

    Provided: f does not need s.
    """
    return joined(first, second, needed)


@rule(Redomap, Redomap)
def redomap_redomap(first: Stm, second: Stm, needed: frozenset[VName]) -> Stm:
    """(s, ys) = redomap ⊕ g xs, t = redomap ⊗ f ys ⇒ (s, t) = redomap (⊕, ⊗) (id ⊗ f ∘ g) xs

    Provided: neither f nor ⊗ needs s.
    """
    return joined(first, second, needed)


@rule(Scanomap, Map)
def scanomap_map(first: Stm, second: Stm, needed: frozenset[VName]) -> Stm:
    """(s, ys) = scanomap ⊕ g xs, zs = map f ys ⇒ (s, zs) = scanomap ⊕ (id ⊗ f ∘ g) xs

    Provided: f does not need s.
    """
    return joined(first, second, needed)


@rule(Scanomap, Scanomap)
def scanomap_scanomap(first: Stm, second: Stm, needed: frozenset[VName]) -> Stm:
    """(s, ys) = scanomap ⊕ g xs, t = scanomap ⊗ f ys ⇒ (s, t) = scanomap (⊕, ⊗) (id ⊗ f ∘ g) xs

    Provided: neither f nor ⊗ needs s.
    """
    return joined(first, second, needed)


@rule(Map, Map)
def maps_together(first: Stm, second: Stm, needed: frozenset[VName]) -> Stm:
    """ys = map f xs, zs = map g xs ⇒ (ys, zs) = map (λx → (f x, g x)) xs

    Provided: neither f nor g has parallelism inside.
    """
    return joined(first, second, needed)


@rule(Map, Redomap)
def map_beside_redomap(first: Stm, second: Stm, needed: frozenset[VName]) -> Stm:
    """ys = map g xs, s = redomap ⊕ f xs ⇒ (s, ys) = redomap ⊕ (λx → (f x, g x)) xs

    Provided: neither f nor g has parallelism inside.
    """
    return joined(first, second, needed)


@rule(Redomap, Map)
def redomap_beside_map(first: Stm, second: Stm, needed: frozenset[VName]) -> Stm:
    """s = redomap ⊕ f xs, ys = map g xs ⇒ (s, ys) = redomap ⊕ (λx → (f x, g x)) xs

    Provided: neither f nor g has parallelism inside.
    """
    return joined(first, second, needed)


@rule(Redomap, Redomap)
def redomaps_together(first: Stm, second: Stm, needed: frozenset[VName]) -> Stm:
    """s = redomap ⊕ f xs, t = redomap ⊗ g xs ⇒ (s, t) = redomap (⊕, ⊗) (λx → (f x, g x)) xs

    Provided: neither f nor g has parallelism inside, and the operators work on scalars.
    """
    return joined(first, second, needed)


@rule(Scanomap, Scanomap)
def scanomaps_together(first: Stm, second: Stm, needed: frozenset[VName]) -> Stm:
    """s = scanomap ⊕ f xs, t = scanomap ⊗ g xs ⇒ (s, t) = scanomap (⊕, ⊗) (λx → (f x, g x)) xs

    Provided: neither f nor g has parallelism inside, and the operators work on scalars.
    """
    return joined(first, second, needed)


@rule(Scatter, Scatter)
def scatters_together(first: Stm, second: Stm, needed: frozenset[VName]) -> Stm:
    """a = scatter d f xs, b = scatter e g xs ⇒ (a, b) = scatter (d, e) (λx → (f x, g x)) xs

    Provided: d and e are different arrays that neither f nor g reads.
    """
    one, two = first.exp, second.exp
    assert isinstance(one, Scatter)
    assert isinstance(two, Scatter)
    lam = Lambda((*one.lam.params, *two.lam.params),
                 Body((*one.lam.body.stms, *two.lam.body.stms),
                      (*one.lam.body.result, *two.lam.body.result)),
                 (*one.lam.ret, *two.lam.ret))
    exp = Scatter(two.width, lam, (*one.arrays, *two.arrays), (*one.dests, *two.dests))
    return Stm((*first.pat, *second.pat), exp, _union(second.attrs, first.attrs),
               second.loc or first.loc)


@rule(Redomap)
def reduce_by_rows(stm: Stm, matrices: Mapping[VName, Param], names: Names) -> Stm:
    """redomap ⊕ f (flatten xss) ⇒ redomap ⊕ (λxs → redomap ⊕ f xs) xss

    Provided: a map makes the rows of xss by array operations, and nothing else needs them.
    Because: then the reduction fuses with them, row by row, and xss need not be stored.
    """
    whole = stm.exp
    assert isinstance(whole, Redomap)
    types = [matrices[a].type for a in whole.arrays]
    outer, *inner = shape_of(types[0])
    rows = tuple(Param(names.fresh("row"), row_of(t)) for t in types)
    before, flat, size = _flattened(rows, inner, names)
    totals = tuple(Param(names.fresh(p.name), p.type) for p in stm.pat)
    ops = tuple(replace(op, lam=rename_lambda(op.lam, names)) for op in whole.ops)
    of_row = Stm(totals, Redomap(size, ops, whole.lam, flat), stm.attrs, stm.loc)
    lam = Lambda(rows, Body((*before, of_row), tuple(p.name for p in totals)),
                 tuple(p.type for p in totals))
    return replace(stm, exp=Redomap(outer, whole.ops, lam,
                                    tuple(matrices[a].name for a in whole.arrays)))


def _flattened(rows: tuple[Param, ...], sizes: Iterable[Atom], names: Names,
               ) -> tuple[list[Stm], tuple[VName, ...], Atom]:
    """Statements that flatten rows of several dimensions, the flat rows, and their size."""
    size, *others = sizes
    if not others:
        return [], tuple(p.name for p in rows), size
    stms: list[Stm] = []
    for other in others:
        product = Param(names.fresh("t"), Prim.I64)
        stms.append(Stm((product,), PrimOp("mul", Prim.I64, (size, other))))
        size = product.name
    flat = [Param(names.fresh("fs"), array_of((size,), elem_of(p.type))) for p in rows]
    stms += [Stm((f,), Reshape((size,), p.name)) for f, p in zip(flat, rows, strict=True)]
    return stms, tuple(p.name for p in flat), size


VERTICAL: tuple[Rule, ...] = (
    map_map, map_redomap, map_scanomap, map_scatter, map_hist, redomap_map, redomap_redomap,
    scanomap_map, scanomap_scanomap,
)
"""The second operation reads what the first makes."""

HORIZONTAL: tuple[Rule, ...] = (
    maps_together, map_beside_redomap, redomap_beside_map, redomaps_together, scanomaps_together,
    scatters_together,
)
"""Neither operation reads what the other makes."""


def joined(first: Stm, second: Stm, needed: frozenset[VName]) -> Stm:
    """One statement for two; of the first one's further results those in ``needed`` stay."""
    one, two = first.exp, second.exp
    assert isinstance(one, Map | Redomap | Scanomap)
    assert isinstance(two, Soac)
    reduced = operands(one)
    value = {p.name: a for p, a in zip(first.pat, one.lam.body.result, strict=True)}
    inputs = list(zip(two.lam.params, two.arrays, strict=True))
    fed = {p.name: value[a] for p, a in inputs if a in value}
    other = [(p, a) for p, a in inputs if a not in value]
    stays = [k >= reduced and p.name in needed for k, p in enumerate(first.pat)]
    own = 0 if isinstance(two, Scatter | Hist) else operands(two)

    def arrange(of_one: tuple[T, ...], of_two: tuple[T, ...]) -> tuple[T, ...]:
        extra = (item for item, stay in zip(of_one, stays, strict=True) if stay)
        return (*of_one[:reduced], *of_two[:own], *of_two[own:], *extra)

    then = substitute_body(two.lam.body, fed)
    lam = Lambda((*one.lam.params, *(p for p, _ in other)),
                 Body((*one.lam.body.stms, *then.stms),
                      arrange(one.lam.body.result, then.result)),
                 arrange(one.lam.ret, two.lam.ret))
    exp = _with_operators(one, two, lam, (*one.arrays, *(a for _, a in other)))
    return Stm(arrange(first.pat, second.pat), exp, _union(second.attrs, first.attrs),
               second.loc or first.loc)


def _with_operators(one: Map | Redomap | Scanomap, two: Soac, lam: Lambda,
                    arrays: tuple[VName, ...]) -> Soac:
    """``two`` with the operators of both."""
    if isinstance(one, Map):
        return replace(two, lam=lam, arrays=arrays)
    if isinstance(two, Map):
        return replace(one, lam=lam, arrays=arrays)
    assert isinstance(two, Redomap | Scanomap)
    return replace(two, ops=(*one.ops, *two.ops), lam=lam, arrays=arrays)


def _union(first: Iterable[str], second: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))
