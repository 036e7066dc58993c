"""What keeps a device busy: defaults of guards that the bodies of versions tell.

A threshold that nothing has tuned asks for as many points as the device has work-items.  That is
too much for products, whose work-groups share what they load and whose work-items compute many
points each; where there are few points, long reductions are done in pieces
(:mod:`runelift.codegen.tiling`).
"""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from runelift.ir.names import Names
from runelift.ir.products import product_of
from runelift.ir.syntax import (
    SEGOPS,
    Body,
    Exp,
    Kind,
    Program,
    SegMap,
    Stm,
    Version,
    Versions,
)
from runelift.ir.traverse import bodies_of, map_inside
from runelift.rewrite.rule import Rewriting, rule

PRODUCT_POINTS = 4096
"""From how many points on a product keeps a device busy."""


def estimate(program: Program, names: Names, rewriting: Rewriting | None = None) -> Program:
    """``program`` with defaults for the guards of products."""
    rewriting = rewriting or Rewriting(names)
    return Program(tuple(replace(fun, body=_body(fun.body, rewriting)) for fun in program.funs))


def _body(body: Body, rewriting: Rewriting) -> Body:
    return Body(tuple(_statement(stm, rewriting) for stm in body.stms), body.result)


def _statement(stm: Stm, rewriting: Rewriting) -> Stm:
    if isinstance(stm.exp, SEGOPS):
        return stm  # no choice is made inside of kernels
    exp = map_inside(stm.exp, lambda body: _body(body, rewriting), lambda lam: lam)
    if isinstance(exp, Versions) and rewriting.permits(products_share):
        new = products_share.apply(exp)
        if new is not None:
            after = replace(stm, exp=new)
            rewriting.record(products_share, (stm,), (after,))
            return after
    return replace(stm, exp=exp)


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


def _operations(body: Body) -> Iterator[Exp]:
    """The operations of the grid."""
    for stm in body.stms:
        if isinstance(stm.exp, SEGOPS):
            yield stm.exp
        else:
            for inner in bodies_of(stm.exp):
                yield from _operations(inner)
