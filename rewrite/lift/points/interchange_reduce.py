"""The point that moves a reduction of arrays into the maps of its operator."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.types import Type, array_of, row_of, shape_of
from runelift.rewrite.engine.scope import Scope
from runelift.rewrite.flatten.parallelism import is_cheap
from runelift.rewrite.lift.point import Arguments, Rewrite, point
from runelift.rewrite.lift.points.nests import Loop, Nest, maps_inside
from runelift.rewrite.lift.points.reordered import Part, Reordered, element_operator
from runelift.rewrite.lift.points.views import Views, number


@point(ir.Redomap, needs_reductions=True)
def interchange_reduce(scope: Scope, stm: ir.Stm, given: Arguments) -> Rewrite | str:
    """reduce (map ⊕) (replicate n e) (map (λx → map f ys) xs) ⇒
    map (λy → reduce ⊕ e (map (λx → f y) xs)) ys

    Provided: the operator is so many maps as the reduction moves inwards, of which the rest is
    applied at each point.  What does not end with as many maps is stored first, and then read.
    Because: the accumulator of a point is an element, which fits into registers.
        A row x that is itself mapped over is taken by columns.
    Source: Mogers 2023, section 6.2.5.8; position counts from 1, the operator's outermost map.
    """
    redomap = ir.node_of(stm, ir.Redomap)
    depth = int(number(given, "position").value)
    count = sum(len(op.neutral) for op in redomap.ops)
    if len(stm.pat) != count:
        return "it makes further arrays besides its sums"
    before: list[ir.Stm] = []
    ops: list[ir.Operator] = []
    for op in redomap.ops:
        inner = element_operator(scope, op, depth, before)
        if isinstance(inner, str):
            return inner
        ops.append(inner)
    stored, redomap = _with_maps(scope, stm, redomap, depth)
    outer = Loop(redomap.width, redomap.lam.params, redomap.arrays, ops=tuple(ops))
    maps = maps_inside((outer,), redomap.lam, depth + 1)
    nest = Nest(maps.loops, maps.lam.body, maps.lam.ret)
    order = (*(Part(k + 1) for k in range(depth)), Part(0))
    new = Reordered(scope, replace(stm, exp=redomap), nest, order, "interchange_reduce")
    stms = new.rewritten()
    if isinstance(stms, str):
        return stms
    return Rewrite((*stored, *before, *stms), inner=new.name_at(depth))


def _with_maps(scope: Scope, stm: ir.Stm, redomap: ir.Redomap, depth: int
               ) -> tuple[tuple[ir.Stm, ...], ir.Redomap]:
    """The reduction with so many maps at the end of its function, and a map that comes before.

    If the function ends with something else, maps that do nothing read its results.  They are
    stored before, unless they are cheap to compute again.
    """
    maps = maps_inside((Loop(redomap.width, redomap.lam.params, redomap.arrays),), redomap.lam,
                       depth + 1)
    if len(maps.loops) == depth + 1:
        return (), redomap
    stored: tuple[ir.Stm, ...] = ()
    views = Views(scope, stm, "interchange_reduce")
    lam = redomap.lam
    if not all(is_cheap(each.exp) for each in lam.body.stms):
        pat = tuple(scope.fresh("mapped", array_of((redomap.width,), t)) for t in lam.ret)
        stored = (ir.Stm(pat, ir.Map(redomap.width, lam, redomap.arrays), loc=stm.loc),)
        rows = tuple(scope.fresh("row", t) for t in lam.ret)
        lam = ir.Lambda(rows, ir.Body((), tuple(p.name for p in rows)), lam.ret)
        redomap = replace(redomap, arrays=tuple(p.name for p in pat))
    names = tuple(a for a in lam.body.result if isinstance(a, VName))
    nest = _identity(views, names, tuple(lam.ret), depth)
    body = ir.Body((*lam.body.stms, nest), tuple(p.name for p in nest.pat))
    return stored, replace(redomap, lam=replace(lam, body=body))


def _identity(views: Views, arrays: tuple[VName, ...], types: tuple[Type, ...], depth: int
              ) -> ir.Stm:
    """Nested maps that return the elements of ``arrays`` unchanged."""
    rows = tuple(views.scope.fresh("x", row_of(t)) for t in types)
    names = tuple(p.name for p in rows)
    inner = () if depth == 1 else (_identity(views, names, tuple(p.type for p in rows), depth - 1),)
    result = tuple(p.name for p in inner[0].pat) if inner else names
    lam = ir.Lambda(rows, ir.Body(inner, result), tuple(p.type for p in rows))
    pat = tuple(views.scope.fresh("same", t) for t in types)
    return ir.Stm(pat, ir.Map(shape_of(types[0])[0], lam, arrays), loc=views.stm.loc)
