"""What keeps a device busy: defaults of guards that the bodies of versions tell.

A threshold that nothing has tuned asks for as many points as the device has work-items.  That is
too much for products, whose work-groups share what they load and whose work-items compute many
points each; where there are few points, long reductions are done in pieces
(:mod:`runelift.codegen.tiling`).

A version with a work-group for each row runs wherever rows fit, because what its work-items hand to
each other stays on the chip.  Where they hand on nothing, as in a map of rows, it saves no more
than the arithmetic of indices.  Flat versions, whose groups all have one size, save launches: loops
of small ones become one kernel (:mod:`runelift.codegen.persistent`).
"""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from runelift.ir.names import Names
from runelift.ir.products import product_of
from runelift.ir.syntax import (
    SEGOPS,
    SOACS,
    Body,
    Exp,
    Kind,
    Loop,
    Program,
    SegMap,
    Stm,
    Version,
    Versions,
)
from runelift.ir.traverse import bodies_of, map_inside
from runelift.rewrite.rule import Rewriting, Rule, rule

PRODUCT_POINTS = 4096
"""From how many points on a product keeps a device busy."""


def estimate(program: Program, names: Names, rewriting: Rewriting | None = None) -> Program:
    """``program`` with defaults for guards of products and of rows that are only mapped."""
    rewriting = rewriting or Rewriting(names)
    return Program(tuple(replace(fun, body=_body(fun.body, rewriting, (products_share,)))
                         for fun in program.funs))


def _body(body: Body, rewriting: Rewriting, laws: tuple[Rule, ...]) -> Body:
    return Body(tuple(_statement(stm, rewriting, laws) for stm in body.stms), body.result)


def _statement(stm: Stm, rewriting: Rewriting, laws: tuple[Rule, ...]) -> Stm:
    if isinstance(stm.exp, SEGOPS):
        return stm  # no choice is made inside of kernels
    inside = (products_share, maps_share_nothing) if isinstance(stm.exp, Loop) else laws
    stm = replace(stm, exp=map_inside(stm.exp, lambda body: _body(body, rewriting, inside),
                                      lambda lam: lam))
    for law in laws:
        if isinstance(stm.exp, Versions) and rewriting.permits(law):
            new = law.apply(stm.exp)
            if new is not None:
                before, stm = stm, replace(stm, exp=new)
                rewriting.record(law, (before,), (stm,))
    return stm


@rule(Versions)
def products_share(exp: Versions) -> Exp | None:
    """versions (par ≥ device: product, …) ⇒ versions (par ≥ min device 4096: product, …)

    Provided: all operations of the version are products.
    Because: a work-item computes up to 64 points of a product.
    """
    versions = tuple(map(_estimated, exp.alternatives))
    return None if versions == exp.alternatives else replace(exp, alternatives=versions)


def _estimated(version: Version) -> Version:
    guard = version.guard
    if guard is None or guard.kind is not Kind.OUTER or guard.default is not None:
        return version
    operations = list(_operations(version.body))
    if not operations or not all(isinstance(o, SegMap) and product_of(o) for o in operations):
        return version
    return replace(version, guard=replace(guard, default=PRODUCT_POINTS))


@rule(Versions)
def maps_share_nothing(exp: Versions) -> Exp | None:
    """versions (group: map of a row, else: map of all) ⇒ versions (group, maps: …, else: …)

    Provided: a loop is around it; the last version is one map of all points, without loops at a
        point.
    Because: a device may merge flat launches.  Points with loops in them may be few, and groups of
        the size of a row share them out more evenly.
    """
    flat = list(_operations(exp.alternatives[-1].body))
    if not (len(flat) == 1 and isinstance(flat[0], SegMap) and _straight(flat[0].body)):
        return None
    versions = tuple(replace(v, guard=replace(v.guard, maps=True))
                     if v.guard is not None and _maps_rows(v) else v for v in exp.alternatives)
    return None if versions == exp.alternatives else replace(exp, alternatives=versions)


def _straight(body: Body) -> bool:
    """Whether nothing in a body is done again and again."""
    return not any(isinstance(stm.exp, (Loop, *SOACS))
                   or not all(map(_straight, bodies_of(stm.exp))) for stm in body.stms)


def _maps_rows(version: Version) -> bool:
    """Whether a work-group does nothing but map the elements of a row."""
    groups = list(_operations(version.body))
    if version.kind is not Kind.INTRA or len(groups) != 1 or not isinstance(groups[0], SegMap):
        return False
    row = groups[0].body
    inside = list(_operations(row))
    return (len(inside) == 1 and isinstance(inside[0], SegMap)
            and any(stm.exp is inside[0] for stm in row.stms))


def _operations(body: Body) -> Iterator[Exp]:
    """The operations of the grid."""
    for stm in body.stms:
        if isinstance(stm.exp, SEGOPS):
            yield stm.exp
        else:
            for inner in bodies_of(stm.exp):
                yield from _operations(inner)
