"""Reductions in perfect nests of maps, apart from what is computed of their sums."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from runelift.ir import syntax as ir
from runelift.ir.traverse import needed_for, rename_lambda
from runelift.ir.types import array_of
from runelift.rewrite.engine.scalar_code import may_fail
from runelift.rewrite.engine.scope import Scope
from runelift.rewrite.flatten.parallelism import is_cheap
from runelift.rewrite.lift.points.nests import Loop, Nest, maps_of


@dataclass(frozen=True, slots=True)
class Reduction:
    """A nest whose innermost loop is a reduction.

    ``sums`` is the statement with the results of the reduction alone.  If it binds something else,
    ``after`` are maps that compute that of these results.
    """

    nest: Nest
    sums: ir.Stm
    after: tuple[ir.Stm, ...] = ()


def reduction_in(scope: Scope, stm: ir.Stm) -> Reduction | str:
    """The nest of a statement with its reduction; a reason in words for other statements."""
    parts = _parts(stm)
    if isinstance(parts, str):
        return parts
    loops, fold, after = parts
    redomap = ir.node_of(fold, ir.Redomap)
    bottom = Loop(redomap.width, redomap.lam.params, redomap.arrays, (), redomap.ops, fold.attrs)
    if not loops:
        bottom = replace(bottom, attrs=())
    nest = Nest((*loops, bottom), redomap.lam.body, redomap.lam.ret)
    if redomap.width in nest.bound:
        return "the reduction has another length for each element"
    if len(fold.pat) != sum(len(op.neutral) for op in redomap.ops):
        return "the reduction makes further arrays besides its sums"
    if after is None:
        return Reduction(nest, stm)
    shape = tuple(loop.width for loop in loops)
    sums = replace(stm, pat=tuple(scope.fresh(p.name, array_of(shape, p.type)) for p in fold.pat))
    return Reduction(nest, sums, (_finished(scope, stm, loops, after, fold.pat, sums.pat),))


Parts: TypeAlias = tuple[tuple[Loop, ...], ir.Stm, ir.Lambda | None]
"""The maps around a reduction, the reduction, and what is computed of its sums, if anything is."""


def _parts(stm: ir.Stm) -> Parts | str:
    """The reduction that a statement is or that stands in its maps; or why there is none."""
    if isinstance(stm.exp, ir.Redomap):
        return (), stm, None
    maps = maps_of(stm)
    stms = maps.lam.body.stms
    place = next((k for k, each in enumerate(stms) if isinstance(each.exp, ir.Redomap)), None)
    if place is None:
        return "no reduction stands in its innermost map"
    for each in stms[:place]:
        if may_fail(each.exp):
            return "a check stands before the reduction"
        if not is_cheap(each.exp):
            return f"'{each.pat[0].name.base}' is computed before the reduction, and costs too much"
    fold = stms[place]
    loops = (*maps.loops[:-1], replace(maps.loops[-1], before=stms[:place]))
    if place + 1 == len(stms) and maps.lam.body.result == tuple(p.name for p in fold.pat):
        return loops, fold, None
    body = ir.Body((*stms[:place], *stms[place + 1:]), maps.lam.body.result)
    return loops, fold, replace(maps.lam, body=body)


def _finished(scope: Scope, stm: ir.Stm, loops: tuple[Loop, ...], after: ir.Lambda,
              found: tuple[ir.Param, ...], sums: tuple[ir.Param, ...]) -> ir.Stm:
    """Maps that compute what is left to do of the sums of all elements.

    ``after`` computes it of the elements and of the sums ``found``.
    """
    lam = replace(after, body=ir.Body(needed_for(after.body.stms, after.body.result),
                                      after.body.result))
    rows = found
    for k in reversed(range(len(loops))):
        loop = loops[k]
        shape = tuple(each.width for each in loops[k:])
        outer = sums if k == 0 else tuple(
            scope.fresh(p.name, array_of(shape, p.type)) for p in found)
        lam = replace(lam, params=(*loop.params, *rows))
        exp = ir.Map(loop.width, lam, (*loop.arrays, *(p.name for p in outer)))
        if k == 0:
            return replace(stm, exp=replace(exp, lam=rename_lambda(lam, scope.names)))
        pat = tuple(scope.fresh(p.name, array_of(shape, t))
                    for p, t in zip(stm.pat, after.ret, strict=True))
        lam = ir.Lambda((), ir.Body((*loops[k - 1].before, ir.Stm(pat, exp, loc=stm.loc)),
                                    tuple(p.name for p in pat)), tuple(p.type for p in pat))
        rows = outer
    raise AssertionError("there are maps around what is computed of sums")
