"""Products: maps whose points share elements, as those of a product of matrices do.

A reduction over k runs at every point (i, j).  It combines elements of arrays that vary with i and
k only with elements of arrays that vary with j and k only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import free_vars, needed_for
from runelift.ir.types import Atom, Type

REPEATED = (ir.Index, ir.Rearrange, ir.Reshape, ir.Slide, ir.Pad, ir.AtomExp, ir.PrimOp,
            ir.Convert, ir.Iota)
"""Expressions allowed before the reduction: they are computed again for every element loaded."""


def is_cheap(body: ir.Body) -> bool:
    """True if elements cost no more to compute than to load."""
    return all(isinstance(s.exp, (*REPEATED, ir.Replicate)) for s in body.stms)


@dataclass(frozen=True, slots=True)
class Reducing:
    """The parts of a body that reduces scalars, with simple statements around."""

    before: tuple[ir.Stm, ...]
    reduction: ir.Stm
    redomap: ir.Redomap
    after: tuple[ir.Stm, ...]
    result: tuple[Atom, ...]

    def needed(self, wanted: Iterable[VName]) -> tuple[ir.Stm, ...]:
        """The statements that must be computed before these names are known."""
        return needed_for(self.before, wanted)

    def inner_names(self) -> set[VName]:
        """The names around the reduction that its functions use."""
        functions = (self.redomap.lam, *(o.lam for o in self.redomap.ops))
        return {v for function in functions for v in free_vars(function)}


def reducing(body: ir.Body, ret: Sequence[Type], *, rows: bool = False) -> Reducing | None:
    """The parts of the body of a map, if it is such.

    ``rows``: elements may be made from rows of arrays.
    """
    place = next((n for n, s in enumerate(body.stms) if isinstance(s.exp, ir.Redomap)), None)
    if place is None:
        return None
    before, reduction, after = body.stms[:place], body.stms[place], body.stms[place + 1:]
    redomap = reduction.exp
    assert isinstance(redomap, ir.Redomap)
    simple = (all(isinstance(s.exp, REPEATED) for s in (*before, *after))
              and all(isinstance(p.type, Prim)
                      for p in (*reduction.pat, *(() if rows else redomap.lam.params)))
              and len(reduction.pat) == sum(len(o.neutral) for o in redomap.ops)
              and all(isinstance(t, Prim) for t in ret))
    return Reducing(before, reduction, redomap, after, body.result) if simple else None


@dataclass(frozen=True, slots=True)
class Product(Reducing):
    """A map that is a product.

    ``left`` are the arrays of the reduction that vary with the last but one index of the space,
    ``right`` those that vary with the last.  All other arrays vary with neither.
    """

    exp: ir.SegMap
    left: frozenset[VName]
    right: frozenset[VName]


def product_of(exp: ir.SegMap) -> Product | None:
    """The map as a product, if it is one."""
    parts = reducing(exp.body, exp.ret) if len(exp.space) > 1 else None
    if parts is None:
        return None
    redomap = parts.redomap
    i, j = (dim.index for dim in exp.space[-2:])
    uses = dependences(parts.before)
    varying = {v for v in (*parts.inner_names(), redomap.width) if isinstance(v, VName)
               and {i, j} & uses.get(v, {v})}
    left = frozenset(a for a in redomap.arrays if i in uses.get(a, {a}))
    right = frozenset(a for a in redomap.arrays if j in uses.get(a, {a}))
    if varying or left & right or not left or not right:
        return None
    return Product(parts.before, parts.reduction, redomap, parts.after, parts.result, exp, left,
                   right)


def dependences(stms: Sequence[ir.Stm]) -> dict[VName, set[VName]]:
    """The dependences of each name that is bound, itself included."""
    found: dict[VName, set[VName]] = {}
    for stm in stms:
        needs = {d for v in free_vars(stm) for d in found.get(v, {v})}
        found |= {p.name: {p.name, *needs} for p in stm.pat}
    return found
